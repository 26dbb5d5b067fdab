-- The cloud's id of the user who started a run: another domain may have a user of the same name. NULL for runs from before.
ALTER TABLE runs ADD COLUMN author_id TEXT;
ALTER TABLE catalog_items ADD COLUMN author_id TEXT;
