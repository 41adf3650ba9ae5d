-- Metadata that one log states about a session of another log, such as its title, as JSON. Either log may be read first.
CREATE TABLE about (
    session BLOB NOT NULL,
    path    TEXT NOT NULL,
    about   TEXT NOT NULL,
    PRIMARY KEY (session, path)
) WITHOUT ROWID;
