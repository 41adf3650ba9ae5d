"""Server-Sent Events, cut from the pieces in which they come."""

from collections.abc import AsyncIterator

from msgspec import Struct


class Sent(Struct, frozen=True):
    name: str  # empty of an event without one
    data: bytes


async def sent_by(parts: AsyncIterator[bytes]) -> AsyncIterator[Sent]:
    """Every event that has come whole. Lines that begin with a colon say only that somebody is still there."""
    name = ""
    data: list[bytes] = []
    async for line in _lines(parts):
        if not line:
            if data:
                yield Sent(name, b"\n".join(data))
            name, data = "", []
            continue
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode("utf-8", "replace")


async def _lines(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    begun: list[bytes] = []
    async for part in parts:
        *ends, rest = part.split(b"\n")
        for end in ends:
            yield b"".join((*begun, end)).removesuffix(b"\r")
            begun = []
        begun.append(rest)
