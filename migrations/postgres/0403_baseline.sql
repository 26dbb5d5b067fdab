-- The schema as the migrations of SQLite have made it up to number 403. The comments there tell what each column is for.
--
-- Text is compared by its bytes, as SQLite does, whatever the locale of the database is.

CREATE TABLE sessions (
    id_hash BYTEA  NOT NULL PRIMARY KEY CHECK (length(id_hash) = 32),
    expires BIGINT NOT NULL,
    sealed  BYTEA  NOT NULL
);
CREATE INDEX sessions_by_expiry ON sessions (expires);

CREATE TABLE designs (
    id         TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    cloud      TEXT   COLLATE "C" NOT NULL,
    project_id TEXT   COLLATE "C" NOT NULL,
    name       TEXT   COLLATE "C" NOT NULL CHECK (length(name) >= 1 AND length(name) <= 200),
    version    BIGINT NOT NULL CHECK (version >= 1),
    resources  BIGINT NOT NULL CHECK (resources >= 0),
    author     TEXT   COLLATE "C" NOT NULL,
    created    TEXT   COLLATE "C" NOT NULL,
    updated    TEXT   COLLATE "C" NOT NULL
);
CREATE INDEX designs_by_tenant ON designs (cloud, project_id, updated);

CREATE TABLE design_versions (
    design   TEXT   COLLATE "C" NOT NULL REFERENCES designs (id) ON DELETE CASCADE,
    version  BIGINT NOT NULL CHECK (version >= 1),
    template TEXT   COLLATE "C" NOT NULL,
    layout   TEXT   COLLATE "C" NOT NULL,
    author   TEXT   COLLATE "C" NOT NULL,
    saved    TEXT   COLLATE "C" NOT NULL,
    beside   TEXT   COLLATE "C" NOT NULL DEFAULT '{}',
    PRIMARY KEY (design, version)
);

CREATE TABLE deployments (
    id             TEXT   COLLATE "C" PRIMARY KEY,
    cloud          TEXT   COLLATE "C" NOT NULL,
    project_id     TEXT   COLLATE "C" NOT NULL,
    name           TEXT   COLLATE "C" NOT NULL,
    state          TEXT   COLLATE "C" NOT NULL CHECK (state IN ('busy', 'deployed', 'failed', 'undeployed')),
    template       TEXT   COLLATE "C" NOT NULL,
    layout         TEXT   COLLATE "C" NOT NULL,
    parameters     TEXT   COLLATE "C" NOT NULL,
    outputs        TEXT   COLLATE "C" NOT NULL,
    design         TEXT   COLLATE "C",
    design_version BIGINT,
    author         TEXT   COLLATE "C" NOT NULL,
    last_run       TEXT   COLLATE "C",
    created        TEXT   COLLATE "C" NOT NULL,
    updated        TEXT   COLLATE "C" NOT NULL,
    beside         TEXT   COLLATE "C" NOT NULL DEFAULT '{}',
    good           TEXT   COLLATE "C",
    hidden         TEXT   COLLATE "C",
    good_hidden    TEXT   COLLATE "C"
);
CREATE UNIQUE INDEX deployments_live_name ON deployments (cloud, project_id, name) WHERE state <> 'undeployed';
CREATE INDEX deployments_of_project ON deployments (cloud, project_id, created);

CREATE TABLE resources (
    deployment  TEXT   COLLATE "C" NOT NULL REFERENCES deployments (id),
    name        TEXT   COLLATE "C" NOT NULL,
    type        TEXT   COLLATE "C" NOT NULL,
    spec        TEXT   COLLATE "C" NOT NULL,
    physical_id TEXT   COLLATE "C",
    reference   TEXT   COLLATE "C",
    attributes  TEXT   COLLATE "C",
    state       TEXT   COLLATE "C" NOT NULL
                CHECK (state IN ('creating', 'ready', 'updating', 'deleting', 'deleted', 'failed')),
    incarnation BIGINT NOT NULL DEFAULT 0 CHECK (incarnation >= 0),
    made_from   TEXT   COLLATE "C",
    made_with   TEXT   COLLATE "C",
    tried       TEXT   COLLATE "C",
    read_at     TEXT   COLLATE "C",
    external_id TEXT   COLLATE "C",
    PRIMARY KEY (deployment, name)
);
CREATE INDEX resources_by_physical_id ON resources (physical_id) WHERE physical_id IS NOT NULL;
CREATE INDEX resources_by_external_id ON resources (external_id) WHERE external_id IS NOT NULL;

CREATE TABLE runs (
    id           TEXT   COLLATE "C" PRIMARY KEY,
    deployment   TEXT   COLLATE "C" NOT NULL REFERENCES deployments (id),
    cloud        TEXT   COLLATE "C" NOT NULL,
    project_id   TEXT   COLLATE "C" NOT NULL,
    kind         TEXT   COLLATE "C" NOT NULL,
    state        TEXT   COLLATE "C" NOT NULL CHECK (state IN
                     ('queued', 'running', 'failing', 'cancelling', 'paused', 'succeeded', 'failed', 'cancelled')),
    ending       TEXT   COLLATE "C" CHECK (ending IN ('failed', 'cancelled')),
    forced       BIGINT NOT NULL CHECK (forced IN (0, 1)),
    reason       TEXT   COLLATE "C",
    workflow     TEXT   COLLATE "C" NOT NULL,
    author       TEXT   COLLATE "C" NOT NULL,
    created      TEXT   COLLATE "C" NOT NULL,
    started      TEXT   COLLATE "C",
    ended        TEXT   COLLATE "C",
    rolls_back   BIGINT NOT NULL DEFAULT 0 CHECK (rolls_back IN (0, 1)),
    roll_back    TEXT   COLLATE "C",
    resumed_from TEXT   COLLATE "C" CHECK (resumed_from IN ('failed', 'cancelled')),
    CHECK (state <> 'succeeded' OR ending IS NULL),
    CHECK (state <> 'failed' OR COALESCE(ending, '') = 'failed'),
    CHECK (state <> 'cancelled' OR COALESCE(ending, '') = 'cancelled')
);
CREATE INDEX runs_of_deployment ON runs (deployment, created);
CREATE UNIQUE INDEX runs_at_work ON runs (deployment) WHERE state NOT IN ('succeeded', 'failed', 'cancelled');
CREATE INDEX runs_to_roll_back ON runs (created) WHERE roll_back IS NOT NULL;

CREATE TABLE steps (
    run        TEXT   COLLATE "C" NOT NULL REFERENCES runs (id),
    id         TEXT   COLLATE "C" NOT NULL,
    position   BIGINT NOT NULL,
    kind       TEXT   COLLATE "C" NOT NULL,
    resource   TEXT   COLLATE "C",
    waits_for  TEXT   COLLATE "C" NOT NULL,
    state      TEXT   COLLATE "C" NOT NULL CHECK (state IN
                   ('waiting', 'ready', 'running', 'retrying', 'succeeded', 'failed', 'cancelled', 'skipped')),
    attempts   BIGINT NOT NULL CHECK (attempts >= 0),
    started    TEXT   COLLATE "C",
    ended      TEXT   COLLATE "C",
    error      TEXT   COLLATE "C",
    PRIMARY KEY (run, id),
    CHECK (state NOT IN ('running', 'retrying', 'succeeded', 'failed') OR attempts > 0)
);

CREATE TABLE events (
    run  TEXT   COLLATE "C" NOT NULL REFERENCES runs (id),
    seq  BIGINT NOT NULL CHECK (seq > 0),
    time TEXT   COLLATE "C" NOT NULL,
    type TEXT   COLLATE "C" NOT NULL,
    body TEXT   COLLATE "C" NOT NULL,
    PRIMARY KEY (run, seq)
);

CREATE TABLE sealed (
    kind       TEXT COLLATE "C" NOT NULL CHECK (kind IN ('run', 'vault')),
    cloud      TEXT COLLATE "C" NOT NULL,
    project_id TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    box        TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (kind, cloud, project_id, name)
);

CREATE TABLE hidden_parameters (
    name       TEXT COLLATE "C" PRIMARY KEY,
    cloud      TEXT COLLATE "C" NOT NULL,
    project_id TEXT COLLATE "C" NOT NULL,
    deployment TEXT COLLATE "C" NOT NULL,
    state      TEXT COLLATE "C" NOT NULL CHECK (state IN ('new', 'kept', 'going'))
);
CREATE INDEX hidden_parameters_of_deployment ON hidden_parameters (deployment);
CREATE INDEX hidden_parameters_of_project ON hidden_parameters (cloud, project_id, state);

CREATE TABLE creations (
    deployment      TEXT   COLLATE "C" NOT NULL REFERENCES deployments (id),
    name            TEXT   COLLATE "C" NOT NULL,
    incarnation     BIGINT NOT NULL CHECK (incarnation >= 0),
    type            TEXT   COLLATE "C" NOT NULL,
    begun           TEXT   COLLATE "C" NOT NULL,
    in_flight       BIGINT NOT NULL CHECK (in_flight IN (0, 1)),
    uncertain_since TEXT   COLLATE "C",
    swept           BIGINT NOT NULL DEFAULT 0 CHECK (swept IN (0, 1)),
    retained        BIGINT NOT NULL DEFAULT 0 CHECK (retained IN (0, 1)),
    namesakes       TEXT   COLLATE "C",
    PRIMARY KEY (deployment, name, incarnation, type)
);
CREATE INDEX creations_in_flight ON creations (deployment) WHERE in_flight = 1;

CREATE TABLE catalog_items (
    cloud      TEXT   COLLATE "C" NOT NULL,
    project_id TEXT   COLLATE "C" NOT NULL,
    name       TEXT   COLLATE "C" NOT NULL,
    version    TEXT   COLLATE "C" NOT NULL,
    digest     TEXT   COLLATE "C" NOT NULL,
    bytes      BIGINT NOT NULL CHECK (bytes >= 0),
    author     TEXT   COLLATE "C" NOT NULL,
    uploaded   TEXT   COLLATE "C" NOT NULL,
    PRIMARY KEY (cloud, project_id, name, version)
);

CREATE TABLE deployment_items (
    deployment TEXT COLLATE "C" NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    item       TEXT COLLATE "C" NOT NULL,
    version    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (deployment, item)
);
