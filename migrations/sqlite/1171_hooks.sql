-- The time at which a person let the step of a hook go on.
ALTER TABLE steps ADD COLUMN released TEXT;
