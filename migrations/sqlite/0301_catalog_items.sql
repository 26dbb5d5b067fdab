-- Catalogue items of projects' own, and which version of them a deployment was made with.

-- A row tells that the item's files lie whole below the data folder, under its digest. A version never changes.
CREATE TABLE catalog_items (
    cloud      TEXT NOT NULL,
    project_id TEXT NOT NULL,
    name       TEXT NOT NULL,
    version    TEXT NOT NULL,
    -- SHA-256 of all paths and contents, in hexadecimal digits: the folder's name.
    digest     TEXT NOT NULL,
    -- All files together; a project may have so many.
    bytes      INTEGER NOT NULL CHECK (bytes >= 0),
    author     TEXT NOT NULL,
    uploaded   TEXT NOT NULL,
    -- Serves every look-up: all are by project, then by name.
    PRIMARY KEY (cloud, project_id, name, version)
);

-- Items of the server's own are not among them: they come with the program.
CREATE TABLE deployment_items (
    deployment TEXT NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    item       TEXT NOT NULL,
    version    TEXT NOT NULL,
    PRIMARY KEY (deployment, item)
);
