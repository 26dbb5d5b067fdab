-- The numbers of a run's events, and its log as a whole.
CREATE TABLE journals (
    run         TEXT PRIMARY KEY REFERENCES runs (id),
    last_seq    BIGINT NOT NULL CHECK (last_seq >= 0),  -- of moves and log lines together
    log_bytes   BIGINT NOT NULL CHECK (log_bytes >= 0), -- of the texts of stored log lines
    log_deleted TEXT                                    -- when retention deleted log lines
);
INSERT INTO journals (run, last_seq, log_bytes)
    SELECT id, (SELECT COALESCE(MAX(seq), 0) FROM events WHERE run = runs.id),
           (SELECT COALESCE(SUM(LENGTH(body ->> '$.text')), 0) FROM events WHERE run = runs.id AND type = 'log')
    FROM runs;

-- Consecutive log lines of a step: JSON, or a zlib stream of it.
CREATE TABLE log_segments (
    run       TEXT NOT NULL REFERENCES runs (id),
    first_seq BIGINT NOT NULL CHECK (first_seq > 0),
    last_seq  BIGINT NOT NULL CHECK (last_seq >= first_seq),
    step      TEXT NOT NULL,
    bytes     BIGINT NOT NULL,  -- of the lines' texts
    body      BLOB NOT NULL,
    PRIMARY KEY (run, first_seq)
);

-- A step's lines from either end.
CREATE INDEX log_segments_of_step ON log_segments (run, step, first_seq);

-- The log lines so far: a segment each.
INSERT INTO log_segments (run, first_seq, last_seq, step, bytes, body)
    SELECT run, seq, seq, body ->> '$.step', LENGTH(body ->> '$.text'), CAST(json_array(seq, time, json(body)) AS BLOB)
    FROM events WHERE type = 'log';
DELETE FROM events WHERE type = 'log';

-- A project's logs are counted.
CREATE INDEX runs_of_project ON runs (cloud, project_id);
