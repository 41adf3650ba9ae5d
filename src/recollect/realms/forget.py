"""Forgets sessions: erases them from every file of a realm, so that no byte of their text is left.

A file names the sessions until everything is erased, so a killed process leaves a realm as it was, or one that the next
start finishes. All steps can be repeated. The archive is first: from its commit on, no reader finds the sessions, and no log
brings them back.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec

from recollect.distil.forgotten import forget_in_ngrams, forget_in_vectors
from recollect.errors import RecollectError, SessionBusy, StoreFault
from recollect.folders import HOOK_QUEUE
from recollect.index.ngrams import NGRAMS
from recollect.index.text import TEXT
from recollect.ingest import Ingester
from recollect.ingest.erase import erase_sessions
from recollect.realms.leases import is_alive
from recollect.realms.realm import Realm
from recollect.store import Reader, archive_path
from recollect.store.erase import erase_from_memory, erase_transcripts
from recollect.store.forgetting import (
    Forgetting,
    is_forgetting_unfinished,
    read_forgetting,
    remove_forgetting,
    write_forgetting,
)
from recollect.store.journaled import memory_path
from recollect.store.live import Live, live_path
from recollect.store.lock import BACKING_UP, DISTILLING, FORGETTING, wait_for
from recollect.store.memory import DISTILLED, Memory
from recollect.store.sqlite.compaction import compact
from recollect.store.write_access import write_when_free

DAMAGED = "archive.damaged-*"  # archives that a repair set aside: everything readable in them is in the archive again
WAIT_S = 60.0  # seconds to wait for a process that writes or distils
SPARE = 64 << 20  # bytes of disk space beyond those of the copies

OnStep = Callable[[str, int, int], None]  # what is done now, how much of it is done, and how much there is


def no_steps(what: str, done: int, total: int) -> None:
    """Ignores progress."""


def forget_sessions(realm: Realm, sessions: Sequence[bytes], on_step: OnStep = no_steps) -> int:
    """Forget these sessions. Returns the number of bytes by which the realm's files shrank.

    Raises `SessionBusy` if a turn of one of them runs, and `StoreBusy` if another process writes for a long time; then
    nothing was forgotten.
    """
    with _sole_writer(realm) as ingester:
        _finish(realm, ingester, on_step)
        before = _size(realm.folder)
        _check_disk(realm.folder)
        keys, was_distilled = _keys(realm.folder, sessions), _is_distilled(realm.folder)
        write_forgetting(realm.folder, Forgetting([session.hex() for session in sessions], keys))
        on_step("Erasing the sessions", 0, 0)
        try:
            _erase_from_archive_and_live(realm.folder, ingester, sessions)
        except BaseException:
            if not ingester.archive.forgotten(sessions):
                remove_forgetting(realm.folder)
            raise
        _finish(realm, ingester, on_step)
        if was_distilled:
            _stay_distilled(realm.folder)
    return max(0, before - _size(realm.folder))


def finish_forgetting(realm: Realm, on_step: OnStep = no_steps) -> None:
    """Erase what a killed process had begun to forget. Does nothing if there is nothing to finish."""
    if is_forgetting_unfinished(realm.folder):
        with _sole_writer(realm) as ingester:
            _finish(realm, ingester, on_step)


# ---- locks


@contextmanager
def _sole_writer(realm: Realm) -> Iterator[Ingester]:
    """The realm opened for writing, while no other process reads logs into it, distils it, or forgets."""
    without_sources = msgspec.structs.replace(realm.settings, sources=())
    with ExitStack() as stack:
        stack.enter_context(wait_for(realm.folder, BACKING_UP, WAIT_S))
        stack.enter_context(wait_for(realm.folder, FORGETTING, WAIT_S))
        ingester = write_when_free(realm.folder, WAIT_S, lambda: Ingester(realm.folder, without_sources, (), {}))
        stack.enter_context(ingester)
        stack.enter_context(wait_for(realm.folder, DISTILLING, WAIT_S))
        yield ingester


# ---- before anything is erased


def _check_disk(folder: Path) -> None:
    """Raise if the disk has no room for the copies that are written before the old files are deleted."""
    databases = (archive_path(folder), memory_path(folder), live_path(folder))
    largest = max((path.stat().st_size for path in databases if path.exists()), default=0)
    indexes = sum(_size(layout.folder(folder)) for layout in (TEXT, NGRAMS))
    needed, free = 2 * largest + indexes + SPARE, shutil.disk_usage(folder).free
    if free < needed:
        raise StoreFault(
            f"Forgetting needs {needed >> 20:,} MB of free disk space for a short time, and {folder} has {free >> 20:,} MB."
            " Nothing was forgotten."
        )


def _keys(folder: Path, sessions: Sequence[bytes]) -> list[int]:
    with Reader(archive_path(folder)) as reader:
        return reader.keys_with_ids(sessions)


# ---- erasing


def _erase_from_archive_and_live(folder: Path, ingester: Ingester, sessions: Sequence[bytes]) -> None:
    """Erase sessions while none of their turns can begin or end."""
    if not live_path(folder).exists():
        erase_sessions(ingester.archive, sessions)
        return
    with Live(folder) as live, live.transaction():
        for session in sessions:
            running = live.running(session)
            if running is not None and is_alive(live, running.holder):
                raise SessionBusy(
                    "A turn of a session that is to be forgotten is running; interrupt it, or wait for its end."
                    " Nothing was forgotten."
                )
        erase_sessions(ingester.archive, sessions)
        for session in sessions:
            live.remove(session)


def _finish(realm: Realm, ingester: Ingester, on_step: OnStep) -> None:
    """Erase everything that is left of the sessions that are being forgotten."""
    folder = realm.folder
    forgetting = read_forgetting(folder)
    if forgetting is None:
        return
    try:
        _erase_again(folder, ingester, forgetting.ids())
        _erase_from_memory(folder, forgetting.ids())
        _erase_from_files(folder, forgetting.ids())
        _erase_from_indexes(folder, ingester, forgetting.keys, on_step)
        on_step("Cleaning the databases", 0, 0)
        compact(ingester.archive)
        _compact_others(folder)
        remove_forgetting(folder)
    except (RecollectError, OSError) as reason:
        raise StoreFault(
            f"The sessions are forgotten, but their text may still be in some files: {reason}"
            " The next `recollect sync` or `recollect forget` finishes this."
        ) from reason
    realm.reopen()


def _erase_again(folder: Path, ingester: Ingester, sessions: Sequence[bytes]) -> None:
    """Erase the sessions if a killed process had not yet done it."""
    erase_sessions(ingester.archive, sessions)
    if live_path(folder).exists():
        with Live(folder) as live, live.transaction():
            for session in sessions:
                live.remove(session)


def _erase_from_memory(folder: Path, sessions: Sequence[bytes]) -> None:
    if memory_path(folder).exists():
        with Memory(folder, writable=True) as memory:
            erase_from_memory(memory, sessions)


def _erase_from_files(folder: Path, sessions: Sequence[bytes]) -> None:
    """Erase transcripts, the queue of hooks, which is only a hint, and archives that a repair set aside."""
    erase_transcripts(folder, sessions)
    for path in (*folder.glob(f"{HOOK_QUEUE}*"), *folder.glob(DAMAGED)):
        path.unlink(missing_ok=True)


def _erase_from_indexes(folder: Path, ingester: Ingester, keys: Sequence[int], on_step: OnStep) -> None:
    """Erase the words, n-grams and vectors. The two indexes are written at once, because that takes longest."""
    with ThreadPoolExecutor(1) as pool:
        ngrams = pool.submit(forget_in_ngrams, folder, keys, lambda done, total: None)
        ingester.indexer.rewrite_segments_with_deletions(lambda done, total: on_step("Writing the index again", done, total))
        on_step("Writing the index of strings again", 0, 0)
        ngrams.result()
    forget_in_vectors(folder, keys)


def _compact_others(folder: Path) -> None:
    if memory_path(folder).exists():
        with Memory(folder, writable=True) as memory:
            compact(memory)
    if live_path(folder).exists():
        with Live(folder) as live:
            compact(live)


# ---- what others know about the archive


def _is_distilled(folder: Path) -> bool:
    """Whether everything in the archive was distilled."""
    if not memory_path(folder).exists():
        return False
    with Reader(archive_path(folder)) as reader, Memory(folder, writable=True) as memory:
        return (memory.meta(DISTILLED) or "").startswith(reader.fingerprint())


def _stay_distilled(folder: Path) -> None:
    """Note that everything is still distilled: what was erased needs no distilling."""
    with Reader(archive_path(folder)) as reader, Memory(folder, writable=True) as memory:
        before = (memory.meta(DISTILLED) or "").split(" ")
        state = reader.fingerprint().split(" ")
        memory.put_meta(DISTILLED, " ".join([*state, *before[len(state) :]]))


def _size(folder: Path) -> int:
    """The size of all files in a folder. One that is deleted meanwhile counts as 0."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total
