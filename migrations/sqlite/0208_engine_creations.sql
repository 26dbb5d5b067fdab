-- Creations: what a deployment ever began to create in the cloud. A row is written in the transaction that journals the intent, before
-- the first request, and stays: the cloud may carry out a request long after its sender has died or given up.
CREATE TABLE creations (
    deployment      TEXT NOT NULL REFERENCES deployments (id),
    name            TEXT NOT NULL,  -- of the resource; older copies have the name that they were created under
    incarnation     INTEGER NOT NULL CHECK (incarnation >= 0),  -- with the name: the mark in the cloud
    type            TEXT NOT NULL,
    begun           TEXT NOT NULL,
    -- An attempt is under way, and what became of its requests is not known yet.
    in_flight       INTEGER NOT NULL CHECK (in_flight IN (0, 1)),
    -- When the last attempt ended without it being known whether the cloud carries out its request. NULL: never.
    uncertain_since TEXT,
    -- The cloud was searched after the horizon of `uncertain_since`.
    swept           INTEGER NOT NULL DEFAULT 0 CHECK (swept IN (0, 1)),
    -- What was created stays in the cloud on purpose.
    retained        INTEGER NOT NULL DEFAULT 0 CHECK (retained IN (0, 1)),
    -- Where a name that the template gives is the only mark: JSON of that name and of the ids that had it before the first request.
    namesakes       TEXT,
    PRIMARY KEY (deployment, name, incarnation, type)
);

-- At a start: requests of the process before.
CREATE INDEX creations_in_flight ON creations (deployment) WHERE in_flight = 1;

-- Whether an id in the cloud is recorded, by whichever deployment.
CREATE INDEX resources_by_physical_id ON resources (physical_id) WHERE physical_id IS NOT NULL;

-- Until now only the last incarnation of each name was kept, in `marks`.
INSERT INTO creations (deployment, name, incarnation, type, begun, in_flight)
    SELECT r.deployment, CASE WHEN instr(r.name, '@') > 0 THEN substr(r.name, 1, instr(r.name, '@') - 1) ELSE r.name END, r.incarnation, r.type,
           d.created, 0
    FROM resources r JOIN deployments d ON d.id = r.deployment
    WHERE true
    ON CONFLICT DO NOTHING;
INSERT INTO creations (deployment, name, incarnation, type, begun, in_flight)
    SELECT m.deployment, m.name, m.last, COALESCE(r.type, ''), d.created, 0
    FROM marks m JOIN deployments d ON d.id = m.deployment
    LEFT JOIN resources r ON r.deployment = m.deployment AND r.name = m.name
    WHERE true
    ON CONFLICT DO NOTHING;
DROP TABLE marks;
