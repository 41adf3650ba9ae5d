"""Keeps the text index up to date with the archive, even after a crash or a deletion of the index."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from recollect.index.engine import COMMITTED, INDEXING_THREADS
from recollect.index.place import Place
from recollect.index.text import TEXT, TextDocument, TextWriter
from recollect.label import call_text
from recollect.model import KIND_CODE, OWN_TRAFFIC_CODE, SEARCHABLE, Event, Kind
from recollect.store import EventRow, Reader, Writer, archive_path

COMMIT_EVERY = 250_000  # documents: a crash in a first sync loses at most this much indexing
CHUNK = 2_000  # events that are read at once
LARGE = 1 << 20  # characters: larger texts are freed before the index copies them
COMMIT_CHARACTERS = 64 << 20  # of text that may wait in memory for the index


class Indexer:
    """Writes the text index. It opens the index when needed, and commits it after the archive has committed."""

    def __init__(self, realm: Path, archive: Writer) -> None:
        self.realm = realm
        self.archive = archive
        self._writer: TextWriter | None = None
        self._pending = 0
        self._characters = 0

    def is_up_to_date(self) -> bool:
        """Whether the index has all events of the archive. This does not open the index."""
        exists = (TEXT.folder(self.realm) / COMMITTED).exists()
        return exists and self.archive.watermark() == self.archive.last_key() and not self.archive.removed_keys()

    def open(self) -> TextWriter:
        """The index writer, after it has caught up with the archive."""
        if self._writer is None:
            self._writer = TextWriter(self.realm, self.archive.identity(), self._reset_watermark)
            self._catch_up(self._writer)
        return self._writer

    def _reset_watermark(self) -> None:
        """Set the watermark to 0 before a new index is created, so that no reader takes it for complete."""
        self.archive.put_watermark(0, [])

    def _catch_up(self, writer: TextWriter) -> None:
        watermark = self.archive.watermark()
        if watermark == self.archive.last_key():
            return
        if not writer.is_new:
            writer.remove_above(watermark)
        reader = Reader(archive_path(self.realm))
        try:
            for rows in reader.events_to_index(watermark, len(SEARCHABLE)):
                self._add(
                    writer, (_stored_document(event, source, project) for event, source, project, _ in rows if event.body)
                )
                if self.is_full():
                    self._commit(rows[-1][0].key, [])
        finally:
            reader.close()
        self._commit(self.archive.last_key(), [])

    def add(self, first_key: int, session: int, events: Iterable[Event], source: str, project: str | None) -> None:
        """Index events that were just stored and are not committed yet. The index must be open.

        A large event loses its text and its arguments here, to free memory.
        """
        assert self._writer is not None
        documents = (
            _document(key, session, event, _take_text(event), source, project)
            for key, event in enumerate(events, first_key)
            if event.kind is not Kind.UNKNOWN and (event.text or event.kind is Kind.TOOL_CALL)
        )
        self._add(self._writer, documents)

    def _add(self, writer: TextWriter, documents: Iterable[TextDocument]) -> None:
        """Add documents one by one, so that only one text is copied at a time."""
        for document in documents:
            self._pending += 1
            self._characters += len(document.text)
            writer.add([document])

    def is_full(self) -> bool:
        """Whether enough documents wait for a commit."""
        return self._pending >= COMMIT_EVERY or self._characters >= COMMIT_CHARACTERS

    def commit(self, *, force: bool = False) -> None:
        """Commit the index, so that committed events are searchable. Few documents wait unless `force` is set."""
        if not force and not self.is_full():
            return
        removed = self.archive.removed_keys()
        if self._pending or removed or not self.is_up_to_date():
            self.open().remove("key", removed)
            self._commit(self.archive.last_key(), removed)

    def _commit(self, key: int, removed: list[int]) -> None:
        assert self._writer is not None
        self._writer.commit()
        self.archive.put_watermark(key, removed)
        self._pending = self._characters = 0

    def rewrite_segments_with_deletions(self, on_step: Callable[[int, int], None]) -> None:
        """Write each segment that has deleted documents again, because it still has their words.

        `on_step(done, total)` is called while it is written. Readers see the old segments until all are written.
        """
        self.commit(force=True)
        self.close()
        writer = TextWriter(self.realm, self.archive.identity(), self._reset_watermark, INDEXING_THREADS)
        try:
            keys = writer.keys_beside_deleted()
            writer.remove("key", keys)
            with Reader(archive_path(self.realm)) as reader:
                for done, rows in enumerate(reader.events_to_index_again(keys, len(SEARCHABLE), CHUNK)):
                    on_step(done * CHUNK, len(keys))
                    writer.add(_stored_document(event, source, project) for event, source, project, _ in rows if event.body)
            writer.commit()
            writer.delete_old_files()
        finally:
            writer.close()

    def rebuild(self) -> None:
        """Delete the index and build it again from the archive."""
        self.close()
        self._reset_watermark()
        TEXT.remove(self.realm)
        self.open()

    def rollback(self) -> None:
        """Drop uncommitted documents, because the archive rolled back. The next `open` catches up."""
        writer, self._writer, self._pending, self._characters = self._writer, None, 0, 0
        if writer is not None:
            with suppress(ValueError, OSError):  # the cause of the rollback may also hit the index
                writer.rollback()

    def reopen(self) -> None:
        """Index events that the archive committed without this object. No document may wait for a commit."""
        self.close()
        self.open()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _take_text(event: Event) -> str:
    """The text of an event for the index. A large text is removed from the event: the engine makes three copies of it."""
    text = call_text(event.tool, event.arguments) if event.kind is Kind.TOOL_CALL else event.text
    if len(text) > LARGE:
        event.text, event.arguments = "", None
    return text


def _stored_document(event: EventRow, source: str, project: str | None) -> TextDocument:
    text = call_text(event.tool, event.arguments()) if event.kind is Kind.TOOL_CALL else event.text()
    return _document(event.key, event.session, event, text, source, project)


def _document(key: int, session: int, event: Event | EventRow, text: str, source: str, project: str | None) -> TextDocument:
    return TextDocument(
        place=Place(key, session, event.turn, event.seq, event.at, KIND_CODE[event.kind] + OWN_TRAFFIC_CODE * event.own),
        source=source,
        project=project or "",
        text=text,
    )
