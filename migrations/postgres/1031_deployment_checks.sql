-- The last check of a deployment, as JSON.
ALTER TABLE deployments ADD COLUMN last_check TEXT COLLATE "C";
