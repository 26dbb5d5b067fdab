-- Users of the rules that let SSH into bastions: runs and terminals. A rule is in the cloud while it has a user. The row is written
-- before the rule is opened, and removed after it is closed.
CREATE TABLE bastion_users (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,  -- of the run or the terminal
    kind       TEXT COLLATE "C" NOT NULL CHECK (kind IN ('run', 'terminal')),
    cloud      TEXT COLLATE "C" NOT NULL,  -- with project_id: the tenant
    project_id TEXT COLLATE "C" NOT NULL,
    deployment TEXT COLLATE "C" NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    bastion    TEXT COLLATE "C" NOT NULL,  -- name of the bastion's resource, which is in the rule's description
    address    TEXT COLLATE "C" NOT NULL,  -- of the orchestrator, which the rule lets in
    server     TEXT COLLATE "C" NOT NULL,  -- that wrote the row last; if `servers` does not have it, a terminal is gone
    user_id    TEXT COLLATE "C",  -- of the person at the terminal
    sealed     TEXT COLLATE "C",  -- a terminal's token, which can close the rule; a run has its own
    closing    BIGINT NOT NULL DEFAULT 0 CHECK (closing IN (0, 1))  -- `server` is about to remove the rule
);

CREATE INDEX bastion_users_by_deployment ON bastion_users (deployment);
