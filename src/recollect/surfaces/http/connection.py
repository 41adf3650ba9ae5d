"""An HTTP connection with a timeout for request heads. Its protocol errors are JSON, like all other errors."""

import asyncio
import sys
from http import HTTPStatus
from typing import Any

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from recollect.surfaces.http.body import TIMEOUT_S
from recollect.surfaces.http.responses import error_response

MAX_CONNECTIONS = 2_048  # at once; further connections get status 503
RETRY_AFTER_S = "1"
TOO_LONG = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE


async def refuse_connection(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a connection above the limit."""
    headers = {"retry-after": RETRY_AFTER_S, "connection": "close"}
    response = error_response(
        503, "UNAVAILABLE", f"All {MAX_CONNECTIONS:,} connections are in use. Try again.", headers=headers
    )
    await response(scope, receive, send)


class Connection(H11Protocol):
    """A connection that limits the time for a request's head. Between requests, uvicorn's own timeout applies."""

    timeout_s = TIMEOUT_S

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            self.app = refuse_connection
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
        elif self._timer is None and self.conn.trailing_data[0]:
            self._start_timer()

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(self.timeout_s, self._on_timeout)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_timeout(self) -> None:
        self._timer = None
        if self.conn.trailing_data[0]:
            self._refuse(408, f"the request did not begin within {self.timeout_s:g} s")
        else:  # no request: browsers open connections in advance
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse an invalid request. uvicorn calls this while it handles the parser error, which holds the reason."""
        fault = sys.exception()
        if isinstance(fault, h11.RemoteProtocolError) and fault.error_status_hint == TOO_LONG:
            self._refuse(TOO_LONG, "the head of the request is too long")
        else:
            self._refuse(400, f"this is not an HTTP request: {fault or msg}")

    def _refuse(self, status: int, message: str) -> None:
        """Send an error, unless a response has started, and close the connection."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            response = error_response(status, "INVALID_PARAMS", message, headers={"connection": "close"})
            reason = HTTPStatus(status).phrase.encode()
            for event in (
                h11.Response(status_code=status, headers=response.raw_headers, reason=reason),
                h11.Data(bytes(response.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
