-- The command that a run carries out on servers, as JSON of api::RunCommand: without the script, which may contain secrets.
ALTER TABLE runs ADD COLUMN command TEXT;
