-- A JSON array: what the agents that ran its turns call the session, also in their own logs.
ALTER TABLE session ADD COLUMN native_ids TEXT NOT NULL DEFAULT '[]';
