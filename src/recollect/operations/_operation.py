"""What an operation is: a name, words for a model to choose it by, shapes, and a function."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from msgspec import Struct

from recollect.errors import RecollectError, StoreFault
from recollect.operations.prompts import Prompt
from recollect.realms import Realm
from recollect.search import deadline_check
from recollect.store import Reader

JsonSchema = dict[str, Any]
Made = TypeVar("Made")
DOCTOR = "`recollect doctor` may know why"

log = logging.getLogger(__name__)


def _never() -> bool:
    return False


def now_ms() -> int:
    """The time of day, from which "yesterday" is counted."""
    return time.time_ns() // 1_000_000


class Clock(Struct, frozen=True):
    """When a request was received, from where everything it costs is measured; and whether it is still wanted."""

    received: float
    cancelled: Callable[[], bool] = _never

    @classmethod
    def now(cls) -> "Clock":
        return cls(time.perf_counter())

    def elapsed_ms(self) -> float:
        return (time.perf_counter() - self.received) * 1000

    def later_than(self, ms: int) -> Callable[[], bool]:
        """A test whether that many milliseconds have passed since, or the caller has given up."""
        end = self.received + ms / 1000
        return lambda: time.perf_counter() >= end or self.cancelled()


@contextmanager
def reading_within(realm: Realm, clock: Clock, usual_ms: int) -> Iterator[Reader]:
    """The archive, for as long as a request has; refused where its time is up already."""
    late = clock.later_than(realm.deadline_ms(usual_ms))
    deadline_check(late)()
    with realm.reading() as reader:
        reader.stop_when(late)
        yield reader


def answered(name: str, make: Callable[[], Made], refuse: Callable[[RecollectError], Made], unforeseen: str) -> Made:
    """What an operation answers, in its family's words; the last net of them all.

    A fault of ours (`unforeseen` is what is said of it) is an answer too, and never ends the server.
    """
    try:
        return make()
    except RecollectError as error:
        return refuse(error)
    except Exception:
        log.exception("%s failed", name)
        return refuse(StoreFault(unforeseen))


class Reply(Struct, frozen=True):
    """What a caller gets, in its family's form: a text, and where the family answers in JSON the same as an object."""

    text: str
    structured: bytes | None = None
    is_error: bool = False


@dataclass(frozen=True)
class Operation:
    """`run` takes the arguments as they came and answers in its family's form; it never raises."""

    name: str
    title: str
    description: str
    input_schema: JsonSchema
    run: Callable[[Realm, Any, Clock], Reply]
    output_schema: JsonSchema | None = None  # of the structured answer, where there is one
    writes: bool = False
    repeatable: bool = True  # asked twice, it does no more than asked once
    is_tool: bool = True  # offered to models; what is not, only people and programs ask for


@dataclass(frozen=True)
class Family:
    """Operations that belong together: they share an envelope, words for errors, and a guide to choosing between them."""

    operations: tuple[Operation, ...]
    guide: str  # one or two sentences for a model
    prompts: tuple[Prompt, ...] = ()
