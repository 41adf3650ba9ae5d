"""Live sessions whose turns a test controls step by step, in this process and in others."""

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
PATIENCE_S = 20.0  # far longer than any step takes: reaching it is a failure, not a measurement
TERMINAL = {"turn_completed", "turn_failed", "turn_interrupted"}


def open_sessions(folder: Path, backend: Backend, instance: str) -> LiveSessions:
    """The live sessions of a realm as one process opens them. Two of these share no more than two processes do."""
    return LiveSessions(folder, backend, instance, redact=True, on_commit=lambda: None)


def new_session(**labels: str) -> NewSession:
    return NewSession(labels=labels, runner="test", command=None, folder="/", generation=0)


def turn_request(prompt: str, runner: Any, on_event: Any = None) -> TurnRequest:
    return TurnRequest(
        prompt=prompt,
        runner=runner,
        runner_name="test",
        command=None,
        stored_command=None,
        options={},
        generation=0,
        on_event=on_event,
    )


def runner_with_output(*outputs: Output) -> Runner:
    """A runner that gives these outputs and ends."""

    def run(assignment: Assignment) -> Generator[Output, None, None]:
        yield from outputs

    return run


class ControlledTurn:
    """A turn in its own thread, once its runner has started."""

    def __init__(self, sessions: LiveSessions, session: bytes, prompt: str) -> None:
        self.sessions = sessions
        self.prompt = prompt
        self.events: list[dict[str, Any]] = []
        self.result: TurnResult | None = None
        self.error: RecollectError | None = None
        self._words: queue.SimpleQueue[str | Exception | None] = queue.SimpleQueue()
        self._begun, self._delivered = threading.Event(), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, args=(session,), daemon=True)
        self._thread.start()
        assert self._begun.wait(PATIENCE_S), "the turn did not begin"

    def _run(self, session: bytes) -> None:
        try:
            self.result = self.sessions.run(session, turn_request(self.prompt, self._work, self._on_event))
        except RecollectError as error:
            self.error = error
        finally:
            self._begun.set()

    def _work(self, assignment: Assignment) -> Generator[Output, None, None]:
        self._begun.set()
        with assignment.cancel.on_cancel(lambda: self._words.put(None)):
            while (word := self._words.get()) is not None:
                if isinstance(word, Exception):
                    raise word
                yield AnswerText(word)

    def _on_event(self, event: dict[str, Any]) -> None:
        self.events.append(event)
        if event["type"] == "text_delta":
            self._delivered.release()

    def say(self, text: str) -> None:
        self._words.put(text)
        assert self._delivered.acquire(timeout=PATIENCE_S), "the text was not sent as an event"

    def finish(self) -> TurnResult:
        self._words.put(None)
        self.wait_for_end()
        assert self.result is not None, self.error
        return self.result

    def fail(self, reason: str) -> RecollectError:
        self._words.put(AgentFault(reason))
        self.wait_for_end()
        assert self.error is not None
        return self.error

    def release(self) -> None:
        """Let its runner end, whatever the result is."""
        self._words.put(None)
        self.wait_for_end()

    def wait_for_end(self) -> None:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "the turn did not end"

    def is_running(self) -> bool:
        return self._thread.is_alive()


def crash(sessions: LiveSessions) -> None:
    """Release the locks of a process as the kernel does when it is killed; its writes stay."""
    assert sessions._lease is not None
    sessions._lease._stack.close()


class Agent:
    """A program that prints `begun`, and later the text that the test sends."""

    def __init__(self, folder: Path, name: str = "agent") -> None:
        self._pipe = folder / f"{name}.pipe"
        os.mkfifo(self._pipe)
        self.command = ["sh", "-c", 'echo begun; cat "$0"', str(self._pipe)]

    def answer(self, text: str) -> None:
        """Send the text that the program prints; waits until the program reads it."""
        self._pipe.write_text(text)


def start_turn(rpc: RpcConnection, session: str, **more: Any) -> int:
    """Start a turn, wait for the first text of its program, and return the id of the request."""
    request = rpc.ask("turn/start", {"session_id": session, "prompt": "go", **more})
    while rpc.event()["type"] != "text_delta":
        pass
    return request


def create_deferred(rpc: RpcConnection, **more: Any) -> str:
    return str(rpc.result("session/create", initial_turn="deferred", **more)["session_id"])


def messages(rpc: RpcConnection, session: str) -> list[dict[str, Any]]:
    history: list[dict[str, Any]] = rpc.result("session/history", session_id=session)["messages"]
    return history


def roles(rpc: RpcConnection, session: str) -> list[str]:
    return [message["role"] for message in messages(rpc, session)]


def database(person: Person, realm: str = REALM) -> "sqlite3.Connection":
    """A connection to the database of the realm's live sessions."""
    return sqlite3.connect(person.state / "realms" / realm / "live" / "live.db", timeout=PATIENCE_S)
