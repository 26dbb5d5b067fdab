-- Runs: one execution of a workflow, which is stored whole with it.
CREATE TABLE runs (
    id         TEXT PRIMARY KEY,
    deployment TEXT NOT NULL REFERENCES deployments (id),
    cloud      TEXT NOT NULL,  -- with project_id: the tenant
    project_id TEXT NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('deploy', 'update', 'undeploy')),
    state      TEXT NOT NULL CHECK (state IN
                   ('queued', 'running', 'failing', 'cancelling', 'paused', 'succeeded', 'failed', 'cancelled')),
    ending     TEXT CHECK (ending IN ('failed', 'cancelled')),  -- the bad end that it is bound for
    forced     INTEGER NOT NULL CHECK (forced IN (0, 1)),       -- goes on past failed steps
    reason     TEXT,
    workflow   TEXT NOT NULL,
    author     TEXT NOT NULL,
    created    TEXT NOT NULL,
    started    TEXT,
    ended      TEXT,
    -- A run that has ended well has no bad end, and one that has ended badly has.
    CHECK (state <> 'succeeded' OR ending IS NULL),
    CHECK (state <> 'failed' OR COALESCE(ending, '') = 'failed'),
    CHECK (state <> 'cancelled' OR COALESCE(ending, '') = 'cancelled')
);

-- The runs of a deployment, newest first.
CREATE INDEX runs_of_deployment ON runs (deployment, created);

-- One run at a time works on a deployment.
CREATE UNIQUE INDEX runs_at_work ON runs (deployment) WHERE state NOT IN ('succeeded', 'failed', 'cancelled');

-- Where each step of a run stands.
CREATE TABLE steps (
    run        TEXT NOT NULL REFERENCES runs (id),
    id         TEXT NOT NULL,
    position   INTEGER NOT NULL,  -- in the workflow
    kind       TEXT NOT NULL,
    resource   TEXT,
    waits_for  TEXT NOT NULL,     -- ids, a JSON list
    state      TEXT NOT NULL CHECK (state IN
                   ('waiting', 'ready', 'running', 'retrying', 'succeeded', 'failed', 'cancelled', 'skipped')),
    attempts   INTEGER NOT NULL CHECK (attempts >= 0),
    started    TEXT,
    ended      TEXT,
    error      TEXT,
    PRIMARY KEY (run, id),
    CHECK (state NOT IN ('running', 'retrying', 'succeeded', 'failed') OR attempts > 0)
);

-- What happened, in order. Only ever added to; seq is dense per run, from 1.
CREATE TABLE events (
    run  TEXT NOT NULL REFERENCES runs (id),
    seq  INTEGER NOT NULL CHECK (seq > 0),
    time TEXT NOT NULL,
    type TEXT NOT NULL CHECK (type IN ('run', 'step', 'log', 'resource')),
    body TEXT NOT NULL,
    PRIMARY KEY (run, seq)
);
