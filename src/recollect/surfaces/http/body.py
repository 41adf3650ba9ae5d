"""Reads the body of a request, with limits on its size and time."""

import asyncio
from typing import Any

from starlette.requests import ClientDisconnect, Request

from recollect.lenient_json import decode
from recollect.surfaces.transport.line_reader import MAX_BYTES

TIMEOUT_S = 30.0  # seconds for a complete body: a slow caller must not hold a connection for ever


class BodyError(Exception):
    """A body that cannot be read, with the HTTP status for the reason."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.headers = {"connection": "close"} if status != 400 else {}  # the rest of the body is not read


async def read_json(request: Request, timeout_s: float = TIMEOUT_S) -> Any:
    """The JSON value of the body; None if the body is empty."""
    content = await read_body(request, timeout_s)
    if not content.strip():
        return None
    try:
        return decode(content)
    except (ValueError, RecursionError):
        raise BodyError(400, "the body is not JSON in UTF-8") from None


async def read_body(request: Request, timeout_s: float = TIMEOUT_S, max_bytes: int = MAX_BYTES) -> bytes:
    """The bytes of the body. Raises `BodyError` if it is too large, late or incomplete.

    A body that is too large is still read to its end, unless the caller sent `Expect`: callers read the response only after
    they have sent everything.
    """
    length = request.headers.get("content-length", "0")
    is_too_large = not length.isdigit() or int(length) > max_bytes
    too_large = BodyError(413, f"a body may have at most {_size(max_bytes)}")
    if is_too_large and "expect" in request.headers:
        raise too_large
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(timeout_s):
            async for part in request.stream():
                size += len(part)
                if is_too_large or size > max_bytes:
                    is_too_large = True
                    parts.clear()
                else:
                    parts.append(part)
    except TimeoutError:
        raise BodyError(408, f"the body did not arrive within {timeout_s:g} s") from None
    except ClientDisconnect:
        raise BodyError(400, "the body is incomplete: the connection was closed") from None
    if is_too_large:
        raise too_large
    return b"".join(parts)


def _size(count: int) -> str:
    return f"{count >> 20} MB" if count >= 1 << 20 else f"{count >> 10} KB"
