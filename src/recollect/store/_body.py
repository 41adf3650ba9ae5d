"""An event's content as the archive holds it: short text as it is, longer text compressed."""

import threading
from typing import Any

import msgspec
import zstandard

from recollect.model import Event, Kind

PLAIN = 96  # bytes below which compression saves nothing
HEAD = 65_536  # bytes of compressed content above which a preview is not worth a whole decompression


class _Own(threading.local):
    """Each thread's own: two threads that share one read each other's bytes, and end the process."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(level=1).compress  # level 3 saves 2 % of the space for a third more time
        self.decompressor = zstandard.ZstdDecompressor()


_own = _Own()


def packed(event: Event) -> str | bytes:
    content = msgspec.json.encode(event.arguments or {}) if event.kind is Kind.TOOL_CALL else event.text.encode()
    if len(content) <= PLAIN:
        return content.decode()
    return _own.compress(content)


def unpacked(body: str | bytes) -> str:
    if isinstance(body, str):
        return body
    return _own.decompressor.decompress(body).decode()


def head(body: str | bytes, most: int) -> tuple[str, bool]:
    """The first characters of a body and whether there are more, without unpacking all of a large one."""
    if isinstance(body, str) or len(body) <= HEAD:
        text = unpacked(body)
        return text[:most], len(text) > most
    with _own.decompressor.stream_reader(body) as stream:
        text = stream.read(most * 4 + 4).decode("utf-8", "ignore")
    return text[:most], True


def arguments_of(body: str | bytes) -> dict[str, Any]:
    value: dict[str, Any] = msgspec.json.decode(unpacked(body))
    return value
