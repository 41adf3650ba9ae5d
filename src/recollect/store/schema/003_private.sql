-- Sessions that must not be stored. Their sub-agents are private too, even if they are read later.
CREATE TABLE private (
    session BLOB PRIMARY KEY
) WITHOUT ROWID;
