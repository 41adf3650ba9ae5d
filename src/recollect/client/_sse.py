"""Server-Sent Events (SSE): messages in the body of a response."""

from collections.abc import AsyncIterator

from msgspec import Struct

from recollect.client._line_connection import split_lines


class SseMessage(Struct, frozen=True):
    name: str  # empty if the message has none
    data: bytes
    id: str = ""  # empty if the message has none


async def read_sse(parts: AsyncIterator[bytes]) -> AsyncIterator[SseMessage]:
    """Complete messages. Comments are skipped: a server sends them to keep the connection alive."""
    name = identity = ""
    data: list[bytes] = []
    async for raw_line in split_lines(parts):
        line = raw_line.removesuffix(b"\r")
        if not line:
            if data:
                yield SseMessage(name, b"\n".join(data), identity)
            name, identity, data = "", "", []
            continue
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode("utf-8", "replace")
        elif field == b"id":
            identity = value.decode("utf-8", "replace")
