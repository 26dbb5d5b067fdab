-- Work that is refused, or that a crash cuts, leaves nothing wrong behind.

-- Which secret of the vault has the deployment's hidden parameters. A change of them is kept under a name of its own, and the
-- deployment points at it in the very transaction that takes up the change.
ALTER TABLE deployments ADD COLUMN hidden TEXT;

-- Secrets of the vault that have hidden parameters: a row is written before the vault is asked, and goes after the secret.
--   new: kept for a change that is not taken up yet;  kept: a deployment points, or pointed, at it;  going: of no use.
CREATE TABLE hidden_parameters (
    name       TEXT PRIMARY KEY,
    cloud      TEXT NOT NULL,  -- with project_id: the tenant
    project_id TEXT NOT NULL,
    deployment TEXT NOT NULL,  -- perhaps one that never came to be
    state      TEXT NOT NULL CHECK (state IN ('new', 'kept', 'going'))
);

-- What a deployment has in the vault, and what a project has to tidy up there.
CREATE INDEX hidden_parameters_of_deployment ON hidden_parameters (deployment);
CREATE INDEX hidden_parameters_of_project ON hidden_parameters (cloud, project_id, state);

-- Until now there were two names, fixed.
UPDATE deployments SET hidden = 'stackloom-' || id || '-parameters' WHERE state <> 'undeployed';
UPDATE deployments SET good = json_set(good, '$.hidden', 'stackloom-' || id || CASE state WHEN 'deployed' THEN '-parameters' ELSE '-parameters-good' END)
    WHERE good IS NOT NULL AND state <> 'undeployed';
INSERT INTO hidden_parameters (name, cloud, project_id, deployment, state)
    SELECT 'stackloom-' || id || '-parameters', cloud, project_id, id, 'kept' FROM deployments WHERE state <> 'undeployed'
    UNION ALL
    SELECT 'stackloom-' || id || '-parameters-good', cloud, project_id, id, 'kept' FROM deployments WHERE state <> 'undeployed';

-- The last mark of all that had a resource's name, removed and retained ones included: what is made under it next has a
-- mark of its own.
CREATE TABLE marks (
    deployment TEXT NOT NULL REFERENCES deployments (id),
    name       TEXT NOT NULL,
    last       INTEGER NOT NULL CHECK (last >= 0),
    PRIMARY KEY (deployment, name)
);
INSERT INTO marks (deployment, name, last)
    SELECT deployment, base, MAX(incarnation) FROM
        (SELECT deployment, incarnation, CASE WHEN instr(name, '@') > 0 THEN substr(name, 1, instr(name, '@') - 1) ELSE name END AS base FROM resources)
    GROUP BY deployment, base;

-- JSON of what the cloud has (api::CloudFacts), while the run shall be rolled back if it fails: its sealed token stays until the
-- roll-back has taken it over.
ALTER TABLE runs ADD COLUMN roll_back TEXT;

-- At a start: runs whose roll-back did not come to begin.
CREATE INDEX runs_to_roll_back ON runs (created) WHERE roll_back IS NOT NULL;
