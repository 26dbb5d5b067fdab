-- The scaling that a run carries out, as JSON, and its group, for the cooldown of the group's policies.
ALTER TABLE runs ADD COLUMN scaling TEXT COLLATE "C";
ALTER TABLE runs ADD COLUMN scaled_group TEXT COLLATE "C";
