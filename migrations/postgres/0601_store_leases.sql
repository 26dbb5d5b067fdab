-- Servers that share the database. A server holds runs while it renews its row.
CREATE TABLE servers (
    id       TEXT   COLLATE "C" NOT NULL PRIMARY KEY,  -- a new one at each start, and after each lost lease
    beat     BIGINT NOT NULL CHECK (beat >= 0),  -- number of its renewals
    patience BIGINT NOT NULL CHECK (patience > 0),  -- milliseconds without a renewal after which others may take its runs
    sealing_key TEXT   COLLATE "C" NOT NULL  -- id of the key with which it seals
);

-- The server that holds the run. If `servers` does not have it, the run is free.
ALTER TABLE runs ADD COLUMN holder TEXT COLLATE "C";

-- Fencing number: raised whenever a server takes the run; every write to the run's journal names it.
ALTER TABLE runs ADD COLUMN fence BIGINT NOT NULL DEFAULT 0 CHECK (fence >= 0);

-- Cancellations that the holder has not obeyed yet. The second one aborts steps that do not stop.
ALTER TABLE runs ADD COLUMN cancels BIGINT NOT NULL DEFAULT 0 CHECK (cancels >= 0);

-- The server that stores the values of a change that is not accepted yet.
ALTER TABLE hidden_parameters ADD COLUMN server TEXT COLLATE "C";

-- The runs with work left of a server, and those without one.
CREATE INDEX runs_by_holder ON runs (holder) WHERE state NOT IN ('succeeded', 'cancelled');
