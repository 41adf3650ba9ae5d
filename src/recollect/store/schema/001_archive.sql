-- The archive of a realm. Times are milliseconds since 1970, ids are 16 bytes, sequence numbers count from 0.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- The identity of this archive. An index stores the identity of the archive that it was built from.
INSERT INTO meta VALUES ('identity', lower(hex(randomblob(16))));

-- Tool, model and project names: few, and repeated in every event.
CREATE TABLE word (
    key  INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
);

CREATE TABLE session (
    key         INTEGER PRIMARY KEY AUTOINCREMENT,
    id          BLOB NOT NULL UNIQUE,
    source      TEXT NOT NULL,
    native_id   TEXT NOT NULL,
    path        TEXT NOT NULL,
    title       TEXT NOT NULL,
    title_rank  INTEGER NOT NULL,
    started_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    completed   INTEGER NOT NULL,
    turn_count  INTEGER NOT NULL,
    event_count INTEGER NOT NULL,
    mode        TEXT NOT NULL,
    cwd         TEXT,
    branch      TEXT,
    project     TEXT,
    model       TEXT,
    usage       TEXT NOT NULL,
    redactions  TEXT NOT NULL
);
CREATE INDEX session_by_update ON session (updated_at, id);
CREATE INDEX session_by_start ON session (started_at, id);
CREATE INDEX session_by_path ON session (path);

-- Which session started which sub-agent. A link may be stored before either session is.
CREATE TABLE link (
    child  BLOB PRIMARY KEY,
    parent BLOB NOT NULL,
    call   TEXT
) WITHOUT ROWID;
CREATE INDEX link_by_parent ON link (parent);

-- prompt, answer, terminal and last are seq numbers of events.
CREATE TABLE turn (
    session     INTEGER NOT NULL,
    ordinal     INTEGER NOT NULL,
    started_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    event_count INTEGER NOT NULL,
    opened      INTEGER NOT NULL,
    prompt      INTEGER,
    answer      INTEGER,
    terminal    INTEGER,
    stop        TEXT,
    last        INTEGER NOT NULL,
    tools       TEXT NOT NULL,
    kinds       TEXT NOT NULL,
    usage       TEXT NOT NULL,
    PRIMARY KEY (session, ordinal)
) WITHOUT ROWID;

-- A row is never changed: an event that moves is removed and inserted under a new key. So every event that an index does
-- not have is above its watermark. body: text, or a blob with compressed text. The body of a tool call is JSON.
CREATE TABLE event (
    key       INTEGER PRIMARY KEY AUTOINCREMENT,
    id        BLOB NOT NULL UNIQUE,
    session   INTEGER NOT NULL,
    turn      INTEGER NOT NULL,
    seq       INTEGER NOT NULL,
    kind      INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    line      INTEGER NOT NULL,
    flags     INTEGER NOT NULL,
    tool      INTEGER,
    model     INTEGER,
    answers   INTEGER,
    exit_code INTEGER,
    usage     TEXT,
    body      BLOB NOT NULL
);
CREATE INDEX event_by_turn ON event (session, turn, seq);

-- Keys of removed events that an index may still have.
CREATE TABLE gone (
    key INTEGER PRIMARY KEY
);

-- Titles that refer to an event instead of a session. The event may be in another log, read earlier or later.
CREATE TABLE named (
    event BLOB PRIMARY KEY,
    title TEXT NOT NULL,
    rank  INTEGER NOT NULL
) WITHOUT ROWID;

-- How far each log was read, and the state that is needed to continue.
CREATE TABLE cursor (
    path     TEXT PRIMARY KEY,
    source   TEXT NOT NULL,
    session  BLOB,
    size     INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    inode    INTEGER NOT NULL,
    offset   INTEGER NOT NULL,
    line     INTEGER NOT NULL,
    crc      INTEGER NOT NULL,
    state    BLOB,
    tally    TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX cursor_by_session ON cursor (session);

CREATE TABLE problem (
    path    TEXT NOT NULL,
    line    INTEGER NOT NULL,
    source  TEXT NOT NULL,
    reason  TEXT NOT NULL,
    excerpt TEXT NOT NULL,
    PRIMARY KEY (path, line, reason)
) WITHOUT ROWID;
