"""All realms of a state folder: listing, finding and deleting them."""

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
from recollect.store import archive_path
from recollect.store.journaled import memory_path
from recollect.store.live import LeaseRow, Live, live_path
from recollect.store.lock import DISTILLING, WRITING, exclusive, is_held

DELETED = ".{}.deleted"  # not a valid name of a realm

log = logging.getLogger(__name__)


class StoredRealm(Struct, frozen=True):
    """A realm on disk. A realm of an early version has no manifest."""

    name: str
    folder: Path
    manifest: Manifest | None
    fault: str | None = None  # why its manifest cannot be read

    def bytes(self) -> int:
        """The size of its files. A file that is deleted meanwhile counts as 0."""
        total = 0
        for folder, _, names in os.walk(self.folder):
            for name in names:
                with suppress(FileNotFoundError):
                    total += Path(folder, name).stat().st_size
        return total

    def is_in_use(self) -> bool:
        return is_held(self.folder, WRITING) or self.has_running_process()

    def has_running_process(self) -> bool:
        """Whether a process distils it or has a lease in it. A process that only writes logs does not count."""
        return is_held(self.folder, DISTILLING) or has_live_process(self.folder)

    def instances(self) -> list[LeaseRow]:
        """The leases of all processes that use it."""
        if not live_path(self.folder).exists():
            return []
        with Live(self.folder, writable=False) as live:
            return [lease for lease in live.leases() if process_exists(live, lease)]


def list_realms(settings: Settings) -> list[StoredRealm]:
    """All realms, sorted by name. A realm whose manifest cannot be read has the reason in `fault`."""
    return [_stored_realm(folder) for folder in sorted((settings.home / "realms").glob("*")) if _is_realm(folder)]


def exists(settings: Settings, name: str) -> bool:
    return _is_realm(settings.home / "realms" / name)


def find_realm(settings: Settings, name: str) -> StoredRealm:
    folder = settings.home / "realms" / name
    if not _is_realm(folder):
        raise RealmNotFound(f"There is no realm {name!r}; `recollect realm list` shows all realms.", realm_id=name)
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
        files = (folder / FILE, archive_path(folder), memory_path(folder), live_path(folder))
        return folder.is_dir() and any(path.exists() for path in files)
    except PermissionError:  # reading its manifest reports this error
        return True


def delete(realm: StoredRealm) -> None:
    """Delete a realm with everything in it. Raises `StoreBusy` if a process uses it."""
    in_use = StoreBusy(f"Realm {realm.name!r} is in use by another Recollect and was not deleted.")
    renamed = realm.folder.with_name(DELETED.format(f"{realm.name}.{uuid7()}"))
    try:
        with exclusive(realm.folder):  # no process can begin to write between the check and the renaming
            if realm.has_running_process():
                raise in_use
            realm.folder.rename(renamed)  # atomic: the realm is gone even if removing its files fails
    except StoreBusy:
        raise in_use from None
    except OSError as reason:
        raise StoreFault(f"{realm.folder} cannot be deleted: {reason.strerror}.") from reason
    remove_deleted(realm.folder.parent)


def remove_deleted(realms: Path) -> None:
    """Remove the files of deleted realms, also after an interrupted deletion."""
    for folder in realms.glob(DELETED.format("*")):
        shutil.rmtree(folder, ignore_errors=True)  # another process may be removing it too
        if folder.exists():
            log.warning("Not all of %s could be removed; the next deletion of a realm tries again.", folder)


def unused_realms(settings: Settings) -> list[StoredRealm]:
    """Realms that were created for one process, and that no process uses now."""
    return [
        realm
        for realm in list_realms(settings)
        if realm.manifest is not None and realm.manifest.origin is Origin.GENERATED and not realm.is_in_use()
    ]
