"""Whole documents of JSON or text that their agent writes anew each time: the one place that forgives them."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from recollect.model import Problem
from recollect.sources.formats.container import Unreadable
from recollect.sources.formats.jsonl import EXCERPT, scrubbed

LARGEST = 1 << 30  # bytes: a document is held in memory whole

Shape = TypeVar("Shape")
Item = TypeVar("Item")


def document(shape: Callable[..., Shape]) -> Callable[[Path], Shape]:
    """What loads a file as one JSON value of this shape."""
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(shape)

    def load(path: Path) -> Shape:
        return _decoded(content_of(path), decoder)  # type: ignore[no-any-return]

    return load


def listed(path: Path) -> list[msgspec.Raw]:
    """The items of a document that is a list, not decoded yet. A document that is none is its own only item."""
    whole = document(msgspec.Raw)(path)
    items = decoded(whole, list[msgspec.Raw])
    return [whole] if items is None else items


def numbered(items: Iterable[Item]) -> Iterator[tuple[int, Item]]:
    """Items with their place, from 1."""
    return enumerate(items, 1)


def misfit(path: Path, place: int, raw: msgspec.Raw) -> Problem:
    """An item of a list that is not of the shape of all the others."""
    excerpt = bytes(raw)[:EXCERPT].decode("utf-8", "replace")
    return Problem(path, place, "not of the shape that is known", excerpt)


def text(path: Path) -> str:
    """A file as text. Lines end with \\n alone."""
    return content_of(path).decode("utf-8", "replace").lstrip("\ufeff").replace("\r\n", "\n")


def content_of(path: Path) -> bytes:
    if path.stat().st_size > LARGEST:
        raise Unreadable(f"larger than {LARGEST >> 20} MB")
    return path.read_bytes()


def _decoded(content: bytes, decoder: "msgspec.json.Decoder[Any]") -> Any:
    try:
        return decoder.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    plain = content.decode("utf-8", "replace").strip("\ufeff\0 \t\r\n")
    if not plain:
        raise Unreadable("empty")
    try:
        return decoder.decode(json.dumps(scrubbed(json.loads(plain)), ensure_ascii=False))
    except msgspec.ValidationError as reason:
        raise Unreadable(f"not of the shape that is known: {reason}", excerpt=plain[:EXCERPT]) from reason
    except RecursionError:
        raise Unreadable("nested too deeply", excerpt=plain[:EXCERPT]) from None
    except ValueError as reason:
        line = getattr(reason, "lineno", 0)
        raise Unreadable("not JSON, or not all of it", line=line, excerpt=plain[-EXCERPT:]) from reason


def each(raws: Iterable[msgspec.Raw], shape: Callable[..., Shape]) -> Iterator[tuple[int, Shape | None, str]]:
    """The items of a list, decoded one by one: (place from 1, the item, its JSON). None for one of another shape."""
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(shape)
    for place, raw in enumerate(raws, 1):
        try:
            yield place, decoder.decode(raw), bytes(raw).decode("utf-8", "replace")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            yield place, None, bytes(raw).decode("utf-8", "replace")


def decoded(raw: msgspec.Raw | bytes | str, shape: Callable[..., Shape]) -> Shape | None:
    """One value of this shape; None for anything else."""
    try:
        return msgspec.json.decode(raw, type=shape)  # type: ignore[no-any-return]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def beside(path: Path, shape: Callable[..., Shape]) -> Shape | None:
    """A small file that tells more of a log: its value, or None where it is missing or of no use."""
    try:
        return decoded(content_of(path), shape)
    except (OSError, Unreadable):
        return None
