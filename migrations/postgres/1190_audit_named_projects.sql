-- The project that a failed login named, in the words of the login: such a login has no project of its own. The members of
-- that project read the event.
ALTER TABLE audit_events ADD COLUMN named_project TEXT COLLATE "C";

-- The failed logins of a project, newest first.
CREATE INDEX audit_events_of_named_project ON audit_events (cloud, named_project, id);
