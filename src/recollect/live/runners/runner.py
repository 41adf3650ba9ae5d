"""What a runner is given and what it gives."""

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from recollect.model import Usage


class AnswerText(Struct, frozen=True):
    """A piece of the answer, as long or as short as it came. What is `quoted` was said elsewhere, and is found there."""

    text: str
    quoted: bool = False


class ReasoningText(Struct, frozen=True):
    """A piece of reasoning."""

    text: str


class ToolCall(Struct, frozen=True):
    """The agent calls a tool."""

    id: str
    name: str
    input: Any = None


class ToolResult(Struct, frozen=True):
    """What a tool gave back."""

    id: str
    content: str
    is_error: bool = False
    exit_code: int | None = None  # of a command


class TokenUsage(Struct, frozen=True):
    """Tokens of the turn so far; the last one counts."""

    usage: Usage


ACP_SESSION = "acp_session"  # in what a runner keeps: what the agent calls the session, also in its own log


class RunnerState(Struct, frozen=True):
    """What the runner wants to be given again with the session's next turn."""

    state: dict[str, Any]


class TurnEnded(Struct, frozen=True):
    """Why the agent stopped. A turn that ends without it ended because the agent was done."""

    reason: str = "end_turn"


Output: TypeAlias = AnswerText | ReasoningText | ToolCall | ToolResult | TokenUsage | RunnerState | TurnEnded


class Cancel:
    """Whether a turn is still wanted. What would wait for long says what to do when it no longer is."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._set = threading.Event()
        self._callbacks: list[Callable[[], None]] = []

    def is_set(self) -> bool:
        return self._set.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        return self._set.wait(seconds)

    def set(self) -> None:
        with self._lock:
            calls = [] if self._set.is_set() else list(self._callbacks)
            self._set.set()
        for call in calls:
            call()

    @contextmanager
    def on_cancel(self, call: Callable[[], None]) -> Iterator[None]:
        """Do this when the turn is cancelled while we are inside; at once where it is cancelled already."""
        with self._lock:
            late = self._set.is_set()
            self._callbacks.append(call)
        if late:
            call()
        try:
            yield
        finally:
            with self._lock:
                self._callbacks.remove(call)


class Assignment(Struct, frozen=True, kw_only=True):
    """One turn to be run."""

    session: str  # the session's UUID
    prompt: str
    cancel: Cancel
    folder: Path  # where the agent works
    command: tuple[str, ...] = ()  # a program and its arguments
    options: dict[str, Any] = {}  # more that the realm's config says of this runner
    state: dict[str, Any] = {}  # what the runner `Kept` in the turn before
    history: Callable[[], Iterable[dict[str, Any]]] = tuple  # the committed messages so far, newest first
    on_process_started: Callable[[int], None] = lambda pid: None  # to be told of every child process, by its process group
    mark: str = ""  # of this turn, for the environment of what it starts: `running` puts it there


Runner: TypeAlias = Callable[[Assignment], Generator[Output, None, None]]
"""Raises `AgentFault` where the agent fails and `ProviderFault` where what it needs cannot be had; when cancelled it
cleans up and ends, by returning or by raising."""
