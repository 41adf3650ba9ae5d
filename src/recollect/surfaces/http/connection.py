"""A connection as we want it: its requests begin soon, and what uvicorn refuses by itself is told as everything else is."""

import asyncio
import sys
from http import HTTPStatus
from typing import Any

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from recollect.surfaces.http.body import WITHIN_S
from recollect.surfaces.http.responses import refused

MOST_AT_ONCE = 2_048  # connections; who comes then is told to come again
AGAIN_S = "1"
TOO_LONG = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE


async def full(scope: Scope, receive: Receive, send: Send) -> None:
    """The application of those who are too many."""
    headers = {"retry-after": AGAIN_S, "connection": "close"}
    told = refused(503, "UNAVAILABLE", f"{MOST_AT_ONCE:,} callers are here already; come again.", headers=headers)
    await told(scope, receive, send)


class Connection(H11Protocol):
    """Between two requests it may be silent for as long as uvicorn allows; a request that has begun must become one."""

    within_s = WITHIN_S

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST_AT_ONCE:
            self.app = full
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_here()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._head_is_here()
        elif self._late is None and self.conn.trailing_data[0]:
            self._expect_head()

    def _expect_head(self) -> None:
        self._late = self.loop.call_later(self.within_s, self._refuse_late)

    def _head_is_here(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _refuse_late(self) -> None:
        self._late = None
        if self.conn.trailing_data[0]:
            self._refuse(408, f"the request did not begin within {self.within_s:g} s")
        else:  # nobody asked: browsers open connections that they may need
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Called while uvicorn handles what the parser could not read: only that error says what it was."""
        fault = sys.exception()
        if isinstance(fault, h11.RemoteProtocolError) and fault.error_status_hint == TOO_LONG:
            self._refuse(TOO_LONG, "the head of the request is too long")
        else:
            self._refuse(400, f"this is no HTTP request: {fault or msg}")

    def _refuse(self, status: int, message: str) -> None:
        """Tell why, unless an answer is under way already, and hang up."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            told = refused(status, "INVALID_PARAMS", message, headers={"connection": "close"})
            reason = HTTPStatus(status).phrase.encode()
            for event in (
                h11.Response(status_code=status, headers=told.raw_headers, reason=reason),
                h11.Data(bytes(told.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
