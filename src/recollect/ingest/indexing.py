"""Keeps the text index level with the archive, whatever happened to either."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from recollect.assemble import call_text
from recollect.index.engine import COMMITTED
from recollect.index.place import Place
from recollect.index.text import TEXT, TextDocument, TextWriter
from recollect.model import KIND_CODE, OWN_TRAFFIC_CODE, SEARCHABLE, Event, Kind
from recollect.store import EventRow, Reader, Writer, archive_of

COMMIT_EVERY = 250_000  # documents: a crash in a first sync costs at most this much indexing again
LARGE = 1 << 20  # characters of a text from which on it is released before the index, too, has copies of it
COMMIT_CHARACTERS = 64 << 20  # of text: what waits for the index in memory, where it is slower than we are


class Indexer:
    """Opens the index when there is something to write, and commits it after the archive has committed."""

    def __init__(self, realm: Path, archive: Writer) -> None:
        self.realm = realm
        self.archive = archive
        self._writer: TextWriter | None = None
        self._pending = 0
        self._characters = 0

    def is_level(self) -> bool:
        """Whether the index has everything, as far as can be told without opening it."""
        in_place = (TEXT.folder(self.realm) / COMMITTED).exists()
        return in_place and self.archive.watermark() == self.archive.last_key() and not self.archive.gone()

    def open(self) -> TextWriter:
        """The writer, after it has caught up with all that the archive committed without it."""
        if self._writer is None:
            self._writer = TextWriter(self.realm, self.archive.identity(), self._admit_empty)
            self._catch_up(self._writer)
        return self._writer

    def _admit_empty(self) -> None:
        """Say that nothing is findable, before the new index is there: whoever sees that one then knows."""
        self.archive.put_watermark(0, [])

    def _catch_up(self, writer: TextWriter) -> None:
        mark = self.archive.watermark()
        if mark == self.archive.last_key():
            return
        if not writer.is_new:
            writer.remove_above(mark)
        reader = Reader(archive_of(self.realm))
        try:
            for rows in reader.entries_above(mark, len(SEARCHABLE)):
                self._hand_over(
                    writer, (_stored(event, source, project) for event, source, project, _ in rows if event.body)
                )
                if self.is_full():
                    self._commit(rows[-1][0].key, [])
        finally:
            reader.close()
        self._commit(self.archive.last_key(), [])

    def add(self, first_key: int, session: int, events: Iterable[Event], source: str, project: str | None) -> None:
        """Hand over events that the archive has just taken, before they are committed there. The index is open.

        A large event is released here: it loses its text and its arguments.
        """
        assert self._writer is not None
        entries = (
            _entry(key, session, event, _release(event), source, project)
            for key, event in enumerate(events, first_key)
            if event.kind is not Kind.UNKNOWN and (event.text or event.kind is Kind.TOOL_CALL)
        )
        self._hand_over(self._writer, entries)

    def _hand_over(self, writer: TextWriter, entries: Iterable[TextDocument]) -> None:
        """One by one, so that no more than one text is copied at a time."""
        for entry in entries:
            self._pending += 1
            self._characters += len(entry.text)
            writer.add([entry])

    def is_full(self) -> bool:
        """Whether so much was handed over that it should be committed before there is more."""
        return self._pending >= COMMIT_EVERY or self._characters >= COMMIT_CHARACTERS

    def commit(self, *, force: bool = False) -> None:
        """Make what the archive has committed findable; small amounts wait unless forced."""
        if not force and not self.is_full():
            return
        gone = self.archive.gone()
        if self._pending or gone or not self.is_level():
            self.open().remove("key", gone)
            self._commit(self.archive.last_key(), gone)

    def _commit(self, key: int, gone: list[int]) -> None:
        assert self._writer is not None
        self._writer.commit()
        self.archive.put_watermark(key, gone)
        self._pending = self._characters = 0

    def start_over(self) -> None:
        """Throw the index away and make it anew from the archive."""
        self.close()
        self._admit_empty()
        TEXT.remove(self.realm)
        self.open()

    def abandon(self) -> None:
        """The archive has rolled back: forget what was handed over. The next `open` catches up from the last commit."""
        writer, self._writer, self._pending, self._characters = self._writer, None, 0, 0
        if writer is not None:
            with suppress(ValueError, OSError):  # what made the archive fail may fail the index too
                writer.rollback()

    def reopen(self) -> None:
        """Take over what the archive committed without us. Nothing may be waiting to be committed."""
        self.close()
        self.open()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _release(event: Event) -> str:
    """The text of an event for the index. A large one is not kept in the event: the engine makes three copies of it."""
    text = call_text(event.tool, event.arguments) if event.kind is Kind.TOOL_CALL else event.text
    if len(text) > LARGE:
        event.text, event.arguments = "", None
    return text


def _stored(event: EventRow, source: str, project: str | None) -> TextDocument:
    text = call_text(event.tool, event.arguments()) if event.kind is Kind.TOOL_CALL else event.text()
    return _entry(event.key, event.session, event, text, source, project)


def _entry(key: int, session: int, event: Event | EventRow, text: str, source: str, project: str | None) -> TextDocument:
    return TextDocument(
        place=Place(key, session, event.turn, event.seq, event.at, KIND_CODE[event.kind] + OWN_TRAFFIC_CODE * event.own),
        source=source,
        project=project or "",
        text=text,
    )
