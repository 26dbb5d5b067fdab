-- Snapshots of deployments. The run that takes one is its id, and has its time and its author. A snapshot and its parts are stored
-- with that run, before the first request to the cloud.
CREATE TABLE snapshots (
    run        TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    deployment TEXT COLLATE "C" NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    name       TEXT COLLATE "C" NOT NULL,  -- for people
    deleting   BIGINT NOT NULL DEFAULT 0 CHECK (deleting IN (0, 1))  -- its deletion has begun: it is restored no more
);
CREATE INDEX snapshots_by_deployment ON snapshots (deployment);

CREATE TABLE snapshot_parts (
    snapshot    TEXT COLLATE "C" NOT NULL REFERENCES snapshots (run) ON DELETE CASCADE,
    resource    TEXT COLLATE "C" NOT NULL,  -- name in the template
    type        TEXT COLLATE "C" NOT NULL,
    physical_id TEXT COLLATE "C" NOT NULL,  -- of the resource in the cloud
    snapshot_id TEXT COLLATE "C",  -- of the copy in the cloud; NULL until it is complete
    bytes       BIGINT,  -- size of the copy, if the cloud tells
    PRIMARY KEY (snapshot, resource)
);
