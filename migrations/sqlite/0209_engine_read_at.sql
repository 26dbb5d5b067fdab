-- When the attributes of a resource were read from the cloud, RFC 3339. NULL: not known.
ALTER TABLE resources ADD COLUMN read_at TEXT;
