"""How the archive stores the content of an event: short text unchanged, longer text compressed."""

import threading
from typing import Any

import msgspec
import zstandard

from recollect.model import Event, Kind

MIN_COMPRESSED = 96  # bytes: compression of less saves nothing
PART = 4 << 20  # characters that are encoded at once; a longer text is compressed in parts
LEVEL = 1  # of compression: 3 saves 2 % of the space for a third more time
PREVIEW_ALL = 65_536  # bytes: of a larger compressed body, a preview decompresses only the beginning


class _PerThread(threading.local):
    """Compressors of one thread. Two threads that share a compressor read each other's bytes and crash the process."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(level=LEVEL).compress
        self.decompressor = zstandard.ZstdDecompressor()


_per_thread = _PerThread()


def encode_body(event: Event) -> str | bytes:
    """The content of an event as a cell of the archive. A tool call has its arguments as JSON."""
    if event.kind is not Kind.TOOL_CALL and len(event.text) > PART:
        return _compress_in_parts(event.text)
    content = msgspec.json.encode(event.arguments or {}) if event.kind is Kind.TOOL_CALL else event.text.encode()
    if len(content) <= MIN_COMPRESSED:
        return content.decode()
    return _per_thread.compress(content)


def _compress_in_parts(text: str) -> bytes:
    """Encode and compress a long text part by part, to avoid a copy of all of it."""
    parts = [slice(start, start + PART) for start in range(0, len(text), PART)]
    size = len(text) if text.isascii() else sum(len(text[part].encode()) for part in parts)
    compress = zstandard.ZstdCompressor(level=LEVEL).compressobj(size=size)
    return b"".join([*(compress.compress(text[part].encode()) for part in parts), compress.flush()])


def decode_body(body: str | bytes) -> str:
    """The text of a cell."""
    if isinstance(body, str):
        return body
    return _per_thread.decompressor.decompress(body).decode()


def decoded_size(body: str | bytes) -> int:
    """The bytes that a body decodes to. It is not decoded."""
    return len(body) if isinstance(body, str) else zstandard.frame_content_size(body)


def preview(body: str | bytes, max_length: int) -> tuple[str, bool]:
    """The first characters of a body, and whether it has more. A large body is not decompressed completely."""
    if isinstance(body, str) or len(body) <= PREVIEW_ALL:
        text = decode_body(body)
        return text[:max_length], len(text) > max_length
    with _per_thread.decompressor.stream_reader(body) as stream:
        text = stream.read(max_length * 4 + 4).decode("utf-8", "ignore")
    return text[:max_length], True


def decode_arguments(body: str | bytes) -> dict[str, Any]:
    content = body if isinstance(body, str) else _per_thread.decompressor.decompress(body)
    value: dict[str, Any] = msgspec.json.decode(content)
    return value
