-- What one log says of a session that another log tells, such as its title: `about` is JSON. Either may come first.
CREATE TABLE about (
    session BLOB NOT NULL,
    path    TEXT NOT NULL,
    about   TEXT NOT NULL,
    PRIMARY KEY (session, path)
) WITHOUT ROWID;
