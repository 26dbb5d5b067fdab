-- The deployment that an event is about, also of the events on its runs.
ALTER TABLE audit_events ADD COLUMN deployment TEXT COLLATE "C";

-- The ids follow `/api/v1/deployments/` and `/api/v1/runs/`.
UPDATE audit_events SET deployment = substr(target, 21, 36) WHERE target LIKE '/api/v1/deployments/%';
UPDATE audit_events SET deployment =
    (SELECT runs.deployment FROM runs WHERE runs.id = substr(audit_events.target, 14, 36)
     AND runs.cloud = audit_events.cloud AND runs.project_id = audit_events.project_id)
WHERE target LIKE '/api/v1/runs/%';

-- The list of a deployment, newest first.
CREATE INDEX audit_events_of_deployment ON audit_events (cloud, project_id, deployment, id);
