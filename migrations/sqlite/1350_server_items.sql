-- Versions of the server's own catalogue items that deployments use or used. A deployment stays on its version when the server has
-- another one.
CREATE TABLE server_items (
    name    TEXT NOT NULL,
    version TEXT NOT NULL,
    digest  TEXT NOT NULL,  -- SHA-256 of all paths and contents, in hexadecimal
    archive BLOB NOT NULL,  -- tar.gz
    PRIMARY KEY (name, version)
);
