"""Reading logs while a server answers is another process's work, so that answers never wait for it. It ends when we do."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from recollect import OURS
from recollect.realms import Realm
from recollect.realms.manifest import Backend


@contextmanager
def watching(realm: Realm, *, is_wanted: bool) -> Iterator[None]:
    """Keep a realm level with the logs of this machine for as long as the block lasts; not one that only we can see."""
    if not is_wanted or realm.backend is Backend.MEMORY:
        yield
        return
    command = [*OURS, "watch", "--quiet", "--while-open", "--realm", realm.name]
    nowhere = subprocess.DEVNULL
    watcher = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere)
    try:
        yield
    finally:
        assert watcher.stdin is not None
        watcher.stdin.close()
