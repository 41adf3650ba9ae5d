-- Labels of sessions, and notes on sessions and events. Sessions and events have ids of 16 bytes.
CREATE TABLE label (
    session BLOB NOT NULL,
    name    TEXT NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (session, name)
) WITHOUT ROWID;
CREATE INDEX label_by_name ON label (name, session);

-- `target` is a session or an event; `session` is the session, or that of the event.
CREATE TABLE note (
    target  BLOB PRIMARY KEY,
    session BLOB NOT NULL,
    text    TEXT NOT NULL,
    at      INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX note_by_session ON note (session);

-- What people decided about observations, by the observation's id. `content` is a JSON object: the observation as it was
-- before it was edited or retired; NULL if it was confirmed or deleted. The rules leave edited, retired and deleted ones alone.
CREATE TABLE review (
    observation BLOB PRIMARY KEY,
    session     BLOB NOT NULL,
    verdict     TEXT NOT NULL,
    reviewer    TEXT NOT NULL,
    at          INTEGER NOT NULL,
    content     TEXT
) WITHOUT ROWID;
CREATE INDEX review_by_session ON review (session);
