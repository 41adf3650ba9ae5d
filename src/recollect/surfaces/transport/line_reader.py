"""Messages cut from a stream of bytes: one a line.

On a pipe a line that is too long is passed over without being kept. On a port the first bad line ends the stream.
"""

import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from functools import cache

LONGEST = 32 << 20  # bytes of one message; a prompt may have 8 million characters
TOO_LONG = f"a message must be at most {LONGEST >> 20} MB"
CHUNK = 1 << 16  # bytes that are read at once
INDENT = 64  # bytes that may stand before an object's brace
HEED_S = 0.5  # seconds after which who waits for answers looks up: nobody may read them any more


class BadLine(Exception):
    """A line that cannot be a JSON object."""


def heard(descriptor: int) -> bytes:
    """What comes next; nothing at the end. Signals are acted on by the main thread alone, and only while it runs."""
    is_main = threading.current_thread() is threading.main_thread()
    signals = [_signals()] if is_main else []
    while descriptor not in (ready := select.select([descriptor, *signals], [], [])[0]):
        os.read(ready[0], CHUNK)
    return os.read(descriptor, CHUNK)


@cache
def _signals() -> int:
    """A descriptor that becomes readable with every signal. The kernel may give one to a thread that cannot act on it."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    return reading


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


def object_lines(read: Callable[[], bytes], longest: Callable[[], int]) -> Iterator[bytes]:
    """Every line that `read` brings. Raises `BadLine` at the first that is too long or does not begin as an object does.

    It does so as soon as the first bytes of a line show it: TLS, for one, never sends the end of a line.
    """
    line = bytearray()
    while chunk := read():
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            line += end
            _check(line, longest())
            yield bytes(line)
            line.clear()
        line += rest
        if line:
            _check(line, longest())
    if line:
        yield bytes(line)


def _check(line: bytearray, longest: int) -> None:
    if len(line) > longest or not line[:INDENT].lstrip(b" \t").startswith(b"{"):
        raise BadLine
