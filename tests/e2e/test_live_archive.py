"""From live sessions to the archive: messages can be found, except private, quoted or invalid ones."""

import json
from typing import Any

import pytest

from tests.conftest import Person
from tests.live_processes import REALM, create_deferred
from tests.rpc_server import RawRpc

CAT = ["cat"]


@pytest.fixture(params=["sqlite", "jsonl"])
def rpc(request: pytest.FixtureRequest, person: Person) -> Any:
    with RawRpc(person, "--realm", REALM, "--realm-backend", request.param) as server:
        yield server


def say(rpc: RawRpc, session: str, text: str) -> None:
    rpc.result("turn/start", session_id=session, prompt=text, command=CAT)


def found(rpc: RawRpc, word: str) -> list[str]:
    """The sessions and kinds of events that a search finds."""
    answer = rpc.result("tools/call", name="search_sessions", arguments={"query": word})["structuredContent"]
    return [hit["event"]["type"] for hit in answer["data"]["results"]]


def test_a_private_session_stays_private(rpc: RawRpc) -> None:
    """Also its later messages, and for every later reader."""
    session = create_deferred(rpc)
    say(rpc, session, "tapirs before")
    assert len(found(rpc, "tapirs")) == 2
    say(rpc, session, "tapirs: DO NOT INDEX THIS CHAT")
    assert found(rpc, "tapirs") == []
    for text in ("tapirs after", "tapirs at last"):
        say(rpc, session, text)
        assert found(rpc, "tapirs") == []
    assert rpc.result("session/history", session_id=session)["message_count"] == 8


def test_an_invalid_message_is_the_only_one_lost(person: Person) -> None:
    with RawRpc(person, "--realm", REALM, "--realm-backend", "jsonl") as rpc:
        odd, whole = create_deferred(rpc), create_deferred(rpc)
        say(rpc, odd, "okapis here")
        say(rpc, whole, "okapis there")
    file = person.state / "realms" / REALM / f"{odd}.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        if line.get("role") == "assistant":
            line["content"] = ["okapis", {"in": "parts"}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for path in person.state.glob(f"realms/{REALM}/**/*.db*"):
        path.unlink()
    with RawRpc(person, "--realm", REALM) as rpc:
        assert sorted(found(rpc, "okapis")) == ["assistant_response", "user_input", "user_input"]
        say(rpc, odd, "okapis again")
        assert len(found(rpc, "okapis")) == 5


def test_a_turn_ignores_invalid_settings_about_logs(person: Person) -> None:
    person.state.mkdir(exist_ok=True)
    (person.state / "settings.toml").write_text('sources = ["nope"]\n')
    done = person.run("run", "numbats", "--command", "cat")
    assert (done.stdout, done.stderr.count("\n")) == ("numbats\n", 1)


def test_an_answer_from_memory_is_not_stored_as_memory(rpc: RawRpc) -> None:
    """Otherwise the answers of `recall` would outnumber the events that they quote."""
    session = create_deferred(rpc)
    answered = ["sh", "-c", "echo 'Decision: we keep quolls in NATS JetStream, because it writes to disk.'"]
    rpc.result("turn/start", session_id=session, prompt="Where do we keep the quolls?", command=answered)
    for _ in range(2):
        text = rpc.result("session/create", prompt="What did we decide about quolls?")["text"]
        assert "JetStream" in text
        assert "> What did we decide" not in text, "a question that is repeated must not find the earlier question"
    assert found(rpc, "JetStream") == ["assistant_response"]
    assert found(rpc, "quolls").count("user_input") == 3
