"""How many events of a session were told, up to the running turn's last one: a number that outlives a crash.

What was told of a turn that crashed is not committed, but its numbers must not be given again: whoever comes back says by
them what it has heard. So each is written down before the event is told, into a file of eight bytes.
"""

import os
from contextlib import suppress
from pathlib import Path

SIZE = 8  # bytes


def _file(realm: Path, token: bytes) -> Path:
    """Not where live sessions are: whoever watches those would hear of every event."""
    return realm / "telling" / token.hex()


class EventSequence:
    """Of one running turn. Where it cannot be written the turn goes on: only a crash would tell the difference."""

    def __init__(self, realm: Path, token: bytes) -> None:
        self._path = _file(realm, token)
        self._handle: int | None = None
        with suppress(OSError):
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            self._handle = os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600)

    def put(self, sequence: int) -> None:
        if self._handle is not None:
            with suppress(OSError):
                os.pwrite(self._handle, sequence.to_bytes(SIZE), 0)

    def close(self) -> None:
        """What was told is committed now."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
        self._path.unlink(missing_ok=True)


def counted(realm: Path, token: bytes) -> int:
    """The last number of a turn; 0 where nothing was told."""
    try:
        return int.from_bytes(_file(realm, token).read_bytes()[:SIZE])
    except OSError:
        return 0


def sweep(realm: Path, running: set[bytes]) -> None:
    """Remove what turns left behind that crashed and are closed."""
    for path in (realm / "telling").glob("*"):
        if path.name not in {token.hex() for token in running}:
            path.unlink(missing_ok=True)
