-- Suspension. A suspended deployment has the state 'deployed', and a suspended server the state 'ready', each with a mark: a program
-- that does not know suspensions still reads them.
ALTER TABLE deployments ADD COLUMN suspended BIGINT NOT NULL DEFAULT 0 CHECK (suspended IN (0, 1));
ALTER TABLE resources ADD COLUMN suspended BIGINT NOT NULL DEFAULT 0 CHECK (suspended IN (0, 1));
