"""Messages cut from a stream of bytes: one a line. A line that is too long is passed over without being kept."""

import os
import select
from collections.abc import Callable, Iterator

LONGEST = 32 << 20  # bytes of one message; a prompt may have 8 million characters
TOO_LONG = f"a message must be at most {LONGEST >> 20} MB"
CHUNK = 1 << 16  # bytes that are read at once
HEED_S = 0.5  # seconds after which who waits for input looks up: a signal may have been given to another thread


def heard(descriptor: int) -> bytes:
    """What comes next; nothing at the end. Signals are acted on by the main thread alone, and only while it runs."""
    while not select.select([descriptor], [], [], HEED_S)[0]:
        pass
    return os.read(descriptor, CHUNK)


def is_read(descriptor: int) -> bool:
    """Whether somebody may still read what we write there: not where the other end of a pipe is closed."""
    poller = select.poll()
    poller.register(descriptor, 0)
    return not poller.poll(0)


def lines(read: Callable[[], bytes]) -> Iterator[bytes | None]:
    """Every line that `read` brings, without its end, until it brings nothing; None stands for one that was too long."""
    parts: list[bytes] = []
    length = 0
    while chunk := read():
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            length += len(end)
            yield b"".join((*parts, end)) if length <= LONGEST else None
            parts, length = [], 0
        length += len(rest)
        if length <= LONGEST:
            parts.append(rest)
        else:
            parts.clear()
    if length:
        yield b"".join(parts) if length <= LONGEST else None
