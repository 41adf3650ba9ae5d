"""All realms of a state folder: which there are, and taking one away."""

import logging
import os
import shutil
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from recollect.errors import BadSettings, RealmNotFound, RecollectError, StoreBusy, StoreFault
from recollect.realms.leases import has_live_process, process_exists
from recollect.realms.manifest import FILE, Manifest, Origin, read
from recollect.realms.names import check_name, uuid7
from recollect.settings import Settings
from recollect.store import archive_of
from recollect.store.live import LeaseRow, Live, live_of
from recollect.store.lock import DISTILLING, WRITING, exclusive, is_held
from recollect.store.memory import memory_of

DELETED = ".{}.deleted"  # no realm may be called so

log = logging.getLogger(__name__)


class StoredRealm(Struct, frozen=True):
    """A realm as it lies on the disk. One of an earlier version has no manifest yet."""

    name: str
    folder: Path
    manifest: Manifest | None
    fault: str | None = None  # why it cannot be told what it is

    def bytes(self) -> int:
        """What its files hold. Somebody may be at work in it: a file that goes meanwhile counts for nothing."""
        total = 0
        for folder, _, names in os.walk(self.folder):
            for name in names:
                with suppress(FileNotFoundError):
                    total += Path(folder, name).stat().st_size
        return total

    def is_in_use(self) -> bool:
        return is_held(self.folder, WRITING) or self.has_running_process()

    def has_running_process(self) -> bool:
        """Whether somebody is at work in it, but for writing logs into its archive."""
        return is_held(self.folder, DISTILLING) or has_live_process(self.folder)

    def instances(self) -> list[LeaseRow]:
        """Who is at work in it."""
        if not live_of(self.folder).exists():
            return []
        with Live(self.folder) as live:
            return [lease for lease in live.leases() if process_exists(live, lease)]


def list_realms(settings: Settings) -> list[StoredRealm]:
    """Every realm, by name. One whose manifest cannot be read is among them, with the reason."""
    return [_stored_realm(folder) for folder in sorted((settings.home / "realms").glob("*")) if _is_realm(folder)]


def exists(settings: Settings, name: str) -> bool:
    return _is_realm(settings.home / "realms" / name)


def find_realm(settings: Settings, name: str) -> StoredRealm:
    folder = settings.home / "realms" / name
    if not _is_realm(folder):
        raise RealmNotFound(f"There is no realm {name!r}; `recollect realm list` names them all.", realm_id=name)
    return StoredRealm(name, folder, read(folder))


def _stored_realm(folder: Path) -> StoredRealm:
    try:
        return StoredRealm(folder.name, folder, read(folder))
    except RecollectError as fault:
        return StoredRealm(folder.name, folder, None, str(fault))


def _is_realm(folder: Path) -> bool:
    try:
        check_name(folder.name)
    except BadSettings:
        return False
    try:
        kept = (folder / FILE, archive_of(folder), memory_of(folder), live_of(folder))
        return folder.is_dir() and any(path.exists() for path in kept)
    except PermissionError:  # a folder that is closed to us: reading its manifest says so
        return True


def delete(realm: StoredRealm) -> None:
    """Take a realm away with all that is in it, unless somebody is at work in it."""
    in_use = StoreBusy(f"Another Recollect is at work in realm {realm.name!r}; it is not deleted.")
    doomed = realm.folder.with_name(DELETED.format(f"{realm.name}.{uuid7()}"))
    try:
        with exclusive(realm.folder):  # nobody begins to write between the look and the renaming
            if realm.has_running_process():
                raise in_use
            realm.folder.rename(doomed)  # gone in one step, whatever happens while its files are removed
    except StoreBusy:
        raise in_use from None
    except OSError as reason:
        raise StoreFault(f"{realm.folder} cannot be deleted: {reason.strerror}.") from reason
    remove_deleted(realm.folder.parent)


def remove_deleted(realms: Path) -> None:
    """Remove the files of deleted realms, also of those whose deleting was broken off."""
    for doomed in realms.glob(DELETED.format("*")):
        shutil.rmtree(doomed, ignore_errors=True)  # another process may be at it too
        if doomed.exists():
            log.warning("Not all of %s could be removed; the next realm that is deleted takes it along.", doomed)


def unused_realms(settings: Settings) -> list[StoredRealm]:
    """Realms that were made for one process, and that no process is at work in."""
    return [
        realm
        for realm in list_realms(settings)
        if realm.manifest is not None and realm.manifest.origin is Origin.GENERATED and not realm.is_in_use()
    ]
