-- What a person calls a version. Versions with a label are not removed for newer ones.
ALTER TABLE design_versions ADD COLUMN label TEXT;
