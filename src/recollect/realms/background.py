"""Work that a command leaves to a background process, so that its caller does not wait."""

import os
import subprocess
import time

from recollect import SELF_COMMAND
from recollect.distil import distil
from recollect.realms.realm import Realm
from recollect.store import archive_path
from recollect.store.lock import NEXT, WATCHING, is_held

SHORT_S = 1.5  # seconds of distilling that a caller may wait for: enough for a small sync
SHARE = 0.04  # of the duration of a large sync: how much longer its caller may wait


def distil_soon(realm: Realm, sync_s: float = 0.0) -> None:
    """Distil new events: for a short time in this process, then in the background. `sync_s`: how long reading took.

    Raises `StoreFault` if they cannot be distilled. They can still be found by words.
    """
    if not archive_path(realm.folder).exists():
        return  # nothing was ever read into this realm
    end = time.monotonic() + max(SHORT_S, sync_s * SHARE)
    if not distil(realm.folder, realm.settings, os.environ, lambda: time.monotonic() > end):
        _start("distil", "--quiet", "--realm", realm.name)


def sync_later(realm: Realm) -> None:
    """Read new log lines after the process that writes now, unless a watcher or another process will."""
    if not is_held(realm.folder, WATCHING) and not is_held(realm.folder, NEXT):
        _start("sync", "--patient", "--json", "--realm", realm.name)


def _start(*command: str) -> None:
    null = subprocess.DEVNULL
    subprocess.Popen([*SELF_COMMAND, *command], stdin=null, stdout=null, stderr=null, start_new_session=True)
