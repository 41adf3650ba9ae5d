"""Recollect's trace tools over stdio with the official client, for the tests of the trace contract."""

import json
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters

from recollect.display import escape_json
from tests.conftest import Person
from tests.contract.history_client import History, text_of

TOOLS = ["search_event_previews", "get_event_details", "get_session_details", "analyze_session", "search_events"]
EVENT_TYPES = ["user", "message", "reasoning", "tool_call", "tool_result", "token_usage", "notification"]
LEVELS = ["summary", "turns", "steps", "full"]
KB = 1_024
HINT = "Use get_event_details(session_id, event_index) for full payload"
WRAPPER = {"data", "pagination", "hint", "warnings"}
RETRYABLE = {"search_timeout", "internal_error"}
Answer = dict[str, Any]


class Trace(History):
    """The trace tools of a running server. Every answer and every error is checked to have the envelope of its family."""

    def __init__(self, person: Person, portal: BlockingPortal, client: Client) -> None:
        super().__init__(portal, client)
        self.person = person

    def reply(self, tool: str, arguments: Any) -> tuple[Answer, str]:
        """The answer of a tool, as an object and as text: both are the same, and the text is compact."""
        result = self.result(tool, arguments)
        text, answer = text_of(result), result.structured_content
        assert answer is not None and json.loads(text) == answer
        assert escape_json(compact(answer)) == text
        assert bool(result.is_error) is ("error" in answer)
        return answer, text

    def answer(self, tool: str, /, **arguments: Any) -> Answer:
        """A success, with its envelope."""
        answer, _ = self.reply(tool, arguments)
        assert "data" in answer and answer.keys() <= WRAPPER, answer
        assert all(answer.values()), "empty fields are left out"
        return answer

    def data(self, tool: str, /, **arguments: Any) -> Any:
        return self.answer(tool, **arguments)["data"] if tool in TOOLS else super().data(tool, **arguments)

    def error(self, tool: str, /, **arguments: Any) -> Answer:
        answer, _ = self.reply(tool, arguments)
        assert list(answer) == ["error"], answer
        error: Answer = answer["error"]
        assert [*error] == [name for name in ("code", "message", "details", "retryable") if name in error]
        assert error["retryable"] is (error["code"] in RETRYABLE)
        assert error["message"] and "Traceback" not in error["message"]
        return error

    # ---- matches

    def matches(self, query: str, **more: Any) -> list[Answer]:
        """The first page of a search."""
        matches: list[Answer] = self.data("search_event_previews", query=query, **more)["matches"]
        return matches

    def pages(self, query: str, tool: str = "search_event_previews", **more: Any) -> list[list[Answer]]:
        """All pages of a search; the pagination of each is checked."""
        pages, cursor = [], Answer()
        while True:
            answer = self.answer(tool, query=query, **more, **cursor)
            page, matches = answer["pagination"], answer["data"]["matches"]
            assert page.keys() == {"total_in_page", "next_cursor", "has_more"}
            assert page["total_in_page"] == len(matches)
            assert page["has_more"] is (page["next_cursor"] is not None)
            pages.append(matches)
            if not page["has_more"]:
                return pages
            cursor = {"cursor": page["next_cursor"]}

    def places(self, query: str, **more: Any) -> list[tuple[str, int]]:
        """(session, event) of every match, in order."""
        return [place(match) for page in self.pages(query, limit=50, **more) for match in page]

    # ---- sessions

    @cached_property
    def ids(self) -> dict[str, str]:
        """Session ids by title, as UUIDs like in this family."""
        return {title: str(uuid.UUID(identity.removeprefix("session:"))) for title, identity in self.ids_by_title.items()}

    def details(self, title: str, level: str | None = None, **more: Any) -> Any:
        detail_level = {"detail_level": level} if level else {}
        return self.data("get_session_details", session_id=self.ids[title], **detail_level, **more)

    def count(self, title: str) -> int:
        """The number of events of a session."""
        return int(self.details(title)["stats"]["total_events"])

    def event(self, title: str, index: int) -> Any:
        return self.data("get_event_details", session_id=self.ids[title], event_index=index)

    def every_event(self, title: str) -> list[Any]:
        return [self.event(title, index) for index in range(self.count(title))]


def place(match: Answer) -> tuple[str, int]:
    return match["session_id"], match["event_index"]


def compact(answer: Any) -> str:
    return json.dumps(answer, separators=(",", ":"), ensure_ascii=False)


def size(answer: Any) -> int:
    """The size of an answer as compact JSON, in bytes."""
    return len(compact(answer).encode())


@contextmanager
def connect_trace(person: Person, *options: str, **env: str) -> Iterator[Trace]:
    """Start `recollect mcp --no-sync` and connect a client to it."""
    arguments = ["-m", "recollect", "mcp", "--no-sync", *options]
    server = StdioServerParameters(command=sys.executable, args=arguments, env={**person.env, **env})
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server)) as client:
        yield Trace(person, portal, client)


def texts_in(value: Any) -> Iterator[str]:
    """Every text inside arguments: names and values."""
    match value:
        case str():
            yield value
        case dict():
            for name, inner in value.items():
                yield name
                yield from texts_in(inner)
        case list():
            for inner in value:
                yield from texts_in(inner)
