-- Who is logged in. Nothing here is readable without the cookie: `id_hash` is the SHA-256 of the
-- session id, and `sealed` is encrypted with a key that is derived from the id itself.
CREATE TABLE sessions (
    id_hash BLOB    NOT NULL PRIMARY KEY CHECK (length(id_hash) = 32),
    expires INTEGER NOT NULL, -- Unix seconds; bound to the sealed record, so moving it breaks the seal
    sealed  BLOB    NOT NULL  -- nonce, then ciphertext and tag
);

-- The sweep of what has expired.
CREATE INDEX sessions_by_expiry ON sessions (expires);
