"""Signing in to the server: programs send its token, browsers a cookie.

A browser gets the cookie from a link that works once, or by typing the token into the sign-in page. The cookie is derived
from the token, so it survives a restart of the server and ends with the token.
"""

import hmac
import secrets
from hashlib import sha256
from importlib.resources import files
from urllib.parse import parse_qs

import msgspec
from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from recollect.surfaces.http.body import BodyError, read_body
from recollect.surfaces.http.responses import JSON, error_response

PATH = "/login"
LINKS = "/login-links"
STYLE = "/login.css"
MAX_LINKS = 64  # unused links at once; the oldest expires first
MAX_FORM_BYTES = 16 << 10  # bytes: callers without the token can send it
COOKIE_S = 30 * 24 * 3600
WRONG_LINK = "This link was used before, or the server was restarted. <code>recollect token --link</code> prints a new one."
WRONG_TOKEN = "This is not the server's token. <code>recollect token</code> prints it."


class SignIn:
    """Checks tokens and cookies, and creates links that work once."""

    def __init__(self, token: str, port: int) -> None:
        self._token = token.encode()
        self._cookie = f"recollect-{port}"  # a browser sends a cookie to every port of a host
        self._cookie_value = hmac.new(self._token, b"browser", sha256).hexdigest()
        self._unused: dict[str, bool] = {}  # codes of links, oldest first

    def admits(self, headers: Headers) -> bool:
        """Whether a request has the token or the cookie."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        return (scheme.lower() == "bearer" and self._is_token(token.strip())) or self._has_cookie(headers)

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode("utf-8", "replace"), self._token)

    def _has_cookie(self, headers: Headers) -> bool:
        value = cookie_parser(headers.get("cookie", "")).get(self._cookie, "")
        return hmac.compare_digest(value.encode("utf-8", "replace"), self._cookie_value.encode())

    # ---- links

    def link(self, url: str) -> str:
        """A link that signs in a browser, once."""
        code = secrets.token_urlsafe(32)
        self._unused[code] = True
        while len(self._unused) > MAX_LINKS:
            del self._unused[next(iter(self._unused))]
        return f"{url}{PATH}?code={code}"

    # ---- pages

    def routes(self) -> list[Route]:
        return [
            Route(PATH, self._show, methods=["GET"]),
            Route(PATH, self._submit, methods=["POST"]),
            Route(LINKS, self._new_link, methods=["POST"]),
            Route(STYLE, _style, methods=["GET"]),
        ]

    async def _show(self, request: Request) -> Response:
        code = request.query_params.get("code")
        if code is None or request.method == "HEAD":  # a link preview must not use up the link
            return sign_in_page(200)
        return self._signed_in() if self._unused.pop(code, False) else sign_in_page(403, WRONG_LINK)

    async def _submit(self, request: Request) -> Response:
        try:
            form = parse_qs((await read_body(request, max_bytes=MAX_FORM_BYTES)).decode("utf-8", "replace"))
        except BodyError as error:
            return error_response(error.status, "INVALID_PARAMS", str(error), headers=error.headers)
        token = form.get("token", [""])[0]
        return self._signed_in() if self._is_token(token.strip()) else sign_in_page(403, WRONG_TOKEN)

    def _signed_in(self) -> Response:
        response = RedirectResponse("/", 303)
        response.set_cookie(self._cookie, self._cookie_value, COOKIE_S, httponly=True, samesite="lax")
        return response

    async def _new_link(self, request: Request) -> Response:
        link = self.link(f"{request.url.scheme}://{request.headers['host']}")
        return Response(msgspec.json.encode({"url": link}), media_type=JSON)


def _read(name: str) -> str:
    return (files("recollect.surfaces.http") / "pages" / name).read_text("utf-8")


def sign_in_page(status: int, problem: str = "") -> Response:
    """The page that asks for the token, with the problem of the last attempt."""
    return HTMLResponse(_read("login.html").replace("<!-- problem -->", problem), status, {"cache-control": "no-store"})


async def _style(request: Request) -> Response:
    return Response(_read("login.css"), media_type="text/css", headers={"cache-control": "no-cache"})
