-- The part of a session that its log no longer holds, because the log was emptied, rotated or damaged: `state` is the fold
-- of that part. What the log holds now is added after it, also when all logs are read again.
CREATE TABLE earlier (
    session BLOB PRIMARY KEY,
    state   BLOB NOT NULL
) WITHOUT ROWID;
