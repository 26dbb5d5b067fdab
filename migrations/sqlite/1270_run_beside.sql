-- Commands run beside the change of a deployment: only runs that change it exclude each other.
DROP INDEX runs_at_work;
CREATE UNIQUE INDEX runs_at_work ON runs (deployment) WHERE state NOT IN ('succeeded', 'failed', 'cancelled') AND kind <> 'command';

-- The server that a running step has locked for its run. A step that is not running has locked none.
ALTER TABLE steps ADD COLUMN locks TEXT;
CREATE INDEX steps_by_lock ON steps (run, locks) WHERE locks IS NOT NULL;
