-- The parameter values of a run's content, without hidden ones, so that a deployment can return to an earlier run.
ALTER TABLE run_contents ADD COLUMN parameters TEXT;  -- JSON object; NULL if they were not stored

-- Only those of the newest run are still known.
UPDATE run_contents SET parameters = (SELECT parameters FROM deployments WHERE deployments.last_run = run_contents.run);
