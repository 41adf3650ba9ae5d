-- Journeys: the sessions and documents of one person's work. No log has them, so they cannot be derived again.

CREATE TABLE journey (
    id         BLOB PRIMARY KEY,
    user       BLOB UNIQUE,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

-- A session of a journey, and its summary. `mark` is the state of the session that the summary was generated from. It is ''
-- if the summary is outdated, and NULL if the archive does not have the session. Then `started_at` is NULL too, and the
-- session is not shown. `own` is 1 if the caller supplied the summary. `diagnosed` is NULL unless the caller supplied it.
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

-- The words of summaries, split and stemmed as in the text index.
CREATE VIRTUAL TABLE recounted USING fts5 (summary, tokenize = 'unicode61 remove_diacritics 0');

-- A summary is generated from observations, so it is outdated when one is added or removed.
CREATE TRIGGER observation_came AFTER INSERT ON observation BEGIN
    UPDATE member SET mark = '' WHERE session = new.session AND mark IS NOT NULL;
END;
CREATE TRIGGER observation_went AFTER DELETE ON observation BEGIN
    UPDATE member SET mark = '' WHERE session = old.session AND mark IS NOT NULL;
END;

-- `metadata` is JSON, unchanged from the request.
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
