-- Standing permissions: what the server may do with a deployment while nobody is logged in, by an application credential of the
-- user who gave it.
CREATE TABLE permissions (
    deployment TEXT NOT NULL PRIMARY KEY REFERENCES deployments (id) ON DELETE CASCADE,
    cloud      TEXT NOT NULL,  -- with project_id: the tenant
    project_id TEXT NOT NULL,
    user_id    TEXT NOT NULL,  -- of the user who gave it, who alone can delete the credential
    given      TEXT NOT NULL,  -- JSON of api::Permission
    expires    TEXT NOT NULL,
    next_check TEXT,  -- NULL without checks
    credential TEXT NOT NULL,  -- the application credential's name, unique per user
    sealed     TEXT,  -- its id and secret; NULL after the end
    problem    TEXT  -- why it could not be used last; NULL if it could
);

-- Application credentials of no use, until their owner logs in and they can be deleted. A new one stands here, too, until its
-- permission is stored.
CREATE TABLE unused_credentials (
    cloud      TEXT NOT NULL,
    project_id TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    credential TEXT NOT NULL,
    since      TEXT NOT NULL,  -- a new one may get its permission until then
    PRIMARY KEY (cloud, project_id, user_id, credential)
);
