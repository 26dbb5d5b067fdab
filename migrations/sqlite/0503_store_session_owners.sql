-- A user sees and ends their own sessions, and an idle one ends by itself. Everybody logs in once more after the upgrade,
-- because the rows before it have no owner.
DELETE FROM sessions;
ALTER TABLE sessions ADD COLUMN created BIGINT NOT NULL DEFAULT 0; -- Unix seconds
ALTER TABLE sessions ADD COLUMN seen    BIGINT NOT NULL DEFAULT 0; -- Unix seconds, of the last request or a minute before
ALTER TABLE sessions ADD COLUMN cloud   TEXT;                      -- with user_id: the owner, once logged in
ALTER TABLE sessions ADD COLUMN user_id TEXT;
ALTER TABLE sessions ADD COLUMN address TEXT;                      -- of the client at login

-- A user's sessions.
CREATE INDEX sessions_of_user ON sessions (cloud, user_id);
