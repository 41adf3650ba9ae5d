-- Logs that tell the same: two of one session, or one that begins with a copy of another. Both directions.
CREATE TABLE shared (
    path  TEXT NOT NULL,
    other TEXT NOT NULL,
    PRIMARY KEY (path, other)
) WITHOUT ROWID;
