-- The changes of a run's plan, with the reasons that its user reviewed. The steps are in the workflow.
ALTER TABLE run_contents ADD COLUMN changes TEXT COLLATE "C";  -- JSON array of api::Change; NULL if they were not stored, and for a run without a plan
