"""A live session: run turns, read its messages, archive it."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from recollect.client._json import as_list
from recollect.client._transport import Transport
from recollect.client._turn_stream import AsyncTurnStream
from recollect.client.events import SessionEvent
from recollect.client.results import ArchiveResult, HistoryPage, InterruptResult, Message, SessionState, TurnResult

MAX_PAGE_SIZE = 1_000  # messages in one page: the server's own limit


class AsyncSession:
    """A session of the realm. `AsyncClient` creates these."""

    def __init__(self, transport: Transport, session_id: str, result: TurnResult | None = None) -> None:
        self.id = session_id
        self._transport = transport
        self._result = result

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    @property
    def result(self) -> TurnResult | None:
        """The result of the last turn that completed through this object. None before that."""
        return self._result

    async def start_turn(
        self, prompt: str, *, runner: str | None = None, command: Sequence[str] | None = None
    ) -> TurnResult:
        """Run a turn and wait for its result. Raises `SessionBusy` at once if a turn of the session is already running."""
        params = self._turn_params(prompt, runner, command)
        self._result = await self._transport.call(TurnResult, "turn/start", **params)
        return self._result

    def stream(self, prompt: str, *, runner: str | None = None, command: Sequence[str] | None = None) -> AsyncTurnStream:
        """Run a turn and iterate over its events as they happen."""
        return AsyncTurnStream(self._transport, self._turn_params(prompt, runner, command), self._set_result)

    async def interrupt(self) -> InterruptResult:
        """Cancel the running turn, also of another client, and wait for its end. `interrupted` is false if none ran."""
        return await self._transport.call(InterruptResult, "turn/interrupt", session_id=self.id)

    async def read(self) -> SessionState:
        """The session's state and usage. Does not wait for a running turn."""
        return await self._transport.call(SessionState, "session/read", session_id=self.id)

    async def history(self, *, offset: int | None = None, limit: int | None = None) -> HistoryPage:
        """One page of the committed messages, oldest first. A running turn is not included."""
        params = {"session_id": self.id, "offset": offset, "limit": limit}
        return await self._transport.call(HistoryPage, "session/history", **params)

    def events(self, *, after: int | None = None) -> AsyncGenerator[SessionEvent, None]:
        """Events of all turns, also of other clients, until the session is archived. Over HTTP only.

        Starts after the event whose `sequence` is `after`; by default with the running turn, or now. After a broken
        connection it continues where it stopped. Events that the server no longer has become one `StreamTruncated`.
        """
        return self._transport.events(self.id, after)

    async def messages(self, *, page_size: int = MAX_PAGE_SIZE) -> AsyncGenerator[Message, None]:
        """All committed messages, oldest first, fetched page by page."""
        offset, has_more = 0, True
        while has_more:
            page = await self.history(offset=offset, limit=page_size)
            for message in page.messages:
                yield message
            offset, has_more = offset + len(page.messages), page.has_more

    async def archive(self) -> ArchiveResult:
        """Archive the session: it is hidden from lists and runs no more turns. Its history stays readable."""
        return await self._transport.call(ArchiveResult, "session/archive", session_id=self.id)

    def _turn_params(self, prompt: str, runner: str | None, command: Sequence[str] | None) -> dict[str, Any]:
        return {"session_id": self.id, "prompt": prompt, "runner": runner, "command": as_list(command)}

    def _set_result(self, result: TurnResult) -> None:
        self._result = result


class AsyncStartedSession(AsyncSession):
    """A session whose first turn has run."""

    @property
    def result(self) -> TurnResult:
        assert self._result is not None
        return self._result


class AsyncDeferredSession(AsyncSession):
    """A session that was created without a turn. Its first `start_turn` runs its first turn."""
