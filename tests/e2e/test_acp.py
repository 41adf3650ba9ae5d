"""The `acp` runner, with agents that are real processes: some use the official SDK, some break the protocol."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import AgentFault, BadRequest, ProviderFault
from recollect.live.runners import (
    AnswerText,
    Assignment,
    Cancel,
    Output,
    ReasoningText,
    RunnerState,
    TokenUsage,
    ToolCall,
    ToolResult,
    TurnEnded,
    acp,
)
from recollect.live.runners.acp_updates import REJECTED
from recollect.model import Usage
from tests.acp_agent import KNOWN, NEW
from tests.e2e.processes import is_alive, until

ENDED_WITHIN_S = 5.0  # seconds within which a cancelled turn must end
SCRIPTED = (sys.executable, str(Path(__file__).parents[1] / "acp_agent.py"))
ECHO = """
import acp, asyncio
class Echo(acp.Agent):
    def on_connect(self, conn):
        self.conn = conn
    async def initialize(self, protocol_version, **kwargs):
        return acp.InitializeResponse(protocol_version=protocol_version)
    async def new_session(self, cwd, **kwargs):
        return acp.NewSessionResponse(session_id="echo")
    async def prompt(self, session_id, prompt, **kwargs):
        for block in prompt:
            await self.conn.session_update(session_id, acp.update_agent_message(block))
        return acp.PromptResponse(stop_reason="end_turn")
asyncio.run(acp.run_agent(Echo()))
"""
BARE = """
import json, os, signal, sys, subprocess
def hear():
    return json.loads(sys.stdin.readline())
def write(line):
    sys.stdout.buffer.write(line + b"\\n")
    sys.stdout.flush()
def say(**message):
    write(json.dumps(message).encode())
def update(**update):
    say(method="session/update", params={"sessionId": "s", "update": update})
def greet():
    say(id=hear()["id"], result={"protocolVersion": 1})
    say(id=hear()["id"], result={"sessionId": "s"})
    return hear()["id"]
"""


def agent_without_sdk(code: str) -> tuple[str, ...]:
    """An agent without the SDK, which may write anything."""
    return (sys.executable, "-S", "-E", "-c", BARE + code)


class Turn:
    """Runs turns in a folder, and knows the processes that they start."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cancel = Cancel()
        self.pids: list[int] = []

    def start(self, prompt: str = "hello", command: tuple[str, ...] = SCRIPTED, **more: Any) -> Iterator[Output]:
        start_s = more.pop("start_s", 20.0)
        assignment = Assignment(
            session="1",
            prompt=prompt,
            cancel=self.cancel,
            folder=self.folder,
            command=command,
            on_process_started=self.pids.append,
            **more,
        )
        return acp.run(assignment, start_s)

    def outputs(self, *arguments: Any, **more: Any) -> list[Output]:
        return list(self.start(*arguments, **more))

    def text(self, *arguments: Any, **more: Any) -> str:
        return answer_text(self.outputs(*arguments, **more))

    def cancelled(self, outputs: Iterator[Output], when: Callable[[], bool] = lambda: True) -> list[Output]:
        """The outputs of a turn that another thread cancels at some moment. The turn must end within the limit."""
        began: list[float] = []

        def cancel() -> None:
            until(when)
            began.append(time.monotonic())
            self.cancel.set()

        thread = threading.Thread(target=cancel)
        thread.start()
        rest = list(outputs)
        thread.join()
        assert time.monotonic() - began[0] < ENDED_WITHIN_S
        return rest


@pytest.fixture
def turn(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[Turn]:
    turn = Turn(tmp_path)
    yield turn
    assert not [pid for pid in turn.pids if is_alive(pid)]
    assert caplog.get_records("call") == []  # errors of an agent are exceptions, not lines of the SDK's log
    gc.collect()  # a pipe that was left open warns only now


def answer_text(outputs: list[Output]) -> str:
    return "".join(output.text for output in outputs if isinstance(output, AnswerText))


def test_a_turn_runs_an_echo_agent_of_the_sdk(turn: Turn) -> None:
    prompt = "Grüße,\n\U0001f30d \ud83d"
    assert turn.outputs(prompt, (sys.executable, "-c", ECHO)) == [
        RunnerState({"acp_session": "echo"}),
        AnswerText("Grüße,\n\U0001f30d ?"),
        TurnEnded("end_turn"),
    ]


def test_all_updates_of_a_turn_arrive_in_order(turn: Turn) -> None:
    assert turn.outputs("tour") == [
        RunnerState({"acp_session": NEW}),
        ReasoningText("hm"),
        AnswerText("one "),
        AnswerText("two"),
        ReasoningText("Plan:\n[ ] think\n"),
        ToolCall("a", "Read x.py", {"path": "x.py"}),
        ToolResult("a", "all\n[image]"),
        ToolCall("b", "Edit x.py"),
        ToolResult("b", "/x.py:2\n-old\n+new"),
        ToolCall("c", "Run"),
        ToolResult("c", '{"exit_code": 1, "output": "no"}', is_error=True),
        ToolCall("d", "Wait"),
        AnswerText("[image]"),
        AnswerText("[file:///x]"),
        TokenUsage(Usage(input=10, output=6, cache_read=20, reasoning=1)),
        TurnEnded("max_tokens"),
    ]


def test_a_loaded_session_does_not_output_its_replay(turn: Turn) -> None:
    history = [{"role": "user", "content": "an old question"}]
    outputs = turn.outputs("repeat", state={"acp_session": KNOWN}, history=lambda: history)
    assert outputs == [RunnerState({"acp_session": KNOWN}), AnswerText("repeat"), TurnEnded()]


@pytest.mark.parametrize("manner", ["", "late", "torn", "silent"])
@pytest.mark.parametrize("words", ["news", "an old answer", "an old answer and more", "answer", "", "an old question"])
def test_a_late_replay_is_not_part_of_the_next_turn(turn: Turn, manner: str, words: str) -> None:
    call = {"type": "tool_use", "id": "old", "name": "An old call", "input": {}}
    history = [
        {"role": "assistant", "content": "an old answer", "blocks": [{"type": "text", "text": "an old answer"}, call]},
        {"role": "user", "content": "an old question"},
    ]
    state = {"acp_session": KNOWN}
    outputs = turn.outputs(f"say {words}", (*SCRIPTED, manner), state=state, history=lambda: history)
    assert [type(output) for output in outputs if not isinstance(output, AnswerText)] == [RunnerState, TurnEnded]
    assert answer_text(outputs) == words


@pytest.mark.parametrize(("manner", "session"), [("forgetful", KNOWN), ("", "one that is gone")])
def test_an_agent_that_lost_its_session_gets_the_earlier_messages(turn: Turn, manner: str, session: str) -> None:
    def history() -> Iterator[dict[str, str]]:
        yield {"role": "assistant", "content": "late"}
        yield {"role": "user", "content": "early " * 4_000}
        raise AssertionError("more messages were read than an agent gets")

    outputs = turn.outputs("repeat", (*SCRIPTED, manner), state={"acp_session": session}, history=history)
    assert outputs[0] == RunnerState({"acp_session": NEW})
    assert answer_text(outputs).startswith("Earlier in this conversation:\n\n[...] ")
    assert answer_text(outputs).endswith("early \n\nAssistant: late\n\nNow:\n\nrepeat")
    assert len(answer_text(outputs)) < 20_100


def test_a_short_history_is_sent_completely_and_in_order(turn: Turn) -> None:
    history = [{"role": "assistant", "content": "two"}, {"role": "user", "content": "one"}]
    prompt = turn.text("repeat", history=lambda: history)
    assert prompt == "Earlier in this conversation:\n\nUser: one\n\nAssistant: two\n\nNow:\n\nrepeat"


@pytest.mark.parametrize(
    ("told", "spent"),
    [
        ((10, 5), [TokenUsage(Usage(input=10, output=5))]),
        ((2**70, 5), [TokenUsage(Usage(output=5))]),
        ((-1, 5), []),
        ((1.5, 5), []),
        (("many", 5), []),
    ],
)
def test_invalid_token_counts_are_ignored(turn: Turn, told: tuple[Any, Any], spent: list[TokenUsage]) -> None:
    usage = {"inputTokens": told[0], "outputTokens": told[1], "totalTokens": told[1]}
    code = f"say(id=greet(), result={{'stopReason': 'end_turn', 'usage': {usage}}})"
    assert [output for output in turn.outputs(command=agent_without_sdk(code)) if isinstance(output, TokenUsage)] == spent


@pytest.mark.parametrize(
    ("policy", "results", "answers"),
    [
        ({}, [ToolResult("p", REJECTED, is_error=True)], ["the reject_once", "the reject_always", "cancelled"]),
        ({"permissions": "allow"}, [], ["the allow_once", "the allow_once", "the allow_always"]),
    ],
)
def test_the_policy_answers_permission_requests(
    turn: Turn, policy: dict[str, str], results: list[Output], answers: list[str]
) -> None:
    prompt = "reject_always,allow_always,reject_once,allow_once allow_once,reject_always allow_always"
    outputs = turn.outputs(f"permit {prompt}", options=policy)
    assert outputs[1:] == [ToolCall("p", "Delete all", {"path": "/"}), *results, *map(AnswerText, answers), TurnEnded()]


def test_a_rejected_call_precedes_the_text_that_reports_it(turn: Turn) -> None:
    call = ToolCall("p", "Edit x.py")
    rejected = [call, ToolResult("p", REJECTED, is_error=True), AnswerText("the reject_once"), TurnEnded()]
    assert turn.outputs("propose")[1:] == rejected, "a proposed change is not a result"


def test_an_unknown_policy_starts_no_process(turn: Turn) -> None:
    with pytest.raises(BadRequest) as caught:
        turn.outputs(options={"permissions": "ask"})
    assert caught.value.details == {"field": "permissions"}
    assert turn.pids == []


def test_an_agent_gets_an_error_for_unsupported_requests(turn: Turn) -> None:
    assert turn.text("reach") == "-32601 -32601 -32601 "


def test_an_agent_works_in_its_folder(turn: Turn) -> None:
    code = (
        'say(id=hear()["id"], result={"protocolVersion": 1}); there = hear()["params"]["cwd"]; sys.exit(os.getcwd() + there)'
    )
    with pytest.raises(AgentFault) as caught:
        turn.outputs(command=agent_without_sdk(code))
    assert caught.value.details["stderr"].strip() == str(turn.folder) * 2


def test_an_error_response_fails_the_turn_with_the_agents_message(turn: Turn) -> None:
    with pytest.raises(AgentFault, match=r"answered session/prompt with an error: the tide is out") as caught:
        turn.outputs("fail")
    assert caught.value.details["code"] == -32001
    assert caught.value.details["data"] == {"retry": True}
    assert "it is the moon" in caught.value.details["stderr"]


def test_an_agent_that_dies_fails_the_turn_after_its_outputs(turn: Turn) -> None:
    outputs = turn.start("die")
    assert [next(outputs), next(outputs)] == [RunnerState({"acp_session": NEW}), AnswerText("goodbye")]
    with pytest.raises(AgentFault, match=r"exited with code 3 in the middle of a turn: out of luck") as caught:
        next(outputs)
    assert caught.value.details == {"exit_code": 3, "stderr": "out of luck\n"}


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ((*SCRIPTED, "locked"), "is not logged in: log in with its own program first."),
        (
            agent_without_sdk("say(id=hear()['id'], result={'protocolVersion': 2})"),
            "speaks version 2 of the Agent Client Protocol",
        ),
        (("no-such-agent",), "There is no program 'no-such-agent'"),
    ],
)
def test_a_missing_login_or_program_is_a_provider_error(turn: Turn, command: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(ProviderFault, match=sentence):
        turn.outputs(command=command)


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("sys.exit('no such flag')", "exited with code 1 before it was ready for a prompt: no such flag"),
        ("os.kill(os.getpid(), 9)", "was ended by signal 9."),
        ("greet(); os.close(1); signal.pause()", "closed its output."),
        ("n = hear()['id']; os.close(0); say(id=n, result={'protocolVersion': 1})", "closed its input."),
        ("print('no key'); sys.exit(1)", "exited with code 1 before it was ready for a prompt: no key"),
        ('greet(); write(b\'Loading {"jsonrpc": "2.0"}\')', "wrote an invalid message."),
        ("greet()\nwhile True: write(b'y' * 9_999)", "writes a lot but no valid message."),
        ("say(id={}, result={})", "wrote an invalid message."),
        ("say(id=hear()['id'], error='no')", "wrote an invalid message."),
        ("greet(); say(method=1)", "wrote an invalid message."),
        ("greet(); write(b'{' + b' ' * 50_000_001 + b'}')", "wrote a line of more than 50 MB."),
        ("while True: say(id=1, method='fs/read_text_file', params={})", "sends requests but does not read the answers."),
        ("greet(); update(sessionUpdate='agent_message_chunk')", "sent an update that the protocol does not allow."),
        ("greet(); say(method='session/update')", "sent an update that the protocol does not allow."),
        ("say(id=hear()['id'], result={})", "answered initialize with something that the protocol does not allow."),
        ("say(id=greet(), result=None)", "answered session/prompt with something that the protocol does not allow."),
        ("say(id=hear()['id'], error={})", "answered initialize with an error: Error"),
    ],
)
def test_an_agent_that_breaks_the_protocol_fails_the_turn(turn: Turn, code: str, sentence: str) -> None:
    with pytest.raises(AgentFault) as caught:
        turn.outputs(command=agent_without_sdk(f"{code}\nsignal.pause()"))
    assert str(caught.value) == f"{sys.executable!r} {sentence}"


def test_lines_that_are_not_messages_are_skipped(turn: Turn) -> None:
    code = """
write(b"Welcome to the agent, v1.0")
prompt = greet()
for line in (b"warning: \\xff", b"[1]", b"[" * 100_000, b'{"level": "info"}', b"{'a': 1}", b'{"method": "\\xff"}', b"null"):
    write(line)
update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "done"})
say(id=prompt, result={"stopReason": "end_turn"})
"""
    assert turn.outputs(command=agent_without_sdk(code)) == [
        RunnerState({"acp_session": "s"}),
        AnswerText("done"),
        TurnEnded(),
    ]


@pytest.mark.parametrize("before", ["", "greet(); "])
def test_the_last_skipped_line_is_shown_when_the_agent_fails(turn: Turn, before: str) -> None:
    code = f"write(b'Welcome')\n{before}write(b'Loading \\xff')\nwrite(b'')\nos.close(1)"
    with pytest.raises(AgentFault) as caught:
        turn.outputs(command=agent_without_sdk(f"{code}\nsignal.pause()"))
    assert caught.value.details["line"] == "Loading \ufffd"


def test_an_old_banner_is_not_shown_as_the_reason(turn: Turn) -> None:
    with pytest.raises(AgentFault, match=r"exited with code 3 in the middle of a turn\.$") as caught:
        turn.outputs(command=agent_without_sdk("write(b'Welcome')\ngreet()\nos._exit(3)"))
    assert caught.value.details == {"exit_code": 3, "stderr": ""}


def test_an_agent_that_never_answers_times_out(turn: Turn) -> None:
    with pytest.raises(AgentFault, match=r"did not get ready for a prompt within 0.2 s"):
        turn.outputs(command=agent_without_sdk("signal.pause()"), start_s=0.2)


def test_an_agent_that_dies_before_its_children_counts_as_dead(turn: Turn) -> None:
    code = "greet(); child = subprocess.Popen(['sleep', '1000']); os.mkdir(str(child.pid)); os._exit(4)"
    with pytest.raises(AgentFault, match=r"exited with code 4"):
        turn.outputs(command=agent_without_sdk(code))
    (left,) = turn.folder.iterdir()
    os.kill(int(left.name), signal.SIGKILL)


def test_unknown_updates_are_skipped(turn: Turn) -> None:
    code = """
prompt = greet()
write(b"")
say(method="session/dream", params=[])
say(id="who", method="_vendor/thing")
update(sessionUpdate="dream", of="sheep")
update(sessionUpdate=["dream"])
update(sessionUpdate="tool_call", toolCallId="1", title="Dream", kind="sleeping", status="asleep", content=[{"type": "dream"}])
update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "half \\ud83d"})
say(method="session/update", params={"sessionId": "another", "update": {"sessionUpdate": "agent_message_chunk"}})
say(id=prompt, result={"stopReason": "end_turn", "usage": {"totalTokens": -1}})
"""
    outputs = turn.outputs(command=agent_without_sdk(code))
    assert outputs == [RunnerState({"acp_session": "s"}), ToolCall("1", "Dream"), AnswerText("half ?"), TurnEnded()]


def test_a_flood_of_updates_arrives_completely_and_in_order(turn: Turn) -> None:
    code = """
prompt = greet()
sys.stderr.write("noise " * 100_000)
for number in range(3_000):
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": f"{number} "})
say(id=prompt, result={"stopReason": "refusal"})
"""
    outputs = turn.outputs(command=agent_without_sdk(code))
    assert answer_text(outputs) == "".join(f"{number} " for number in range(3_000))
    assert outputs[-1] == TurnEnded("refusal")


def test_a_cancelled_turn_ends_as_the_protocol_says(turn: Turn) -> None:
    outputs = turn.start("hang", options={"permissions": "allow"})
    assert [next(outputs), next(outputs)] == [RunnerState({"acp_session": NEW}), AnswerText("working")]
    assert turn.cancelled(outputs) == [ToolCall("p", "Go on"), AnswerText("cancelled"), TurnEnded("cancelled")]


def test_an_agent_that_ignores_a_cancel_is_killed_with_its_children(turn: Turn) -> None:
    outputs = turn.start("ignore")
    next(outputs)
    child = next(outputs)
    assert isinstance(child, AnswerText)
    assert turn.cancelled(outputs) == []
    assert not is_alive(int(child.text))


def test_a_turn_can_be_cancelled_before_the_agent_has_initialized(turn: Turn) -> None:
    outputs = turn.start(command=agent_without_sdk("os.mkdir('ready'); signal.pause()"))
    assert turn.cancelled(outputs, (turn.folder / "ready").exists) == []
    assert len(turn.pids) == 1


def test_a_turn_that_was_cancelled_before_it_began_starts_no_process(turn: Turn) -> None:
    turn.cancel.set()
    assert turn.outputs() == []
    assert turn.pids == []


def test_a_cancelled_agent_ends_even_if_its_outputs_are_not_read(turn: Turn) -> None:
    outputs = turn.start(command=agent_without_sdk("greet(); signal.pause()"))
    next(outputs)
    turn.cancel.set()
    until(lambda: not is_alive(turn.pids[0]), ENDED_WITHIN_S)
    assert list(outputs) == []


def test_closing_the_outputs_ends_the_agent(turn: Turn) -> None:
    outputs = turn.start(command=agent_without_sdk("greet(); signal.pause()"))
    next(outputs)
    assert isinstance(outputs, Generator)
    outputs.close()
    assert not is_alive(turn.pids[0])


def test_the_outputs_of_an_agent_that_closed_its_input_are_read(turn: Turn) -> None:
    code = """
prompt = greet()
os.close(0)
for number in range(100):
    say(id=number, method="_vendor/thing")
update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "done"})
say(id=prompt, result={"stopReason": "end_turn"})
"""
    assert turn.outputs(command=agent_without_sdk(code)) == [
        RunnerState({"acp_session": "s"}),
        AnswerText("done"),
        TurnEnded(),
    ]


def test_an_agent_has_time_to_save_its_session_before_it_ends(turn: Turn) -> None:
    turn.outputs(
        command=agent_without_sdk("say(id=greet(), result={'stopReason': 'end_turn'}); sys.stdin.read(); os.mkdir('saved')")
    )
    assert (turn.folder / "saved").exists()


def test_no_pipe_and_no_thread_is_left_open(turn: Turn) -> None:
    def held() -> tuple[int, int]:
        return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()

    turn.text(command=agent_without_sdk("say(id=greet(), result={'stopReason': 'end_turn'})"))
    before = held()
    turn.text(command=agent_without_sdk("say(id=greet(), result={'stopReason': 'end_turn'})"))
    assert held() == before


def test_without_the_extra_an_error_says_what_to_install(tmp_path: Path) -> None:
    """In a process without the package: an entry of None makes an import fail."""
    code = f"""
import sys
from pathlib import Path
sys.modules["acp"] = None
from recollect.errors import ProviderFault
from recollect.live.runners import Assignment, Cancel
from recollect.live.runners.acp import run
try:
    list(run(Assignment(session="1", prompt="", cancel=Cancel(), folder=Path({str(tmp_path)!r}), command=("true",))))
except ProviderFault as fault:
    print(fault)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == 'This runner needs another package: pip install "recollect-agents[acp]"\n'
