-- Standing permissions: what the server may do with a deployment while nobody is logged in, by an application credential of the
-- user who gave it.
CREATE TABLE permissions (
    deployment TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES deployments (id) ON DELETE CASCADE,
    cloud      TEXT COLLATE "C" NOT NULL,  -- with project_id: the tenant
    project_id TEXT COLLATE "C" NOT NULL,
    user_id    TEXT COLLATE "C" NOT NULL,  -- of the user who gave it, who alone can delete the credential
    given      TEXT COLLATE "C" NOT NULL,  -- JSON of api::Permission
    expires    TEXT COLLATE "C" NOT NULL,
    next_check TEXT COLLATE "C",  -- NULL without checks
    credential TEXT COLLATE "C" NOT NULL,  -- the application credential's name, unique per user
    sealed     TEXT COLLATE "C",  -- its id and secret; NULL after the end
    problem    TEXT COLLATE "C"  -- why it could not be used last; NULL if it could
);

-- Application credentials of no use, until their owner logs in and they can be deleted. A new one stands here, too, until its
-- permission is stored.
CREATE TABLE unused_credentials (
    cloud      TEXT COLLATE "C" NOT NULL,
    project_id TEXT COLLATE "C" NOT NULL,
    user_id    TEXT COLLATE "C" NOT NULL,
    credential TEXT COLLATE "C" NOT NULL,
    since      TEXT COLLATE "C" NOT NULL,  -- a new one may get its permission until then
    PRIMARY KEY (cloud, project_id, user_id, credential)
);

-- As all other columns of text, which compare byte by byte.
ALTER TABLE run_contents ALTER COLUMN parameters TYPE TEXT COLLATE "C";
