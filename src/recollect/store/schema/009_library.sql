-- What the events of a session add up to, so that lists and sums read no events. Tool and model 0 stand for none.
CREATE TABLE session_count (
    session  INTEGER NOT NULL,
    kind     INTEGER NOT NULL,
    tool     INTEGER NOT NULL,
    model    INTEGER NOT NULL,
    events   INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    PRIMARY KEY (session, kind, tool, model)
) WITHOUT ROWID;

-- Tokens by quarter of an hour, which is the finest difference between time zones. `cost` is what the logs recorded, in
-- micro-dollars. Calls without a recorded cost have rows of their own, whose cost is estimated when it is asked for.
-- `cache_write_1h` is the part of `cache_write` that is cached for an hour.
CREATE TABLE session_usage (
    session        INTEGER NOT NULL,
    quarter        INTEGER NOT NULL,
    model          INTEGER NOT NULL,
    is_recorded    INTEGER NOT NULL,
    calls          INTEGER NOT NULL,
    input          INTEGER NOT NULL,
    output         INTEGER NOT NULL,
    cache_read     INTEGER NOT NULL,
    cache_write    INTEGER NOT NULL,
    reasoning      INTEGER NOT NULL,
    cost           INTEGER NOT NULL,
    cache_write_1h INTEGER NOT NULL,
    PRIMARY KEY (session, quarter, model, is_recorded)
) WITHOUT ROWID;

CREATE TABLE file_path (
    key  INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE
);

-- The files that tool calls read, changed, created and deleted. `added` and `removed` are lines; NULL if the log does not tell.
CREATE TABLE file_change (
    event     INTEGER NOT NULL,
    path      INTEGER NOT NULL,
    operation TEXT NOT NULL,
    session   INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    added     INTEGER,
    removed   INTEGER,
    PRIMARY KEY (event, path, operation)
) WITHOUT ROWID;
CREATE INDEX file_change_by_session ON file_change (session, path);
CREATE INDEX file_change_by_path ON file_change (path, at);
CREATE INDEX file_change_by_time ON file_change (at, event, path);

CREATE INDEX turn_by_start ON turn (started_at, session);

ALTER TABLE session ADD COLUMN tokens INTEGER GENERATED ALWAYS AS (
    coalesce(json_extract(usage, '$[0]'), 0) + coalesce(json_extract(usage, '$[1]'), 0)
    + coalesce(json_extract(usage, '$[2]'), 0) + coalesce(json_extract(usage, '$[3]'), 0)) VIRTUAL;
CREATE INDEX session_by_tokens ON session (tokens, id);
CREATE INDEX session_by_events ON session (event_count, id);
CREATE INDEX session_by_project ON session (project);

-- Flag 8 marks events that a live session also has. In earlier archives they are those of turns that are all our own traffic.
UPDATE event
   SET flags = flags | 8
 WHERE flags & 2
   AND session IN (SELECT key FROM session WHERE source <> 'recollect' AND native_id IN (SELECT native_id FROM acp_session))
   AND NOT EXISTS (SELECT 1 FROM event AS other
                    WHERE other.session = event.session AND other.turn = event.turn AND other.flags & 2 = 0);

INSERT INTO session_count
SELECT session, kind, coalesce(tool, 0), coalesce(model, 0), count(*), sum(flags & 1 OR coalesce(exit_code, 0) <> 0)
  FROM event
 GROUP BY session, kind, coalesce(tool, 0), coalesce(model, 0);

INSERT INTO session_usage
SELECT session, at / 900000, coalesce(model, 0), 0, count(*),
       sum(coalesce(json_extract(usage, '$[0]'), 0)), sum(coalesce(json_extract(usage, '$[1]'), 0)),
       sum(coalesce(json_extract(usage, '$[2]'), 0)), sum(coalesce(json_extract(usage, '$[3]'), 0)),
       sum(coalesce(json_extract(usage, '$[4]'), 0)), 0, 0
  FROM event
 WHERE usage IS NOT NULL AND flags & 8 = 0
 GROUP BY session, at / 900000, coalesce(model, 0);

-- The files of the sessions up to this key are not in `file_change` yet. The next sync records them.
INSERT INTO meta
SELECT 'files_pending', max(key) FROM session HAVING max(key) > 0;
