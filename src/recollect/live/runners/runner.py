"""The interface of a runner: its assignment and its outputs."""

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from recollect.model import Usage


class AnswerText(Struct, frozen=True):
    """A chunk of the answer. `quoted` text comes from the archive, so it is not indexed again."""

    text: str
    quoted: bool = False


class InjectedContext(Struct, frozen=True):
    """What the agent got before the prompt, because it does not have the session."""

    text: str


class ReasoningText(Struct, frozen=True):
    """A chunk of reasoning."""

    text: str


class ToolCall(Struct, frozen=True):
    """The agent calls a tool."""

    id: str
    name: str
    input: Any = None


class ToolResult(Struct, frozen=True):
    """The result of a tool call."""

    id: str
    content: str
    is_error: bool = False
    exit_code: int | None = None  # of a command


class TokenUsage(Struct, frozen=True):
    """Tokens of the turn so far; the last report replaces earlier ones."""

    usage: Usage


ACP_SESSION = "acp_session"  # key in the runner state: the agent's own id of the session, which its log uses too


class RunnerState(Struct, frozen=True):
    """State of the runner, passed to the session's next turn."""

    state: dict[str, Any]


class TurnEnded(Struct, frozen=True):
    """Why the agent stopped. A turn without this output ended normally."""

    reason: str = "end_turn"


Output: TypeAlias = (
    AnswerText | InjectedContext | ReasoningText | ToolCall | ToolResult | TokenUsage | RunnerState | TurnEnded
)


class Cancel:
    """The cancellation of a turn. Code that waits for a long time registers a callback."""

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
            callbacks = [] if self._set.is_set() else list(self._callbacks)
            self._set.set()
        for callback in callbacks:
            callback()

    @contextmanager
    def on_cancel(self, callback: Callable[[], None]) -> Iterator[None]:
        """Call this when the turn is cancelled inside the block; at once if it is cancelled already."""
        with self._lock:
            is_late = self._set.is_set()
            self._callbacks.append(callback)
        if is_late:
            callback()
        try:
            yield
        finally:
            with self._lock:
                self._callbacks.remove(callback)


class Assignment(Struct, frozen=True, kw_only=True):
    """One turn to run."""

    session: str  # the session's UUID
    prompt: str
    cancel: Cancel
    folder: Path  # where the agent works
    command: tuple[str, ...] = ()  # a program and its arguments
    options: dict[str, Any] = {}  # the runner's options in the realm's config
    state: dict[str, Any] = {}  # the `RunnerState` of the previous turn
    history: Callable[[], Iterable[dict[str, Any]]] = tuple  # the committed messages so far, newest first
    earlier: Callable[[str], Iterable[dict[str, Any]]] = lambda native_id: ()
    """The messages of the session that this one goes on with, newest first, if the agent knows that one by this id."""
    context: str = ""  # what the agent must know before the prompt, if it cannot load the session
    is_continuation: bool = False  # the session goes on with another one, which an agent without memory must be told again
    must_load: bool = False  # fail if the agent cannot load the session
    on_process_started: Callable[[int], None] = lambda pid: None  # called with the process group of every child
    mark: str = ""  # of this turn, in the environment of every program it starts


Runner: TypeAlias = Callable[[Assignment], Generator[Output, None, None]]
"""Raises `AgentFault` if the agent fails, and `ProviderFault` if its program or service is not available.
When cancelled it cleans up, then returns or raises."""
