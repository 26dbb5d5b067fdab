-- Kinds of runs and types of events are the program's to know: a new one needs no migration.
--
-- A CHECK cannot be dropped, so the tables are made anew. The new children refer to the new parent from the start, the old ones
-- go children first, and a renamed parent takes its children along: no reference is broken at any moment.
CREATE TABLE new_runs (
    id         TEXT PRIMARY KEY,
    deployment TEXT NOT NULL REFERENCES deployments (id),
    cloud      TEXT NOT NULL,  -- with project_id: the tenant
    project_id TEXT NOT NULL,
    kind       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN
                   ('queued', 'running', 'failing', 'cancelling', 'paused', 'succeeded', 'failed', 'cancelled')),
    ending     TEXT CHECK (ending IN ('failed', 'cancelled')),  -- the bad end that it is bound for
    forced     BIGINT NOT NULL CHECK (forced IN (0, 1)),        -- goes on past failed steps
    reason     TEXT,
    workflow   TEXT NOT NULL,
    author     TEXT NOT NULL,
    created    TEXT NOT NULL,
    started    TEXT,
    ended      TEXT,
    rolls_back BIGINT NOT NULL DEFAULT 0 CHECK (rolls_back IN (0, 1)),  -- leads back to the last good content
    roll_back  TEXT,  -- JSON of api::CloudFacts while the run is to be rolled back if it fails
    -- A run that has ended well has no bad end, and one that has ended badly has.
    CHECK (state <> 'succeeded' OR ending IS NULL),
    CHECK (state <> 'failed' OR COALESCE(ending, '') = 'failed'),
    CHECK (state <> 'cancelled' OR COALESCE(ending, '') = 'cancelled')
);
INSERT INTO new_runs (id, deployment, cloud, project_id, kind, state, ending, forced, reason, workflow, author, created, started, ended,
                      rolls_back, roll_back)
    SELECT id, deployment, cloud, project_id, kind, state, ending, forced, reason, workflow, author, created, started, ended,
           rolls_back, roll_back FROM runs;

CREATE TABLE new_steps (
    run        TEXT NOT NULL REFERENCES new_runs (id),
    id         TEXT NOT NULL,
    position   BIGINT NOT NULL,   -- in the workflow
    kind       TEXT NOT NULL,
    resource   TEXT,
    waits_for  TEXT NOT NULL,     -- ids, a JSON list
    state      TEXT NOT NULL CHECK (state IN
                   ('waiting', 'ready', 'running', 'retrying', 'succeeded', 'failed', 'cancelled', 'skipped')),
    attempts   BIGINT NOT NULL CHECK (attempts >= 0),
    started    TEXT,
    ended      TEXT,
    error      TEXT,
    PRIMARY KEY (run, id),
    CHECK (state NOT IN ('running', 'retrying', 'succeeded', 'failed') OR attempts > 0)
);
INSERT INTO new_steps (run, id, position, kind, resource, waits_for, state, attempts, started, ended, error)
    SELECT run, id, position, kind, resource, waits_for, state, attempts, started, ended, error FROM steps;

CREATE TABLE new_events (
    run  TEXT NOT NULL REFERENCES new_runs (id),
    seq  BIGINT NOT NULL CHECK (seq > 0),
    time TEXT NOT NULL,
    type TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, seq)
);
INSERT INTO new_events (run, seq, time, type, body) SELECT run, seq, time, type, body FROM events;

DROP TABLE events;
DROP TABLE steps;
DROP TABLE runs;
ALTER TABLE new_runs RENAME TO runs;
ALTER TABLE new_steps RENAME TO steps;
ALTER TABLE new_events RENAME TO events;

-- The runs of a deployment, newest first.
CREATE INDEX runs_of_deployment ON runs (deployment, created);

-- One run at a time works on a deployment.
CREATE UNIQUE INDEX runs_at_work ON runs (deployment) WHERE state NOT IN ('succeeded', 'failed', 'cancelled');

-- At a start: runs whose roll-back did not come to begin.
CREATE INDEX runs_to_roll_back ON runs (created) WHERE roll_back IS NOT NULL;
