"""Turns of live sessions whose runner does what a test says, and when: in this process, and in others."""

import os
import queue
import sqlite3
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

from recollect.errors import AgentFault, RecollectError
from recollect.live.runners import AnswerText, Assignment, Output, Runner
from recollect.live.sessions import LiveSessions, NewSession
from recollect.live.turn_runner import TurnRequest, TurnResult
from recollect.realms.manifest import Backend
from tests.conftest import Person
from tests.rpc_server import RpcConnection

REALM = "team"
PATIENCE_S = 20.0  # far beyond what anything takes: reaching it is a failure, not a measurement
TERMINAL = {"turn_completed", "turn_failed", "turn_interrupted"}


def open_sessions(folder: Path, backend: Backend, instance: str) -> LiveSessions:
    """What one process has of a realm's live sessions. Two of them share no more than two processes do."""
    return LiveSessions(folder, backend, instance, redact=True, on_commit=lambda: None)


def new_session(**labels: str) -> NewSession:
    return NewSession(labels=labels, runner="test", command=None, folder="/", generation=0)


def turn_request(prompt: str, runner: Any, tell: Any = None) -> TurnRequest:
    return TurnRequest(
        prompt=prompt,
        runner=runner,
        runner_name="test",
        command=None,
        stored_command=None,
        options={},
        generation=0,
        on_event=tell,
    )


def runner_with_output(*outputs: Output) -> Runner:
    """A runner that gives these and ends."""

    def run(given: Assignment) -> Generator[Output, None, None]:
        yield from outputs

    return run


class ControlledTurn:
    """A turn in a thread of its own, from the moment its runner has begun."""

    def __init__(self, sessions: LiveSessions, session: bytes, prompt: str) -> None:
        self.sessions = sessions
        self.prompt = prompt
        self.events: list[dict[str, Any]] = []
        self.ran: TurnResult | None = None
        self.error: RecollectError | None = None
        self._words: queue.SimpleQueue[str | Exception | None] = queue.SimpleQueue()
        self._begun, self._heard = threading.Event(), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, args=(session,), daemon=True)
        self._thread.start()
        assert self._begun.wait(PATIENCE_S), "the turn did not begin"

    def _run(self, session: bytes) -> None:
        try:
            self.ran = self.sessions.run(session, turn_request(self.prompt, self._work, self._tell))
        except RecollectError as error:
            self.error = error
        finally:
            self._begun.set()

    def _work(self, given: Assignment) -> Generator[Output, None, None]:
        self._begun.set()
        with given.cancel.on_cancel(lambda: self._words.put(None)):
            while (word := self._words.get()) is not None:
                if isinstance(word, Exception):
                    raise word
                yield AnswerText(word)

    def _tell(self, event: dict[str, Any]) -> None:
        self.events.append(event)
        if event["type"] == "text_delta":
            self._heard.release()

    def say(self, text: str) -> None:
        self._words.put(text)
        assert self._heard.acquire(timeout=PATIENCE_S), "the word was not told"

    def finish(self) -> TurnResult:
        self._words.put(None)
        self.over()
        assert self.ran is not None, self.error
        return self.ran

    def fail(self, reason: str) -> RecollectError:
        self._words.put(AgentFault(reason))
        self.over()
        assert self.error is not None
        return self.error

    def wake(self) -> None:
        """Let its runner end, whatever comes of it."""
        self._words.put(None)
        self.over()

    def over(self) -> None:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "the turn did not end"

    def is_running(self) -> bool:
        return self._thread.is_alive()


def crash(sessions: LiveSessions) -> None:
    """What the kernel does to a process that is killed: its locks are gone, and nothing that it wrote is taken back."""
    assert sessions._lease is not None
    sessions._lease._stack.close()


class Agent:
    """A program that says `begun`, and then what the test says, when the test says it."""

    def __init__(self, folder: Path, name: str = "agent") -> None:
        self._pipe = folder / f"{name}.pipe"
        os.mkfifo(self._pipe)
        self.command = ["sh", "-c", 'echo begun; cat "$0"', str(self._pipe)]

    def answer(self, text: str) -> None:
        """Waits until the program is there to hear it."""
        self._pipe.write_text(text)


def start_turn(rpc: RpcConnection, session: str, **more: Any) -> int:
    """Start a turn, and wait until its program has said its first word; the id that the answer will have."""
    asked = rpc.ask("turn/start", {"session_id": session, "prompt": "go", **more})
    while rpc.event()["type"] != "text_delta":
        pass
    return asked


def create_deferred(rpc: RpcConnection, **more: Any) -> str:
    return str(rpc.result("session/create", initial_turn="deferred", **more)["session_id"])


def messages(rpc: RpcConnection, session: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rpc.result("session/history", session_id=session)["messages"]
    return found


def roles(rpc: RpcConnection, session: str) -> list[str]:
    return [message["role"] for message in messages(rpc, session)]


def database(person: Person, realm: str = REALM) -> "sqlite3.Connection":
    """The realm's live sessions, as they lie on the disk."""
    return sqlite3.connect(person.state / "realms" / realm / "live" / "live.db", timeout=PATIENCE_S)
