"""The shapes of a task's entries in Cline, Roo Code and Kilo Code, and the state of reading them."""

from bisect import bisect_right
from typing import Any

from msgspec import Struct, field

from recollect.model import Record, Usage
from recollect.sources.formats.json import decode_or_none
from recollect.sources.formats.message import text_of
from recollect.sources.formats.values import as_text
from recollect.sources.tasks.history import Exchange

MARKS = ("HAS_CHANGES", "REQ_APP")  # appended for the interface to a result and to a command


class Message(Struct, rename="camel"):
    """One entry of `ui_messages.json`: a `say` or an `ask`. The text of many entries is JSON."""

    ts: Any = None
    type: Any = None
    ask: Any = None
    say: Any = None
    text: Any = None
    reasoning: Any = None
    images: Any = None
    files: Any = None
    partial: Any = None
    model_info: Any = None
    context_condense: Any = None
    deleted: Any = field(default=None, name="conversationHistoryDeletedRange")

    def name(self) -> str:
        return as_text(self.ask if self.type == "ask" else self.say)

    def text_without_marks(self) -> str:
        text = text_of(self.text)
        for mark in MARKS:
            text = text.removesuffix(mark)
        return text.strip()

    def json(self) -> dict[str, Any]:
        """The object in the text, if it is JSON."""
        value = decode_or_none(self.text, dict[str, Any]) if isinstance(self.text, str) else self.text
        return dict(value) if isinstance(value, dict) else {}


class NumberedMessage(Struct):
    """An entry and its number in the file, from 1. `message` is None if the entry has another shape."""

    place: int
    message: Message | None
    raw: str


class Task(Struct):
    """The state of reading a task."""

    session: str
    exact: dict[int, Exchange] = {}  # exact calls and results, by the number of the call's entry
    answers: dict[int, list[Message]] = {}  # results, by the number of the call's entry
    models: list[tuple[int, str]] = []  # (start time, model)
    called: set[str] = set()  # names of the call entries so far
    now: int | None = None  # the time of the last entry
    usage: Usage | None = None  # of requests without an answer yet
    cancelled: Record | None = None  # the end of the running request, yielded after its answer
    waiting: bool = True  # the agent waits for the person
    completed: bool = False  # the result is given, and no request to the model followed
    deleted: Any = None

    def model_at(self, at: int) -> str | None:
        """The model that was in use at this time."""
        later = bisect_right(self.models, at, key=lambda use: use[0])
        return self.models[max(later - 1, 0)][1] if self.models else None


def reason(text: str) -> str:
    """The text of an error, even if it is JSON inside JSON."""
    fields = decode_or_none(text, dict[str, Any]) or {}
    text_of_error = text_of(fields.get("message") or fields.get("errorMessage"))
    return reason(text_of_error) if text_of_error and len(text_of_error) < len(text) else text


def plain(name: str) -> str:
    """A readable text for an entry without text, from its name."""
    return name.replace("_", " ")
