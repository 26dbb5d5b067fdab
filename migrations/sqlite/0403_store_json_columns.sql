-- Queries ask for these, and no query looks into JSON: columns of their own.

-- Name of the secret with the hidden parameters of the last good content.
ALTER TABLE deployments ADD COLUMN good_hidden TEXT;
UPDATE deployments SET good_hidden = json_extract(good, '$.hidden') WHERE good IS NOT NULL;

-- Id of the thing in the cloud that the resource stands for, where the template gives it as plain text.
ALTER TABLE resources ADD COLUMN external_id TEXT;
UPDATE resources SET external_id = json_extract(spec, '$.external_id') WHERE json_type(spec, '$.external_id') = 'text';

-- Is an id in the cloud recorded, by any deployment?
CREATE INDEX resources_by_external_id ON resources (external_id) WHERE external_id IS NOT NULL;
