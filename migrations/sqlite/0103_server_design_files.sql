-- Files beside a version's template: JSON of api::Beside.
ALTER TABLE design_versions ADD COLUMN beside TEXT NOT NULL DEFAULT '{}';
