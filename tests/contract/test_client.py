"""Everything the Python SDK offers, blocking and async, over a child's pipes, over TCP and over HTTP."""

import asyncio
import os
import pickle
import sys
import uuid
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect import client as sdk
from recollect.client import (
    AgentError,
    Client,
    GenerationConflict,
    InvalidParams,
    ProviderError,
    RecollectError,
    RequestCancelled,
    SessionBusy,
    SessionNotFound,
    SessionPersistenceDisabled,
    StaleCursor,
    TextDelta,
    ToolResult,
    TurnCompleted,
    TurnInterrupted,
    TurnStarted,
    Unauthorized,
)
from tests.clients import MANNERS, WIRES, Case, RunningServer, in_thread, running_server
from tests.conftest import Person

pytestmark = pytest.mark.process

ABSENT = "01a00000-0000-7000-8000-000000000000"
CAT = ["cat"]
HANGS = ["sh", "-c", "echo begun; exec sleep 1000"]
TOKEN = "a token that nobody guesses"
SCRIPTED = [sys.executable, str(Path(__file__).parents[1] / "acp_agent.py")]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One server for all cases; a child process works in the same realm."""
    with running_server(Person(tmp_path_factory.mktemp("client"))) as (place, _):
        yield place


@pytest.fixture(params=[(wire, manner) for wire in WIRES for manner in MANNERS], ids="-".join)
def talk(request: pytest.FixtureRequest, place: RunningServer) -> Callable[[Case], None]:
    """Run a case with a client of each kind."""
    wire, manner = request.param

    async def run(case: Case) -> None:
        async with place.open_client(wire, manner) as client:
            await case(client)

    return lambda case: asyncio.run(run(case))


async def eventually(condition: Callable[[], Awaitable[Any]]) -> None:
    async with asyncio.timeout(20):
        while not await condition():
            await asyncio.sleep(0.01)


async def raised_error(kind: type[RecollectError], call: Awaitable[Any]) -> RecollectError:
    with pytest.raises(kind) as caught:
        await call
    assert type(caught.value) is kind
    return caught.value


class Gate:
    """A program that echoes its prompt only after the test opens the gate."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "gate"
        os.mkfifo(self.path)
        self.command = ["sh", "-c", f"echo begun; read x < {self.path}; cat"]

    async def open(self) -> None:
        await in_thread(self.path.write_text, "go\n")


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


async def read_to_first_text(stream: Any) -> list[Any]:
    """The events of a turn up to its first text."""
    events: list[Any] = []
    async for event in stream:
        events.append(event)
        if isinstance(event, TextDelta):
            break
    return events


# ---- sessions


def test_a_created_session_has_run_its_first_turn(talk: Callable[[Case], None]) -> None:
    """M1."""

    async def case(client: Any) -> None:
        session = await client.create_session("hello", command=CAT, labels={"team": "core"})
        assert (session.result.text, session.result.turns, session.result.stop_reason) == ("hello", 1, "end_turn")
        assert session.result.session_id == session.id
        assert session.result.usage.total_tokens > 0
        page = await session.history()
        assert [(message.role, message.content) for message in page.messages] == [("user", "hello"), ("assistant", "hello")]
        assert page.messages[1].blocks == [{"type": "text", "text": "hello"}]

    talk(case)


def test_without_a_program_the_realm_itself_answers(talk: Callable[[Case], None]) -> None:
    async def case(client: Any) -> None:
        session = await client.create_session("What was said of wombats?")
        assert session.result.text
        assert (await session.read()).runner == "recall"

    talk(case)


def test_a_deferred_session_runs_nothing_before_its_first_turn(talk: Callable[[Case], None]) -> None:
    """M2, M3."""

    async def case(client: Any) -> None:
        session = await client.create_deferred_session(command=CAT)
        assert session.result is None
        assert ((await session.history()).messages, (await session.read()).turns) == ([], 0)
        turn = await session.start_turn("first")
        assert (turn.text, turn.turns) == ("first", 1)
        assert session.result == turn
        assert [message.role async for message in session.messages()] == ["user", "assistant"]
        second = await session.stream("second").wait()
        assert (second.text, session.result) == ("second", second)

    talk(case)


def test_a_session_is_usable_after_a_failed_first_turn(talk: Callable[[Case], None]) -> None:
    """M4."""

    async def case(client: Any) -> None:
        asked = client.create_session("x", command=["sh", "-c", "echo sorry >&2; exit 3"])
        error = await raised_error(AgentError, asked)
        assert (error.code, error.details["exit_code"]) == ("AGENT_ERROR", 3)
        assert "sorry" in str(error)
        assert error.session_id is not None
        assert (await client.session(error.session_id).start_turn("again", command=CAT)).text == "again"

    talk(case)


def test_a_second_turn_is_refused_at_once_and_the_first_continues(talk: Callable[[Case], None], gate: Gate) -> None:
    """M5, M8, M20, M22."""

    async def case(client: Any) -> None:
        session = await client.create_deferred_session()
        first = session.stream("patience", command=gate.command)
        events = await read_to_first_text(first)
        for again in (session.start_turn("x"), session.stream("x").wait(), client.session(session.id).start_turn("x")):
            error = await raised_error(SessionBusy, again)
            assert (error.code, error.session_id) == ("SESSION_BUSY", session.id)
        state = await session.read()
        assert (state.is_active, state.message_count) == (True, 0)
        await gate.open()
        events += [event async for event in first]
        assert first.result.text == "begun\npatience"
        assert [event.type for event in events] == ["turn_started", "text_delta", "text_delta", "turn_completed"]
        assert not (await session.read()).is_active
        assert (await session.start_turn("after", command=CAT)).text == "after"

    talk(case)


def test_an_interrupted_turn_ends_and_its_session_is_usable(talk: Callable[[Case], None]) -> None:
    """M10, M11."""

    async def case(client: Any) -> None:
        session = await client.create_deferred_session()
        assert not (await session.interrupt()).interrupted
        turn = session.stream("x", command=HANGS)
        await read_to_first_text(turn)
        stopped = await session.interrupt()
        assert (stopped.session_id, stopped.interrupted) == (session.id, True)
        remaining: list[Any] = []
        with pytest.raises(RequestCancelled) as caught:
            async for event in turn:
                remaining.append(event)
        assert isinstance(remaining[-1], TurnInterrupted)
        assert caught.value.session_id == session.id
        with pytest.raises(RequestCancelled):
            turn.result  # noqa: B018
        assert (await session.history()).messages[-1].kind == "interrupt"
        assert (await session.start_turn("on", command=CAT)).text == "on"

    talk(case)


def test_an_unknown_session_is_not_found(talk: Callable[[Case], None]) -> None:
    """M12."""

    async def case(client: Any) -> None:
        session = client.session(ABSENT)
        for call in (
            session.read(),
            session.history(),
            session.interrupt(),
            session.archive(),
            session.start_turn("x"),
            session.stream("x").wait(),
            client.read_session(ABSENT),
            client.read_session_history(ABSENT),
            client.archive_session(ABSENT),
            client.read_session(f"another-realm:{ABSENT}"),
        ):
            error = await raised_error(SessionNotFound, call)
            assert (error.code, error.session_id) == ("SESSION_NOT_FOUND", ABSENT)

    talk(case)


def test_pages_of_a_history_follow_each_other_without_gap_or_repeat(talk: Callable[[Case], None]) -> None:
    """M14, M15, M16, M17."""

    async def case(client: Any) -> None:
        session = await client.create_session("0", command=CAT)
        for turn in range(1, 4):
            await session.start_turn(str(turn))
        pages = [await session.history(offset=offset, limit=3) for offset in (0, 3, 6, 8, 99)]
        assert [page.has_more for page in pages] == [True, True, False, False, False]
        assert [len(page.messages) for page in pages] == [3, 3, 2, 0, 0]
        assert (pages[1].offset, pages[1].limit, pages[1].message_count) == (3, 3, 8)
        paged = [message for page in pages for message in page.messages]
        assert [message.content for message in paged] == [content for turn in "0123" for content in (turn, turn)]
        assert [message async for message in session.messages(page_size=3)] == paged
        assert [message async for message in session.messages(page_size=4)] == paged
        assert (await client.read_session_history(session.id, limit=2)).messages == paged[:2]

    talk(case)


def test_an_invalid_request_is_refused(talk: Callable[[Case], None]) -> None:
    """M18."""

    async def case(client: Any) -> None:
        session = await client.create_deferred_session()
        for call in (
            session.history(limit=1001),
            session.history(limit=0),
            session.history(offset=-1),
            session.start_turn(""),
            session.stream(" ").wait(),
            session.start_turn("x", runner="no such runner"),
            session.start_turn("x", command="cat"),
            client.create_session("x", labels={"a": 1}),
            client.create_session("x", command=[]),
            client.list_sessions(limit=1001),
            client.session("no uuid").read(),
            client.session("").read(),
            client.session("a/b").history(),
            client.session("..").interrupt(),
            client.realm("no-such-realm"),
            client.config_set([]),
            client.journey(user_id="no uuid"),
            client.create_session("x", journey_id=ABSENT),
            client.request("session/read", {}),
            client.request("session/list", {"no_such_argument": 1}),
        ):
            assert (await raised_error(InvalidParams, call)).code == "INVALID_PARAMS"

    talk(case)


def test_a_list_hides_archived_sessions_and_matches_all_labels(talk: Callable[[Case], None]) -> None:
    """M21."""

    async def case(client: Any) -> None:
        mark = f"mark [&] é={uuid.uuid4()}"
        sessions = [await client.create_deferred_session(labels={"mark": mark, "n]": str(n)}) for n in range(4)]
        await sessions[1].archive()
        rows = await client.list_sessions(labels={"mark": mark})
        assert {row.session_id: row.labels["n]"] for row in rows} == {sessions[n].id: str(n) for n in (0, 2, 3)}
        found = await client.list_sessions(labels={"mark": mark, "n]": "2"})
        assert [row.session_id for row in found] == [sessions[2].id]
        pages = [await client.list_sessions(labels={"mark": mark}, offset=offset, limit=2) for offset in (0, 2, 4)]
        assert [row for page in pages for row in page] == rows
        assert await client.list_sessions(labels={"mark": mark, "n]": "1"}) == []

    talk(case)


def test_only_the_history_of_an_archived_session_can_be_read(talk: Callable[[Case], None]) -> None:
    """M23, M24, M25."""

    async def case(client: Any) -> None:
        session = await client.create_session("keep this", command=CAT)
        assert (await client.archive_session(session.id)).archived
        for asked in (session.read(), session.start_turn("x"), session.archive()):
            await raised_error(SessionNotFound, asked)
        assert [message.content async for message in session.messages()] == ["keep this", "keep this"]

    talk(case)


def test_the_state_of_a_session_names_its_realm_and_its_process(talk: Callable[[Case], None], place: RunningServer) -> None:
    """M39."""

    async def case(client: Any) -> None:
        session = await client.create_session("x", command=CAT, labels={"a": "b"})
        state = await session.read()
        server = client.server
        assert (state.realm_id, state.instance_id, state.backend) == (place.realm, server.instance_id, "sqlite")
        assert (server.name, server.realm_id, server.backend) == ("recollect", place.realm, "sqlite")
        assert (state.session_id, state.labels, state.message_count, state.turns) == (session.id, {"a": "b"}, 2, 1)
        assert state.config_generation == (await client.config_get()).generation
        assert state.created_at <= state.updated_at
        assert state.usage.total_tokens == session.result.usage.total_tokens
        assert "session/create" in server.methods
        assert (await client.read_session(f"{place.realm}:{session.id.upper()}")) == state

    talk(case)


# ---- turns as they run


def test_the_events_of_a_turn_arrive_in_order_up_to_its_end(talk: Callable[[Case], None]) -> None:
    """M45."""

    async def case(client: Any) -> None:
        session = await client.create_session("first", command=CAT)
        turn = session.stream("a\nb", command=["sh", "-c", "for i in 1 2 3; do echo $i; sleep 0.05; done; cat"])
        events = [event async for event in turn]
        assert (events[0].turn, type(events[0]), type(events[-1])) == (2, TurnStarted, TurnCompleted)
        assert [event.sequence for event in events] == list(range(events[0].sequence, events[0].sequence + len(events)))
        assert {event.session_id for event in events} == {session.id}
        said = "".join(event.delta for event in events if isinstance(event, TextDelta))
        assert said == turn.result.text == events[-1].text == "1\n2\n3\na\nb"
        assert events[-1].usage == turn.result.usage
        assert [event async for event in turn] == []

    talk(case)


def test_reasoning_and_tool_calls_of_an_agent_are_events(talk: Callable[[Case], None]) -> None:
    async def case(client: Any) -> None:
        session = await client.create_deferred_session(runner="acp", command=SCRIPTED)
        turn = session.stream("tour")
        events = [event async for event in turn]
        kinds = {type(event) for event in events}
        assert {sdk.ReasoningDelta, sdk.ToolCall, sdk.ToolCallResult, TextDelta} <= kinds
        assert not kinds & {sdk.UnknownEvent}
        called = {event.id: event for event in events if isinstance(event, sdk.ToolCall)}
        returned = {event.id: event for event in events if isinstance(event, sdk.ToolCallResult)}
        assert called["a"].input == {"path": "x.py"}
        assert (returned["c"].is_error, returned["a"].is_error) == (True, False)
        assert turn.result.tool_calls == len(called) == 4
        assert turn.result.usage.cache_read_tokens == 20
        roles = {message.role for message in [message async for message in session.messages()]}
        assert roles == {"user", "assistant", "tool_results"}

    talk(case)


def test_a_turn_that_fails_delivers_its_events_and_then_raises(talk: Callable[[Case], None]) -> None:
    async def case(client: Any) -> None:
        session = await client.create_deferred_session()
        turn = session.stream("x", command=["sh", "-c", "echo half; exit 4"])
        events_before_error: list[Any] = []
        with pytest.raises(AgentError) as caught:
            async for event in turn:
                events_before_error.append(event)
        assert [event.type for event in events_before_error] == ["turn_started", "text_delta", "turn_failed"]
        assert caught.value.session_id == session.id
        for _ in range(2):
            await raised_error(AgentError, turn.wait())

    talk(case)


def test_leaving_the_event_loop_early_does_not_end_the_turn(talk: Callable[[Case], None], gate: Gate) -> None:
    async def case(client: Any) -> None:
        session = await client.create_deferred_session()
        turn = session.stream("all of it", command=gate.command)
        async for _ in turn:
            break
        with pytest.raises(RuntimeError, match="still running"):
            turn.result  # noqa: B018
        assert (await client.config_get()).realm_id
        await gate.open()
        assert (await turn.wait()).text == "begun\nall of it"
        assert [event.type async for event in turn][-1] == "turn_completed"

    talk(case)


def test_closing_a_stream_does_not_end_its_turn_or_pass_its_events_to_others(
    talk: Callable[[Case], None], gate: Gate
) -> None:
    async def case(client: Any) -> None:
        session = await client.create_deferred_session()
        turn = session.stream("unheard", command=gate.command)
        await read_to_first_text(turn)
        await turn.close()
        with pytest.raises(RuntimeError, match="stream was closed"):
            turn.result  # noqa: B018
        assert [event async for event in turn] == []
        late = session.stream("late", command=CAT)
        events: list[Any] = []
        with pytest.raises(SessionBusy):
            async for event in late:
                events.append(event)
        assert events == []
        await gate.open()

        async def is_over() -> bool:
            return not (await session.read()).is_active

        await eventually(is_over)
        assert [message.content async for message in session.messages()][-1] == "begun\nunheard"
        next_one = session.stream("next", command=CAT)
        assert [event.turn async for event in next_one if isinstance(event, TurnStarted)] == [2]

    talk(case)


def test_twenty_sessions_run_side_by_side(talk: Callable[[Case], None], tmp_path: Path) -> None:
    """M9. No session can end before all have begun."""

    async def case(client: Any) -> None:
        for n in range(20):
            (tmp_path / str(n)).mkdir()
        gates = [Gate(tmp_path / str(n)) for n in range(20)]
        sessions = await asyncio.gather(*(client.create_deferred_session() for _ in gates))
        ids = {session.id for session in sessions}
        turns = [
            asyncio.ensure_future(session.start_turn(str(n), command=gate.command))
            for n, (session, gate) in enumerate(zip(sessions, gates, strict=True))
        ]

        async def all_run() -> bool:
            return ids <= {row.session_id for row in await client.list_sessions(limit=1000) if row.is_active}

        await eventually(all_run)
        await asyncio.gather(*(gate.open() for gate in gates))
        results = await asyncio.gather(*turns)
        assert [result.text for result in results] == [f"begun\n{n}" for n in range(20)]
        assert {result.session_id for result in results} == ids

    talk(case)


def test_only_one_of_twenty_concurrent_turns_of_a_session_runs_and_gets_its_events(
    talk: Callable[[Case], None], gate: Gate
) -> None:
    """M5. An event belongs to its own turn, whichever request came first."""

    async def case(client: Any) -> None:
        session = await client.create_deferred_session(command=gate.command)
        streams = [client.session(session.id).stream(f"turn {n}") for n in range(20)]
        events_of: list[list[Any]] = [[] for _ in streams]

        async def listen(n: int) -> None:
            async for event in streams[n]:
                events_of[n].append(event)

        listening = [asyncio.ensure_future(listen(n)) for n in range(20)]

        async def all_others_are_refused() -> bool:
            return sum(one.done() for one in listening) == 19

        await eventually(all_others_are_refused)
        await gate.open()
        outcomes = await asyncio.gather(*listening, return_exceptions=True)
        (winner,) = [n for n, outcome in enumerate(outcomes) if outcome is None]
        assert {type(outcome) for outcome in outcomes} == {SessionBusy, type(None)}
        assert streams[winner].result.text == f"begun\nturn {winner}"
        assert [event.type for event in events_of[winner]] == ["turn_started", "text_delta", "text_delta", "turn_completed"]
        assert [events for n, events in enumerate(events_of) if n != winner] == [[]] * 19

    talk(case)


def test_texts_of_all_kinds_come_back_unchanged(talk: Callable[[Case], None]) -> None:
    """Half of a surrogate pair is not text; it is replaced without an error."""

    async def case(client: Any) -> None:
        text = 'ü 漢字 🦘 \u2028 \x00 \x7f \r\n "quoted" \\ \u202eright' + "x" * 200_000
        session = await client.create_session(text, command=CAT, labels={"läbel 🦘": "\t\n&=%[]"})
        turn = session.stream(text)
        said = "".join([event.delta async for event in turn if isinstance(event, TextDelta)])
        assert session.result.text == turn.result.text == said == text
        assert (await session.read()).labels == {"läbel 🦘": "\t\n&=%[]"}
        assert (await session.start_turn("half \ud83d of it")).text == "half ? of it"
        assert await client.list_sessions(labels={"half": "\ud83d"}) == []
        assert (await client.config_patch({"half": "\ud83d"})).config["half"] == "?"

    talk(case)


# ---- the realm, and everything else


def test_a_config_counts_its_writes_and_refuses_a_stale_one(talk: Callable[[Case], None]) -> None:
    """M40, M41, M43."""

    async def case(client: Any) -> None:
        before = await client.config_get()
        written = await client.config_set({"a": {"b": 1, "c": 2}})
        assert written.generation == before.generation + 1
        error = await raised_error(GenerationConflict, client.config_patch({"a": 0}, expected_generation=before.generation))
        assert error.code == "GENERATION_CONFLICT"
        assert error.details == {"expected_generation": before.generation, "current_generation": written.generation}
        assert await client.config_get() == written
        patched = await client.config_patch({"a": {"b": None}}, expected_generation=written.generation)
        assert (patched.config, patched.generation) == ({"a": {"c": 2}}, written.generation + 1)
        await raised_error(GenerationConflict, client.config_set({}, expected_generation=0))

    talk(case)


def test_realms_are_listed_and_shown(talk: Callable[[Case], None], place: RunningServer) -> None:
    async def case(client: Any) -> None:
        rows = {row.realm_id: row for row in await client.realms()}
        shown = await client.realm(place.realm)
        assert rows[place.realm].backend == shown.backend == "sqlite"
        assert client.server.instance_id in {instance.instance_id for instance in shown.instances}
        assert Path(shown.folder).is_dir()
        assert shown.bytes > 0

    talk(case)


def test_a_tool_is_called_as_by_an_agent_and_its_errors_are_answers(talk: Callable[[Case], None]) -> None:
    async def case(client: Any) -> None:
        session = await client.create_session("hello", command=CAT)
        state = await client.call_tool("meerkat_read", {"session_id": session.id})
        assert (state.is_error, state.structured["message_count"]) == (False, 2)
        refused_one = await client.call_tool("meerkat_read", {"session_id": ABSENT})
        assert (refused_one.is_error, refused_one.structured["code"]) == (True, "SESSION_NOT_FOUND")
        assert isinstance(refused_one, ToolResult)
        assert "SESSION_NOT_FOUND" in refused_one.text
        listed = await client.call_tool("meerkat_list")
        assert not listed.is_error
        turn = await client.call_tool("meerkat_start_turn", {"session_id": session.id, "prompt": "by a tool"})
        assert turn.structured["text"] == "by a tool"
        error = await raised_error(InvalidParams, client.call_tool("no such/tool"))
        assert str(error) == "Unknown tool: no such/tool"

    talk(case)


def test_any_method_can_be_called_by_its_name(talk: Callable[[Case], None], place: RunningServer) -> None:
    async def case(client: Any) -> None:
        assert (await client.request("config/get"))["realm_id"] == place.realm
        created = await client.request("session/create", {"initial_turn": "deferred"})
        ran = await client.request("turn/start", {"session_id": created["session_id"], "prompt": "x", "command": CAT})
        assert ran["text"] == "x"
        assert (await raised_error(RecollectError, client.request("no/such/method"))).code == "METHOD_NOT_FOUND"

    talk(case)


def test_a_journey_has_sessions_and_documents(talk: Callable[[Case], None]) -> None:
    async def case(client: Any) -> None:
        person = str(uuid.uuid4())
        journey = await client.journey(user_id=person)
        assert (journey.found.is_new, journey.found.user_id) == (True, person)
        assert (await client.journey(user_id=person)).id == journey.id
        linked = await client.create_session("of kangaroos", command=CAT)
        await client.create_session("of wombats", command=CAT, user_id=person)
        assert (await journey.link(linked, summary="About kangaroos", diagnosis="too many")).session_id == linked.id
        found = await journey.query("kangaroos", include_documents=True)
        assert [(one.session_id, one.has_diagnosis) for one in found.sessions] == [(linked.id, True)]
        assert (found.total_results, found.documents) == (1, [])
        assert (await journey.query(limit=1)).total_results == 2
        assert (await journey.query(from_date="2000-01-01T00:00:00Z", to_date="2000-01-02T00:00:00Z")).sessions == []
        added = await journey.add_document("note", title="Note", content="é", metadata={"a": [1]})
        (row,) = await journey.documents()
        assert (row.document_id, row.title) == (added.document_id, "Note")
        document = await journey.document(added.document_id)
        assert (document.content, document.metadata, document.journey_id) == ("é", {"a": [1]}, journey.id)
        kinds = sorted(entry.entry_type for entry in await journey.timeline(limit=10))
        assert kinds == ["document", "session", "session"]
        assert await journey.delete_document(added.document_id) == document
        error = await raised_error(InvalidParams, journey.document(added.document_id))
        assert error.details == {"status": 404}
        assert (await journey.delete()).session_count == 2
        assert (await raised_error(InvalidParams, journey.timeline())).details == {"status": 404}

    talk(case)


# ---- errors


def test_a_missing_program_is_a_provider_error(talk: Callable[[Case], None]) -> None:
    async def case(client: Any) -> None:
        asked = client.create_session("x", command=["/no/such/program"])
        assert (await raised_error(ProviderError, asked)).code == "PROVIDER_ERROR"

    talk(case)


def test_a_request_that_is_too_large_is_refused_and_the_client_stays_usable(talk: Callable[[Case], None]) -> None:
    async def case(client: Any) -> None:
        session = await client.create_deferred_session()
        error = await raised_error(InvalidParams, session.start_turn("x" * (33 << 20)))
        assert error.session_id == session.id
        await raised_error(InvalidParams, session.start_turn("x" * ((8 << 20) + 1)))
        assert (await session.start_turn("short", command=CAT)).text == "short"

    talk(case)


def test_a_client_that_was_closed_says_so(place: RunningServer) -> None:
    async def case(wire: str, manner: str) -> None:
        async with place.open_client(wire, manner) as client:
            session = await client.create_deferred_session()
        for asked in (session.read(), client.config_get(), client.call_tool("meerkat_list")):
            error = await raised_error(sdk.ConnectionLost, asked)
            assert (error.code, str(error)) == ("CONNECTION_LOST", "the client was closed")
        await client.close()

    for wire in WIRES:
        for manner in MANNERS:
            asyncio.run(case(wire, manner))


@pytest.mark.parametrize("manner", MANNERS)
def test_a_realm_in_memory_has_no_history_of_archived_sessions(manner: str, tmp_path: Path) -> None:
    """M27: only the last state can still be read."""

    async def case(client: Any) -> None:
        session = await client.create_session("x", command=CAT)
        await session.archive()
        assert (await raised_error(SessionPersistenceDisabled, session.history())).code == "SESSION_PERSISTENCE_DISABLED"
        assert (await session.read()).archived_at

    with running_server(Person(tmp_path), "--isolated", "--realm-backend", "memory") as (place, _):
        for wire in ("tcp", "http"):
            asyncio.run(_with(place, wire, manner, case))


@pytest.mark.parametrize("manner", MANNERS)
def test_a_request_past_its_deadline_is_cancelled(manner: str, tmp_path: Path) -> None:
    async def case(client: Any) -> None:
        session = await client.create_deferred_session()
        await client.config_set({"deadline_ms": 0})
        assert (await raised_error(RequestCancelled, session.read())).code == "REQUEST_CANCELLED"
        await client.config_set({})
        assert (await session.read()).session_id == session.id

    with running_server(Person(tmp_path)) as (place, _):
        for wire in WIRES:
            asyncio.run(_with(place, wire, manner, case))


@pytest.mark.parametrize("manner", MANNERS)
def test_events_after_an_unknown_event_are_refused(manner: str, place: RunningServer) -> None:
    async def case(client: Any) -> None:
        session = await client.create_session("x", command=CAT)
        with pytest.raises(StaleCursor, match="no event 99") as caught:
            async for _ in session.events(after=99):
                pass
        assert caught.value.details == {"newest": 3}

    asyncio.run(_with(place, "http", manner, case))


async def _with(place: RunningServer, wire: str, manner: str, case: Case) -> None:
    async with place.open_client(wire, manner) as client:
        await case(client)


def test_a_server_with_a_token_accepts_only_clients_with_the_token(tmp_path: Path) -> None:
    with running_server(Person(tmp_path), token=TOKEN) as (place, _):
        for wire in ("tcp", "http"):
            place.token = TOKEN
            for manner in MANNERS:
                asyncio.run(_with(place, wire, manner, lambda client: client.config_get()))
            for wrong in (None, "another token of that length"):
                place.token = wrong
                for manner in MANNERS:
                    with pytest.raises(Unauthorized) as caught:
                        asyncio.run(_with(place, wire, manner, lambda client: client.config_get()))
                    assert caught.value.code == "UNAUTHORIZED"
    with pytest.raises(ValueError, match="printable"):
        Client.http(place.url, "a\r\nforged: header")


def test_every_code_of_the_contract_has_its_class() -> None:
    """M48."""
    for code, name in {
        "SESSION_NOT_FOUND": "SessionNotFound", "SESSION_BUSY": "SessionBusy",
        "REQUEST_CANCELLED": "RequestCancelled", "PROVIDER_ERROR": "ProviderError", "AGENT_ERROR": "AgentError",
        "SESSION_PERSISTENCE_DISABLED": "SessionPersistenceDisabled", "STALE_CURSOR": "StaleCursor",
        "GENERATION_CONFLICT": "GenerationConflict", "INVALID_PARAMS": "InvalidParams", "INTERNAL_ERROR": "InternalError",
        "UNAUTHORIZED": "Unauthorized", "CONNECTION_LOST": "ConnectionLost", "NEW_CODE": "RecollectError",
    }.items():  # fmt: skip
        error = sdk.errors.error_of(code, "a sentence", {"session_id": "s"}, "t")
        assert (type(error).__name__, error.code, str(error), error.session_id) == (name, code, "a sentence", "s")
        assert isinstance(error, RecollectError)
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), again.args) == (type(error), error.args)
