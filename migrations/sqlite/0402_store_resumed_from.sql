-- The bad end that a queued run was in when somebody resumed it. NULL: a new run, or one at work.
ALTER TABLE runs ADD COLUMN resumed_from TEXT CHECK (resumed_from IN ('failed', 'cancelled'));

-- Until now a queued run with a bad end was one that somebody had resumed.
UPDATE runs SET resumed_from = ending WHERE state = 'queued' AND ending IS NOT NULL;
