-- Versions of the server's own catalogue items that deployments use or used. A deployment stays on its version when the server has
-- another one.
CREATE TABLE server_items (
    name    TEXT COLLATE "C" NOT NULL,
    version TEXT COLLATE "C" NOT NULL,
    digest  TEXT COLLATE "C" NOT NULL,  -- SHA-256 of all paths and contents, in hexadecimal
    archive BYTEA NOT NULL,  -- tar.gz
    PRIMARY KEY (name, version)
);
