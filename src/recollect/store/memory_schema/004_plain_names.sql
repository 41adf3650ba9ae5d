-- Tables, triggers and meta rows get the names that the code uses. Their content stays as it is.
ALTER TABLE told RENAME TO observation_text;      -- the words of observations
ALTER TABLE recounted RENAME TO summary_text;     -- the words of session summaries
ALTER TABLE observed RENAME TO observed_turn;     -- turns that the rules have read, with the turn's mark of that moment
ALTER TABLE looked RENAME TO observed_session;    -- sessions that the rules have read, with their mark
ALTER TABLE tag RENAME COLUMN noun TO kind;       -- 'concept' or 'file'

DROP TRIGGER observation_came;
DROP TRIGGER observation_went;
CREATE TRIGGER observation_added AFTER INSERT ON observation BEGIN
    UPDATE member SET mark = '' WHERE session = new.session AND mark IS NOT NULL;
END;
CREATE TRIGGER observation_removed AFTER DELETE ON observation BEGIN
    UPDATE member SET mark = '' WHERE session = old.session AND mark IS NOT NULL;
END;

UPDATE meta SET name = 'distilled' WHERE name = 'level';
UPDATE meta SET name = 'journaled' WHERE name = 'authored';
