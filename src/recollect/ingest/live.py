"""Reads live sessions into the archive, starting at a cursor, like a log of lines."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from zlib import crc32

import msgspec

from recollect.ingest.admit import Excluded, Private, remove_excluded
from recollect.ingest.commit import SessionUpdater
from recollect.ingest.discover import Log
from recollect.ingest.indexing import Indexer
from recollect.ingest.lines import NO_STATE, put_log_problem
from recollect.ingest.log_identity import CursorState
from recollect.ingest.report import SyncReport
from recollect.ingest.tally import tally_of
from recollect.ingest.transaction import BatchTransaction
from recollect.model import Entry, Problem, path_text, session_id
from recollect.settings import Settings
from recollect.sources import READ_ERRORS, STORE_ERRORS, Stamp, describe_error
from recollect.sources.formats.jsonl import EXCERPT
from recollect.sources.recollect import FORMAT, SOURCE, Message, metadata_of, read_message
from recollect.store import Cursor, OutOfDate, Reader, Writer, archive_path
from recollect.store.live import Live, LiveRow
from recollect.store.transcripts import transcript_path

BATCH = 1_000  # messages that are read at once

_MESSAGE = msgspec.json.Decoder(Message)


def published_change(realm: Path) -> int:
    """The last change of the live sessions that the archive has."""
    try:
        with Reader(archive_path(realm)) as reader:
            return reader.archive_state().published
    except OutOfDate:
        return 0


class LiveReader:
    """One live session that has changed."""

    def __init__(self, archive: Writer, indexer: Indexer, settings: Settings, live: Live, row: LiveRow) -> None:
        self.archive = archive
        self.live = live
        self.row = row
        path = transcript_path(live.path.parent.parent, row.id)
        self.name = path.stem
        if not path.exists():
            path = live.path.with_name(self.name)  # not a file: the path only names the session
        stamp = Stamp(row.messages, row.updated_at * 1_000_000, 0)
        self.updater = SessionUpdater(archive, indexer, settings, Log(SOURCE, FORMAT, path, stamp))
        session = session_id(SOURCE.name, self.name)
        known = archive.cursor(path_text(path))
        if known is not None and not self._is_valid(known):
            archive.empty_session(session, known.path)
            known = None
        self.cursor = known or Cursor(path=path_text(path), source=SOURCE.name, session=session)
        if known is not None and known.state is not None:
            self.updater.states = msgspec.msgpack.decode(known.state, type=CursorState).sessions

    def _is_valid(self, cursor: Cursor) -> bool:
        """Whether the last message that was read still exists. A person may have cut the transcript file."""
        last = self.live.messages(self.row.id, cursor.line - 1, 1) if cursor.line else [b""]
        return [crc32(body) for body in last] == [cursor.crc]

    def read(self, transaction: BatchTransaction, report: SyncReport) -> None:
        """Store the new messages of the session."""
        report.files_read += 1
        self.archive.put_acp_sessions(self.row.id, self.row.native_ids)
        title = None
        if self.row.continues is not None:
            continued = bytes.fromhex(self.row.continues)
            self.archive.put_link(self.row.id, continued, None, is_fork=True)
            title = self.archive.session_title(continued)
        is_private = self.cursor.line > 0 and self.archive.is_private(self.row.id)  # by an earlier message
        while bodies := self.live.messages(self.row.id, self.cursor.line, BATCH):
            entries: list[Entry] = [metadata_of(self.name, self.row.folder, title)]
            for number, body in enumerate(bodies, self.cursor.line + 1):
                entries += self._entries(number, body)
            self.cursor.line += len(bodies)
            self.cursor.crc = crc32(bodies[-1])
            report.lines += len(bodies)
            report.bytes += sum(map(len, bodies))
            try:
                if is_private:
                    raise Private
                with self.archive.undo_on(*STORE_ERRORS):
                    events = self.updater.append(entries, self.name, report)
            except STORE_ERRORS as reason:
                put_log_problem(self.archive, self.updater.log, reason, report)
                return
            except Excluded as reason:
                is_private = isinstance(reason, Private)
                remove_excluded(self.archive, self.row.id, self.cursor.path, reason)
                events, self.updater.states = 0, {}
            self.cursor.tally = dict(Counter(self.cursor.tally) + tally_of(entries))
            self.cursor.state = msgspec.msgpack.encode(CursorState(source_state=NO_STATE, sessions=self.updater.states))
            self.archive.put_cursor(self.cursor)
            transaction.commit_when_due(events)

    def _entries(self, number: int, body: bytes) -> Iterable[Entry]:
        """The entries of a message. A message that a person edited may become a problem; reading continues."""
        try:
            return list(read_message(self.name, number, _MESSAGE.decode(body)))
        except (msgspec.MsgspecError, *READ_ERRORS) as reason:
            excerpt = body[:EXCERPT].decode("utf-8", "replace")
            return (Problem(self.updater.log.path, number, describe_error(reason), excerpt),)
