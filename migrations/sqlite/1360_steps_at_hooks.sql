-- The steps of hooks at which runs wait for a user. Lists of runs and deployments look for them.
CREATE INDEX steps_at_hooks ON steps (run) WHERE kind = 'hook' AND state = 'running';
