-- Tables and meta rows get the names that the code uses. Their content stays as it is.
ALTER TABLE gone RENAME TO removed_event;         -- keys of removed events that an index may still have
ALTER TABLE named RENAME TO event_title;          -- titles that refer to an event instead of a session
ALTER TABLE private RENAME TO private_session;    -- sessions that must not be stored
ALTER TABLE earlier RENAME TO session_prefix;     -- the part of a session that its log no longer holds
ALTER TABLE shared RENAME TO log_overlap;         -- logs that hold the same records
ALTER TABLE about RENAME TO session_metadata;     -- what one log says about a session that another log holds
ALTER TABLE session_metadata RENAME COLUMN about TO metadata;

UPDATE meta SET name = 'published' WHERE name = 'live';
