"""Declares how a file is recognised by its content: `marked("messages", agent="heron")`, `has_tables("sessions")`."""

from collections.abc import Callable
from typing import Any

from recollect.sources.formats.head import Head

Recognises = Callable[[Head], bool]


def marked(*fields: str, **values: Any) -> Recognises:
    """Whether the first JSON object of a file has all of these fields, some of them with these values."""
    required = {*fields, *values}

    def recognises(head: Head) -> bool:
        first = head.first()
        return required <= first.keys() and all(first[name] == value for name, value in values.items())

    return recognises


def has_tables(*tables: str) -> Recognises:
    """Whether a file is a database with all of these tables."""
    return lambda head: head.tables >= {*tables}


def either(*tests: Recognises) -> Recognises:
    """Whether a file passes one of these tests."""
    return lambda head: any(test(head) for test in tests)
