-- A step that brings the program down must not do so at each restart.
ALTER TABLE steps ADD COLUMN crashes BIGINT NOT NULL DEFAULT 0; -- in a row, while it was running
