-- Signals to resources, such as wait condition handles. A resource's successor has another incarnation, and none of its signals.
CREATE TABLE signals (
    deployment  TEXT    NOT NULL REFERENCES deployments (id),
    resource    TEXT    NOT NULL,
    incarnation BIGINT  NOT NULL CHECK (incarnation >= 0),
    id          TEXT    NOT NULL,  -- chosen by the sender; a second signal with the id replaces the first
    status      TEXT    NOT NULL CHECK (status IN ('SUCCESS', 'FAILURE')),
    reason      TEXT    NOT NULL,
    data        TEXT    NOT NULL,  -- JSON
    at          TEXT    NOT NULL,  -- RFC 3339
    PRIMARY KEY (deployment, resource, incarnation, id)
);
