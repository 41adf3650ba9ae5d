-- Hashes of the ids of forgotten sessions and of their events, which logs must not bring back. They hold no text.
CREATE TABLE tombstone (
    hash INTEGER PRIMARY KEY
);

-- Whether a session continues its parent or was forked from it. Otherwise it is a sub-agent, which is forgotten with its parent.
ALTER TABLE link ADD COLUMN is_fork INTEGER NOT NULL DEFAULT 0;
