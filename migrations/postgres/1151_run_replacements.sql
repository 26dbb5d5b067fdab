-- The user whose update takes a run's place. The run then begins no further step.
ALTER TABLE runs ADD COLUMN replaced_by TEXT COLLATE "C";
