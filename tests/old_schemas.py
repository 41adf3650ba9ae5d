"""SQL that changes a database back to an earlier schema, for tests that open older state folders."""

ARCHIVE_9 = """
DROP TABLE tombstone;
ALTER TABLE link DROP COLUMN is_fork;
PRAGMA user_version = 9;
"""
ARCHIVE_8 = f"""
{ARCHIVE_9}
DROP TABLE session_count;
DROP TABLE session_usage;
DROP TABLE file_change;
DROP TABLE file_path;
DROP INDEX turn_by_start;
DROP INDEX session_by_tokens;
DROP INDEX session_by_events;
DROP INDEX session_by_project;
ALTER TABLE session DROP COLUMN tokens;
DELETE FROM meta WHERE name IN ('files_pending', 'files_recorded');
PRAGMA user_version = 8;
"""
ARCHIVE_7 = f"""
{ARCHIVE_8}
UPDATE meta SET name = 'live' WHERE name = 'published';
ALTER TABLE session_metadata RENAME COLUMN metadata TO about;
ALTER TABLE session_metadata RENAME TO about;
ALTER TABLE log_overlap RENAME TO shared;
ALTER TABLE session_prefix RENAME TO earlier;
ALTER TABLE private_session RENAME TO private;
ALTER TABLE event_title RENAME TO named;
ALTER TABLE removed_event RENAME TO gone;
PRAGMA user_version = 7;
"""
ARCHIVE_6 = f"""
{ARCHIVE_7}
UPDATE event SET flags = flags & ~4;
ALTER TABLE turn DROP COLUMN estimated;
ALTER TABLE session DROP COLUMN estimated;
PRAGMA user_version = 6;
"""
MEMORY_4 = """
DROP TABLE label;
DROP TABLE note;
DROP TABLE review;
PRAGMA user_version = 4;
"""
MEMORY_3 = f"""
{MEMORY_4}
UPDATE meta SET name = 'level' WHERE name = 'distilled';
UPDATE meta SET name = 'authored' WHERE name = 'journaled';
DROP TRIGGER observation_added;
DROP TRIGGER observation_removed;
CREATE TRIGGER observation_came AFTER INSERT ON observation BEGIN
    UPDATE member SET mark = '' WHERE session = new.session AND mark IS NOT NULL;
END;
CREATE TRIGGER observation_went AFTER DELETE ON observation BEGIN
    UPDATE member SET mark = '' WHERE session = old.session AND mark IS NOT NULL;
END;
ALTER TABLE tag RENAME COLUMN kind TO noun;
ALTER TABLE observed_session RENAME TO looked;
ALTER TABLE observed_turn RENAME TO observed;
ALTER TABLE summary_text RENAME TO recounted;
ALTER TABLE observation_text RENAME TO told;
PRAGMA user_version = 3;
"""
MEMORY_2 = f"""
{MEMORY_3}
ALTER TABLE observation DROP COLUMN estimated;
ALTER TABLE member DROP COLUMN estimated;
PRAGMA user_version = 2;
"""
LIVE_2 = """
ALTER TABLE session RENAME COLUMN runner_state TO kept;
PRAGMA user_version = 2;
"""
