"""A live session: run turn by turn, read, and archived."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any

from recollect.client._ask import ask, words
from recollect.client._loop import LoopThread
from recollect.client._stream import AsyncTurnStream, TurnStream
from recollect.client._wire import Listener, Wire
from recollect.client.events import SessionEvent
from recollect.client.results import ArchiveResult, HistoryPage, InterruptResult, Message, SessionState, TurnResult

LARGEST_PAGE = 1_000  # messages at once, the most that a server gives


class AsyncSession:
    """Sessions come from an `AsyncClient`."""

    def __init__(self, wire: Wire, session_id: str, result: TurnResult | None = None) -> None:
        self.id = session_id
        self._wire = wire
        self._result = result

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    @property
    def result(self) -> TurnResult | None:
        """What the last turn came to that completed here; None where none has."""
        return self._result

    async def start_turn(
        self, prompt: str, *, runner: str | None = None, command: Sequence[str] | None = None
    ) -> TurnResult:
        """Run one more turn, to its end. `SessionBusy` at once while one is running, here or anywhere."""
        return await self._run(prompt, runner, command, None)

    def stream(self, prompt: str, *, runner: str | None = None, command: Sequence[str] | None = None) -> AsyncTurnStream:
        """Run one more turn, and see what happens as it happens."""
        return AsyncTurnStream(lambda listener: self._run(prompt, runner, command, listener))

    async def interrupt(self) -> InterruptResult:
        """Cancel the running turn, whoever runs it, and wait until it has ended; `interrupted` is false where none ran."""
        return await ask(self._wire, InterruptResult, "turn/interrupt", session_id=self.id)

    async def read(self) -> SessionState:
        """State and usage. Never waits for a running turn."""
        return await ask(self._wire, SessionState, "session/read", session_id=self.id)

    async def history(self, *, offset: int | None = None, limit: int | None = None) -> HistoryPage:
        """Some of the committed messages, oldest first; nothing of a turn that is still running."""
        return await ask(self._wire, HistoryPage, "session/history", session_id=self.id, offset=offset, limit=limit)

    def events(self, *, after: int | None = None) -> AsyncGenerator[SessionEvent, None]:
        """The events of its turns as they run in the server, whoever asked for them, until it is archived. Over HTTP only.

        It begins now, or with the turn that runs, or after the event of the sequence `after`. Where the connection breaks
        off, another one goes on from there; what cannot be told any more is a `StreamTruncated`.
        """
        return self._wire.events(self.id, after)

    async def messages(self, *, page_size: int = LARGEST_PAGE) -> AsyncGenerator[Message, None]:
        """All committed messages, oldest first, fetched page by page."""
        async for page in self._pages(page_size):
            for message in page.messages:
                yield message

    async def _pages(self, page_size: int) -> AsyncGenerator[HistoryPage, None]:
        offset, has_more = 0, True
        while has_more:
            page = await self.history(offset=offset, limit=page_size)
            yield page
            offset, has_more = offset + len(page.messages), page.has_more

    async def archive(self) -> ArchiveResult:
        """End the session for good: hidden from lists, no more turns. Its history stays."""
        return await ask(self._wire, ArchiveResult, "session/archive", session_id=self.id)

    async def _run(
        self, prompt: str, runner: str | None, command: Sequence[str] | None, listener: Listener | None
    ) -> TurnResult:
        given: dict[str, Any] = {"session_id": self.id, "prompt": prompt, "runner": runner, "command": words(command)}
        self._result = await ask(self._wire, TurnResult, "turn/start", listener, **given)
        return self._result


class AsyncStartedSession(AsyncSession):
    """A session whose first turn has run."""

    @property
    def result(self) -> TurnResult:
        assert self._result is not None
        return self._result


class AsyncDeferredSession(AsyncSession):
    """A session that was registered without a turn; the first `start_turn` is its first."""


class Session:
    """Sessions come from a `Client`."""

    def __init__(self, loop: LoopThread, session: AsyncSession) -> None:
        self.id = session.id
        self._loop = loop
        self._session = session

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    @property
    def result(self) -> TurnResult | None:
        """What the last turn came to that completed here; None where none has."""
        return self._session.result

    def start_turn(self, prompt: str, *, runner: str | None = None, command: Sequence[str] | None = None) -> TurnResult:
        """Run one more turn, to its end. `SessionBusy` at once while one is running, here or anywhere."""
        return self._loop.run(self._session.start_turn(prompt, runner=runner, command=command))

    def stream(self, prompt: str, *, runner: str | None = None, command: Sequence[str] | None = None) -> TurnStream:
        """Run one more turn, and see what happens as it happens."""
        return TurnStream(self._loop, lambda: self._session.stream(prompt, runner=runner, command=command))

    def interrupt(self) -> InterruptResult:
        """Cancel the running turn, whoever runs it, and wait until it has ended; `interrupted` is false where none ran."""
        return self._loop.run(self._session.interrupt())

    def read(self) -> SessionState:
        """State and usage. Never waits for a running turn."""
        return self._loop.run(self._session.read())

    def history(self, *, offset: int | None = None, limit: int | None = None) -> HistoryPage:
        """Some of the committed messages, oldest first; nothing of a turn that is still running."""
        return self._loop.run(self._session.history(offset=offset, limit=limit))

    def events(self, *, after: int | None = None) -> Iterator[SessionEvent]:
        """The events of its turns as they run in the server, whoever asked for them, until it is archived. Over HTTP only.

        It begins now, or with the turn that runs, or after the event of the sequence `after`. Where the connection breaks
        off, another one goes on from there; what cannot be told any more is a `StreamTruncated`.
        """
        return self._loop.iterate(self._session.events(after=after))

    def messages(self, *, page_size: int = LARGEST_PAGE) -> Iterator[Message]:
        """All committed messages, oldest first, fetched page by page."""
        for page in self._loop.iterate(self._session._pages(page_size)):
            yield from page.messages

    def archive(self) -> ArchiveResult:
        """End the session for good: hidden from lists, no more turns. Its history stays."""
        return self._loop.run(self._session.archive())


class StartedSession(Session):
    """A session whose first turn has run."""

    @property
    def result(self) -> TurnResult:
        result = self._session.result
        assert result is not None
        return result


class DeferredSession(Session):
    """A session that was registered without a turn; the first `start_turn` is its first."""
