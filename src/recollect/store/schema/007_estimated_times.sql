-- A log without times gets the date of its file. Flag 4 marks such events. Turns and sessions are marked if an event is.
ALTER TABLE turn ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0;

-- Events that were read before are marked if they have the date of their log, to the millisecond. If the log has at least
-- as many records without a time as the session has events, all events of the session are marked.
CREATE TEMP TABLE undated AS
SELECT path, mtime_ns / 1000000 AS at, json_extract(tally, '$.undated') AS records
  FROM cursor
 WHERE tally LIKE '%"undated":%';

UPDATE event
   SET flags = flags | 4
 WHERE EXISTS (SELECT 1 FROM undated JOIN session ON session.path = undated.path
                WHERE session.key = event.session AND event.at = undated.at)
   AND session IN (SELECT session.key FROM undated JOIN session ON session.path = undated.path);

UPDATE event
   SET flags = flags | 4
 WHERE session IN (SELECT session.key
                     FROM undated JOIN session ON session.path = undated.path AND session.event_count <= undated.records
                    WHERE EXISTS (SELECT 1 FROM event WHERE event.session = session.key AND event.flags & 4));

UPDATE turn
   SET estimated = 1
 WHERE session IN (SELECT session.key FROM undated JOIN session ON session.path = undated.path)
   AND EXISTS (SELECT 1 FROM event WHERE event.session = turn.session AND event.turn = turn.ordinal AND event.flags & 4);

UPDATE session
   SET estimated = 1
 WHERE key IN (SELECT session FROM turn WHERE estimated);

DROP TABLE undated;
