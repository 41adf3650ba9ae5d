"""A client that does not read blocks no turn: the turn continues, can be ended, and can be read completely later."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Person
from tests.e2e.processes import running, until
from tests.live_processes import REALM, create_deferred, messages
from tests.rpc_server import RawRpc

OUTPUT_BYTES = 300_000  # bytes: several times what a pipe holds
CANCELLED = 14


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    return Person(tmp_path_factory.mktemp("person"))


@pytest.fixture(scope="module")
def rpc(person: Person) -> Iterator[RawRpc]:
    """Another process in the same realm."""
    with RawRpc(person, "--realm", REALM) as server:
        yield server


def verbose_agent(folder: Path, then: str = "") -> list[str]:
    """An agent that prints much, creates a file afterwards, and continues."""
    marker = folder / "said"
    code = f"import os, pathlib, time\nos.write(1, b'x' * {OUTPUT_BYTES})\npathlib.Path({str(marker)!r}).touch()\n{then}"
    (folder / "agent.py").write_text(code)
    return [sys.executable, str(folder / "agent.py")]


def is_active(rpc: RawRpc, session: str) -> bool:
    return bool(rpc.result("session/read", session_id=session)["is_active"])


def test_a_client_that_does_not_read_progress_does_not_block_its_turn(person: Person, rpc: RawRpc) -> None:
    """The turn can be interrupted from elsewhere, and the answer arrives when the client reads again."""
    session = create_deferred(rpc, command=["sleep", "600"])
    call = {"name": "meerkat_start_turn", "arguments": {"session_id": session, "prompt": "go"}}
    params = {**call, "_meta": {"progressToken": "t" * 60_000}}  # two notices are more than a pipe holds
    with person.mcp("--no-sync", "--realm", REALM) as mcp:
        mcp.say(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
        until(lambda: is_active(rpc, session))
        assert rpc.result("turn/interrupt", session_id=session)["interrupted"] is True
        assert messages(rpc, session)[-1]["kind"] == "interrupt"
        while "id" not in (answer := mcp.hear()):
            assert answer["method"] == "notifications/progress"
        assert answer["result"]["structuredContent"]["code"] == "REQUEST_CANCELLED"


def test_a_turn_without_a_reader_can_be_interrupted_from_elsewhere(person: Person, rpc: RawRpc, tmp_path: Path) -> None:
    command = " ".join(verbose_agent(tmp_path, "time.sleep(600)"))
    session = create_deferred(rpc)
    arguments = ("run", "go", "--resume", session, "--command", command, "--realm", REALM)
    with running(person, *arguments, stdout=subprocess.PIPE) as process:
        until((tmp_path / "said").exists)
        assert rpc.result("turn/interrupt", session_id=session)["interrupted"] is True
        assert messages(rpc, session)[-1]["kind"] == "interrupt"
        assert process.wait(20) == CANCELLED


def test_a_late_reader_gets_the_complete_answer(person: Person, rpc: RawRpc, tmp_path: Path) -> None:
    session = create_deferred(rpc)
    command = " ".join(verbose_agent(tmp_path))
    arguments = ("run", "go", "--resume", session, "--command", command, "--realm", REALM)
    with running(person, *arguments, stdout=subprocess.PIPE) as process:
        until(lambda: rpc.result("session/read", session_id=session)["message_count"] == 2)
        assert process.stdout is not None
        assert process.stdout.read() == b"x" * OUTPUT_BYTES + b"\n"
        assert process.wait(20) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only some systems have a disk that is always full")
def test_an_answer_that_cannot_be_printed_is_an_error(person: Person) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "recollect", "run", "go", "--command", "cat", "--realm", REALM]
        done = subprocess.run(command, env=person.env, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "recollect: The system: No space left on device\n")


def test_a_closed_output_is_not_an_error(person: Person) -> None:
    command = f'"{sys.executable}" -m recollect run go --command cat --realm {REALM} >&-'
    done = subprocess.run(["sh", "-c", command], env=person.env, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr[:8]) == (0, "session ")
