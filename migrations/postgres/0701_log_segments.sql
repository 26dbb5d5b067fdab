CREATE TABLE journals (
    run         TEXT COLLATE "C" PRIMARY KEY REFERENCES runs (id),
    last_seq    BIGINT NOT NULL CHECK (last_seq >= 0),
    log_bytes   BIGINT NOT NULL CHECK (log_bytes >= 0),
    log_deleted TEXT COLLATE "C"
);
INSERT INTO journals (run, last_seq, log_bytes)
    SELECT id, (SELECT COALESCE(MAX(seq), 0) FROM events WHERE run = runs.id),
           (SELECT COALESCE(SUM(LENGTH(body::json ->> 'text')), 0) FROM events WHERE run = runs.id AND type = 'log')
    FROM runs;

CREATE TABLE log_segments (
    run       TEXT COLLATE "C" NOT NULL REFERENCES runs (id),
    first_seq BIGINT NOT NULL CHECK (first_seq > 0),
    last_seq  BIGINT NOT NULL CHECK (last_seq >= first_seq),
    step      TEXT COLLATE "C" NOT NULL,
    bytes     BIGINT NOT NULL,
    body      BYTEA NOT NULL,
    PRIMARY KEY (run, first_seq)
);
CREATE INDEX log_segments_of_step ON log_segments (run, step, first_seq);
INSERT INTO log_segments (run, first_seq, last_seq, step, bytes, body)
    SELECT run, seq, seq, body::json ->> 'step', LENGTH(body::json ->> 'text'),
           convert_to(json_build_array(seq, time, body::json)::text, 'UTF8')
    FROM events WHERE type = 'log';
DELETE FROM events WHERE type = 'log';

CREATE INDEX runs_of_project ON runs (cloud, project_id);
