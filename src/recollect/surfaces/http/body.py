"""The body of a request, as far as it may be: not too large, not for ever."""

import asyncio
from typing import Any

from starlette.requests import ClientDisconnect, Request

from recollect.lenient_json import decode
from recollect.surfaces.transport.line_reader import LONGEST

WITHIN_S = 30.0  # seconds for all of a body: a caller that trickles would hold a connection for ever


class Unreadable(Exception):
    """A body that was not taken, with the status that says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.headers = {"connection": "close"} if status != 400 else {}  # nobody reads what is left of it


async def json_of(request: Request, within_s: float = WITHIN_S) -> Any:
    """The JSON value of the body; None of an empty one."""
    content = await content_of(request, within_s)
    if not content.strip():
        return None
    try:
        return decode(content)
    except (ValueError, RecursionError):
        raise Unreadable(400, "the body is not JSON in UTF-8") from None


async def content_of(request: Request, within_s: float = WITHIN_S, most: int = LONGEST) -> bytes:
    """All of it. One that is too large is heard out, unless the caller asked first: it could not hear us before."""
    length = request.headers.get("content-length", "0")
    is_too_large = not length.isdigit() or int(length) > most
    too_large = Unreadable(413, f"a body may have at most {_size(most)}")
    if is_too_large and "expect" in request.headers:
        raise too_large
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(within_s):
            async for part in request.stream():
                size += len(part)
                if is_too_large or size > most:
                    is_too_large = True
                    parts.clear()
                else:
                    parts.append(part)
    except TimeoutError:
        raise Unreadable(408, f"the body did not come within {within_s:g} s") from None
    except ClientDisconnect:
        raise Unreadable(400, "the body was torn off") from None
    if is_too_large:
        raise too_large
    return b"".join(parts)


def _size(count: int) -> str:
    return f"{count >> 20} MB" if count >= 1 << 20 else f"{count >> 10} KB"
