-- Journeys: the sessions and documents of one person's work. No log holds them, so they cannot be made again.

CREATE TABLE journey (
    id         BLOB PRIMARY KEY,
    user       BLOB UNIQUE,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

-- A session of a journey, and what is told of it. `mark` is the state of the session that `summary` was made of: '' when it
-- is to be made again, NULL while the archive has no such session. Then `started_at` is NULL too, and nothing of it is shown.
-- An `own` summary was given, not made. `diagnosed` is NULL unless somebody said whether the session holds a diagnosis.
CREATE TABLE member (
    key        INTEGER PRIMARY KEY,
    session    BLOB NOT NULL UNIQUE,
    journey    BLOB NOT NULL,
    started_at INTEGER,
    mark       TEXT,
    summary    TEXT NOT NULL,
    own        INTEGER NOT NULL,
    diagnosed  INTEGER,
    diagnosis  TEXT
);
CREATE INDEX member_by_time ON member (journey, started_at, session);

-- The words of summaries, cut and stemmed as in the text index.
CREATE VIRTUAL TABLE recounted USING fts5 (summary, tokenize = 'unicode61 remove_diacritics 0');

-- A summary tells what was observed, so an observation that comes or goes makes it old.
CREATE TRIGGER observation_came AFTER INSERT ON observation BEGIN
    UPDATE member SET mark = '' WHERE session = new.session AND mark IS NOT NULL;
END;
CREATE TRIGGER observation_went AFTER DELETE ON observation BEGIN
    UPDATE member SET mark = '' WHERE session = old.session AND mark IS NOT NULL;
END;

-- `metadata` is JSON, as it was given.
CREATE TABLE document (
    key        INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE,
    journey    BLOB NOT NULL,
    type       TEXT NOT NULL,
    title      TEXT,
    content    TEXT,
    metadata   TEXT,
    created_at INTEGER NOT NULL
);
CREATE INDEX document_by_time ON document (journey, created_at);
