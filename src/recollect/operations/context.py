"""The context of a request: when it arrived, who sent it, how long it may take, and where its events go."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from recollect.realms import Realm
from recollect.search import deadline_check
from recollect.store import Reader


def _never() -> bool:
    return False


class Caller(Struct, frozen=True):
    """The agent session that calls, by whatever is known: the id of its tool call or session, and its working folder."""

    tool_use: str | None = None
    thread: str | None = None
    folder: str | None = None


class RequestContext(Struct, frozen=True):
    """When a request arrived, from whom, and its deadline."""

    received: float  # by the monotonic clock; every duration counts from here
    cancelled: Callable[[], bool] = _never  # whether the caller has cancelled the request
    is_local: bool = True  # the caller is on this machine
    is_mcp: bool = False
    on_event: Callable[[dict[str, Any]], None] | None = None  # receives the events of a turn that the request runs
    caller: Caller | None = None
    has_deadline: bool = True  # False for a person at a terminal, who gets the answer however long it takes

    @classmethod
    def now(cls, *, has_deadline: bool = True) -> "RequestContext":
        return cls(time.perf_counter(), has_deadline=has_deadline)

    def elapsed_ms(self) -> float:
        return (time.perf_counter() - self.received) * 1000

    def past_deadline(self, ms: int) -> Callable[[], bool]:
        """A test whether this time has passed since the request arrived, or the caller has cancelled it."""
        if not self.has_deadline:
            return self.cancelled
        end = self.received + ms / 1000
        return lambda: time.perf_counter() >= end or self.cancelled()


def start_deadline(realm: Realm, context: RequestContext, default_ms: int) -> Callable[[], bool]:
    """A test whether the deadline of a request has passed. Raises `DeadlineExceeded` if it has passed already."""
    is_late = context.past_deadline(realm.deadline_ms(default_ms))
    deadline_check(is_late)()
    return is_late


@contextmanager
def open_reader(realm: Realm, context: RequestContext, default_ms: int) -> Iterator[Reader]:
    """A reader of the archive, interrupted at the request's deadline. Raises `DeadlineExceeded` if it has passed already."""
    is_late = start_deadline(realm, context, default_ms)
    with realm.open_archive() as reader:
        reader.interrupt_when(is_late)
        yield reader
