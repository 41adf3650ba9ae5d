"""The lifecycle of live sessions across real processes: one turn at a time, refusals, interrupts, crashes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import COMMANDS_OVER_MCP, Person
from tests.e2e.processes import is_alive, running, until
from tests.live_processes import REALM, Agent, create_deferred, database, messages, roles, start_turn
from tests.rpc_server import RawRpc

ENDED_WITHIN_S = 5.0  # seconds within which all processes of an interrupted turn must end
NOT_FOUND, BUSY, CANCELLED = -32001, -32002, -32005
BACKENDS = ("sqlite", "jsonl")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def rpc(person: Person, backend: str) -> Iterator[RawRpc]:
    with RawRpc(person, "--realm", REALM, "--realm-backend", backend) as server:
        server.request("ping")  # creates the realm with this backend
        yield server


@pytest.fixture
def other(person: Person, rpc: RawRpc) -> Iterator[RawRpc]:
    """Another process in the same realm."""
    with RawRpc(person, "--realm", REALM) as server:
        yield server


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


def ended(rpc: RawRpc, session: str, number: int) -> tuple[bool, str, Any]:
    """A turn as the history tools open it: whether it is completed, its last event, and its final response."""

    def opened(identity: str) -> Any:
        return rpc.result("tools/call", name="open", arguments={"id": identity})["structuredContent"]["data"]

    turn = opened(opened(f"session:{session.replace('-', '')}")["turns"][number]["id"])
    terminal = opened(turn["turn"]["terminal_event_id"])
    assert (terminal["event"]["type"], terminal["event"]["terminal"]) == ("runtime", True)
    return turn["turn"]["completed"], terminal["content"]["text"], turn["summary"]["final_response"]


# ---- one turn at a time


def test_a_second_turn_is_refused_at_once_and_the_first_is_unaffected(rpc: RawRpc, agent: Agent) -> None:
    """M5, M7, M8: "at once" means before the first turn has ended, which waits for this test."""
    session = create_deferred(rpc)
    first = start_turn(rpc, session, command=agent.command)
    assert rpc.error("turn/start", session_id=session, prompt="me too")["code"] == BUSY
    agent.answer("unaffected")
    assert rpc.answer(first)["result"]["text"] == "begun\nunaffected"
    assert rpc.result("turn/start", session_id=session, prompt="now", command=["cat"])["text"] == "now"
    assert [message["content"] for message in messages(rpc, session)] == ["go", "begun\nunaffected", "now", "now"]


def test_a_turn_in_another_process_is_busy_too(person: Person, rpc: RawRpc, other: RawRpc, agent: Agent) -> None:
    """M6, M29."""
    session = create_deferred(rpc)
    first = start_turn(rpc, session, command=agent.command)
    refused = other.error("turn/start", session_id=session, prompt="me too", command=["cat"])
    assert (refused["code"], refused["data"]["code"]) == (BUSY, "SESSION_BUSY")
    assert person.run("run", "me too", "--resume", session, "--realm", REALM, check=False).returncode == 11
    agent.answer("done")
    assert rpc.answer(first)["result"]["turns"] == 1
    assert other.result("turn/start", session_id=session, prompt="now", command=["cat"])["turns"] == 2


def test_only_one_of_eight_processes_runs_the_turn(person: Person, rpc: RawRpc, agent: Agent) -> None:
    """Seven are refused while one turn still runs."""
    session = create_deferred(rpc, runner="command", command=agent.command)
    with ExitStack() as all_of_them:
        racers = [all_of_them.enter_context(RawRpc(person, "--realm", REALM)) for _ in range(8)]
        for racer in racers:
            racer.request("ping")
        requests = [racer.ask("turn/start", {"session_id": session, "prompt": "go"}) for racer in racers]
        first = [racer.hear() for racer in racers]
        refused = [message["error"]["code"] for message in first if "error" in message]
        (winner,) = [number for number, message in enumerate(first) if "error" not in message]
        assert refused == [BUSY] * 7
        assert first[winner]["params"]["type"] == "turn_started"
        assert rpc.result("session/read", session_id=session)["is_active"] is True
        agent.answer("alone")
        assert racers[winner].answer(requests[winner])["result"]["text"] == "begun\nalone"
    assert roles(rpc, session) == ["user", "assistant"]


def test_two_sessions_never_block_each_other(rpc: RawRpc, other: RawRpc, agent: Agent) -> None:
    """M9."""
    slow, quick = create_deferred(rpc), create_deferred(rpc)
    first = start_turn(rpc, slow, command=agent.command)
    for server in (rpc, other):
        assert server.result("turn/start", session_id=quick, prompt="quick", command=["cat"])["text"] == "quick"
    agent.answer("slow")
    assert rpc.answer(first)["result"]["text"] == "begun\nslow"


def test_no_message_of_a_turn_is_visible_before_its_end(rpc: RawRpc, other: RawRpc, agent: Agent) -> None:
    """M19, M20, M22: a reader gets an answer while the turn runs, with the state from before the turn."""
    session = create_deferred(rpc)
    rpc.result("turn/start", session_id=session, prompt="before", command=["cat"])
    first = start_turn(rpc, session, command=agent.command)
    for server in (rpc, other):
        seen = server.result("session/read", session_id=session)
        (listed,) = server.result("session/list")["sessions"]
        assert (seen["is_active"], seen["message_count"], seen["turns"]) == (True, 2, 1)
        assert listed == seen
        assert [message["content"] for message in messages(server, session)] == ["before", "before"]
    agent.answer("after")
    rpc.answer(first)
    for server in (rpc, other):
        seen = server.result("session/read", session_id=session)
        assert (seen["is_active"], seen["message_count"], seen["turns"]) == (False, 4, 2)


# ---- interrupting


def test_an_interrupt_from_another_process_ends_a_turn(rpc: RawRpc, other: RawRpc, agent: Agent) -> None:
    """M10, M13: its caller gets an error, the turn opens as completed by an interrupt, and the session continues."""
    session = create_deferred(rpc)
    first = start_turn(rpc, session, command=agent.command)
    assert other.result("turn/interrupt", session_id=session) == {"session_id": session, "interrupted": True}
    refused = rpc.answer(first)["error"]
    assert (refused["code"], refused["data"]["code"]) == (CANCELLED, "REQUEST_CANCELLED")
    assert refused["data"]["details"]["session_id"] == session
    assert rpc.events()[-1]["type"] == "turn_interrupted"
    assert roles(other, session) == ["user", "assistant", "system_notice"]
    assert ended(other, session, 0) == (True, "The turn was interrupted.", None)
    assert other.result("turn/start", session_id=session, prompt="again", command=["cat"])["text"] == "again"


def test_the_command_line_interrupts_a_turn(person: Person, rpc: RawRpc, agent: Agent) -> None:
    """M10, M11."""
    session = create_deferred(rpc)
    idle = person.json("session", "interrupt", session, "--realm", REALM)
    first = start_turn(rpc, session, command=agent.command)
    assert person.json("session", "interrupt", session, "--realm", REALM)["interrupted"] is True
    assert (idle["interrupted"], rpc.answer(first)["error"]["code"]) == (False, CANCELLED)


def test_recollect_run_reports_an_interrupt_from_elsewhere(person: Person, rpc: RawRpc, agent: Agent) -> None:
    with running(person, "run", "go", "--command", " ".join(["cat", agent.command[-1]]), "--realm", REALM) as process:
        (row,) = until(lambda: rpc.result("session/list")["sessions"])
        until(lambda: rpc.result("session/read", session_id=row["session_id"])["is_active"])
        assert rpc.result("turn/interrupt", session_id=row["session_id"])["interrupted"] is True
        assert process.wait(20) == 14


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, None], ids=str)
@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_ending_recollect_run_interrupts_its_turn(person: Person, rpc: RawRpc, tmp_path: Path, end: int | None) -> None:
    """By a signal, by closing the terminal, or by closing its output: the program of the turn ends too."""
    script = tmp_path / "agent"
    script.write_text(f"echo $$ > '{tmp_path}/pid'; while :; do echo tick; sleep 0.02; done")
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under `nohup`, which the process would inherit
    with running(person, "run", "go", "--command", f"sh {script}", "--realm", REALM, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"tick\n"
        if end is None:
            process.stdout.close()
        else:
            process.send_signal(end)
        assert process.wait(20) == 14
    (row,) = rpc.result("session/list")["sessions"]
    assert [message.get("kind") for message in messages(rpc, row["session_id"])] == [None, None, "interrupt"]
    assert not is_alive(int((tmp_path / "pid").read_text()))


FAMILIES = {
    "sleeps in the background": "sleep 600 & echo $! >> pids; sleep 600 & echo $! >> pids",
    "one that ignores SIGTERM": "sh -c 'trap \"\" TERM; echo $$ >> pids; while :; do sleep 600; done' &",
    "one in a session of its own": "setsid sh -c 'echo $$ >> pids; sleep 600' &",
    "one whose parents are gone": "(setsid sh -c 'trap \"\" TERM; echo $$ >> pids; while :; do sleep 600; done' &)",
}


def written(pids: Path, count: int) -> list[int]:
    """Wait until a file has this number of process ids. Returns them."""
    ids = [int(pid) for pid in pids.read_text().split()]
    return ids if len(ids) >= count else []


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_an_interrupt_ends_all_processes_of_the_turn(rpc: RawRpc, other: RawRpc, tmp_path: Path, family: str) -> None:
    pids, session = tmp_path / "pids", create_deferred(rpc)
    script = f"cd '{tmp_path}'; echo $$ >> pids; {family}\nwhile [ ! -s pids ]; do :; done; echo begun; sleep 600"
    first = start_turn(rpc, session, command=["sh", "-c", script])
    started = until(lambda: written(pids, 2))
    began = time.monotonic()
    other.result("turn/interrupt", session_id=session)
    until(lambda: not any(map(is_alive, started)), ENDED_WITHIN_S)
    assert rpc.answer(first)["error"]["code"] == CANCELLED
    assert time.monotonic() - began < ENDED_WITHIN_S


# ---- archiving


def test_archiving_during_a_turn_is_committed_at_once(rpc: RawRpc, other: RawRpc, agent: Agent) -> None:
    """M23..M26: then the turn is cancelled, and its caller gets an error."""
    session = create_deferred(rpc)
    first = start_turn(rpc, session, command=agent.command)
    assert other.result("session/archive", session_id=session)["archived"] is True
    for server in (rpc, other):
        assert server.error("session/read", session_id=session)["code"] == NOT_FOUND
        assert server.error("session/archive", session_id=session)["code"] == NOT_FOUND
        assert server.error("turn/start", session_id=session, prompt="x", command=["cat"])["code"] == NOT_FOUND
        assert server.result("session/list")["sessions"] == []
    refused = next((message for message in rpc.earlier_messages if message.get("id") == first), None) or rpc.answer(first)
    assert refused["error"]["code"] == CANCELLED
    assert rpc.events()[-1]["type"] == "turn_interrupted"
    assert roles(other, session) == ["user", "assistant", "system_notice"]


def test_only_one_of_eight_processes_archives(person: Person, rpc: RawRpc) -> None:
    session = create_deferred(rpc)
    with ExitStack() as all_of_them:
        racers = [all_of_them.enter_context(RawRpc(person, "--realm", REALM)) for _ in range(8)]
        for racer in racers:
            racer.request("ping")
        requests = [racer.ask("session/archive", {"session_id": session}) for racer in racers]
        answers = [racer.answer(identity) for racer, identity in zip(racers, requests, strict=True)]
    codes = sorted(answer["error"]["code"] for answer in answers if "error" in answer)
    assert codes == [NOT_FOUND] * 7


KILL_IN = """
import os, signal, sys, uuid
from pathlib import Path
from recollect.live.sessions import LiveSessions
from recollect.realms.manifest import Backend
from recollect.store.live import Live
folder, backend, session = Path(sys.argv[1]), Backend(sys.argv[2]), uuid.UUID(sys.argv[3]).bytes
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
{where} = die
LiveSessions(folder, backend, "dying", redact=True, on_commit=lambda: None).archive(session)
"""


def archived_by_one_that_dies(person: Person, backend: str, session: str, where: str) -> None:
    """Archive a session in a process that kills itself when it calls this function. No code of ours is replaced."""
    folder = person.state / "realms" / REALM
    command = [sys.executable, "-c", KILL_IN.format(where=where), str(folder), backend, session]
    assert subprocess.run(command, env=person.env, check=False).returncode == -signal.SIGKILL


def test_a_kill_during_archiving_never_revives_the_session(person: Person, rpc: RawRpc, backend: str, agent: Agent) -> None:
    """M27, M28: the process of the running turn cancels it; the history stays readable, also for later processes."""
    session = create_deferred(rpc)
    first = start_turn(rpc, session, command=agent.command)
    archived_by_one_that_dies(person, backend, session, "LiveSessions._end_turn")
    assert rpc.answer(first)["error"]["code"] == CANCELLED
    assert rpc.error("session/read", session_id=session)["code"] == NOT_FOUND
    assert rpc.error("turn/start", session_id=session, prompt="x", command=["cat"])["code"] == NOT_FOUND
    with RawRpc(person, "--realm", REALM) as later:
        assert later.error("turn/start", session_id=session, prompt="x", command=["cat"])["code"] == NOT_FOUND
        assert later.result("session/list")["sessions"] == []
        assert roles(later, session) == ["user", "assistant", "system_notice"]


@pytest.mark.parametrize("backend", ["jsonl"], indirect=True)
@pytest.mark.parametrize("end", ["by itself", "because somebody looked"])
def test_an_archived_mark_in_a_file_is_never_overwritten(
    person: Person, rpc: RawRpc, other: RawRpc, backend: str, agent: Agent, end: str
) -> None:
    """Killed after the file has the archived mark and before the database has it: the end of the turn does not undo the mark."""
    session = create_deferred(rpc)
    first = start_turn(rpc, session, command=agent.command)
    archived_by_one_that_dies(person, backend, session, "Live.append")
    if end == "by itself":
        agent.answer("too late")
    else:
        assert other.error("turn/interrupt", session_id=session)["code"] == NOT_FOUND
    assert rpc.answer(first)["error"]["code"] == CANCELLED
    assert other.error("turn/start", session_id=session, prompt="x", command=["cat"])["code"] == NOT_FOUND
    assert other.result("session/list")["sessions"] == []
    with RawRpc(person, "--realm", REALM) as later:
        assert later.result("session/list")["sessions"] == []
        assert roles(later, session) == ["user", "assistant", "system_notice"]


# ---- crashes


def kill(rpc: RawRpc) -> None:
    rpc.process.kill()
    assert rpc.end() == -signal.SIGKILL


def test_a_turn_whose_process_was_killed_is_closed_as_crashed(person: Person, other: RawRpc, tmp_path: Path) -> None:
    """Its uncommitted outputs are not stored, its program is ended, and the session can continue at once."""
    dying = RawRpc(person, "--realm", REALM)
    session, pids = create_deferred(dying), tmp_path / "pids"
    stubborn = f"trap '' TERM; echo $$ > '{pids}'; setsid -f sh -c 'echo $$ >> \"{pids}\"; sleep 600'; echo begun; sleep 600"
    start_turn(dying, session, command=["sh", "-c", f"{stubborn}; sleep 600"])
    started = until(lambda: written(pids, 2))
    kill(dying)
    seen = other.result("session/read", session_id=session)
    assert (seen["is_active"], seen["message_count"], seen["turns"]) == (False, 2, 1)
    assert other.result("turn/start", session_id=session, prompt="again", command=["cat"])["turns"] == 2
    assert other.events()[0]["sequence"] == 3, "the crashed turn used the numbers 1 and 2, which are not used again"
    assert [message.get("kind") for message in messages(other, session)] == [None, "crash", None, None]
    assert ended(other, session, 0) == (True, "The process that ran this turn ended without finishing it.", None)
    until(lambda: not any(map(is_alive, started)), ENDED_WITHIN_S)


def test_any_command_ends_processes_that_a_crash_left_running(person: Person, rpc: RawRpc, tmp_path: Path) -> None:
    """Also a process that ignores SIGTERM, because no later command would end it."""
    pid, session = tmp_path / "pid", create_deferred(rpc)
    dying = RawRpc(person, "--realm", REALM)
    start_turn(
        dying, session, command=["sh", "-c", f"trap '' TERM; echo $$ > '{pid}'; echo begun; while :; do sleep 600; done"]
    )
    kill(dying)
    assert person.json("session", "show", session, "--realm", REALM)["is_active"] is False
    assert not is_alive(int(pid.read_text()))


def test_a_hanging_process_loses_its_turn(person: Person, other: RawRpc, agent: Agent) -> None:
    """The process is stopped, so it sends no heartbeat. When it continues, its outputs are refused with an error."""
    with RawRpc(person, "--realm", REALM) as hanging:
        session = create_deferred(hanging)
        first = start_turn(hanging, session, command=agent.command)
        os.kill(hanging.process.pid, signal.SIGSTOP)
        try:
            assert other.error("turn/start", session_id=session, prompt="x", command=["cat"])["code"] == BUSY
            with database(person) as live:  # as if it had been stopped for half a minute
                live.execute("UPDATE lease SET beat = beat - 31000 WHERE holder = (SELECT holder FROM running)")
            live.close()
            assert other.result("session/read", session_id=session)["is_active"] is False
            assert other.result("turn/start", session_id=session, prompt="again", command=["cat"])["turns"] == 2
        finally:
            os.kill(hanging.process.pid, signal.SIGCONT)
        refused = hanging.answer(first)["error"]
        assert refused["code"] == CANCELLED
        assert "closed this turn as crashed" in refused["message"]
        assert hanging.result("turn/start", session_id=session, prompt="on", command=["cat"])["turns"] == 3
        assert [message.get("kind") for message in messages(hanging, session)] == [None, "crash", *[None] * 4]


@pytest.mark.parametrize("end", ["its client goes away", "SIGTERM"])
def test_an_ending_server_interrupts_its_turns(person: Person, other: RawRpc, agent: Agent, end: str) -> None:
    """That is no crash."""
    ending = RawRpc(person, "--realm", REALM)
    session = create_deferred(ending)
    start_turn(ending, session, command=agent.command)
    if end == "SIGTERM":
        ending.process.terminate()
    assert ending.end() == 0
    assert [message.get("kind") for message in messages(other, session)] == [None, None, "interrupt"]
    assert other.result("turn/start", session_id=session, prompt="again", command=["cat"])["text"] == "again"


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_requests_before_the_end_of_input_are_answered(person: Person, rpc: RawRpc, agent: Agent) -> None:
    """`echo … | recollect rpc`: the end of input does not mean that the caller wants no more answers."""
    params = {"prompt": "go", "command": agent.command}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session/create", "params": params}) + "\n"
    with running(person, "rpc", "--realm", REALM, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(line.encode())
        process.stdin.close()
        (row,) = until(lambda: [row for row in rpc.result("session/list")["sessions"] if row["is_active"]])
        agent.answer("done")
        *events, answer = map(json.loads, process.stdout)
        assert process.wait(20) == 0
    assert events[-1]["params"]["type"] == "turn_completed"
    assert (answer["id"], answer["result"]["session_id"]) == (1, row["session_id"])
    assert answer["result"]["text"] == "begun\ndone"


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_an_ending_mcp_server_interrupts_its_turns(person: Person, rpc: RawRpc, agent: Agent) -> None:
    with person.mcp("--no-sync", "--realm", REALM, **COMMANDS_OVER_MCP) as mcp:
        call = {"name": "meerkat_create_session", "arguments": {"prompt": "go", "command": agent.command}}
        mcp.say(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}))
        (row,) = until(lambda: [row for row in rpc.result("session/list")["sessions"] if row["is_active"]])
        mcp.process.terminate()
        mcp.process.wait(20)
    assert messages(rpc, row["session_id"])[-1]["kind"] == "interrupt"


# ---- a clock that jumps

CLOCK = """
import os, time
_now = time.time_ns
def _shift():
    with open(os.environ["CLOCK_SHIFT"]) as file:
        return int(file.read() or 0) * 1_000_000_000
time.time_ns = lambda: _now() + _shift()
time.time = lambda: time.time_ns() / 1e9
"""
YEAR = 365 * 86_400


@pytest.fixture
def clock(person: Person, tmp_path: Path) -> Path:
    """A file with the seconds by which the wall clock of a process is wrong from now on."""
    (tmp_path / "clock").mkdir()
    (tmp_path / "clock" / "sitecustomize.py").write_text(CLOCK)
    shift = tmp_path / "shift"
    shift.write_text("0")
    python_path = os.pathsep.join([str(tmp_path / "clock"), *filter(None, [person.env.get("PYTHONPATH")])])
    person.env |= {"PYTHONPATH": python_path, "CLOCK_SHIFT": str(shift)}
    return shift


@pytest.mark.parametrize("jump", [YEAR, -YEAR])
def test_leases_survive_a_jump_of_the_clock(
    person: Person, clock: Path, rpc: RawRpc, other: RawRpc, agent: Agent, jump: int
) -> None:
    session = create_deferred(rpc)
    rpc.result("turn/start", session_id=session, prompt="before", command=["cat"])
    before = rpc.result("session/read", session_id=session)
    first = start_turn(rpc, session, command=agent.command)
    clock.write_text(str(jump))
    assert other.result("session/read", session_id=session)["is_active"] is True
    assert other.error("turn/start", session_id=session, prompt="x", command=["cat"])["code"] == BUSY
    agent.answer("after")
    assert rpc.answer(first)["result"]["text"] == "begun\nafter"
    after = other.result("session/read", session_id=session)
    assert after["updated_at"] >= before["updated_at"] >= before["created_at"]
    assert (after["updated_at"][:4] != before["updated_at"][:4]) is (
        jump > 0
    )  # times follow the clock, but never go backwards
    clock.write_text("0")
    assert other.result("turn/start", session_id=session, prompt="back", command=["cat"])["turns"] == 3
    assert other.result("session/read", session_id=session)["updated_at"] >= after["updated_at"]
    contents = [message["content"] for message in messages(rpc, session)]
    assert contents == ["before", "before", "go", "begun\nafter", "back", "back"]


def test_turns_under_a_wrong_clock_are_found(person: Person, clock: Path, rpc: RawRpc) -> None:
    for shift, word in ((0, "aardvark"), (-YEAR, "bandicoot"), (YEAR, "capybara")):
        clock.write_text(str(shift))
        session = rpc.result("session/create", prompt=f"of the {word}", command=["cat"])["session_id"]
        answer = rpc.result("tools/call", name="search_sessions", arguments={"query": word})
        assert session.replace("-", "") in json.dumps(answer["structuredContent"])
