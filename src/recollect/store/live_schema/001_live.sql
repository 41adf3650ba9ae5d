-- Live sessions: what was committed of them, and the turns that are running.

CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE session (
    id          BLOB PRIMARY KEY,   -- 128 bits
    created_at  INTEGER NOT NULL,   -- milliseconds since 1970
    updated_at  INTEGER NOT NULL,
    labels      TEXT NOT NULL,      -- a JSON object of strings
    runner      TEXT NOT NULL,      -- who runs its turns
    command     TEXT,               -- a JSON array: a program and its arguments
    folder      TEXT NOT NULL,      -- where it works
    kept        TEXT NOT NULL,      -- a JSON object: what the runner wants to be given again
    instance    TEXT NOT NULL,      -- who wrote last
    generation  INTEGER NOT NULL,   -- of the realm's config, then
    turns       INTEGER NOT NULL DEFAULT 0,
    messages    INTEGER NOT NULL DEFAULT 0,
    events      INTEGER NOT NULL DEFAULT 0,   -- that were streamed, over all turns
    usage       TEXT NOT NULL,      -- a JSON object
    archived_at INTEGER,            -- the verdict; it is never taken back
    changed     INTEGER NOT NULL,   -- the count of all changes when this one did
    bytes       INTEGER NOT NULL DEFAULT 0    -- of its file, where the realm keeps files
) WITHOUT ROWID;

CREATE INDEX session_by_change ON session (changed);
CREATE INDEX session_by_time ON session (archived_at, updated_at);

CREATE TABLE message (
    session BLOB NOT NULL,
    seq     INTEGER NOT NULL,       -- from 0
    body    BLOB NOT NULL,          -- JSON
    PRIMARY KEY (session, seq)
) WITHOUT ROWID;

CREATE TABLE running (
    session   BLOB PRIMARY KEY,     -- one turn of a session at a time
    token     BLOB NOT NULL,        -- of this turn: whoever holds it may commit
    holder    TEXT NOT NULL,        -- whose lease it stands under
    turn      INTEGER NOT NULL,     -- from 1
    began_at  INTEGER NOT NULL,
    prompt    TEXT NOT NULL,
    child     TEXT NOT NULL DEFAULT '',     -- the process group of the runner, and when it began
    cancelled INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE lease (
    holder   TEXT PRIMARY KEY,      -- a process; several may have the same instance's name
    instance TEXT NOT NULL,
    surface  TEXT NOT NULL,
    pid      INTEGER NOT NULL,
    began_at INTEGER NOT NULL,
    boot     TEXT NOT NULL,         -- which start of the machine the beat counts from
    beat     INTEGER NOT NULL       -- milliseconds of its steady clock, which no change of date can move
) WITHOUT ROWID;

INSERT INTO meta VALUES ('changes', '0');
