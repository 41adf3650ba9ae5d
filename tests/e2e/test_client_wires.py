"""The Python SDK when servers end, readers are slow, callers give up, and histories are long. All servers are real."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.client import Client, ConnectionLost, RequestCancelled, SessionBusy, StreamTruncated, TextDelta, TurnStarted
from recollect.client._child_process import ChildConnection, SpawnOptions
from tests.clients import MANNERS, WIRES, RunningServer, running_server
from tests.conftest import Person, without_coverage
from tests.e2e.processes import is_alive, until

CAT = ["cat"]
HANGS = ["sh", "-c", "echo $$; exec sleep 1000"]
TALKATIVE = """
import json, sys
def hear():
    return json.loads(sys.stdin.readline())
def say(**message):
    sys.stdout.write(json.dumps(message) + "\\n")
def update(**update):
    say(method="session/update", params={"sessionId": "s", "update": update})
say(id=hear()["id"], result={"protocolVersion": 1}); sys.stdout.flush()
say(id=hear()["id"], result={"sessionId": "s"}); sys.stdout.flush()
turn = hear()["id"]
"""
CHUNKS = """
for n in range(int(sys.argv[1])):
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "x" * int(sys.argv[2])})
"""
CALLS = """
for n in range(5_000):
    update(sessionUpdate="tool_call", toolCallId=str(n), title="Count", rawInput={"n": n})
    update(sessionUpdate="tool_call_update", toolCallId=str(n), status="completed",
           content=[{"type": "content", "content": {"type": "text", "text": str(n)}}])
"""
ENDS = """
say(id=turn, result={"stopReason": "end_turn"}); sys.stdout.flush()
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[RunningServer]:
    with running_server(Person(tmp_path / "served")) as (place, _):
        yield place


@pytest.fixture(params=[(wire, manner) for wire in WIRES for manner in MANNERS], ids="-".join)
def opened(request: pytest.FixtureRequest, place: RunningServer) -> Callable[[], Any]:
    return lambda: place.open_client(*request.param)


async def first_text(stream: Any) -> str:
    """The first text of a turn."""
    async for event in stream:
        if isinstance(event, TextDelta):
            return event.delta.strip()
    raise AssertionError("the turn had no text")


# ---- servers that end


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("manner", MANNERS)
def test_killing_the_server_fails_all_running_calls(wire: str, manner: str, tmp_path: Path) -> None:
    async def case(place: RunningServer) -> None:
        async with place.open_client(wire, manner) as client:
            server = await _pid(client, place)
            streamed, awaited = [await client.create_deferred_session(command=HANGS) for _ in range(2)]
            turn = streamed.stream("x")
            agents = [int(await first_text(turn))]
            note = tmp_path / "agent"
            waiting = asyncio.ensure_future(
                awaited.start_turn("x", command=["sh", "-c", f"echo $$ > {note}; exec sleep 1000"])
            )
            while not note.exists() or not note.read_text().strip():
                await asyncio.sleep(0.01)
            agents.append(int(note.read_text()))
            os.kill(server, signal.SIGKILL)
            for broken in (turn.wait(), waiting):
                with pytest.raises(ConnectionLost) as caught:
                    await broken
                assert caught.value.code == "CONNECTION_LOST"
                if wire == "child":
                    assert (caught.value.details["signal"], caught.value.details["exit_code"]) == (signal.SIGKILL, None)
            with pytest.raises(ConnectionLost):
                await streamed.read()
            for agent in agents:  # no process waits for them any more
                os.killpg(agent, signal.SIGKILL)

    with running_server(Person(tmp_path)) as (place, _):
        asyncio.run(case(place))


async def _pid(client: Any, place: RunningServer) -> int:
    """The number of the server's process."""
    instances = (await client.realm(place.realm)).instances
    return next(int(one.pid) for one in instances if one.instance_id == client.server.instance_id)


def test_a_server_that_refuses_to_start_says_why(person: Person) -> None:
    with Client.spawn("kept", backend="jsonl", env=person.env) as client:
        assert client.server.backend == "jsonl"
    for given, sentence in (
        ({"realm": "bad name"}, "bad name"),
        ({"realm": "kept", "isolated": True}, "isolated"),
        ({"realm": "kept", "backend": "sqlite"}, "realm backend mismatch for 'kept': requested 'sqlite', existing 'jsonl'"),
    ):
        with pytest.raises(ConnectionLost) as caught:
            Client.spawn(env=person.env, **given)
        assert str(caught.value).startswith("recollect exited with code 2: ")
        assert sentence in str(caught.value)
        assert caught.value.details["exit_code"] == 2
        assert sentence in caught.value.details["stderr"]


def test_a_server_that_cannot_be_started_or_found_raises_connection_lost(tmp_path: Path, person: Person) -> None:
    openings: list[Callable[[], Client]] = [
        lambda: Client.spawn(command=["/no/such/program"]),
        lambda: Client.spawn(cwd=tmp_path / "nowhere", env=person.env),
        lambda: Client.spawn(command=["a\0b"]),
        lambda: Client.connect("127.0.0.1", 1),
        lambda: Client.connect("no such host", 1),
        lambda: Client.connect("127.0.0.1", 99_999),
        lambda: Client.http("http://127.0.0.1:1"),
        lambda: Client.http("https://127.0.0.1:1"),
    ]
    for opening in openings:
        with pytest.raises(ConnectionLost):
            opening()
    for url in ("127.0.0.1:7377", "ftp://127.0.0.1", "http://", "http://127.0.0.1?a=b"):
        with pytest.raises(ValueError, match="is not an address"):
            Client.http(url)


# ---- servers of our own


def test_without_a_realm_every_client_has_one_of_its_own(person: Person, tmp_path: Path) -> None:
    """M31, M30."""
    with Client.spawn(env=person.env) as one, Client.spawn(home=tmp_path / "state", env=person.env, isolated=True) as other:
        assert one.server.realm_id != other.server.realm_id
        session = one.create_session("mine", command=CAT)
        assert other.list_sessions() == []
        with pytest.raises(Exception, match="no such session"):
            other.read_session(session.id)
        assert len(list((tmp_path / "state").glob("realms/*"))) >= 1


def test_spawn_sets_instance_backend_and_folders(person: Person, tmp_path: Path) -> None:
    folder, home = tmp_path / "work", tmp_path / "elsewhere"
    folder.mkdir()
    with Client.spawn("r1", backend="memory", instance="i1", home=home, cwd=folder, env=person.env) as client:
        assert (client.server.realm_id, client.server.backend, client.server.instance_id) == ("r1", "memory", "i1")
        assert client.create_session("x", command=["pwd"]).result.text.strip() == str(folder)
        assert client.realm("r1").folder == str(home / "realms" / "r1")


def test_a_spawned_server_gets_our_environment_with_the_changes(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FROM_US", "ours")
    monkeypatch.setenv("TAKEN_AWAY", "secret")
    document = {**person.env, "ADDED": "more", "TAKEN_AWAY": None}
    with Client.spawn(env=document) as client:
        tells = ["sh", "-c", 'echo "$FROM_US, $ADDED, ${TAKEN_AWAY-none}"']
        assert client.create_session("x", command=tells).result.text == "ours, more, none\n"


def test_a_spawned_server_imports_nothing_from_its_working_folder(person: Person, tmp_path: Path) -> None:
    """The working folder of an agent may be untrusted."""
    for name in ("recollect", "msgspec"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a trap')")
    with Client.spawn(cwd=tmp_path, env=person.env) as client:
        assert client.create_session("x", command=CAT).result.text == "x"


def test_closing_a_client_ends_its_server_and_its_turns(person: Person) -> None:
    with Client.spawn(env=person.env) as client:
        server = client.realm(client.server.realm_id).instances[0].pid
        turn = client.create_deferred_session(command=HANGS).stream("x")
        agent = next(int(event.delta) for event in turn if isinstance(event, TextDelta))
        assert is_alive(server)
        assert is_alive(agent)
    assert not is_alive(server)
    assert not is_alive(agent)
    with pytest.raises(ConnectionLost, match="the client was closed"):
        turn.wait()


def test_a_call_that_waits_while_the_client_closes_fails(person: Person) -> None:
    client = Client.spawn(env=person.env)
    session = client.create_deferred_session(command=HANGS)
    outcome: list[BaseException] = []

    def wait() -> None:
        try:
            session.start_turn("x")
        except ConnectionLost as lost:
            outcome.append(lost)

    waiting = threading.Thread(target=wait)
    waiting.start()
    until(lambda: session.read().is_active)
    client.close()
    waiting.join(20)
    assert [str(lost) for lost in outcome] == ["the client was closed"]


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("end", ["return", "kill"])
def test_a_server_ends_with_a_program_that_never_closes_it(manner: str, end: str, person: Person) -> None:
    spawn = {"sync": "client = Client.spawn()", "async": "client = await AsyncClient.spawn()"}[manner]
    find = "(await client.realm(client.server.realm_id))" if manner == "async" else "client.realm(client.server.realm_id)"
    body = f"    {spawn}\n    print({find}.instances[0].pid, flush=True)\n    input()\n"
    run = "async def main():\n" + body + "asyncio.run(main())" if manner == "async" else "if True:\n" + body
    code = f"import asyncio\nfrom recollect.client import *\n{run}"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], env=person.env, stdin=pipe, stdout=pipe, text=True) as program:
        assert program.stdin and program.stdout
        server = int(program.stdout.readline())
        assert is_alive(server)
        if end == "kill":
            program.kill()
        else:
            program.stdin.write("\n")
            program.stdin.close()
        program.wait(30)
        if end == "return" and manner == "sync":
            assert not is_alive(server)
        until(lambda: not is_alive(server))


def test_a_server_that_does_not_end_is_killed(tmp_path: Path) -> None:
    """First by a signal that it can handle, then by SIGKILL."""
    stubborn = "import signal, sys, time; {}print(flush=True)\nwhile True: time.sleep(1000)"
    for ignoring, ended in (("", -signal.SIGTERM), ("signal.signal(signal.SIGTERM, signal.SIG_IGN); ", -signal.SIGKILL)):
        asyncio.run(_assert_killed_by([sys.executable, "-c", stubborn.format(ignoring)], ended))


async def _assert_killed_by(command: list[str], ended: int) -> None:
    child = await ChildConnection.start(SpawnOptions(command=command, exit_timeout_s=0.05))
    lines = child.lines()
    assert await anext(lines) == b""
    await child.close()
    reason = await child.wait_ended()
    assert reason.details["signal"] == -ended
    await lines.aclose()  # type: ignore[attr-defined]


def test_ctrl_c_only_ends_the_waiting(person: Person) -> None:
    """After Ctrl-C in a long turn, the client can still send requests."""
    code = """
import os, signal, threading
from recollect.client import *
with Client.spawn() as client:
    session = client.create_deferred_session(command=["sleep", "1000"])
    def press():
        while not session.read().is_active: pass
        os.killpg(0, signal.SIGINT)
    threading.Thread(target=press).start()
    try:
        session.start_turn("x")
    except KeyboardInterrupt:
        print(session.read().is_active, session.interrupt().interrupted)
    print(session.start_turn("on", command=["cat"]).text)
"""
    command = [sys.executable, "-c", code]
    env = without_coverage(person.env)
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, start_new_session=True)
    assert (done.stdout.split(), done.stderr) == (["True", "True", "on"], "")


# ---- callers that give up


@pytest.mark.parametrize("wire", WIRES)
def test_cancelling_a_task_only_stops_its_waiting(wire: str, place: RunningServer) -> None:
    async def case() -> None:
        async with place.open_client(wire, "async") as client:
            session = await client.create_deferred_session(command=HANGS)
            waiting = asyncio.ensure_future(session.start_turn("x"))
            while not (await session.read()).is_active:
                await asyncio.sleep(0.01)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            with pytest.raises(SessionBusy):
                await session.start_turn("x")
            assert (await session.interrupt()).interrupted
            for _ in range(3):
                turn = session.stream("on", command=CAT)
                assert [event.type async for event in turn] == ["turn_started", "text_delta", "turn_completed"]
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await session.start_turn("x", command=HANGS)
            assert (await session.interrupt()).interrupted
            many = [asyncio.ensure_future(client.config_get()) for _ in range(50)]
            await asyncio.sleep(0)
            for one in many[::2]:
                one.cancel()
            assert len({config.generation for config in await asyncio.gather(*many[1::2])}) == 1

    asyncio.run(case())


@pytest.mark.parametrize("wire", WIRES)
def test_a_cancelled_call_gets_no_more_events(wire: str, place: RunningServer) -> None:
    """No events are stored for a call that was cancelled."""

    async def case() -> None:
        async with place.open_client(wire, "async") as client:
            session = await client.create_deferred_session(command=HANGS)
            heard: list[Any] = []
            params = {"session_id": session.id, "prompt": "x"}
            waiting = asyncio.ensure_future(client._transport.request("turn/start", params, heard.append))
            while len(heard) < 2:
                await asyncio.sleep(0.01)
            waiting.cancel()
            await asyncio.wait([waiting])
            assert (await session.interrupt()).interrupted
            assert (await session.start_turn("on", command=CAT)).text == "on"
            assert [event.type for event in heard] == ["turn_started", "text_delta"]

    asyncio.run(case())


def test_a_turn_right_after_an_interrupt_gets_only_its_own_events(opened: Callable[[], Any]) -> None:
    """The response of the interrupted turn may arrive after others have received its end."""

    async def case() -> None:
        async with opened() as client:
            session = await client.create_deferred_session()
            for _ in range(10):
                hanging = session.stream("x", command=HANGS)
                await first_text(hanging)
                await session.interrupt()
                turn = session.stream("on", command=CAT)
                assert [event.type async for event in turn] == ["turn_started", "text_delta", "turn_completed"]
                with pytest.raises(RequestCancelled):
                    await hanging.wait()

    asyncio.run(case())


# ---- much, and slowly


def test_a_slow_reader_learns_how_many_events_are_missing(place: RunningServer) -> None:
    """M46. The numbers of missing events are skipped, and the turn does not wait."""

    async def case(wire: str, watcher: Client) -> None:
        async with place.open_client(wire, "async") as client:
            command = [sys.executable, "-c", TALKATIVE + CHUNKS + ENDS, "12000", "2000"]
            session = await client.create_deferred_session(runner="acp", command=command)
            turn = session.stream("x")
            events = [await anext(turn)]
            until(lambda: not watcher.read_session(session.id).is_active, 60)  # the event loop is blocked meanwhile
            events += [event async for event in turn]
            dropped = [event.dropped for event in events if isinstance(event, StreamTruncated)]
            assert dropped
            assert len(events) - len(dropped) + sum(dropped) == 12_002
            expected = events[0].sequence
            for event in events:
                if isinstance(event, StreamTruncated):
                    expected += event.dropped
                else:
                    assert event.sequence == expected
                    expected += 1
            assert len(turn.result.text) == 24_000_000

    with Client.http(place.url, place.token) as watcher:
        for wire in WIRES:
            asyncio.run(case(wire, watcher))


def test_unread_events_of_a_turn_are_not_dropped(opened: Callable[[], Any]) -> None:
    """As many events as a server keeps for a reader, and as much text as a turn may have."""

    async def case() -> None:
        async with opened() as client:
            command = [sys.executable, "-c", TALKATIVE + CHUNKS + ENDS, "900", "20000"]
            session = await client.create_deferred_session(runner="acp", command=command)
            turn = session.stream("x")
            assert len((await turn.wait()).text) == 18_000_000
            events = [event async for event in turn]
            assert [event.sequence for event in events] == list(range(1, 903))

    asyncio.run(case())


def test_a_history_of_ten_thousand_messages_is_read_page_by_page(place: RunningServer) -> None:
    """M15."""

    async def case(wire: str, manner: str, session_id: str) -> None:
        async with place.open_client(wire, manner) as client:
            session = client.session(session_id)
            page = await session.history(offset=9_999, limit=1_000)
            assert (page.message_count, len(page.messages), page.has_more) == (10_002, 3, False)
            messages = [message async for message in session.messages()]
            assert len(messages) == 10_002
            counted = [result["content"] for message in messages for result in message.results]
            assert counted == [str(n) for n in range(5_000)]

    command = [sys.executable, "-c", TALKATIVE + CALLS + ENDS]
    with Client.http(place.url, place.token) as client:
        made = client.create_session("count", runner="acp", command=command)
        assert made.result.tool_calls == 5_000
    for wire in WIRES:
        for manner in MANNERS:
            asyncio.run(case(wire, manner, made.id))


# ---- the turns of everybody


@pytest.mark.parametrize("manner", MANNERS)
def test_over_http_a_client_gets_events_of_turns_of_others(manner: str, place: RunningServer) -> None:
    async def case() -> None:
        async with place.open_client("http", manner) as client, place.open_client("tcp", "async") as other:
            session = await client.create_session("before", command=CAT)
            heard: list[Any] = []

            async def listen() -> None:
                async for event in client.session(session.id).events(after=0):
                    heard.append(event)

            async def ended(turns: int) -> None:
                while sum(event.type == "turn_completed" for event in heard) < turns:
                    await asyncio.sleep(0.01)

            listening = asyncio.ensure_future(listen())
            await asyncio.wait_for(ended(1), 20)
            await other.session(session.id).start_turn("by another")
            await asyncio.wait_for(ended(2), 20)
            await other.archive_session(session.id)
            await asyncio.wait_for(listening, 20)
            assert [event.sequence for event in heard] == [1, 2, 3, 4, 5, 6]
            with pytest.raises(Exception, match="was archived on"):
                async for _ in client.session(session.id).events():
                    pass
            with pytest.raises(Exception, match="Use `http` for the events of all turns"):
                async for _ in other.session(session.id).events():
                    pass

    asyncio.run(case())


def test_leaving_a_loop_over_events_closes_its_connection(place: RunningServer) -> None:
    with Client.http(place.url, place.token) as client:
        session = client.create_session("x", command=CAT)
        for _ in range(3):
            for event in session.events(after=0):
                assert isinstance(event, TurnStarted)
                break
        assert session.start_turn("on").text == "on"
