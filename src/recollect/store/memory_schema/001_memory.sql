-- The memory: observations of sessions. It is a separate database, because it has other writers than the archive, and no
-- log has the observations that agents recorded. Rows refer to sessions and events by their ids.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

INSERT INTO meta VALUES ('identity', lower(hex(randomblob(16))));

-- A row is never changed: a changed observation is inserted under a new key. So every row that an index does not have is
-- above its watermark. Lists are JSON. `evidence` has event ids of 16 bytes, one after the other.
CREATE TABLE observation (
    key            INTEGER PRIMARY KEY AUTOINCREMENT,
    id             BLOB NOT NULL UNIQUE,
    session        BLOB NOT NULL,
    turn           INTEGER NOT NULL,
    made_by        TEXT NOT NULL,
    type           TEXT NOT NULL,
    at             INTEGER NOT NULL,
    project        TEXT,
    path           TEXT NOT NULL,
    first_line     INTEGER NOT NULL,
    last_line      INTEGER NOT NULL,
    title          TEXT NOT NULL,
    subtitle       TEXT NOT NULL,
    narrative      TEXT NOT NULL,
    facts          TEXT NOT NULL,
    concepts       TEXT NOT NULL,
    files_read     TEXT NOT NULL,
    files_modified TEXT NOT NULL,
    evidence       BLOB NOT NULL
);
CREATE INDEX observation_by_turn ON observation (session, turn);
CREATE INDEX observation_by_time ON observation (at);
CREATE INDEX observation_by_project ON observation (project COLLATE NOCASE, at);

-- Concepts and files, for filters. `name` is case-folded: a concept, or the last part of a path.
CREATE TABLE tag (
    noun        TEXT NOT NULL,
    name        TEXT NOT NULL,
    value       TEXT NOT NULL,
    observation INTEGER NOT NULL,
    PRIMARY KEY (noun, name, observation, value)
) WITHOUT ROWID;
CREATE INDEX tag_by_observation ON tag (observation);

-- The words of observations, split and stemmed as in the text index. `around` has the words of their turn.
CREATE VIRTUAL TABLE told USING fts5 (title, facts, narrative, around, tokenize = 'unicode61 remove_diacritics 0');

-- Turns that the rules have read, with the mark of that moment. A turn with a different mark is read again.
CREATE TABLE observed (
    session BLOB NOT NULL,
    turn    INTEGER NOT NULL,
    mark    INTEGER NOT NULL,
    PRIMARY KEY (session, turn)
) WITHOUT ROWID;

-- Sessions that the rules have read, with the mark of that moment.
CREATE TABLE looked (
    session BLOB PRIMARY KEY,
    mark    INTEGER NOT NULL
) WITHOUT ROWID;

-- Turns that a model has read, and the number of tokens that it used.
CREATE TABLE extracted (
    session BLOB NOT NULL,
    turn    INTEGER NOT NULL,
    mark    INTEGER NOT NULL,
    model   TEXT NOT NULL,
    tokens  INTEGER NOT NULL,
    PRIMARY KEY (session, turn, model)
) WITHOUT ROWID;
