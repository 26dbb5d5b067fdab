-- What is deployed. One row a deployment; it stays when it is undeployed, as history. Times are RFC 3339, JSON is text.
CREATE TABLE deployments (
    id             TEXT PRIMARY KEY,
    cloud          TEXT NOT NULL,  -- with project_id: the tenant
    project_id     TEXT NOT NULL,
    name           TEXT NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('busy', 'deployed', 'failed', 'undeployed')),
    template       TEXT NOT NULL,
    layout         TEXT NOT NULL,
    parameters     TEXT NOT NULL,  -- without hidden ones: those are in the vault
    outputs        TEXT NOT NULL,  -- expressions; resolved when they are read
    design         TEXT,
    design_version INTEGER,
    author         TEXT NOT NULL,
    last_run       TEXT,
    created        TEXT NOT NULL,
    updated        TEXT NOT NULL
);

-- A name is taken while its deployment lives.
CREATE UNIQUE INDEX deployments_live_name ON deployments (cloud, project_id, name) WHERE state <> 'undeployed';

-- The list of a project, newest first.
CREATE INDEX deployments_of_project ON deployments (cloud, project_id, created);

-- What a deployment has, or may have, in the cloud: a row is written before the cloud is asked, and its physical_id
-- before we wait. Attributes are never secret.
CREATE TABLE resources (
    deployment  TEXT NOT NULL REFERENCES deployments (id),
    name        TEXT NOT NULL,
    type        TEXT NOT NULL,
    spec        TEXT NOT NULL,
    physical_id TEXT,
    reference   TEXT,
    attributes  TEXT,
    state       TEXT NOT NULL CHECK (state IN ('creating', 'ready', 'updating', 'deleting', 'deleted', 'failed')),
    PRIMARY KEY (deployment, name)
);
