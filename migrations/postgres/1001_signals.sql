-- Signals to resources, such as wait condition handles. A resource's successor has another incarnation, and none of its signals.
CREATE TABLE signals (
    deployment  TEXT COLLATE "C" NOT NULL REFERENCES deployments (id),
    resource    TEXT COLLATE "C" NOT NULL,
    incarnation BIGINT           NOT NULL CHECK (incarnation >= 0),
    id          TEXT COLLATE "C" NOT NULL,  -- chosen by the sender; a second signal with the id replaces the first
    status      TEXT COLLATE "C" NOT NULL CHECK (status IN ('SUCCESS', 'FAILURE')),
    reason      TEXT COLLATE "C" NOT NULL,
    data        TEXT COLLATE "C" NOT NULL,  -- JSON
    at          TEXT COLLATE "C" NOT NULL,  -- RFC 3339
    PRIMARY KEY (deployment, resource, incarnation, id)
);
