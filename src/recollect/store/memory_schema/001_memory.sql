-- What is remembered of sessions: observations. Beside the archive, not in it: it has writers of its own, and what agents
-- recorded themselves cannot be read from any log again. Sessions and events are named by their ids.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

INSERT INTO meta VALUES ('identity', lower(hex(randomblob(16))));

-- A row is never changed: an observation that became another one comes back under a new key, so that everything an index
-- has not seen lies above its watermark. Lists are JSON; `evidence` holds event ids of 16 bytes, one after the other.
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

-- Concepts and files, to filter by. `name` is folded: a concept, or the last part of a path.
CREATE TABLE tag (
    noun        TEXT NOT NULL,
    name        TEXT NOT NULL,
    value       TEXT NOT NULL,
    observation INTEGER NOT NULL,
    PRIMARY KEY (noun, name, observation, value)
) WITHOUT ROWID;
CREATE INDEX tag_by_observation ON tag (observation);

-- The words of observations, cut and stemmed as in the text index; `around` are those of their turn.
CREATE VIRTUAL TABLE told USING fts5 (title, facts, narrative, around, tokenize = 'unicode61 remove_diacritics 0');

-- Which turns have been looked at, and as what: a turn whose mark is another one now is looked at again.
CREATE TABLE observed (
    session BLOB NOT NULL,
    turn    INTEGER NOT NULL,
    mark    INTEGER NOT NULL,
    PRIMARY KEY (session, turn)
) WITHOUT ROWID;

-- Which sessions have been looked at, and as what.
CREATE TABLE looked (
    session BLOB PRIMARY KEY,
    mark    INTEGER NOT NULL
) WITHOUT ROWID;

-- Which turns a model has read, and what that cost in tokens.
CREATE TABLE extracted (
    session BLOB NOT NULL,
    turn    INTEGER NOT NULL,
    mark    INTEGER NOT NULL,
    model   TEXT NOT NULL,
    tokens  INTEGER NOT NULL,
    PRIMARY KEY (session, turn, model)
) WITHOUT ROWID;
