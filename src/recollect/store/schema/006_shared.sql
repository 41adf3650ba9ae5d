-- Logs with the same records: two logs of one session, or one that begins with a copy of another. In both directions.
CREATE TABLE shared (
    path  TEXT NOT NULL,
    other TEXT NOT NULL,
    PRIMARY KEY (path, other)
) WITHOUT ROWID;
