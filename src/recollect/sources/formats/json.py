"""Loads documents of JSON or text that an agent rewrites as a whole. Malformed documents are handled here only."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from recollect.model import Problem
from recollect.sources.formats.container import Unreadable
from recollect.sources.formats.jsonl import EXCERPT, sanitize

MAX_DOCUMENT = 1 << 30  # bytes: a document is held in memory

Shape = TypeVar("Shape")
Item = TypeVar("Item")


def json_document(shape: Callable[..., Shape]) -> Callable[[Path], Shape]:
    """A function that loads a file with one JSON value of this shape."""
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(shape)

    def load(path: Path) -> Shape:
        return _decode(read_content(path), decoder)  # type: ignore[no-any-return]

    return load


def json_items(path: Path) -> list[msgspec.Raw]:
    """The items of a JSON list, not decoded yet. Any other document counts as one item."""
    document = json_document(msgspec.Raw)(path)
    items = decode_or_none(document, list[msgspec.Raw])
    return [document] if items is None else items


def numbered(items: Iterable[Item]) -> Iterator[tuple[int, Item]]:
    """The items with their numbers, from 1."""
    return enumerate(items, 1)


def wrong_shape(path: Path, place: int, raw: msgspec.Raw) -> Problem:
    """The problem to report for an item without the declared shape."""
    excerpt = bytes(raw)[:EXCERPT].decode("utf-8", "replace")
    return Problem(path, place, "has an unknown shape", excerpt)


def read_text(path: Path) -> str:
    """A file as text. Lines end with \\n only."""
    return read_content(path).decode("utf-8", "replace").lstrip("\ufeff").replace("\r\n", "\n")


def read_content(path: Path) -> bytes:
    if path.stat().st_size > MAX_DOCUMENT:
        raise Unreadable(f"larger than {MAX_DOCUMENT >> 20} MB")
    return path.read_bytes()


def _decode(content: bytes, decoder: "msgspec.json.Decoder[Any]") -> Any:
    try:
        return decoder.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    plain = content.decode("utf-8", "replace").strip("\ufeff\0 \t\r\n")
    if not plain:
        raise Unreadable("empty")
    try:
        return decoder.decode(json.dumps(sanitize(json.loads(plain)), ensure_ascii=False))
    except msgspec.ValidationError as reason:
        raise Unreadable(f"has an unknown shape: {reason}", excerpt=plain[:EXCERPT]) from reason
    except RecursionError:
        raise Unreadable("nested too deeply", excerpt=plain[:EXCERPT]) from None
    except ValueError as reason:
        line = getattr(reason, "lineno", 0)
        raise Unreadable("not JSON, or incomplete", line=line, excerpt=plain[-EXCERPT:]) from reason


def decode_each(raws: Iterable[msgspec.Raw], shape: Callable[..., Shape]) -> Iterator[tuple[int, Shape | None, str]]:
    """(number from 1, item, JSON) of each item in a list. The item is None if it has another shape."""
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(shape)
    for place, raw in enumerate(raws, 1):
        try:
            yield place, decoder.decode(raw), bytes(raw).decode("utf-8", "replace")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            yield place, None, bytes(raw).decode("utf-8", "replace")


def decode_or_none(raw: msgspec.Raw | bytes | str, shape: Callable[..., Shape]) -> Shape | None:
    """The value in this shape; None if it has another shape or is not JSON."""
    try:
        return msgspec.json.decode(raw, type=shape)  # type: ignore[no-any-return]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def read_sidecar(path: Path, shape: Callable[..., Shape]) -> Shape | None:
    """The value of a small file next to a log; None if the file is missing or cannot be read."""
    try:
        return decode_or_none(read_content(path), shape)
    except (OSError, Unreadable):
        return None
