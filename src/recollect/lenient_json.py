"""JSON with halves of surrogate pairs. They are valid JSON but not valid text, and JavaScript and agents write them."""

import json
from typing import Any

import msgspec


def decode(content: bytes) -> Any:
    """A value, with `?` for every half of a surrogate pair. Raises ValueError or RecursionError for other faults."""
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError:
        return msgspec.json.decode(_replaced(json.loads(content.decode("utf-8"))))  # which refuses NaN


def encode(value: Any) -> bytes:
    """JSON to send. Halves of surrogate pairs are escaped: the other half may come with the next message."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, default=msgspec.json.decode).encode()  # the default decodes parts that are JSON already


def encode_replaced(value: Any) -> bytes:
    """JSON to store, with `?` for every half of a surrogate pair: msgspec does not read escaped ones."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return _replaced(value)


def _replaced(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
