"""An event's content as the archive holds it: short text as it is, longer text compressed."""

import threading
from typing import Any

import msgspec
import zstandard

from recollect.model import Event, Kind

PLAIN = 96  # bytes below which compression saves nothing
PART = 4 << 20  # characters that are encoded at once
LEVEL = 1  # of compression: 3 saves 2 % of the space for a third more time
HEAD = 65_536  # bytes of compressed content above which a preview is not worth a whole decompression


class _Own(threading.local):
    """Each thread's own: two threads that share one read each other's bytes, and end the process."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(level=LEVEL).compress
        self.decompressor = zstandard.ZstdDecompressor()


_own = _Own()


def packed(event: Event) -> str | bytes:
    if event.kind is not Kind.TOOL_CALL and len(event.text) > PART:
        return _packed_in_parts(event.text)
    content = msgspec.json.encode(event.arguments or {}) if event.kind is Kind.TOOL_CALL else event.text.encode()
    if len(content) <= PLAIN:
        return content.decode()
    return _own.compress(content)


def _packed_in_parts(text: str) -> bytes:
    """A long text, encoded and compressed part by part: a copy of all of it would be as large again."""
    parts = [slice(start, start + PART) for start in range(0, len(text), PART)]
    size = len(text) if text.isascii() else sum(len(text[part].encode()) for part in parts)
    compress = zstandard.ZstdCompressor(level=LEVEL).compressobj(size=size)
    return b"".join([*(compress.compress(text[part].encode()) for part in parts), compress.flush()])


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
