"""Repairing a realm: a damaged archive is read again from the logs, and the search index is rebuilt from the archive."""

import os
import time
from contextlib import suppress
from pathlib import Path

from recollect.errors import StoreFault
from recollect.ingest import Ingester
from recollect.ingest.file_changes import record_pending_files
from recollect.realms.realm import Realm
from recollect.sources import all_sources
from recollect.store import NewerSchema, OutOfDate, archive_path
from recollect.store.lock import exclusive
from recollect.store.sqlite.salvage import salvage
from recollect.store.write_access import write_when_free

PATIENCE_S = 30  # seconds to wait for another writer


def repair(realm: Realm) -> list[str]:
    """Repair the archive, then the index that is built from it. Returns a sentence for each thing that was done."""
    report = []
    if _is_damaged(realm):
        damaged = write_when_free(realm.folder, PATIENCE_S, lambda: _set_aside(realm))
        with _ingester(realm) as ingester:
            ingester.sync()
            rescued = salvage(damaged, ingester.archive)
            record_pending_files(ingester.archive)
        report.append(f"The damaged archive was set aside as {damaged} and all logs were read again.")
        report.append(f"{rescued} sessions whose logs are gone were rescued from it.")
    with _ingester(realm) as ingester:
        ingester.indexer.rebuild()
        ingester.indexer.commit(force=True)
    report.append("The index was rebuilt from the archive.")
    realm.reopen()
    return report


def _is_damaged(realm: Realm) -> bool:
    try:
        with realm.open_archive() as reader:
            return reader.integrity_fault() is not None
    except NewerSchema:
        raise
    except OutOfDate:  # there is no archive yet, or opening it for writing migrates it
        return False
    except StoreFault:
        return True


def _set_aside(realm: Realm) -> Path:
    """Rename the archive, so that the next writer creates a new one."""
    path = archive_path(realm.folder)
    damaged = path.with_name(f"archive.damaged-{int(time.time())}.db")
    with exclusive(realm.folder):
        path.rename(damaged)
        with suppress(FileNotFoundError):  # the last commits may only be in the write-ahead log
            path.with_name(f"{path.name}-wal").rename(f"{damaged}-wal")
        path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    return damaged


def _ingester(realm: Realm) -> Ingester:
    """An ingester for the realm, opened once no other process writes."""

    def open_ingester() -> Ingester:
        return Ingester(realm.folder, realm.settings, all_sources(), os.environ)

    return write_when_free(realm.folder, PATIENCE_S, open_ingester)
