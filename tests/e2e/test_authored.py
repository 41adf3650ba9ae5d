"""In a `jsonl` realm, written memory survives the loss of its database: journeys, documents, links, observations."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from recollect.store.memory_journal import journal_path
from tests.conftest import Person
from tests.e2e.processes import rests, until
from tests.http_server import HttpServer
from tests.live_processes import REALM
from tests.rpc_server import RawRpc

USER = "0b8ce2a5-5c1c-4c0c-9d0e-6a3f0d0c1a11"
DECIDED = "We decided to use SQLite for the wombat register because it needs no server."
MADE = re.compile(r"obs-[0-9a-f]+")
BEHIND = "Still processing the newest turns. Answers by meaning are incomplete until then."


@pytest.fixture
def folder(person: Person) -> Path:
    return person.state / "realms" / REALM


def tool(rpc: RawRpc, name: str, **arguments: Any) -> Any:
    """The answer of a tool: its object if it has one, else its text."""
    answer = rpc.result("tools/call", name=name, arguments=arguments)
    assert not answer.get("isError"), answer
    return answer.get("structuredContent") or answer["content"][0]["text"]


def lose(folder: Path) -> None:
    """Delete all SQLite databases."""
    gone = list(folder.rglob("*.db*"))
    assert folder / "memory.db" in gone
    for path in gone:
        path.unlink()


class Written:
    """A journey with a document, a session and a recorded observation; and an observation from the rules."""

    def __init__(self, rpc: RawRpc) -> None:
        self.session = rpc.result("session/create", prompt=DECIDED, command=["cat"], user_id=USER)["session_id"]
        self.journey = tool(rpc, "get_or_create_journey", user_id=USER)["journey_id"]
        note = {"document_type": "note", "title": "Grüße", "content": "two\nlines", "metadata": {"a": [1]}}
        self.document = tool(rpc, "add_document_to_journey", journey_id=self.journey, **note)["document_id"]
        tool(rpc, "link_session_to_journey", journey_id=self.journey, session_id=self.session, summary="of marsupials")
        hit = tool(rpc, "search_sessions", query="wombat")["data"]["results"][0]
        noted = {"type": "gotcha", "title": "Quolls bite", "facts": ["at night"], "concepts": ["fauna"]}
        recorded = tool(rpc, "record_observation", evidence_ids=[hit["turn"]["id"]], **noted)
        self.recorded = MADE.search(recorded)[0]  # type: ignore[index]
        self.derived = until(lambda: self._derived(rpc))
        self.told = self.all(rpc)

    def _derived(self, rpc: RawRpc) -> list[str]:
        return [made for made in self.found(rpc, "wombat register") if made != self.recorded]

    def found(self, rpc: RawRpc, query: str, **more: Any) -> list[str]:
        return MADE.findall(tool(rpc, "search", query=query, mode="text", **more))

    def all(self, rpc: RawRpc) -> list[Any]:
        journey = {"journey_id": self.journey}
        return [
            rpc.result("document/get", **journey, document_id=self.document),
            tool(rpc, "query_journey_history", **journey, query="marsupials", include_documents=True),
            tool(rpc, "get_observations", ids=[self.recorded]),
        ]

    def is_there(self, rpc: RawRpc) -> None:
        again = tool(rpc, "get_or_create_journey", user_id=USER)
        assert (again["journey_id"], again["is_new"], again["session_count"]) == (self.journey, False, 1)
        assert self.all(rpc) == self.told
        assert self.recorded in self.found(rpc, "quolls")
        assert self.recorded in self.found(rpc, "quolls", concepts=["Fauna"])
        until(lambda: BEHIND not in tool(rpc, "search", query="wombat register"))
        assert self._derived(rpc) == self.derived


def test_written_memory_survives_the_loss_of_the_databases(person: Person, folder: Path) -> None:
    """For a new server, and for one that keeps running. A session may not be in a journey twice."""
    person.state.mkdir()
    (person.state / "settings.toml").write_text('[embedding]\nmodel = "none"\n')  # which takes a second to load
    with RawRpc(person, "--realm", REALM, "--realm-backend", "jsonl") as rpc:
        written = Written(rpc)
    lose(folder)
    with RawRpc(person, "--realm", REALM) as rpc:
        written.is_there(rpc)
        until(lambda: rests(rpc.process))
        lose(folder)
        written.is_there(rpc)


def test_deleted_documents_are_not_restored(person: Person, folder: Path) -> None:
    with RawRpc(person, "--realm", REALM, "--realm-backend", "jsonl") as rpc:
        doomed, kept = (tool(rpc, "get_or_create_journey")["journey_id"] for _ in range(2))
        for journey, words in ((doomed, "of the first"), (kept, "torn up"), (kept, "fair copy")):
            tool(rpc, "add_document_to_journey", journey_id=journey, document_type="note", content=words)
        listed = rpc.result("document/list", journey_id=kept)["documents"]
        torn = next(row["document_id"] for row in listed if "torn up" in shown(rpc, kept, row["document_id"]))
        rpc.result("document/delete", journey_id=kept, document_id=torn)
        rpc.result("journey/delete", journey_id=doomed)
    text = journal_path(folder).read_text("utf-8")
    assert "fair copy" in text and "torn up" not in text and "of the first" not in text
    lose(folder)
    with RawRpc(person, "--realm", REALM) as rpc:
        assert [row["document_id"] for row in rpc.result("document/list", journey_id=kept)["documents"]] == [
            row["document_id"] for row in listed if row["document_id"] != torn
        ]
        assert "not found" in rpc.error("document/list", journey_id=doomed)["message"]


def shown(rpc: RawRpc, journey: str, document: str) -> str:
    return str(rpc.result("document/get", journey_id=journey, document_id=document)["content"])


def test_concurrent_processes_lose_no_write(person: Person, folder: Path) -> None:
    person.run("realm", "create", REALM, "--realm-backend", "jsonl")
    with RawRpc(person, "--realm", REALM) as one, RawRpc(person, "--realm", REALM) as other:
        journey = tool(one, "get_or_create_journey", user_id=USER)["journey_id"]

        def write(rpc: RawRpc) -> set[str]:
            note = {"journey_id": journey, "document_type": "note", "content": "x" * 5000}
            documents = [tool(rpc, "add_document_to_journey", **note)["document_id"] for _ in range(25)]
            rpc.result("document/delete", journey_id=journey, document_id=documents.pop(12))
            return set(documents)

        with ThreadPoolExecutor(2) as threads:
            first, second = threads.map(write, (one, other))
    assert all(json.loads(line)["row"] for line in journal_path(folder).read_text("utf-8").splitlines())
    lose(folder)
    with RawRpc(person, "--realm", REALM) as rpc:
        documents = rpc.result("document/list", journey_id=journey)["documents"]
        assert {row["document_id"] for row in documents} == first | second
        assert len(documents) == len(first | second) == 48


def test_the_same_holds_over_http(person: Person, folder: Path) -> None:
    with HttpServer(person, "--realm", REALM, "--realm-backend", "jsonl") as server:
        _, made = server.ask("POST", "/sessions", {"initial_turn": "deferred", "user_id": USER})
        server.ask("POST", f"/sessions/{made['session_id']}/messages", {"prompt": "the numbat", "command": ["cat"]})
        _, journey = server.ask("POST", "/journeys", {"user_id": USER})
        place = f"/journeys/{journey['journey_id']}"
        assert server.ask("POST", f"{place}/documents", {"document_type": "note", "content": "dig"})[0] == 200
        until(lambda: "numbat" in json.dumps(server.ask("GET", f"{place}/history")))  # a busy server summarises it later
        before = [server.ask("GET", f"{place}/{what}") for what in ("documents", "timeline", "history")]
    assert made["session_id"] in json.dumps(before[1:])
    lose(folder)
    with HttpServer(person, "--realm", REALM) as server:
        assert [server.ask("GET", f"{place}/{what}") for what in ("documents", "timeline", "history")] == before
        assert server.ask("POST", "/journeys", {"user_id": USER})[1]["journey_id"] == journey["journey_id"]


def test_other_realms_have_no_such_file(person: Person, folder: Path) -> None:
    with RawRpc(person, "--realm", REALM) as rpc:
        tool(rpc, "get_or_create_journey", user_id=USER)
    assert (folder / "memory.db").exists() and not journal_path(folder).exists()
