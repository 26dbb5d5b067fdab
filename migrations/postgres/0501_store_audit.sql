-- Who did what, also what was refused. A failed login belongs to no project: its project is not known.
CREATE TABLE audit_events (
    id         TEXT   COLLATE "C" NOT NULL PRIMARY KEY, -- UUID version 7: sorts by time
    time       TEXT   COLLATE "C" NOT NULL,             -- RFC 3339, UTC
    cloud      TEXT   COLLATE "C" NOT NULL,             -- with project_id: the tenant
    project_id TEXT   COLLATE "C",
    actor      TEXT   COLLATE "C" NOT NULL,             -- the user's name, as given at a failed login
    address    TEXT   COLLATE "C",                        -- of the client
    action     TEXT   COLLATE "C" NOT NULL,             -- method and path pattern
    target     TEXT   COLLATE "C" NOT NULL,             -- path of what was changed
    status     BIGINT NOT NULL,             -- HTTP status of the answer
    code       TEXT   COLLATE "C",                        -- of the problem, if it was refused or failed
    request_id TEXT   COLLATE "C" NOT NULL
);

-- The list of a project, newest first.
CREATE INDEX audit_events_of_project ON audit_events (cloud, project_id, id);

-- Retention.
CREATE INDEX audit_events_by_time ON audit_events (time);
