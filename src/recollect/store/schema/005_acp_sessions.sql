-- The sessions of agents that ran turns of our live sessions: `native_id` is what the agent calls it, also in its own log.
CREATE TABLE acp_session (
    native_id TEXT PRIMARY KEY,
    session   BLOB NOT NULL
) WITHOUT ROWID;

-- The live session that has every turn of this log; NULL of all others. Lists leave such a log out.
ALTER TABLE session ADD COLUMN duplicate_of BLOB;
CREATE INDEX session_by_duplicate ON session (duplicate_of) WHERE duplicate_of IS NOT NULL;
