"""Live sessions are shared within a realm and invisible in every other realm."""

import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from recollect.operations import FAMILIES, toolset_of
from tests.conftest import Person
from tests.http_server import HttpServer
from tests.live_surfaces import SURFACES, Refused, Surface
from tests.logs import Claude, write
from tests.rpc_server import RawRpc

pytestmark = pytest.mark.process

SERVERS = 20
WORD = "marlinspike"


def test_two_surfaces_in_one_realm_share_it(person: Person) -> None:
    """M29: a session that one surface began can be continued on the others."""
    opened: list[Surface] = [SURFACES[name](person, "shared") for name in ("cli", "rpc", "rest", "mcp")]
    try:
        for turns, first in enumerate(opened):
            session = first.ask("meerkat_create_session", prompt=f"{turns}", command=["cat"])["session_id"]
            for number, other in enumerate(opened, 2):
                assert other.ask("meerkat_read", session_id=session)["turns"] == number - 1
                assert other.ask("meerkat_start_turn", session_id=session, prompt="on")["turns"] == number
                assert session in {row["session_id"] for row in other.ask("meerkat_list")["sessions"]}
        first.ask("meerkat_archive", session_id=session)
        for other in opened:
            assert other.refusal("meerkat_read", session_id=session).code == "SESSION_NOT_FOUND"
    finally:
        for surface in opened:
            surface.close()


def test_servers_without_a_realm_have_one_each(person: Person) -> None:
    """M31."""

    def serve(number: int) -> tuple[str, str, list[Any]]:
        with RawRpc(person) as rpc:
            realm = rpc.result("initialize")["realm_id"]
            session = rpc.result("session/create", prompt=str(number), command=["cat"])["session_id"]
            return realm, session, rpc.result("session/list")["sessions"]

    with ThreadPoolExecutor(4) as pool:
        served = list(pool.map(serve, range(SERVERS)))
    assert len({realm for realm, _, _ in served}) == SERVERS
    assert all([row["session_id"] for row in rows] == [session] for _, session, rows in served)
    pruned = person.json("realm", "prune")["realms"]
    assert {row["realm_id"] for row in pruned} == {realm for realm, _, _ in served}


@pytest.fixture(scope="module")
def person_and_names(tmp_path_factory: pytest.TempPathFactory) -> tuple[Person, dict[str, Any]]:
    """A realm with an imported session, a live one, an observation and a journey; and their ids by name."""
    person = Person(tmp_path_factory.mktemp("apart"))
    log = Claude()
    write(person.claude_log(log.session), [log.prompt(f"where is the {WORD}"), log.says(f"the {WORD} is in the locker")])
    person.run("sync", "--realm", "one")
    with HttpServer(person, "--realm", "one") as one:
        live = one.ask("POST", "/sessions", {"prompt": f"polish the {WORD}", "command": ["cat"]})[1]["session_id"]
        (hit, *_) = one.ask("GET", f"/search?query={WORD}")[1]["data"]["results"]
        journey = one.ask("POST", "/journeys", {"user_id": str(uuid.uuid4())})[1]["journey_id"]
        one.ask("POST", f"/journeys/{journey}/sessions", {"session_id": live})
        note = {"document_type": "note", "title": WORD, "content": WORD}
        document = one.ask("POST", f"/journeys/{journey}/documents", note)[1]["document_id"]
        remembered = {"type": "decision", "title": f"The {WORD} stays", "evidence_ids": [hit["id"]]}
        recorded = one.ask("POST", "/v1/tools/record_observation", remembered)[1]["content"][0]["text"]
    observation = next(word for word in recorded.replace("`", " ").split() if word.startswith("obs-")).strip(".,:;")
    read = str(uuid.UUID(hit["session"]["id"].removeprefix("session:")))
    return person, {
        "live": live, "read": read, "event": hit["id"], "turn": hit["turn"]["id"], "session": hit["session"]["id"],
        "journey": journey, "document": document, "observation": observation, "path": str(person.claude_log(log.session)),
    }  # fmt: skip


def calls(names: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """A call of every tool for something that only the other realm has."""
    live = {"session_id": names["live"]}
    return [
        ("search_sessions", {"query": WORD}),
        ("search_sessions", {"query": WORD, "within_id": names["session"]}),
        *(("open", {"id": names[noun]}) for noun in ("session", "turn", "event")),
        ("list_sessions", {"start_datetime": "2020-01-01T00:00:00Z", "end_datetime": "2100-01-01T00:00:00Z"}),
        ("search_event_previews", {"query": WORD}),
        ("search_event_previews", {"query": WORD, "session_id": names["read"]}),
        ("get_event_details", {"session_id": names["read"], "event_index": 0}),
        ("get_session_details", {"session_id": names["live"]}),
        ("analyze_session", {"session_id": names["read"]}),
        ("search_events", {"query": WORD}),
        ("search", {"query": WORD}),
        ("search", {"query": [WORD, "locker"]}),
        ("get_observations", {"ids": [names["observation"]]}),
        ("read", {"path": names["path"]}),
        ("record_observation", {"type": "decision", "title": "stolen", "evidence_ids": [names["event"]]}),
        ("query_journey_history", {"journey_id": names["journey"]}),
        ("add_document_to_journey", {"journey_id": names["journey"], "document_type": "note", "content": "x"}),
        ("link_session_to_journey", {"journey_id": names["journey"], **live}),
        ("get_or_create_journey", {}),
        ("meerkat_create_session", {"prompt": "x", "command": ["cat"], "journey_id": names["journey"]}),
        ("meerkat_start_turn", {"prompt": "x", **live}),
        *((f"meerkat_{verb}", live) for verb in ("interrupt", "read", "history", "archive")),
        ("meerkat_list", {}),
        ("meerkat_config", {"action": "get"}),
    ]


def test_nothing_of_a_realm_is_seen_from_another_by_any_tool(person_and_names: tuple[Person, dict[str, Any]]) -> None:
    """M30."""
    person, names = person_and_names
    requests = calls(names)
    assert {name for name, _ in requests} == set(toolset_of(tuple(FAMILIES)).operations), "every tool is called"
    with HttpServer(person, "--realm", "two") as two:
        for name, arguments in requests:
            _, answer = two.ask("POST", f"/v1/tools/{name}", arguments)
            text = json.dumps(answer)
            for secret in ("locker", "polish", "in the", "stays"):
                assert secret not in text, (name, arguments, answer)
        assert two.ask("GET", f"/journeys/{names['journey']}/documents/{names['document']}")[0] == 404
        assert two.ask("GET", "/sessions")[1] == {"sessions": []}


def test_a_session_that_another_realm_refused_is_unchanged(person_and_names: tuple[Person, dict[str, Any]]) -> None:
    """M30: the same requests in the right realm succeed, so the test above could have failed."""
    person, names = person_and_names
    with HttpServer(person, "--realm", "one") as one:
        assert one.ask("GET", f"/sessions/{names['live']}")[1]["message_count"] == 2
        for noun in ("session", "turn", "event"):
            assert one.ask("GET", f"/open/{names[noun]}")[0] == 200
        _, details = one.ask("POST", "/v1/tools/get_observations", {"ids": [names["observation"]]})
        assert f"The {WORD} stays" in details["content"][0]["text"]
        _, history = one.ask("GET", f"/journeys/{names['journey']}/history?include_documents=true")
        assert [row["session_id"] for row in history["sessions"]] == [names["live"]]
        assert [row["document_id"] for row in history["documents"]] == [names["document"]]


def test_a_session_of_another_realm_is_not_found_by_its_id(person_and_names: tuple[Person, dict[str, Any]]) -> None:
    """M44."""
    person, names = person_and_names
    surface = SURFACES["cli"](person, "two")
    try:
        with pytest.raises(Refused) as refused:
            surface.ask("meerkat_read", session_id=f"one:{names['live']}")
        assert refused.value.code == "SESSION_NOT_FOUND"
    finally:
        surface.close()
    found = person.json("session", "show", "last", "--realm", "one")
    assert found["session_id"] == names["live"]
    assert person.json("session", "show", names["live"][:13], "--realm", "one")["session_id"] == names["live"]
