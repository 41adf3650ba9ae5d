"""JSON as clients send it, and as they are sent it."""

import json
from typing import Any

import msgspec


def decoded(text: bytes) -> Any:
    """A value. JavaScript may send half of a surrogate pair, which is JSON but no text: it is replaced.

    Raises ValueError or RecursionError for anything else that cannot be read.
    """
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        lenient = json.dumps(json.loads(text.decode("utf-8")), ensure_ascii=False).encode("utf-8", "replace")
        return msgspec.json.decode(lenient)


def encoded(message: dict[str, Any]) -> bytes:
    """A message. Half of a surrogate pair, which an agent may say, is JSON only in its escaped form."""
    try:
        return msgspec.json.encode(message)
    except UnicodeEncodeError:
        return json.dumps(message, default=msgspec.json.decode).encode()  # the default is for parts that are JSON already
