"""Recollect's journey tools over stdio with the official client; and the journey that their tests share."""

import json
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters

from recollect.live import LiveRealm
from recollect.operations import OPERATIONS, RequestContext
from tests.conftest import Person, RawMcp
from tests.contract.history_client import History, text_of
from tests.logs import Claude, write

USER = "5d6f3a5e-1c1b-4c7e-9a55-2f6c6b0f3a10"
NOBODY = "00000000-0000-4000-8000-000000000000"
TYPES = ["woop_plan", "file_upload", "artifact", "note"]
Body = dict[str, Any]


class Journeys(History):
    """The journey tools of a running server. The client itself checks every answer against its tool's output schema."""

    def body(self, tool: str, /, **arguments: Any) -> Body:
        """Call a tool and return its answer, which is the same as an object and as text."""
        answer = self.result(tool, arguments)
        text = text_of(answer)
        body: Body | None = answer.structured_content
        assert not answer.is_error, text
        assert body is not None and json.loads(text) == body
        return body

    def refusal(self, tool: str, arguments: Any) -> tuple[int, str]:
        """(code, message) of an error, which is text only: an object would be checked against the schema of success."""
        answer = self.result(tool, arguments)
        text = text_of(answer)
        assert (answer.is_error, answer.structured_content) == (True, None), text
        error = json.loads(text)
        assert list(error) == ["code", "message"]
        return error["code"], error["message"]

    def create_journey(self, user: str | None = None) -> str:
        """Create a journey and return its id."""
        return str(self.body("get_or_create_journey", **({"user_id": user} if user else {}))["journey_id"])

    def link(self, journey: str, session: str, **more: Any) -> None:
        body = self.body("link_session_to_journey", journey_id=journey, session_id=session, **more)
        assert body == {"journey_id": journey, "session_id": session}

    def query(self, journey: str, **more: Any) -> Body:
        return self.body("query_journey_history", journey_id=journey, **more)

    def session_rows(self, journey: str, **more: Any) -> list[Any]:
        sessions: list[Any] = self.query(journey, **more)["sessions"]
        return sessions

    def add(self, journey: str, document_type: str = "note", **more: Any) -> str:
        """Add a document and return its id."""
        body = self.body("add_document_to_journey", journey_id=journey, document_type=document_type, **more)
        return str(body["document_id"])

    def session_ids(self) -> dict[str, str]:
        """The ids of all sessions by title, as UUIDs like in this family."""
        sessions = [listed["session"] for listed in self.sessions()]
        return {session["title"]: as_uuid(session["id"]) for session in sessions}


def as_uuid(reference: str) -> str:
    return str(uuid.UUID(reference.removeprefix("session:")))


def as_reference(session: str) -> str:
    return f"session:{uuid.UUID(session).hex}"


def run_operation(person: Person, operation: str, /, **arguments: Any) -> Body:
    """Run an operation in this process, tool or not, and return its body, also of an error."""
    body: Body = json.loads(OPERATIONS[operation].run(LiveRealm(person.settings()), arguments, RequestContext.now()).text)
    return body


@contextmanager
def connect_journeys(person: Person, *options: str, **env: str) -> Iterator[Journeys]:
    """Start `recollect mcp --no-sync` and connect a client to it."""
    arguments = ["-m", "recollect", "mcp", "--no-sync", *options]
    server = StdioServerParameters(command=sys.executable, args=arguments, env={**person.env, **env})
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server)) as client:
        yield Journeys(portal, client)


def write_session(person: Person, number: int, at: str, *texts: str) -> Path:
    """Write a session of alternating prompts and answers, all with the same time."""
    log = Claude(f"{number:08d}-0000-4000-8000-000000000000", start=number * 100)
    lines = [log.says(text) if place % 2 else log.prompt(text) for place, text in enumerate(texts)]
    return write(person.claude_log(log.session), [{**line, "timestamp": at} for line in lines])


VOYAGE = (
    ("2026-01-10T09:00:00.000Z", "Grease the anchor winch", "The winch turns freely."),
    ("2026-01-15T09:00:00.000Z", "Sew the torn mainsail", "The sail is sewn with waxed thread."),
    ("2026-01-19T23:59:59.999Z", "Splice the anchor rope to the anchor chain", "The anchor holds."),
    ("2026-01-20T00:00:00.000Z", "Caulk the deck seams", "The deck is dry."),
)  # start time, prompt, answer
WINCH, SAIL, ROPE, DECK = (prompt for _, prompt, _ in VOYAGE)


def sync_voyage(person: Person) -> Person:
    for number, (at, prompt, answer) in enumerate(VOYAGE, 1):
        write_session(person, number, at, prompt, answer)
    person.sync()
    return person


@contextmanager
def connect_voyage(person: Person) -> Iterator[tuple[Journeys, str, dict[str, str]]]:
    """A server, a journey with all sessions of the voyage, and their ids by title."""
    with connect_journeys(sync_voyage(person)) as journeys:
        journey, ids = journeys.create_journey(), journeys.session_ids()
        for session in ids.values():
            journeys.link(journey, session)
        yield journeys, journey, ids


def tool_call(tool: str, identity: int = 1, **arguments: Any) -> str:
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": params})


def tool_answer(client: RawMcp) -> Body:
    result = client.hear()["result"]
    body: Body = json.loads(result["content"][0]["text"])
    assert not result["isError"], body
    return body
