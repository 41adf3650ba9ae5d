-- Hashes of the ids of forgotten sessions and of their events, which logs must not bring back. They hold no text.
CREATE TABLE tombstone (
    hash INTEGER PRIMARY KEY
);

-- Whether a session continues its parent or was forked from it. Otherwise it is a sub-agent, which is forgotten with its parent.
ALTER TABLE link ADD COLUMN is_fork INTEGER NOT NULL DEFAULT 0;
-- Sessions that are certainly not sub-agents: these have the id of the session that started them, and a slash.
UPDATE link
   SET is_fork = 1
 WHERE call IS NULL
   AND child IN (SELECT id FROM session
                  WHERE source IN ('claude-code', 'kimi', 'qwen-code', 'amp') AND native_id NOT LIKE '%/%');
