-- A JSON array: the ids of the session in the agents that ran its turns, and in their logs.
ALTER TABLE session ADD COLUMN native_ids TEXT NOT NULL DEFAULT '[]';
