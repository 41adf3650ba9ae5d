-- Sessions of which nothing may be kept. What their sub-agents wrote is as private as they are, whenever it is read.
CREATE TABLE private (
    session BLOB PRIMARY KEY
) WITHOUT ROWID;
