"""`GET /library/stream`: Server-Sent Events that say which sessions of the realm changed.

One task looks at the archive for all readers. It runs only while there are readers. A reader that comes back sends the id of
its last event, and gets what it missed.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from recollect.errors import RecollectError
from recollect.lenient_json import encode
from recollect.operations.library.changes import Changes, Position, changes_since, parse_position
from recollect.surfaces.http.dispatcher import HEARTBEAT, HEARTBEAT_S, Dispatcher, Overloaded
from recollect.surfaces.http.responses import SSE, STREAM_HEADERS

LOOK_S = 0.2  # seconds between two looks at the archive: a new log line is on a page within a second
MAX_WAITING = 100  # batches of changes that a slow reader may fall behind, before its stream ends


class ChangeStream:
    """The changes of a realm, for any number of readers."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._readers: set[asyncio.Queue[Changes]] = set()
        self._task: asyncio.Task[None] | None = None

    async def respond(self, request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type=SSE)
        start = parse_position(request.headers.get("last-event-id", ""))
        queue: asyncio.Queue[Changes] = asyncio.Queue(MAX_WAITING)
        first = await self._look(start)
        return StreamingResponse(self._lines(first, queue), media_type=SSE, headers=STREAM_HEADERS)

    async def _lines(self, first: Changes, queue: "asyncio.Queue[Changes]") -> AsyncIterator[bytes]:
        self._readers.add(queue)
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._watch(first.position))
        try:
            yield encode_changes(first)
            missed = await self._look(first.position)  # between that look and now, this reader was not among the readers
            sent = missed.position
            if missed.messages:
                yield encode_changes(missed)
            while queue in self._readers:
                try:
                    changes = await asyncio.wait_for(queue.get(), HEARTBEAT_S)
                except TimeoutError:
                    yield HEARTBEAT
                    continue
                if changes.position != sent:
                    sent = changes.position
                    yield encode_changes(changes)
        finally:
            self._readers.discard(queue)

    async def _watch(self, position: Position) -> None:
        """Look for changes until no reader is left."""
        while self._readers:
            await asyncio.sleep(LOOK_S)
            with suppress(Overloaded, RecollectError):  # the next look may succeed
                changes = await self._look(position)
                position = changes.position
                if changes.messages:
                    self._send(changes)

    def _send(self, changes: Changes) -> None:
        for queue in list(self._readers):
            if queue.full():
                self._readers.discard(queue)  # the reader connects again, and gets what it missed
            else:
                queue.put_nowait(changes)

    async def _look(self, position: Position | None) -> Changes:
        realm = self._dispatcher.realm
        return await self._dispatcher.in_thread(lambda: changes_since(realm, position))


def encode_changes(changes: Changes) -> bytes:
    """Changes as Server-Sent Events. All have the id of the position after them, so a reader misses none."""
    *earlier, last = changes.messages or [{"type": "ready"}]
    lines = [b"data: " + encode(message) + b"\n\n" for message in earlier]
    return b"".join([*lines, f"id: {changes.position}\n".encode() + b"data: " + encode(last) + b"\n\n"])
