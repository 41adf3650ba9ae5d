"""Messages cut from a stream of bytes: one a line. A line that is too long is passed over without being kept."""

from collections.abc import Callable, Iterator

LONGEST = 32 << 20  # bytes of one message; a prompt may have 8 million characters


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
