"""The last event number of a running turn, saved so that it outlives a crash.

Events of a crashed turn are not committed, but their numbers must not be used again: a client that reconnects sends the
number of the last event it has. So each number is saved before its event is sent, in a file of eight bytes.
"""

import os
from contextlib import suppress
from pathlib import Path

SIZE = 8  # bytes
FOLDER = "telling"  # the name in existing realms; not beside live.db: every event would wake a watcher of that folder


def _file(realm: Path, token: bytes) -> Path:
    return realm / FOLDER / token.hex()


class EventSequence:
    """The last event number of one running turn. If it cannot be written, the turn continues: only a crash needs it."""

    def __init__(self, realm: Path, token: bytes) -> None:
        self._path = _file(realm, token)
        self._handle: int | None = None
        with suppress(OSError):
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            self._handle = os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600)

    def save(self, sequence: int) -> None:
        if self._handle is not None:
            with suppress(OSError):
                os.pwrite(self._handle, sequence.to_bytes(SIZE), 0)

    def close(self) -> None:
        """Remove the file: the number is committed with the session now."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
        self._path.unlink(missing_ok=True)


def last_saved(realm: Path, token: bytes) -> int:
    """The number of a turn's last event; 0 if it sent none."""
    try:
        return int.from_bytes(_file(realm, token).read_bytes()[:SIZE])
    except OSError:
        return 0


def remove_leftovers(realm: Path, running: set[bytes]) -> None:
    """Remove the files of crashed turns that are closed."""
    for path in (realm / FOLDER).glob("*"):
        if path.name not in {token.hex() for token in running}:
            path.unlink(missing_ok=True)
