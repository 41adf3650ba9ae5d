"""JSON to and from servers. Half of a surrogate pair, which an agent may say, is JSON but no text: it is replaced."""

import json
from typing import Any, TypeVar

import msgspec

Shape = TypeVar("Shape")
LONGEST = 32 << 20  # bytes of one message: a server takes no more


def encoded(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def decoded(text: bytes | msgspec.Raw, shape: type[Shape]) -> Shape:
    """A value of this shape. Raises ValueError (`msgspec.ValidationError` is one) or RecursionError where it is none."""
    try:
        return msgspec.json.decode(text, type=shape)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        lenient = json.dumps(json.loads(bytes(text).decode("utf-8")), ensure_ascii=False).encode("utf-8", "replace")
        return msgspec.json.decode(lenient, type=shape)
