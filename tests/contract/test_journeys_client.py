"""Recollect's journey tools over stdio, asked by the official client; and the home that the tests of them share."""

import json
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters

from recollect.live import LiveRealm
from recollect.operations import OPERATIONS, RequestContext
from tests.conftest import Person
from tests.contract.test_history_client import History
from tests.logs import Claude, write

USER = "5d6f3a5e-1c1b-4c7e-9a55-2f6c6b0f3a10"
NOBODY = "00000000-0000-4000-8000-000000000000"
TYPES = ["woop_plan", "file_upload", "artifact", "note"]
Body = dict[str, Any]


class Journeys(History):
    """The journey tools of a running server. The client itself checks every answer against its tool's output schema."""

    def body(self, tool: str, /, **arguments: Any) -> Body:
        """The answer of a tool, which is the same as an object and as text."""
        answer = self.result(tool, arguments)
        (content,) = answer.content
        assert not answer.is_error, content.text
        assert json.loads(content.text) == answer.structured_content
        return answer.structured_content

    def refusal(self, tool: str, arguments: Any) -> tuple[int, str]:
        """(code, message) of an error, which is text only: an object would be checked against the schema of success."""
        answer = self.result(tool, arguments)
        (content,) = answer.content
        assert (answer.is_error, answer.structured_content) == (True, None), content.text
        error = json.loads(content.text)
        assert list(error) == ["code", "message"]
        return error["code"], error["message"]

    def begin(self, user: str | None = None) -> str:
        """A journey; its id."""
        return self.body("get_or_create_journey", **({"user_id": user} if user else {}))["journey_id"]

    def link(self, journey: str, session: str, **more: Any) -> None:
        body = self.body("link_session_to_journey", journey_id=journey, session_id=session, **more)
        assert body == {"journey_id": journey, "session_id": session}

    def query(self, journey: str, **more: Any) -> Body:
        return self.body("query_journey_history", journey_id=journey, **more)

    def found(self, journey: str, **more: Any) -> list[Any]:
        return self.query(journey, **more)["sessions"]

    def add(self, journey: str, document_type: str = "note", **more: Any) -> str:
        """Add a document; its id."""
        body = self.body("add_document_to_journey", journey_id=journey, document_type=document_type, **more)
        return body["document_id"]

    def session_ids(self) -> dict[str, str]:
        """The ids of all sessions, as this family shows them, by title."""
        sessions = [listed["session"] for listed in self.sessions()]
        return {session["title"]: as_uuid(session["id"]) for session in sessions}


def as_uuid(reference: str) -> str:
    return str(uuid.UUID(reference.removeprefix("session:")))


def as_reference(session: str) -> str:
    return f"session:{uuid.UUID(session).hex}"


def ask(person: Person, operation: str, /, **arguments: Any) -> Body:
    """An operation in this process, tool or not; its body, also of an error."""
    return json.loads(OPERATIONS[operation].run(LiveRealm(person.settings()), arguments, RequestContext.now()).text)


@contextmanager
def opened(person: Person, *options: str, **env: str) -> Iterator[Journeys]:
    """`recollect mcp --no-sync` in a process of its own, and a client connected to it."""
    arguments = ["-m", "recollect", "mcp", "--no-sync", *options]
    server = StdioServerParameters(command=sys.executable, args=arguments, env={**person.env, **env})
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server)) as client:
        yield Journeys(portal, client)


def tell(person: Person, number: int, at: str, *said: str) -> Path:
    """Write a session in which prompts and answers take turns, all at one time."""
    log = Claude(f"{number:08d}-0000-4000-8000-000000000000", start=number * 100)
    lines = [log.says(text) if place % 2 else log.prompt(text) for place, text in enumerate(said)]
    return write(person.claude_log(log.session), [{**line, "timestamp": at} for line in lines])


VOYAGE = (
    ("2026-01-10T09:00:00.000Z", "Grease the anchor winch", "The winch turns freely."),
    ("2026-01-15T09:00:00.000Z", "Sew the torn mainsail", "The sail is sewn with waxed thread."),
    ("2026-01-19T23:59:59.999Z", "Splice the anchor rope to the anchor chain", "The anchor holds."),
    ("2026-01-20T00:00:00.000Z", "Caulk the deck seams", "The deck is dry."),
)  # when a session began, what was asked, what was answered
WINCH, SAIL, ROPE, DECK = (asked for _, asked, _ in VOYAGE)


def furnish(person: Person) -> Person:
    for number, (at, asked, answered) in enumerate(VOYAGE, 1):
        tell(person, number, at, asked, answered)
    person.sync()
    return person


@contextmanager
def under_way(person: Person) -> Iterator[tuple[Journeys, str, dict[str, str]]]:
    """A server, a journey with the whole voyage in it, and the ids of its sessions by title."""
    with opened(furnish(person)) as journeys:
        journey, ids = journeys.begin(), journeys.session_ids()
        for session in ids.values():
            journeys.link(journey, session)
        yield journeys, journey, ids


# ---- what the server says of itself: the contract's schemas, word for word

UUID = {"type": "string", "format": "uuid"}
TIME = {"type": "string", "format": "date-time"}
DOCUMENTS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"document_id": UUID, "document_type": {"type": "string"}, "title": {"type": "string"}, "created_at": TIME},
    },
}  # fmt: skip
SCHEMAS: dict[str, tuple[Body, Body]] = {
    "get_or_create_journey": (
        {
            "type": "object",
            "properties": {"user_id": {**UUID, "description": "User identifier. NULL/omitted for anonymous journey."}},
            "required": [],
        },
        {
            "type": "object",
            "properties": {
                "journey_id": UUID,
                "user_id": {"type": ["string", "null"], "format": "uuid"},
                "created_at": TIME,
                "session_count": {"type": "integer"},
                "is_new": {"type": "boolean", "description": "True if journey was just created"},
            },
            "required": ["journey_id", "created_at", "session_count", "is_new"],
        },
    ),
    "query_journey_history": (
        {
            "type": "object",
            "properties": {
                "journey_id": {**UUID, "description": "Journey to search within"},
                "query": {"type": "string", "description": "Keyword search on session summaries"},
                "from_date": {**TIME, "description": "Start of time range filter"},
                "to_date": {**TIME, "description": "End of time range filter"},
                "limit": {"type": "integer", "default": 10, "minimum": 1, "maximum": 100},
                "include_documents": {
                    "type": "boolean",
                    "default": False,
                    "description": "Include linked documents in results",
                },
            },
            "required": ["journey_id"],
        },
        {
            "type": "object",
            "properties": {
                "journey_id": UUID,
                "sessions": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "session_id": UUID,
                            "created_at": TIME,
                            "summary": {"type": "string"},
                            "has_diagnosis": {"type": "boolean"},
                            "relevance_score": {"type": "number"},
                        },
                    },
                },
                "documents": DOCUMENTS,
                "total_results": {"type": "integer"},
            },
            "required": ["journey_id", "sessions", "total_results"],
        },
    ),
    "add_document_to_journey": (
        {
            "type": "object",
            "properties": {
                "journey_id": {**UUID, "description": "Journey to link document to"},
                "document_type": {"type": "string", "enum": TYPES, "description": "Type of document"},
                "title": {"type": "string", "description": "Document title"},
                "content": {"type": "string", "description": "Document content or file path"},
                "metadata": {"type": "object", "description": "Additional metadata"},
            },
            "required": ["journey_id", "document_type"],
        },
        {
            "type": "object",
            "properties": {
                "document_id": UUID,
                "journey_id": UUID,
                "document_type": {"type": "string"},
                "created_at": TIME,
            },
            "required": ["document_id", "journey_id", "document_type", "created_at"],
        },
    ),
}
TOOLS = [*SCHEMAS, "link_session_to_journey"]
BUDGET = 4_200  # characters of what a model is told of these tools


@pytest.fixture(scope="module")
def journeys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Journeys]:
    with opened(Person(tmp_path_factory.mktemp("journeys")), "--toolsets", "journeys") as client:
        yield client


def test_the_tools_have_the_schemas_of_their_contract(journeys: Journeys) -> None:
    listed = {tool.name: tool for tool in journeys.portal.call(journeys.client.list_tools).tools}
    assert list(listed) == TOOLS
    for name, (input_schema, output_schema) in SCHEMAS.items():
        assert (listed[name].input_schema, listed[name].output_schema) == (input_schema, output_schema)


def test_the_tools_say_what_they_may_do(journeys: Journeys) -> None:
    hints = {tool.name: tool.annotations for tool in journeys.portal.call(journeys.client.list_tools).tools}
    assert [name for name in hints if hints[name].read_only_hint] == ["query_journey_history"]
    assert not any(hints[name].idempotent_hint for name in ("get_or_create_journey", "add_document_to_journey"))
    assert hints["link_session_to_journey"].idempotent_hint
    assert not any(hint.destructive_hint for hint in hints.values())


def test_what_a_model_is_told_of_the_tools_is_short_and_names_their_neighbours(journeys: Journeys) -> None:
    tools = journeys.portal.call(journeys.client.list_tools).tools
    told = [tool.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"annotations"}) for tool in tools]
    assert len(json.dumps(told, separators=(",", ":"))) <= BUDGET
    described = " ".join(tool.description for tool in tools)
    assert all(name in described for name in ("query_journey_history", "search_sessions", "`open`"))


def test_what_only_people_and_programs_ask_for_is_no_tool(journeys: Journeys) -> None:
    others = {"journey_timeline", "list_documents", "get_document", "delete_document", "delete_journey"}
    assert others <= OPERATIONS.keys()
    assert not others & {tool.name for tool in journeys.portal.call(journeys.client.list_tools).tools}


@pytest.mark.parametrize("tool", TOOLS)
def test_an_argument_that_a_tool_does_not_know_is_refused_by_its_name(journeys: Journeys, tool: str) -> None:
    assert journeys.refusal(tool, {"journeyId": NOBODY}) == (400, "unknown argument: journeyId")


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if "journey" in name or "document" in name])
def test_arguments_that_are_no_object_are_refused(person: Person, operation: str) -> None:
    reply = OPERATIONS[operation].run(LiveRealm(person.settings()), ["journey_id"], RequestContext.now())
    assert json.loads(reply.text) == {"code": 400, "message": "arguments must be an object"}
