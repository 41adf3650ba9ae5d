"""Restores a backup: into an empty state folder, or in place of realms that exist.

Everything is written, checked and indexed beside the present realms. They are replaced last, and deleted after that.
"""

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import msgspec

from recollect.disk import is_disk_full
from recollect.distil import DistilProgress, distil
from recollect.errors import BadRequest, StoreBusy, StoreFault
from recollect.folders import SETTINGS_FILE
from recollect.ingest import Ingester
from recollect.realms.backup import BackupReceipt, SavedRealm
from recollect.realms.backup_format import REALMS, BackupHeader, read_backup, realm_of
from recollect.realms.catalog import StoredRealm, list_realms
from recollect.realms.forget import OnStep, no_steps
from recollect.realms.manifest import read as read_manifest
from recollect.realms.names import uuid7
from recollect.settings import Settings
from recollect.store import Reader, archive_path
from recollect.store.journaled import memory_path
from recollect.store.live import Live, live_path
from recollect.store.lock import exclusive, holder_of
from recollect.store.memory import DISTILLED, Memory

STAGING, ASIDE = ".restoring-{}", ".{}.{}.replaced"  # not valid names of realms
INDEXES = 1.5  # of the size of the restored files: with the indexes, which are about half as large
SPARE = 64 << 20  # bytes of disk space beyond that


def restore(
    settings: Settings, path: Path, realm: str | None = None, *, replace: bool = False, on_step: OnStep = no_steps
) -> BackupReceipt:
    """Restore all realms of a backup, or one. Realms of the same name are only replaced if `replace` is set.

    If anything fails, nothing has changed.
    """
    home = settings.home
    with read_backup(path) as backup:
        names = _chosen(path, backup.header, realm)
        recover_interrupted(home)
        _check_target(settings, names, replace=replace, with_settings=realm is None)
        _check_space(home, backup.header)
        with _staging(home) as staging:
            backup.extract_to(
                staging,
                lambda name: realm is None if realm_of(name) is None else realm_of(name) in names,
                lambda done: on_step("Reading the backup", done, backup.header.bytes),
            )
            without_sources = msgspec.structs.replace(settings, sources=())
            saved = [_prepare(without_sources, staging / REALMS / name, name, on_step) for name in names]
            _put_in_place(home, staging, names)
    return BackupReceipt(str(path), path.stat().st_size, saved)


# ---- before anything is written


def _chosen(path: Path, header: BackupHeader, realm: str | None) -> list[str]:
    if realm is None:
        return header.realms
    if realm not in header.realms:
        raise BadRequest(f"{path} has no realm {realm!r}. It has: {', '.join(header.realms)}. Nothing was changed.")
    return [realm]


def _check_target(settings: Settings, names: Sequence[str], *, replace: bool, with_settings: bool) -> None:
    known = [realm.name for realm in list_realms(settings) if realm.name in names]
    present = [f"the realm {name}" for name in known]
    if with_settings and (settings.home / SETTINGS_FILE).exists():
        present.append(SETTINGS_FILE)
    if present and not replace:
        raise BadRequest(
            f"{settings.home} is not empty: it has {' and '.join(present)}. Add --yes to replace that, or set RECOLLECT_HOME"
            " to an empty folder. Nothing was changed."
        )


def _check_space(home: Path, header: BackupHeader) -> None:
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        free = shutil.disk_usage(home).free
    except OSError as reason:
        raise StoreFault(f"The state folder {home} cannot be written: {reason.strerror}. Nothing was changed.") from reason
    needed = int(header.bytes * INDEXES) + SPARE
    if free < needed:
        raise StoreFault(
            f"Restoring needs about {needed >> 20:,} MB, and {home} has {free >> 20:,} MB. Nothing was changed."
        )


# ---- beside the present realms


@contextmanager
def _staging(home: Path) -> Iterator[Path]:
    """A folder for the restored files, on the same disk as the state folder. Nothing of it is left behind."""
    folder = home / REALMS / STAGING.format(uuid7())
    try:
        folder.mkdir(parents=True, mode=0o700)
        yield folder
    except OSError as reason:
        if reason.errno in (errno.ENOSPC, errno.EDQUOT) or is_disk_full(home):
            raise StoreFault(f"The disk of {home} is full. Nothing was changed.") from reason
        raise StoreFault(f"{home} cannot be written: {reason.strerror or reason}. Nothing was changed.") from reason
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _prepare(settings: Settings, folder: Path, name: str, on_step: OnStep) -> SavedRealm:
    """Bring a restored realm to the present version, and build its indexes."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    read_manifest(folder)
    if live_path(folder).exists():
        Live(folder).close()
    if memory_path(folder).exists():
        with Memory(folder, writable=True) as memory:
            memory.put_meta(DISTILLED, "")  # the backup has no vectors
    if not archive_path(folder).exists():
        return SavedRealm(name, 0)
    on_step(f"Indexing {name}", 0, 0)
    with Ingester(folder, settings, (), {}) as ingester:
        ingester.indexer.rebuild()
        ingester.indexer.commit(force=True)
    distil(folder, settings, os.environ, lambda: False, partial(_report, on_step, name))
    with Reader(archive_path(folder)) as reader:
        return SavedRealm(name, sum(session.event_count > 0 for session in reader.all_sessions()))


def _report(on_step: OnStep, name: str, progress: DistilProgress) -> None:
    on_step(f"Indexing {progress.what} of {name}", progress.done, progress.total)


# ---- in place of the present realms


def _put_in_place(home: Path, staging: Path, names: Sequence[str]) -> None:
    """Replace the realms and the settings, or none of them."""
    undo: list[Callable[[], object]] = []
    replaced: list[Path] = []
    try:
        for name in names:
            aside = _replace_realm(home / REALMS / name, staging / REALMS / name, undo)
            replaced += [aside] if aside is not None else []
        if (staging / SETTINGS_FILE).exists():
            (staging / SETTINGS_FILE).replace(home / SETTINGS_FILE)
    except BaseException:
        for step in reversed(undo):
            step()
        raise
    for folder in replaced:
        shutil.rmtree(folder, ignore_errors=True)


def _replace_realm(folder: Path, restored: Path, undo: list[Callable[[], object]]) -> Path | None:
    """Move a restored realm to its place. Returns where the previous one is now, if there was one."""
    if not folder.exists():
        restored.rename(folder)
        undo.append(lambda: folder.rename(restored))
        return None
    aside = folder.with_name(ASIDE.format(folder.name, uuid7()))
    with ExitStack() as stack:
        try:
            stack.enter_context(exclusive(folder))
        except StoreBusy:
            raise _in_use(folder) from None
        if StoredRealm(folder.name, folder, None).has_running_process():
            raise _in_use(folder)
        folder.rename(aside)
        undo.append(lambda: aside.rename(folder))
        restored.rename(folder)
        undo.append(lambda: folder.rename(restored))
    return aside


def _in_use(folder: Path) -> StoreBusy:
    return StoreBusy(
        f"Realm {folder.name} is in use by another Recollect (process {holder_of(folder)}). Stop it, then restore again."
        " Nothing was changed."
    )


def recover_interrupted(home: Path) -> None:
    """Undo what a killed process left: a realm that it had moved aside returns, unless the restored one is in its place."""
    for aside in (home / REALMS).glob(ASIDE.format("*", "*")):
        name = aside.name.split(".")[1]
        if (home / REALMS / name).exists():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            aside.rename(home / REALMS / name)
    for staging in (home / REALMS).glob(STAGING.format("*")):
        shutil.rmtree(staging, ignore_errors=True)
