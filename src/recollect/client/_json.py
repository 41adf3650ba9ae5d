"""JSON to and from servers.

Half of a surrogate pair is valid JSON but not valid text, and an agent may write it. Decoding replaces it with `?`.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

Shape = TypeVar("Shape")
Value = TypeVar("Value")
MAX_MESSAGE_BYTES = 32 << 20  # the server's own limit
SHOWN_CHARS = 200  # characters that an error quotes of an unreadable message: two or three lines of a terminal


def encode(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def decode(text: bytes | msgspec.Raw, shape: type[Shape]) -> Shape:
    """Decode into a value of this shape.

    Raises ValueError (`msgspec.ValidationError` is one) or RecursionError if the text does not fit.
    """
    try:
        return msgspec.json.decode(text, type=shape)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        lenient = json.dumps(json.loads(bytes(text).decode("utf-8")), ensure_ascii=False).encode("utf-8", "replace")
        return msgspec.json.decode(lenient, type=shape)


def shorten(text: bytes) -> str:
    """The beginning of an unreadable message, for an error."""
    return text.decode("utf-8", "replace")[:SHOWN_CHARS]


def as_list(items: Sequence[str] | None) -> Any:
    """A list that can be encoded. A string stays a string, so that the server can report it."""
    return items if items is None or isinstance(items, str) else list(items)


def as_dict(mapping: Mapping[str, Value] | None) -> dict[str, Value] | None:
    """A dict that can be encoded."""
    return None if mapping is None else dict(mapping)
