"""Refuses requests from other sites' pages and from callers without the token, before anything is read.

Any web page can send requests to a port of this machine (cross-site), and can make its own host name point here (DNS
rebinding). `Origin` and `Sec-Fetch-Site` reveal cross-site requests, and `Host` reveals rebinding: browsers send them, and
pages cannot change them. Other users of this machine can connect too, so each request needs the server's token, or the
cookie of a browser that has signed in.
"""

import re
from collections.abc import Mapping
from contextlib import suppress

from h11 import LocalProtocolError
from msgspec import Struct
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.loopback import is_loopback
from recollect.surfaces.http.responses import error_response
from recollect.surfaces.http.sign_in import PATH, STYLE, SignIn, sign_in_page

LOCAL = "recollect.is_local"  # in the scope: whether the caller is on this machine
PROXY_HEADERS = ("forwarded", "via", "x-forwarded-for", "x-real-ip")  # sent by proxies
HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::[0-9]*)?")
PUBLIC_PATHS = frozenset({"/health", PATH, STYLE})  # served without the token
UNAUTHORIZED = "Send this server's token: `Authorization: Bearer TOKEN`. `recollect token` prints it."
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # with `no-referrer`, our own forms would send no origin
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"),
)


class Refusal(Struct, frozen=True):
    """The response to a request that is not allowed."""

    status: int
    code: str
    message: str
    headers: Mapping[str, str] = {}


class Guard:
    """Middleware that answers refused requests itself, and adds security headers to all responses."""

    def __init__(self, app: ASGIApp, sign_in: SignIn | None, *, is_public: bool) -> None:
        """`is_public`: other machines can reach the server, by any host name."""
        self._app = app
        self._sign_in = sign_in
        self._is_public = is_public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        scope[LOCAL] = _is_local(scope, headers)
        refusal = self._refusal(scope, headers)

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *SECURITY_HEADERS]
            await send(message)

        responder = self._app
        if refusal is not None and refusal.status == 401 and _is_page_view(scope, headers):
            responder = sign_in_page(401)
        elif refusal is not None:
            responder = error_response(refusal.status, refusal.code, refusal.message, headers=refusal.headers)
        with suppress(LocalProtocolError):  # the caller disconnected while sending its body
            await responder(scope, receive, send_secured)

    def _refusal(self, scope: Scope, headers: Headers) -> Refusal | None:
        host = headers.getlist("host")
        if len(host) != 1 or not (self._is_public or is_loopback(_host_name(host[0]))):
            return Refusal(
                403, "FORBIDDEN_HOST", "This server only answers to localhost. Use http://localhost or http://127.0.0.1."
            )
        if not _is_own_origin(headers, host[0]) or _is_cross_site(scope, headers):
            return Refusal(403, "FORBIDDEN_ORIGIN", "Pages of other sites cannot use this server.")
        if self._sign_in is not None and scope["path"] not in PUBLIC_PATHS and not self._sign_in.admits(headers):
            return Refusal(401, "UNAUTHORIZED", UNAUTHORIZED, {"www-authenticate": "Bearer"})
        return None


def _host_name(host: str) -> str:
    """The host without its port; empty if it is invalid."""
    match = HOST.fullmatch(host)
    return match[1] if match is not None else ""


def _is_local(scope: Scope, headers: Headers) -> bool:
    """Whether the caller is on this machine. A request from a proxy may come from anywhere."""
    address, _ = scope.get("client") or ("", 0)
    is_proxied = any(header in headers for header in PROXY_HEADERS)
    return is_loopback(address) and is_loopback(_host_name(headers.get("host", ""))) and not is_proxied


def _is_own_origin(headers: Headers, host: str) -> bool:
    own = ("", f"http://{host.lower()}", f"https://{host.lower()}")
    return all(origin.lower() in own for origin in headers.getlist("origin"))


def _is_cross_site(scope: Scope, headers: Headers) -> bool:
    """Whether another site's page sent the request. Following a link to one of our pages is allowed."""
    is_link = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not is_link


def _is_page_view(scope: Scope, headers: Headers) -> bool:
    """Whether a browser opens a page."""
    return scope["method"] == "GET" and "text/html" in headers.get("accept", "")
