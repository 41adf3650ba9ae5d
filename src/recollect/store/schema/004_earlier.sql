-- The first part of a session, if its log no longer has it because the log was emptied, rotated or damaged. `state` is the
-- fold of that part. The present content of the log is added after it, also when all logs are read again.
CREATE TABLE earlier (
    session BLOB PRIMARY KEY,
    state   BLOB NOT NULL
) WITHOUT ROWID;
