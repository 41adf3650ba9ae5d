"""Backs up all realms, or one, to a file, while everything runs: logs are read, turns run, and agents ask."""

import errno
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from msgspec import Struct

from recollect import __version__
from recollect.disk import is_disk_full
from recollect.errors import BadRequest, RealmNotFound, StoreFault
from recollect.folders import SETTINGS_FILE
from recollect.model import now_ms, timestamp
from recollect.realms import config, manifest
from recollect.realms.backup_format import FORMAT, REALMS, TRANSCRIPT, BackupHeader, BackupWriter, write_backup
from recollect.realms.catalog import StoredRealm, find_realm, list_realms
from recollect.realms.forget import OnStep, finish_forgetting, no_steps
from recollect.realms.manifest import Backend
from recollect.realms.realm import Realm
from recollect.settings import Settings
from recollect.store import archive_path
from recollect.store.forgetting import is_forgetting_unfinished
from recollect.store.journaled import memory_path
from recollect.store.live import live_path
from recollect.store.lock import BACKING_UP, wait_for
from recollect.store.memory_journal import copy_journal, journal_path
from recollect.store.sqlite.snapshot import DatabaseSnapshot
from recollect.store.tombstones import tombstones_path

WAIT_S = 60.0  # seconds to wait for another backup, or for a process that forgets sessions
SPARE = 16 << 20  # bytes of disk space beyond those of the copies
OF_THIS_MACHINE = ("running", "lease")  # tables of live sessions: the turns and processes that run now
COPY = "copy"  # in the folder of drafts: the copy of a database that is added next


class SavedRealm(Struct, frozen=True):
    """A realm in a backup."""

    realm: str
    sessions: int


class BackupReceipt(Struct, frozen=True):
    path: str
    bytes: int
    realms: list[SavedRealm]


def back_up(
    settings: Settings, path: Path, realm: str | None = None, *, replace: bool = False, on_step: OnStep = no_steps
) -> BackupReceipt:
    """Write a backup of all realms, or of one. A file of this name is only replaced if `replace` is set.

    The file appears when it is complete. If anything fails, nothing is left behind.
    """
    path = path.absolute()
    _check_target(path, replace=replace)
    realms = _realms(settings, realm)
    for stored in realms:
        if is_forgetting_unfinished(stored.folder):
            finish_forgetting(Realm(settings, stored.name), on_step)
    with _drafts(path) as drafts, ExitStack() as stack:
        snapshots = [stack.enter_context(_RealmSnapshot(stored)) for stored in realms]
        _check_space(path, snapshots)
        draft = drafts / path.name
        with write_backup(draft, _header(snapshots)) as backup:
            if realm is None and (settings.home / SETTINGS_FILE).exists():
                backup.add_bytes(SETTINGS_FILE, (settings.home / SETTINGS_FILE).read_bytes())
            for snapshot in snapshots:
                snapshot.add_to(backup, drafts / COPY, on_step)
        receipt = BackupReceipt(
            str(path), draft.stat().st_size, [SavedRealm(one.name, one.session_count()) for one in snapshots]
        )
        draft.chmod(0o600)
        draft.replace(path)
    return receipt


def _check_target(path: Path, *, replace: bool) -> None:
    if path.is_dir():
        raise BadRequest(f"{path} is a folder. Name a file, such as {path / 'recollect.backup'}.")
    if not path.parent.is_dir():
        raise BadRequest(f"There is no folder {path.parent}.")
    if path.exists() and not replace:
        raise BadRequest(f"{path} exists. Add --yes to replace it, or name another file.")


def _realms(settings: Settings, name: str | None) -> list[StoredRealm]:
    """The realms to back up. A realm in memory has no files."""
    realms = [find_realm(settings, name)] if name is not None else list_realms(settings)
    for realm in realms:
        if realm.fault is not None:
            raise StoreFault(f"Realm {realm.name} cannot be backed up: {realm.fault}")
    on_disk = [realm for realm in realms if realm.manifest is None or realm.manifest.backend is not Backend.MEMORY]
    if not on_disk:
        raise RealmNotFound(f"There is nothing to back up in {settings.home}.")
    return on_disk


@contextmanager
def _drafts(path: Path) -> Iterator[Path]:
    """A private folder beside a file. Nothing of it is left behind. A full disk becomes an error for people."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent))
    except OSError as reason:
        raise StoreFault(f"{path.parent} cannot be written: {reason.strerror}.") from reason
    try:
        yield folder
    except (OSError, StoreFault) as reason:
        if is_disk_full(folder) or (isinstance(reason, OSError) and reason.errno in (errno.ENOSPC, errno.EDQUOT)):
            raise StoreFault(f"The disk of {path.parent} is full. No backup was written.") from reason
        if isinstance(reason, OSError):
            raise StoreFault(f"{path} cannot be written: {reason.strerror or reason}. No backup was written.") from reason
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check_space(path: Path, snapshots: Sequence["_RealmSnapshot"]) -> None:
    """Raise if the disk has no room for the backup and for the copy of a database beside it."""
    needed = sum(one.size() for one in snapshots) + max(one.largest() for one in snapshots) + SPARE
    free = shutil.disk_usage(path.parent).free
    if free < needed:
        raise StoreFault(
            f"The backup needs up to {needed >> 20:,} MB, and {path.parent} has {free >> 20:,} MB. No backup was written."
        )


def _header(snapshots: Sequence["_RealmSnapshot"]) -> BackupHeader:
    return BackupHeader(
        format=FORMAT,
        program=__version__,
        created_at=timestamp(now_ms()),
        realms=[one.name for one in snapshots],
        bytes=sum(one.size() for one in snapshots),
    )


class _RealmSnapshot:
    """A realm at one moment.

    The memory comes first and the live sessions last, so that nothing refers to what a later copy lacks: a restored realm
    distils and publishes what is missing.
    """

    def __init__(self, realm: StoredRealm) -> None:
        self.name, self.folder = realm.name, realm.folder
        self._stack = ExitStack()
        self._databases: dict[str, DatabaseSnapshot] = {}
        self._files: dict[str, bytes] = {}

    def __enter__(self) -> "_RealmSnapshot":
        with self._stack:
            self._stack.enter_context(wait_for(self.folder, BACKING_UP, WAIT_S))
            if memory_path(self.folder).exists():
                if journal_path(self.folder).exists():
                    self._files["memory.ndjson"] = copy_journal(self.folder, partial(self._open, "memory.db", memory_path))
                else:
                    self._open("memory.db", memory_path)
            self._open("archive.db", archive_path)
            self._open("live/live.db", live_path)
            for path in (self.folder / manifest.FILE, self.folder / config.FILE, tombstones_path(self.folder)):
                with suppress(FileNotFoundError):
                    self._files[path.name] = path.read_bytes()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _open(self, name: str, path_in: Callable[[Path], Path]) -> None:
        path = path_in(self.folder)
        if path.exists():
            self._databases[name] = self._stack.enter_context(DatabaseSnapshot(path))

    def _transcripts(self) -> list[Path]:
        return sorted(path for path in self.folder.glob("*.jsonl") if TRANSCRIPT.fullmatch(path.name))

    def size(self) -> int:
        """The size of all files."""
        files = [*map(len, self._files.values()), *(path.stat().st_size for path in self._transcripts())]
        return sum(files) + sum(database.size() for database in self._databases.values())

    def largest(self) -> int:
        return max((database.size() for database in self._databases.values()), default=0)

    def session_count(self) -> int:
        archive = self._databases.get("archive.db")
        return archive.count_rows("session WHERE event_count > 0") if archive is not None else 0

    def add_to(self, backup: BackupWriter, copy: Path, on_step: OnStep) -> None:
        """Add all files of the realm. `copy` is where copies of databases are written, one at a time."""
        for name, content in self._files.items():
            backup.add_bytes(f"{REALMS}/{self.name}/{name}", content)
        for path in self._transcripts():
            backup.add_file(f"{REALMS}/{self.name}/{path.name}", path, path.stat().st_size)
        for name, database in self._databases.items():
            what = f"Copying the {Path(name).stem} of {self.name}"
            database.copy(copy, partial(on_step, what), OF_THIS_MACHINE if name == "live/live.db" else ())
            backup.add_file(f"{REALMS}/{self.name}/{name}", copy, copy.stat().st_size)
            copy.unlink()
