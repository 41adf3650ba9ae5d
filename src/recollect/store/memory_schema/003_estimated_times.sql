-- Whether the times of a turn or a session are estimated: its log has none, so the date of its file is shown.
ALTER TABLE observation ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0;
ALTER TABLE member ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0;

-- Turns with estimated times are read again, and so are the sessions of journeys.
DELETE FROM meta WHERE name = 'level';
UPDATE member SET mark = '' WHERE mark IS NOT NULL;
