-- Files beside the template that is deployed: JSON of api::Beside.
ALTER TABLE deployments ADD COLUMN beside TEXT NOT NULL DEFAULT '{}';
