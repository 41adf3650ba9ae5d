"""Reads messages from a stream of bytes, one per line.

On a pipe, a line that is too long is skipped. On a port, the first bad line ends the stream.
"""

import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from functools import cache

MAX_BYTES = 32 << 20  # of one message: a prompt may have 8 million characters
TOO_LONG = f"a message must be at most {MAX_BYTES >> 20} MB"
CHUNK = 1 << 16  # bytes per read
MAX_INDENT = 64  # bytes of white space before an object's brace
POLL_S = 0.5  # seconds between two checks whether the client still reads


class BadLine(Exception):
    """A line that is too long or cannot be a JSON object."""


def read_chunk(descriptor: int) -> bytes:
    """The next bytes; empty at the end. Signals interrupt the wait: Python handles them in the main thread only."""
    is_main = threading.current_thread() is threading.main_thread()
    signals = [_signal_pipe()] if is_main else []
    while descriptor not in (ready := select.select([descriptor, *signals], [], [])[0]):
        os.read(ready[0], CHUNK)
    return os.read(descriptor, CHUNK)


@cache
def _signal_pipe() -> int:
    """A descriptor that becomes readable on every signal. The kernel may deliver a signal to another thread."""
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    return read_end


def has_reader(descriptor: int) -> bool:
    """Whether the other end of a pipe is still open."""
    poller = select.poll()
    poller.register(descriptor, 0)
    return not poller.poll(0)


def read_lines(read: Callable[[], bytes]) -> Iterator[bytes | None]:
    """All lines of a stream, until `read` returns nothing. None stands for a line that is too long."""
    parts: list[bytes] = []
    length = 0
    while chunk := read():
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            length += len(end)
            yield b"".join((*parts, end)) if length <= MAX_BYTES else None
            parts, length = [], 0
        length += len(rest)
        if length <= MAX_BYTES:
            parts.append(rest)
        else:
            parts.clear()
    if length:
        yield b"".join(parts) if length <= MAX_BYTES else None


def read_object_lines(read: Callable[[], bytes], max_bytes: Callable[[], int]) -> Iterator[bytes]:
    """All lines of a stream. Raises `BadLine` at the first line that is too long or cannot be an object.

    The first bytes of a line decide: a TLS handshake, for example, never sends the end of a line.
    """
    line = bytearray()
    while chunk := read():
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            line += end
            _check(line, max_bytes())
            yield bytes(line)
            line.clear()
        line += rest
        if line:
            _check(line, max_bytes())
    if line:
        yield bytes(line)


def _check(line: bytearray, max_bytes: int) -> None:
    if len(line) > max_bytes or not line[:MAX_INDENT].lstrip(b" \t").startswith(b"{"):
        raise BadLine
