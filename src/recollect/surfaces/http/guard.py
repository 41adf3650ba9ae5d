"""Who may ask at all, before anything is read: a page in a browser must not, unless it is one of ours.

Any page can send requests to a port of this machine (cross-site), and a name of its own may be made to point here (DNS
rebinding). The first is known by `Origin` and `Sec-Fetch-Site`, which every browser sends and no page can change; the second
by `Host`. Programs send none of them. Every other user of this machine can connect, too, so each request brings the server's
token, or the cookie of a browser that has signed in.
"""

import re
from collections.abc import Mapping
from contextlib import suppress

from h11 import LocalProtocolError
from msgspec import Struct
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.loopback import is_loopback
from recollect.surfaces.http.responses import refused
from recollect.surfaces.http.sign_in import PATH, STYLE, SignIn, sign_in_page

LOCAL = "recollect.is_local"  # in the scope: whether somebody on this machine asks
PASSED_ON = ("forwarded", "via", "x-forwarded-for", "x-real-ip")  # what a proxy says of those for whom it asks
HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::[0-9]*)?")
OPEN = frozenset({"/health", PATH, STYLE})  # to callers who have not signed in
UNAUTHORIZED = "Send this server's token: `Authorization: Bearer TOKEN`. `recollect token` prints it."
HARDENED = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # with none, a form of our own would have no origin either
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"),
)


class Refusal(Struct, frozen=True):
    status: int
    code: str
    message: str
    headers: Mapping[str, str] = {}


class Guard:
    def __init__(self, app: ASGIApp, sign_in: SignIn | None, *, is_public: bool) -> None:
        """`is_public`: other machines can reach us, by any name that they have for this one."""
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

        async def hardened(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HARDENED]
            await send(message)

        answer = self._app
        if refusal is not None and refusal.status == 401 and _is_page_view(scope, headers):
            answer = sign_in_page(401)
        elif refusal is not None:
            answer = refused(refusal.status, refusal.code, refusal.message, headers=refusal.headers)
        with suppress(LocalProtocolError):  # the caller broke off in the middle of its body, and was told so
            await answer(scope, receive, hardened)

    def _refusal(self, scope: Scope, headers: Headers) -> Refusal | None:
        host = headers.getlist("host")
        if len(host) != 1 or not (self._is_public or is_loopback(_name(host[0]))):
            return Refusal(403, "FORBIDDEN_HOST", "This server answers to localhost only; another name may be a trick.")
        if not _is_own_origin(headers, host[0]) or _is_cross_site(scope, headers):
            return Refusal(403, "FORBIDDEN_ORIGIN", "Pages of other sites may not ask this server.")
        if self._sign_in is not None and scope["path"] not in OPEN and not self._sign_in.admits(headers):
            return Refusal(401, "UNAUTHORIZED", UNAUTHORIZED, {"www-authenticate": "Bearer"})
        return None


def _name(host: str) -> str:
    """The host without its port; nothing where it is none."""
    found = HOST.fullmatch(host)
    return found[1] if found is not None else ""


def _is_local(scope: Scope, headers: Headers) -> bool:
    """Whether the caller is on this machine and says so. What a proxy passes on is anybody's."""
    address, _ = scope.get("client") or ("", 0)
    is_passed_on = any(header in headers for header in PASSED_ON)
    return is_loopback(address) and is_loopback(_name(headers.get("host", ""))) and not is_passed_on


def _is_own_origin(headers: Headers, host: str) -> bool:
    own = ("", f"http://{host.lower()}", f"https://{host.lower()}")
    return all(origin.lower() in own for origin in headers.getlist("origin"))


def _is_cross_site(scope: Scope, headers: Headers) -> bool:
    """What a browser says that another site's page wants; following a link to a page of ours is a person's wish."""
    is_link = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not is_link


def _is_page_view(scope: Scope, headers: Headers) -> bool:
    """Whether a person opens an address in a browser."""
    return scope["method"] == "GET" and "text/html" in headers.get("accept", "")
