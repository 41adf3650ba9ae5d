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
    """The agent that calls, as far as it is known: the id of its tool call or of its session, and its working folder."""

    tool_use: str | None = None
    thread: str | None = None
    folder: str | None = None


class RequestContext(Struct, frozen=True):
    """What surrounds a request, apart from its arguments."""

    received: float  # by the monotonic clock: every duration counts from here
    cancelled: Callable[[], bool] = _never  # whether the caller has given up
    is_local: bool = True  # the caller is on this machine
    is_mcp: bool = False
    on_event: Callable[[dict[str, Any]], None] | None = None  # receives the events of a turn that the request runs
    caller: Caller | None = None
    has_deadline: bool = True  # a person at a terminal gets an answer, late if need be

    @classmethod
    def now(cls, *, has_deadline: bool = True) -> "RequestContext":
        return cls(time.perf_counter(), has_deadline=has_deadline)

    def elapsed_ms(self) -> float:
        return (time.perf_counter() - self.received) * 1000

    def past_deadline(self, ms: int) -> Callable[[], bool]:
        """A test whether so many milliseconds have passed since the request arrived, or the caller has given up."""
        if not self.has_deadline:
            return self.cancelled
        end = self.received + ms / 1000
        return lambda: time.perf_counter() >= end or self.cancelled()


@contextmanager
def open_reader(realm: Realm, context: RequestContext, usual_ms: int) -> Iterator[Reader]:
    """The archive, for as long as the request may take. Raises `DeadlineExceeded` if its time is already up."""
    late = context.past_deadline(realm.deadline_ms(usual_ms))
    deadline_check(late)()
    with realm.open_archive() as reader:
        reader.interrupt_when(late)
        yield reader
