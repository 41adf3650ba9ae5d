-- Live sessions: their committed messages, the running turns, and the leases of processes.

CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE session (
    id          BLOB PRIMARY KEY,   -- 128 bits
    created_at  INTEGER NOT NULL,   -- milliseconds since 1970
    updated_at  INTEGER NOT NULL,
    labels      TEXT NOT NULL,      -- a JSON object of strings
    runner      TEXT NOT NULL,      -- the name of the runner of its turns
    command     TEXT,               -- a JSON array: a program and its arguments
    folder      TEXT NOT NULL,      -- its working folder
    kept        TEXT NOT NULL,      -- a JSON object: the state that the runner needs to continue
    instance    TEXT NOT NULL,      -- the instance that wrote it last
    generation  INTEGER NOT NULL,   -- of the config of the realm when it was written
    turns       INTEGER NOT NULL DEFAULT 0,
    messages    INTEGER NOT NULL DEFAULT 0,
    events      INTEGER NOT NULL DEFAULT 0,   -- the number of events that all its turns streamed
    usage       TEXT NOT NULL,      -- a JSON object
    archived_at INTEGER,            -- NULL unless it is archived; archiving is final
    changed     INTEGER NOT NULL,   -- the number of its last change, counted over all sessions
    bytes       INTEGER NOT NULL DEFAULT 0    -- the size of its file in a jsonl realm
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
    token     BLOB NOT NULL,        -- of this turn: only a process with it may commit
    holder    TEXT NOT NULL,        -- the lease of the process that runs it
    turn      INTEGER NOT NULL,     -- from 1
    began_at  INTEGER NOT NULL,
    prompt    TEXT NOT NULL,
    child     TEXT NOT NULL DEFAULT '',     -- the process group of the runner, and its start time
    cancelled INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE lease (
    holder   TEXT PRIMARY KEY,      -- a process; several processes may have the same instance name
    instance TEXT NOT NULL,
    surface  TEXT NOT NULL,
    pid      INTEGER NOT NULL,
    began_at INTEGER NOT NULL,
    boot     TEXT NOT NULL,         -- identifies the boot of the machine that the beat counts from
    beat     INTEGER NOT NULL       -- milliseconds of the monotonic clock, which a change of the date does not affect
) WITHOUT ROWID;

INSERT INTO meta VALUES ('changes', '0');
