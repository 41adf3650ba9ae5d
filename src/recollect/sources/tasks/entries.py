"""The entries of a task of Cline, Roo Code or Kilo Code, and what reading one must know of the others."""

from bisect import bisect_right
from typing import Any

from msgspec import Struct, field

from recollect.model import Record, Usage
from recollect.sources.formats.json import decode_or_none
from recollect.sources.formats.message import text_of
from recollect.sources.formats.values import as_text
from recollect.sources.tasks.history import Exchange

MARKS = ("HAS_CHANGES", "REQ_APP")  # appended to a result and to a command, for the interface


class Message(Struct, rename="camel"):
    """One entry of `ui_messages.json`: something said or asked. The text of many is JSON."""

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
        """What the text says where it is JSON."""
        value = decode_or_none(self.text, dict[str, Any]) if isinstance(self.text, str) else self.text
        return dict(value) if isinstance(value, dict) else {}


class Placed(Struct):
    """An entry and where it stands in the file, from 1. What is no entry has no message."""

    place: int
    message: Message | None
    raw: str


class Task(Struct):
    """A task while it is read."""

    session: str
    exact: dict[int, Exchange] = {}  # by the place of the call
    answers: dict[int, list[Message]] = {}  # by the place of the call
    models: list[tuple[int, str]] = []
    called: set[str] = set()  # the entries that were calls, by name
    now: int | None = None  # the time of the last entry
    usage: Usage | None = None  # of requests whose answer has not come yet
    cancelled: Record | None = None  # the end of the running request, which comes after what it brought
    waiting: bool = True  # for the person
    completed: bool = False  # the result was said, and nothing was asked of the model since
    deleted: Any = None

    def model_at(self, at: int) -> str | None:
        """The model that was in use at this time."""
        later = bisect_right(self.models, at, key=lambda use: use[0])
        return self.models[max(later - 1, 0)][1] if self.models else None


def reason(text: str) -> str:
    """What an error says, which may be an object as text, and one within another."""
    fields = decode_or_none(text, dict[str, Any]) or {}
    text_of_error = text_of(fields.get("message") or fields.get("errorMessage"))
    return reason(text_of_error) if text_of_error and len(text_of_error) < len(text) else text


def plain(name: str) -> str:
    """The name of an entry that has no other words."""
    return name.replace("_", " ")
