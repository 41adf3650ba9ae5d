"""Programs of a turn that misbehave: a clear error or an answer, and a session that can continue."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Person
from tests.e2e.processes import is_alive
from tests.live_processes import REALM, create_deferred, messages, start_turn
from tests.rpc_server import RawRpc

CANCELLED, PROVIDER_ERROR, AGENT_ERROR, INVALID_PARAMS = -32005, -32010, -32013, -32602
MAX_MB = 600  # of memory for a turn with endless output: 32 MB of it are stored, and copied several times


@pytest.fixture
def rpc(person: Person) -> Iterator[RawRpc]:
    with RawRpc(person, "--realm", REALM) as server:
        yield server


@pytest.fixture
def session(rpc: RawRpc) -> Iterator[str]:
    """A session; afterwards it must still be able to run a turn."""
    session = create_deferred(rpc)
    yield session
    assert rpc.result("session/read", session_id=session)["is_active"] is False
    assert rpc.result("turn/start", session_id=session, prompt="still here", command=["cat"])["text"] == "still here"


def sh(script: str) -> list[str]:
    return ["sh", "-c", script]


def run_script(rpc: RawRpc, session: str, script: str, prompt: str = "go") -> Any:
    return rpc.result("turn/start", session_id=session, prompt=prompt, command=sh(script))


def turn_error(rpc: RawRpc, session: str, command: list[str], prompt: str = "go") -> Any:
    return rpc.error("turn/start", session_id=session, prompt=prompt, command=command)


def peak_mb(rpc: RawRpc) -> int:
    """The most memory that a server has had."""
    status = Path(f"/proc/{rpc.process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) >> 10


def test_a_program_that_hangs_is_ended_when_its_time_is_up(rpc: RawRpc, session: str, tmp_path: Path) -> None:
    rpc.result("config/patch", patch={"turn_timeout_ms": 300})
    error = turn_error(rpc, session, sh(f"echo $$ > '{tmp_path}/pid'; sleep 600"))
    assert (error["code"], error["data"]["details"]["session_id"]) == (AGENT_ERROR, session)
    assert "0.3 s" in error["message"]
    assert not is_alive(int((tmp_path / "pid").read_text()))
    rpc.result("config/patch", patch={"turn_timeout_ms": None})


@pytest.mark.parametrize(
    "wait", ["sleep 600", "exec sleep 600 >&- 2>&-"], ids=["with its output open", "with its output closed"]
)
def test_a_program_that_hangs_can_be_interrupted(rpc: RawRpc, session: str, tmp_path: Path, wait: str) -> None:
    first = start_turn(rpc, session, command=sh(f"echo $$ > '{tmp_path}/pid'; echo begun; {wait}"))
    assert rpc.result("turn/interrupt", session_id=session)["interrupted"] is True
    answer = next((one for one in rpc.earlier_messages if one.get("id") == first), None) or rpc.answer(first)
    assert answer["error"]["code"] == CANCELLED
    assert not is_alive(int((tmp_path / "pid").read_text()))


def test_a_program_that_floods_is_throttled(rpc: RawRpc, session: str, tmp_path: Path) -> None:
    """Endless output: the text up to the limit is stored, in bounded memory."""
    error = turn_error(rpc, session, sh(f"echo $$ > '{tmp_path}/pid'; exec yes 'a rather long line of a flood'"))
    assert error["code"] == AGENT_ERROR
    assert "32 million characters" in error["message"]
    assert not is_alive(int((tmp_path / "pid").read_text()))
    assert peak_mb(rpc) < MAX_MB
    roles = [message["role"] for message in messages(rpc, session)]
    assert roles == ["user", "assistant", "system_notice"]


def test_only_the_end_of_a_long_stderr_is_stored(rpc: RawRpc, session: str) -> None:
    error = turn_error(rpc, session, sh("yes complaint | head -c 200000000 >&2; echo last words >&2; exit 3"))
    assert (error["code"], error["data"]["details"]["exit_code"]) == (AGENT_ERROR, 3)
    assert error["message"].endswith("last words")
    assert len(error["data"]["details"]["stderr"]) <= 4_096
    assert peak_mb(rpc) < MAX_MB // 2


def test_a_program_that_dies_by_a_signal_says_which(rpc: RawRpc, session: str) -> None:
    error = turn_error(rpc, session, sh("echo half; kill -SEGV $$"))
    assert (error["code"], error["data"]["details"]["exit_code"]) == (AGENT_ERROR, -11)
    assert "signal 11" in error["message"]
    assert [message["content"] for message in messages(rpc, session)][1] == "half\n"


def test_invalid_utf8_is_replaced(rpc: RawRpc, session: str) -> None:
    assert run_script(rpc, session, r"printf 'a\377b\342\202'")["text"] == "a\ufffdb\ufffd"


def test_a_character_split_across_reads_stays_one(rpc: RawRpc, session: str) -> None:
    assert run_script(rpc, session, r"printf '\360\237'; sleep 0.1; printf '\214\215'")["text"] == "\U0001f30d"


@pytest.mark.parametrize("script", ["exec <&-; echo no thanks", "echo no thanks"], ids=["closed", "unread"])
def test_a_program_need_not_read_its_prompt(rpc: RawRpc, session: str, script: str) -> None:
    assert run_script(rpc, session, script, "x" * 5_000_000)["text"] == "no thanks\n"


def test_a_long_prompt_is_passed_completely(rpc: RawRpc, session: str) -> None:
    assert run_script(rpc, session, "wc -c", "x" * 5_000_000)["text"].strip() == "5000000"


DAEMONS = {
    "in its group": "sh -c 'echo $$ > pid; exec sleep 600' &",
    "in a session of its own": "(setsid sh -c 'echo $$ > pid; exec sleep 600' &)",
    "that goes on writing": "(setsid sh -c 'echo $$ > pid; while echo tick; do sleep 0.02; done' &)",
}


@pytest.mark.parametrize("daemon", DAEMONS.values(), ids=DAEMONS)
def test_a_child_that_holds_the_output_open_does_not_block_the_turn(
    rpc: RawRpc, session: str, daemon: str, tmp_path: Path
) -> None:
    """The answer is complete when the program has ended."""
    answer = run_script(rpc, session, f"cd '{tmp_path}'\n{daemon}\necho done")["text"]
    assert answer.replace("tick\n", "") == "done\n"
    with suppress(ProcessLookupError):  # the writing process has noticed that its pipe is closed
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


DETACH = {
    "in its group": "",
    "in a session of its own": "setsid",
    "without its environment": "setsid env -i PATH=$PATH",
}


def command_with_daemon(how: str, tmp_path: Path) -> str:
    """A shell command that starts a detached process and continues once it runs."""
    (tmp_path / "left").write_text("echo $$ > part; mv part pid; exec sleep 600")
    return f"cd '{tmp_path}'; ({how} sh left &); while [ ! -e pid ]; do sleep 0.01; done"


@pytest.mark.parametrize("how", DETACH.values(), ids=DETACH)
def test_processes_left_by_a_finished_program_are_not_ended(rpc: RawRpc, session: str, tmp_path: Path, how: str) -> None:
    run_script(rpc, session, command_with_daemon(how, tmp_path))
    left = int((tmp_path / "pid").read_text())
    assert is_alive(left)
    os.kill(left, signal.SIGKILL)


@pytest.mark.parametrize("how", DETACH.values(), ids=DETACH)
def test_an_interrupt_ends_detached_processes(rpc: RawRpc, session: str, tmp_path: Path, how: str) -> None:
    start_turn(rpc, session, command=sh(f"{command_with_daemon(how, tmp_path)}; echo begun; sleep 600"))
    assert rpc.result("turn/interrupt", session_id=session)["interrupted"] is True
    assert not is_alive(int((tmp_path / "pid").read_text()))


def test_a_missing_interpreter_is_named_instead_of_the_program(rpc: RawRpc, session: str, tmp_path: Path) -> None:
    for name, first, words in (
        ("script", "#!/no/such/python -u\n", "its interpreter '/no/such/python -u' does not exist."),
        ("edited", "#!/bin/sh\r\n", "its interpreter '/bin/sh\\r' does not exist."),
    ):
        (tmp_path / name).write_text(first)
        (tmp_path / name).chmod(0o755)
        error = turn_error(rpc, session, [f"{tmp_path}/{name}"])
        assert (error["code"], error["message"]) == (PROVIDER_ERROR, f"'{tmp_path}/{name}' cannot be run: {words}")


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (["/no/such/program"], PROVIDER_ERROR, "no program"),
        (["/"], PROVIDER_ERROR, "cannot be run"),
        (["/etc/hostname"], PROVIDER_ERROR, "cannot be run"),
        (["a\0b"], INVALID_PARAMS, "cannot be run"),
        (["false"], AGENT_ERROR, "exited with code 1"),
    ],
)
def test_a_program_that_cannot_be_run_is_named(rpc: RawRpc, session: str, command: list[str], code: int, words: str) -> None:
    error = turn_error(rpc, session, command)
    assert error["code"] == code
    assert words in error["message"]


def test_a_program_does_not_get_the_servers_token(person: Person) -> None:
    person.env["RECOLLECT_TOKEN"] = "a token of many characters"
    with RawRpc(person, "--realm", REALM) as rpc:
        environment = run_script(rpc, create_deferred(rpc), "env")["text"]
    assert "RECOLLECT_TURN=" in environment
    assert "RECOLLECT_TOKEN" not in environment
