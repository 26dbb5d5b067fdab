-- The content of a run: what its deployment was to become when the run started. A later update of the deployment does not change it.
CREATE TABLE run_contents (
    run            TEXT PRIMARY KEY REFERENCES runs (id),
    template       TEXT NOT NULL,
    beside         TEXT NOT NULL,  -- JSON of api::Beside
    layout         TEXT NOT NULL,  -- JSON of api::Layout
    design         TEXT,
    design_version BIGINT
);

-- Only the newest run's content is still known.
INSERT INTO run_contents (run, template, beside, layout, design, design_version)
    SELECT runs.id, deployments.template, deployments.beside, deployments.layout, deployments.design, deployments.design_version
    FROM runs JOIN deployments ON deployments.last_run = runs.id;
