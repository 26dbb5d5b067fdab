-- What was last seen of a component's health: since when it is healthy without interruption (empty if it was not), when it was last
-- asked, and the deployment's newest run at that time.
ALTER TABLE resources ADD COLUMN healthy_since TEXT;
ALTER TABLE resources ADD COLUMN health_at TEXT;
ALTER TABLE resources ADD COLUMN health_run TEXT;
