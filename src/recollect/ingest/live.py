"""Live sessions on their way into the archive: read on from a cursor, as a log of lines is."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from zlib import crc32

import msgspec

from recollect.ingest.commit import Excluded, Grouped, Keeper, Private, leave_out
from recollect.ingest.discover import Log
from recollect.ingest.indexing import Indexer
from recollect.ingest.lines import refuse
from recollect.ingest.log_identity import Progress
from recollect.ingest.report import Report
from recollect.ingest.tally import tally_of
from recollect.model import Entry, Problem, path_text, session_id
from recollect.settings import Settings
from recollect.sources import READ_ERRORS, STORE_ERRORS, Stamp, describe_error
from recollect.sources.formats.jsonl import EXCERPT
from recollect.sources.recollect import FORMAT, SOURCE, Message, metadata_of, read_message
from recollect.store import Cursor, OutOfDate, Reader, Writer, archive_of
from recollect.store.live import Live, LiveRow
from recollect.store.sqlite.writer import PUBLISHED
from recollect.store.transcripts import file_of

BATCH = 1_000  # messages
NO_MEMORY = msgspec.Raw(b"\xc0")

_message = msgspec.json.Decoder(Message)


def level_of(realm: Path) -> int:
    """Up to which change of its live sessions a realm's archive is level."""
    try:
        with Reader(archive_of(realm)) as reader:
            return int(reader.meta(PUBLISHED) or 0)
    except OutOfDate:
        return 0


class LiveReader:
    """One live session that has changed."""

    def __init__(self, archive: Writer, indexer: Indexer, settings: Settings, live: Live, row: LiveRow) -> None:
        self.archive = archive
        self.live = live
        self.row = row
        path = file_of(live.path.parent.parent, row.id)
        self.name = path.stem
        if not path.exists():
            path = live.path.with_name(self.name)  # there is no such file; it is what the session is known by
        stamp = Stamp(row.messages, row.updated_at * 1_000_000, 0)
        self.keeper = Keeper(archive, indexer, settings, Log(SOURCE, FORMAT, path, stamp))
        session = session_id(SOURCE.name, self.name)
        known = archive.cursor(path_text(path))
        if known is not None and not self._is_read(known):
            archive.empty_session(session, known.path)
            known = None
        self.cursor = known or Cursor(path=path_text(path), source=SOURCE.name, session=session)
        if known is not None and known.state is not None:
            self.keeper.states = msgspec.msgpack.decode(known.state, type=Progress).sessions

    def _is_read(self, cursor: Cursor) -> bool:
        """Whether the last message that was read still stands where it did: somebody may have cut its file."""
        last = self.live.messages(self.row.id, cursor.line - 1, 1) if cursor.line else [b""]
        return [crc32(body) for body in last] == [cursor.crc]

    def read(self, transaction: Grouped, report: Report) -> None:
        report.files_read += 1
        self.archive.put_acp_sessions(self.row.id, self.row.native_ids)
        is_private = self.cursor.line > 0 and self.archive.is_private(self.row.id)  # by what was said before
        while bodies := self.live.messages(self.row.id, self.cursor.line, BATCH):
            entries: list[Entry] = [metadata_of(self.name, self.row.folder)]
            for number, body in enumerate(bodies, self.cursor.line + 1):
                entries += self._said(number, body)
            self.cursor.line += len(bodies)
            self.cursor.crc = crc32(bodies[-1])
            report.lines += len(bodies)
            report.bytes += sum(map(len, bodies))
            try:
                if is_private:
                    raise Private
                with self.archive.undone_by(*STORE_ERRORS):
                    events = self.keeper.keep(entries, self.name, report)
            except STORE_ERRORS as reason:
                refuse(self.archive, self.keeper.log, reason, report)
                return
            except Excluded as reason:
                is_private = isinstance(reason, Private)
                leave_out(self.archive, self.row.id, self.cursor.path, reason)
                events, self.keeper.states = 0, {}
            self.cursor.tally = dict(Counter(self.cursor.tally) + tally_of(entries))
            self.cursor.state = msgspec.msgpack.encode(Progress(memory=NO_MEMORY, sessions=self.keeper.states))
            self.archive.put_cursor(self.cursor)
            transaction.add(events + 1)

    def _said(self, number: int, body: bytes) -> Iterable[Entry]:
        """What a message says. One that somebody has edited into something else costs nothing but itself."""
        try:
            return list(read_message(self.name, number, _message.decode(body)))
        except (msgspec.MsgspecError, *READ_ERRORS) as reason:
            excerpt = body[:EXCERPT].decode("utf-8", "replace")
            return (Problem(self.keeper.log.path, number, describe_error(reason), excerpt),)
