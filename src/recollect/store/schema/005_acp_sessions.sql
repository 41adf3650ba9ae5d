-- The sessions of agents that ran turns of live sessions. `native_id` is the agent's id of its session, also in its log.
CREATE TABLE acp_session (
    native_id TEXT PRIMARY KEY,
    session   BLOB NOT NULL
) WITHOUT ROWID;

-- The live session that has every turn of this session; NULL if there is none. Lists leave duplicates out.
ALTER TABLE session ADD COLUMN duplicate_of BLOB;
CREATE INDEX session_by_duplicate ON session (duplicate_of) WHERE duplicate_of IS NOT NULL;
