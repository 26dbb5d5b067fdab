-- Designs: the newest state in `designs`, every kept version in `design_versions`.
CREATE TABLE designs (
    id         TEXT    NOT NULL PRIMARY KEY,
    cloud      TEXT    NOT NULL, -- with project_id: the tenant
    project_id TEXT    NOT NULL,
    name       TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    version    INTEGER NOT NULL CHECK (version >= 1), -- the newest row in design_versions
    resources  INTEGER NOT NULL CHECK (resources >= 0), -- how many are drawn, for lists
    author     TEXT    NOT NULL, -- who saved last
    created    TEXT    NOT NULL, -- RFC 3339, UTC
    updated    TEXT    NOT NULL  -- RFC 3339, UTC
);

-- The list of a project's designs, newest first.
CREATE INDEX designs_by_tenant ON designs (cloud, project_id, updated);

CREATE TABLE design_versions (
    design   TEXT    NOT NULL REFERENCES designs (id) ON DELETE CASCADE,
    version  INTEGER NOT NULL CHECK (version >= 1),
    template TEXT    NOT NULL, -- HOT, byte for byte
    layout   TEXT    NOT NULL, -- JSON of api::Layout
    author   TEXT    NOT NULL,
    saved    TEXT    NOT NULL, -- RFC 3339, UTC
    PRIMARY KEY (design, version)
);
