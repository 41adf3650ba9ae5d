"""Live sessions on every surface that offers them: each test runs on all surfaces."""

import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Person
from tests.e2e.processes import is_alive, until
from tests.live_surfaces import SURFACES, Agent, Refused, Surface
from tests.logs import Claude, write

pytestmark = pytest.mark.process

CREATE, TURN, INTERRUPT = "meerkat_create_session", "meerkat_start_turn", "meerkat_interrupt"
READ, HISTORY, LIST, ARCHIVE, CONFIG = (
    "meerkat_read", "meerkat_history", "meerkat_list", "meerkat_archive", "meerkat_config"
)  # fmt: skip
ABSENT = "01a00000-0000-7000-8000-000000000000"
FAILING = ["sh", "-c", "cat > /dev/null; echo half; echo no luck >&2; exit 3"]
USAGE = {"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "total_tokens"}
STATE = {
    "session_id", "realm_id", "instance_id", "backend", "config_generation", "created_at", "updated_at", "message_count",
    "is_active", "labels", "usage",
}  # fmt: skip


@pytest.fixture(scope="module", params=SURFACES)
def surface(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    person = Person(tmp_path_factory.mktemp("live"))
    opened = SURFACES[request.param](person, "harbour")
    yield opened
    opened.close()


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path / "agent")


def create_session(surface: Surface, prompt: str = "hello", **more: Any) -> str:
    return str(surface.ask(CREATE, prompt=prompt, command=["cat"], **more)["session_id"])


def roles(surface: Surface, session: str) -> list[str]:
    return [message["role"] for message in surface.ask(HISTORY, session_id=session)["messages"]]


# ---- creating


def test_creating_runs_the_first_turn(surface: Surface) -> None:
    """M1, M14, M39: and the history has it, oldest first."""
    ran = surface.ask(CREATE, prompt="tie the boat", command=["cat"], labels={"team": "core"})
    assert {"session_id", "text", "usage", "turns", "tool_calls", "stop_reason"} == ran.keys()
    assert (ran["text"], ran["turns"], ran["tool_calls"], ran["stop_reason"]) == ("tie the boat", 1, 0, "end_turn")
    assert ran["usage"].keys() >= USAGE
    assert uuid.UUID(ran["session_id"]).version == 7
    page = surface.ask(HISTORY, session_id=ran["session_id"])
    assert {key: page[key] for key in ("session_id", "message_count", "offset", "limit", "has_more")} == {
        "session_id": ran["session_id"], "message_count": 2, "offset": 0, "limit": 100, "has_more": False,
    }  # fmt: skip
    assert [(message["role"], message["content"]) for message in page["messages"]] == [
        ("user", "tie the boat"), ("assistant", "tie the boat"),
    ]  # fmt: skip
    state = surface.ask(READ, session_id=ran["session_id"])
    assert state.keys() >= STATE
    assert (state["realm_id"], state["backend"], state["config_generation"]) == ("harbour", "sqlite", 0)
    assert state["instance_id"].startswith("instance-")
    assert (state["message_count"], state["is_active"], state["labels"]) == (2, False, {"team": "core"})


def test_a_deferred_session_runs_nothing_until_its_first_turn(surface: Surface) -> None:
    """M2, M3."""
    if not surface.has_types:
        pytest.skip("the command line runs what it is given")
    answer = surface.ask(CREATE, initial_turn="deferred", command=["cat"])
    session = answer["session_id"]
    assert answer.keys() == {"session_id"}
    assert surface.ask(HISTORY, session_id=session)["messages"] == []
    assert surface.ask(READ, session_id=session)["message_count"] == 0
    ran = surface.ask(TURN, session_id=session, prompt="now")
    assert (ran["text"], ran["turns"]) == ("now", 1)
    assert roles(surface, session) == ["user", "assistant"]


def test_the_default_runner_needs_nothing_but_the_realm(surface: Surface) -> None:
    ran = surface.ask(CREATE, prompt="what about the marlinspike in the locker")
    assert ran["text"]
    assert ran["stop_reason"] == "end_turn"
    assert surface.ask(READ, session_id=ran["session_id"])["runner"] == "recall"


def test_a_session_is_usable_after_a_failed_first_turn(surface: Surface) -> None:
    """M4, M48: the error has the session's id, and the agent's output is stored."""
    refused = surface.refusal(CREATE, prompt="try", command=FAILING)
    assert (refused.code, refused.details["exit_code"]) == ("AGENT_ERROR", 3)
    assert "no luck" in refused.message
    session = refused.details["session_id"]
    assert roles(surface, session) == ["user", "assistant", "system_notice"]
    assert surface.ask(TURN, session_id=session, prompt="again", command=["cat"])["turns"] == 2
    assert surface.ask(TURN, session_id=session, prompt="and again")["text"] == "and again", (
        "the session remembers its runner"
    )


def test_a_missing_program_is_a_provider_error(surface: Surface) -> None:
    """M48."""
    refused = surface.refusal(CREATE, prompt="x", command=["/no/such/program"])
    assert refused.code == "PROVIDER_ERROR"
    assert surface.ask(TURN, session_id=refused.details["session_id"], prompt="x", command=["cat"])["text"] == "x"


BAD: list[dict[str, Any]] = [
    {}, {"prompt": ""}, {"prompt": "  "}, {"prompt": "x", "runner": "nobody"}, {"prompt": "x", "command": []},
    {"prompt": "x", "runner": "command"}, {"prompt": "x", "runner": "recall", "command": ["cat"]},
    {"prompt": "x", "user_id": "nobody"}, {"prompt": "x", "journey_id": ABSENT},
]  # fmt: skip
WRONG: list[dict[str, Any]] = [
    {"prompt": 5}, {"prompt": "x", "labels": {"a": 1}}, {"prompt": "x", "labels": ["a"]}, {"prompt": "x", "unknown": 1},
    {"prompt": "x", "initial_turn": "later"}, {"prompt": "x", "command": "cat"}, {"prompt": "x", "command": [1]},
    {"prompt": "x", "runner": 1}, {"prompt": "x", "command": ["a\0b"]}, {"prompt": "x", "labels": {" ": "b"}},
    {"prompt": "x", "labels": {"a\0": "b"}}, {"prompt": "x", "labels": {"a": "\0"}},
]  # fmt: skip


def test_a_session_that_cannot_be_created_is_refused_and_leaves_nothing(surface: Surface) -> None:
    """M48."""
    before = len(surface.ask(LIST, limit=1000)["sessions"])
    sayable = [one for one in BAD if "prompt" in one and one.get("command") != []]
    for arguments in [*BAD, *WRONG] if surface.has_types else sayable:
        assert surface.refusal(CREATE, **arguments).code == "INVALID_PARAMS", arguments
    assert len(surface.ask(LIST, limit=1000)["sessions"]) == before


# ---- one turn at a time


def test_a_second_turn_is_refused_at_once_and_the_first_continues(surface: Surface, agent: Agent) -> None:
    """M5, M7, M8, M19, M20, M22."""
    session = create_session(surface)
    turn = surface.begin(TURN, session_id=session, prompt="work", command=agent.command)
    until(agent.begun.exists)
    busy = surface.refusal(TURN, session_id=session, prompt="me too")
    assert busy.code == "SESSION_BUSY"
    state = surface.ask(READ, session_id=session)
    assert (state["is_active"], state["message_count"]) == (True, 2)
    assert roles(surface, session) == ["user", "assistant"], "the history has nothing of a running turn"
    assert not turn.done(), "all requests above were answered while the turn was running"
    agent.go.touch()
    assert turn.result(30)["text"] == "started\nfinished\n"
    assert surface.ask(READ, session_id=session)["is_active"] is False
    assert surface.ask(TURN, session_id=session, prompt="me now", command=["cat"])["turns"] == 3


def test_two_sessions_never_block_each_other(surface: Surface, agent: Agent) -> None:
    """M9."""
    one = create_session(surface)
    turn = surface.begin(TURN, session_id=one, prompt="work", command=agent.command)
    until(agent.begun.exists)
    two = create_session(surface, "another")
    assert surface.ask(TURN, session_id=two, prompt="quick")["text"] == "quick"
    assert not turn.done()
    agent.go.touch()
    assert turn.result(30)["turns"] == 2


def test_an_interrupt_ends_the_turn_and_the_session_stays_usable(surface: Surface, agent: Agent) -> None:
    """M10, M13, M48: the caller gets an error, the program has ended, the turn opens as completed."""
    session = create_session(surface)
    turn = surface.begin(TURN, session_id=session, prompt="work for ever", command=agent.command)
    program = int(until(lambda: agent.begun.exists() and agent.begun.read_text()))
    started = time.monotonic()
    assert surface.ask(INTERRUPT, session_id=session) == {"session_id": session, "interrupted": True}
    with pytest.raises(Refused) as refused:
        turn.result(30)
    assert refused.value.code == "REQUEST_CANCELLED"
    until(lambda: not is_alive(program))
    assert time.monotonic() - started < 10
    messages = surface.ask(HISTORY, session_id=session)["messages"]
    first, *between, last = messages[2:]
    assert (first["role"], last["role"], last["kind"]) == ("user", "system_notice", "interrupt")
    assert [message["content"] for message in between] in ([], ["started\n"]), "the output that had arrived by then"
    turn_answer = surface.person.json("open", f"turn:{uuid.UUID(session).hex}-2", "--realm", "harbour")["data"]
    assert turn_answer["turn"]["completed"] is True
    assert turn_answer["summary"]["final_response"] is None
    (terminal,) = [event for event in turn_answer["events"] if event["terminal"]]
    assert terminal["type"] == "runtime"
    assert surface.ask(TURN, session_id=session, prompt="go on", command=["cat"])["text"] == "go on"


def test_interrupting_an_idle_session_does_nothing(surface: Surface) -> None:
    """M11."""
    session = create_session(surface)
    assert surface.ask(INTERRUPT, session_id=session) == {"session_id": session, "interrupted": False}
    assert roles(surface, session) == ["user", "assistant"]


@pytest.mark.parametrize("name", [TURN, INTERRUPT, READ, HISTORY, ARCHIVE])
def test_an_unknown_session_is_not_found(surface: Surface, name: str) -> None:
    """M12, M44, M48."""
    more = {"prompt": "x"} if name == TURN else {}
    assert surface.refusal(name, session_id=ABSENT, **more).code == "SESSION_NOT_FOUND"
    assert surface.refusal(name, session_id=f"elsewhere:{ABSENT}", **more).code == "SESSION_NOT_FOUND"
    for bad in ("no uuid", f"{ABSENT}0", f"harbour:{ABSENT}:x"):
        assert surface.refusal(name, session_id=bad, **more).code == "INVALID_PARAMS"


def test_a_session_is_found_by_its_realm_and_id(surface: Surface) -> None:
    """M44."""
    session = create_session(surface)
    assert surface.ask(READ, session_id=f"harbour:{session}")["session_id"] == session
    assert surface.refusal(READ, session_id=f"main:{session}").code == "SESSION_NOT_FOUND"
    assert surface.ask(READ, session_id=session.upper())["session_id"] == session


# ---- reading


def test_the_pages_of_a_history_contain_every_message(surface: Surface) -> None:
    """M14, M15, M16, M17, M18."""
    session = create_session(surface, "0")
    for number in range(1, 4):
        surface.ask(TURN, session_id=session, prompt=str(number))
    messages = surface.ask(HISTORY, session_id=session)["messages"]
    assert [message["content"] for message in messages] == [str(number // 2) for number in range(8)]
    assert [message["created_at"] for message in messages] == sorted(message["created_at"] for message in messages)
    pages = [surface.ask(HISTORY, session_id=session, offset=offset, limit=3) for offset in (0, 3, 6)]
    assert [message for page in pages for message in page["messages"]] == messages
    assert [page["has_more"] for page in pages] == [True, True, False]
    assert surface.ask(HISTORY, session_id=session, offset=5, limit=3)["has_more"] is False, (
        "it ends exactly at the last message"
    )
    beyond = surface.ask(HISTORY, session_id=session, offset=8)
    assert (beyond["messages"], beyond["has_more"], beyond["message_count"]) == ([], False, 8)
    for bad in ({"limit": 1001}, {"limit": 0}, {"offset": -1}):
        assert surface.refusal(HISTORY, session_id=session, **bad).code == "INVALID_PARAMS"


def test_sessions_are_listed_by_their_labels(surface: Surface) -> None:
    """M21."""
    mark = uuid.uuid4().hex
    one = create_session(surface, labels={"mark": mark, "team": "core"})
    two = create_session(surface, labels={"mark": mark})
    rows = surface.ask(LIST, labels={"mark": mark})["sessions"]
    assert [row["session_id"] for row in rows] == [two, one]
    assert all(row.keys() >= STATE for row in rows)
    assert [row["session_id"] for row in surface.ask(LIST, labels={"mark": mark, "team": "core"})["sessions"]] == [one]
    assert surface.ask(LIST, labels={"mark": mark, "team": "other"}) == {"sessions": []}
    assert [row["session_id"] for row in surface.ask(LIST, labels={"mark": mark}, offset=1, limit=1)["sessions"]] == [one]
    assert surface.refusal(LIST, limit=1001).code == "INVALID_PARAMS"


# ---- archiving


def test_an_archived_session_is_hidden_and_its_history_can_be_read(surface: Surface) -> None:
    """M21, M23, M24, M25, M26: also from another process, and searches still find it."""
    word = f"w{uuid.uuid4().hex}"
    session = create_session(surface, word, labels={"mark": word})
    assert surface.ask(ARCHIVE, session_id=session)["session_id"] == session
    assert surface.ask(LIST, labels={"mark": word}) == {"sessions": []}
    for name, more in ((TURN, {"prompt": "x"}), (READ, {}), (INTERRUPT, {}), (ARCHIVE, {})):
        assert surface.refusal(name, session_id=session, **more).code == "SESSION_NOT_FOUND"
    assert roles(surface, session) == ["user", "assistant"]
    person = surface.person
    assert person.json("session", "history", session, "--realm", "harbour")["message_count"] == 2
    found = person.json("search", word, "--realm", "harbour")["data"]["results"]
    assert {hit["session"]["id"] for hit in found} == {f"session:{uuid.UUID(session).hex}"}
    opened = person.json("open", f"session:{uuid.UUID(session).hex}", "--realm", "harbour")["data"]
    assert opened["session"]["source"] == "recollect"


def test_archiving_ends_a_running_turn(surface: Surface, agent: Agent) -> None:
    """M27: the session is archived at once, then its turn is cancelled."""
    session = create_session(surface)
    turn = surface.begin(TURN, session_id=session, prompt="work", command=agent.command)
    program = int(until(lambda: agent.begun.exists() and agent.begun.read_text()))
    assert surface.ask(ARCHIVE, session_id=session)["session_id"] == session
    with pytest.raises(Refused) as refused:
        turn.result(30)
    assert refused.value.code == "REQUEST_CANCELLED"
    until(lambda: not is_alive(program))
    assert surface.refusal(READ, session_id=session).code == "SESSION_NOT_FOUND"
    assert roles(surface, session)[2:] == ["user", "assistant", "system_notice"]


# ---- the realm


def test_the_config_counts_its_writes_and_refuses_stale_ones(surface: Surface) -> None:
    """M40, M41, M43, M48."""
    before = surface.ask(CONFIG, action="get")
    assert {"config", "generation", "realm_id", "instance_id", "backend"} == before.keys()
    now = surface.ask(CONFIG, action="set", config={"a": {"b": 1, "c": 2}})
    assert (now["generation"], now["config"]) == (before["generation"] + 1, {"a": {"b": 1, "c": 2}})
    now = surface.ask(CONFIG, action="patch", patch={"a": {"b": None}}, expected_generation=now["generation"])
    assert (now["generation"], now["config"]) == (before["generation"] + 2, {"a": {"c": 2}})
    stale = surface.refusal(CONFIG, action="set", config={}, expected_generation=before["generation"])
    assert stale.code == "GENERATION_CONFLICT"
    assert stale.details == {"expected_generation": before["generation"], "current_generation": now["generation"]}
    assert surface.ask(CONFIG, action="get")["config"] == {"a": {"c": 2}}
    session = create_session(surface)
    assert surface.ask(READ, session_id=session)["config_generation"] == now["generation"]
    assert surface.ask(CONFIG, action="set", config={})["generation"] == now["generation"] + 1


def test_a_runner_of_the_config_is_used_by_its_name(surface: Surface) -> None:
    surface.ask(CONFIG, action="set", config={"runners": {"parrot": {"runner": "command", "command": ["tr", "a-z", "A-Z"]}}})
    ran = surface.ask(CREATE, prompt="polly", runner="parrot")
    assert ran["text"] == "POLLY"
    surface.ask(CONFIG, action="set", config={"runners": {"parrot": {"runner": "command", "command": ["rev"]}}})
    assert surface.ask(TURN, session_id=ran["session_id"], prompt="abc")["text"] == "cba", "by the current config"
    surface.ask(CONFIG, action="set", config={})
    assert surface.refusal(TURN, session_id=ran["session_id"], prompt="abc").code == "INVALID_PARAMS"


def test_realms_are_listed(surface: Surface) -> None:
    if not surface.has_realms:
        pytest.skip("models are not offered realms")
    create_session(surface)
    (row,) = [row for row in surface.ask("realm_list")["realms"] if row["realm_id"] == "harbour"]
    assert (row["backend"], row["origin"]) == ("sqlite", "explicit")
    assert surface.ask("realm_get", realm_id="harbour").items() >= row.items()
    assert surface.refusal("realm_get", realm_id="no realm").code == "INVALID_PARAMS"


# ---- imported sessions


@pytest.fixture(scope="module")
def imported(surface: Surface) -> str:
    """A session that was read from an agent's log, in the same realm."""
    log = Claude("77777777-0000-4000-8000-000000000000")
    lines = [
        log.prompt("paint the buoy"),
        log.thinks("Red or green?"),
        log.calls("Bash", "c1", command="ls paint"),
        log.result("c1", "red\ngreen"),
        log.says("It is red now."),
        log.prompt("and the jetty"),
        log.says("I begin", stop=None),
        log.interrupted(),
    ]
    write(surface.person.claude_log(log.session), lines)
    surface.person.run("sync", "--realm", surface.realm)
    (found,) = surface.person.json("search", "buoy", "--realm", surface.realm, "-t", "user_input")["data"]["results"]
    return str(uuid.UUID(found["session"]["id"].removeprefix("session:")))


def test_an_imported_session_is_read_like_a_live_one(surface: Surface, imported: str) -> None:
    """J29: the session id of any family opens here."""
    state = surface.ask(READ, session_id=imported)
    assert state.keys() >= STATE
    assert (state["session_id"], state["turns"], state["is_active"], state["imported"]) == (imported, 2, False, True)
    assert state["usage"]["output_tokens"] > 0
    page = surface.ask(HISTORY, session_id=imported)
    assert page["message_count"] == state["message_count"] == len(page["messages"])
    assert [message["role"] for message in page["messages"]] == [
        "user", "assistant", "tool_results", "assistant", "user", "assistant", "system_notice",
    ]  # fmt: skip
    prompt, thought, result, answer, *_, notice = page["messages"]
    assert (prompt["content"], answer["content"], result["content"]) == ("paint the buoy", "It is red now.", "red\ngreen")
    assert [block["type"] for block in thought["blocks"]] == ["reasoning", "tool_use"]
    assert thought["blocks"][1]["input"] == {"command": "ls paint"}
    assert result["results"][0]["tool_use_id"] == thought["blocks"][1]["id"]
    assert notice["kind"] == "interrupt"


def test_the_messages_of_an_imported_session_come_in_pages(surface: Surface, imported: str) -> None:
    whole = surface.ask(HISTORY, session_id=imported)["messages"]
    paged = [surface.ask(HISTORY, session_id=imported, offset=at, limit=2) for at in range(0, len(whole), 2)]
    assert [message for page in paged for message in page["messages"]] == whole
    assert [page["has_more"] for page in paged] == [True, True, True, False]
    past = surface.ask(HISTORY, session_id=imported, offset=1_000)
    assert (past["messages"], past["has_more"]) == ([], False)


def test_imported_sessions_are_listed_on_request(surface: Surface, imported: str) -> None:
    live = create_session(surface)
    assert imported not in {row["session_id"] for row in surface.ask(LIST)["sessions"]}
    both = [row["session_id"] for row in surface.ask(LIST, imported=True)["sessions"]]
    assert {imported, live} <= {*both}
    assert both.index(live) < both.index(imported), "the last used comes first"
    second = surface.ask(LIST, imported=True, offset=1, limit=1)["sessions"]
    assert [row["session_id"] for row in second] == both[1:2]


def test_a_refusal_for_an_imported_session_says_why(surface: Surface, imported: str) -> None:
    for name, more in ((TURN, {"prompt": "go on"}), (ARCHIVE, {})):
        refused = surface.refusal(name, session_id=imported, **more)
        assert (refused.code, "imported from claude-code" in refused.message) == ("SESSION_NOT_FOUND", True)
    assert surface.ask(INTERRUPT, session_id=imported)["interrupted"] is False


def test_a_turn_of_an_archived_session_is_refused_with_the_reason(surface: Surface) -> None:
    session = create_session(surface)
    surface.ask(ARCHIVE, session_id=session)
    for name, more in ((TURN, {"prompt": "go on"}), (READ, {}), (ARCHIVE, {})):
        refused = surface.refusal(name, session_id=session, **more)
        assert refused.code == "SESSION_NOT_FOUND"
        assert "was archived" in refused.message
    assert "no such session" in surface.refusal(READ, session_id=ABSENT).message
