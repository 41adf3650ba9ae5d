"""Removes forgotten sessions from the n-gram index and the vectors."""

from collections.abc import Callable, Sequence
from pathlib import Path

from recollect.distil.texts import ngram_document
from recollect.index.engine import INDEXING_THREADS, IndexUnusable, engine_panics_as_errors
from recollect.index.ngrams import NGRAMS, NgramWriter, read_indexed_up_to
from recollect.model import KINDS
from recollect.store import Reader, archive_path
from recollect.store.memory import Memory

CHUNK = 2_000  # events that are read at once


def forget_in_ngrams(realm: Path, sessions: Sequence[int], on_step: Callable[[int, int], None]) -> None:
    """Remove sessions from the n-gram index, also the n-grams that only they have. A damaged index is deleted."""
    with Reader(archive_path(realm)) as reader:
        archive = reader.meta("identity") or ""
        if not read_indexed_up_to(realm, archive):
            NGRAMS.remove(realm)
            return
        try:
            with engine_panics_as_errors():
                _rewrite_segments(NgramWriter(realm, archive, INDEXING_THREADS), reader, sessions, on_step)
        except IndexUnusable:
            NGRAMS.remove(realm)


def _rewrite_segments(
    writer: NgramWriter, reader: Reader, sessions: Sequence[int], on_step: Callable[[int, int], None]
) -> None:
    """Write each segment that has documents of these sessions or deleted ones again, without them."""
    try:
        writer.remove("session", sessions)
        writer.commit()
        keys = writer.keys_beside_deleted()
        writer.remove("key", keys)
        for done, rows in enumerate(reader.events_to_index_again(keys, len(KINDS), CHUNK)):
            on_step(done * CHUNK, len(keys))
            writer.add(ngram_document(event, source, started) for event, source, _, started in rows if event.body)
        writer.commit()
        writer.delete_old_files()
    finally:
        writer.close()


def forget_in_vectors(realm: Path, sessions: Sequence[int]) -> None:
    """Overwrite the vectors of these sessions' events, and of the observations that no longer exist."""
    if not any(realm.glob("vectors-*")):
        return
    # Importing the vector index takes 33 ms of CPU (NumPy).
    from recollect.index.vectors import VectorsUnusable, VectorWriter, read_header, vectors_folder

    for collection in ("events", "observations"):
        try:
            head = read_header(vectors_folder(realm, collection))
        except VectorsUnusable:
            continue
        writer = VectorWriter(realm, collection, head.model, head.dimensions, head.archive)
        if collection == "events":
            writer.delete_sessions(sessions)
        elif writer.head.rows:
            with Memory(realm) as memory:
                writer.delete_except(memory.all_keys())
