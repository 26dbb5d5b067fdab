-- Secrets, each sealed (XChaCha20-Poly1305, base64 of nonce and box).
--   run:   the token and what else a run needs of its person, under the server's own key; gone when the run ends.
--   vault: private keys and hidden parameters of deployments in clouds without a key manager, under a key that only the
--          person can make.
CREATE TABLE sealed (
    kind       TEXT NOT NULL CHECK (kind IN ('run', 'vault')),
    cloud      TEXT NOT NULL,
    project_id TEXT NOT NULL,
    name       TEXT NOT NULL,  -- a run's id, or the name of a secret
    box        TEXT NOT NULL,
    PRIMARY KEY (kind, cloud, project_id, name)
);
