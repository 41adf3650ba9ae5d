"""The HTTP application: REST, MCP, pages and documents."""

from importlib.resources import files
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from recollect import __version__
from recollect.operations import Toolset
from recollect.surfaces.http.dispatcher import Dispatcher
from recollect.surfaces.http.guard import Guard
from recollect.surfaces.http.mcp import McpEndpoint
from recollect.surfaces.http.openapi import document
from recollect.surfaces.http.responses import JSON, error_response
from recollect.surfaces.http.rest import routes
from recollect.surfaces.http.sign_in import SignIn

PAGES = {
    "/docs": ("docs.html", "text/html"),
    "/docs.css": ("docs.css", "text/css"),
    "/docs.js": ("docs.js", "text/javascript"),
    "/docs.svg": ("docs.svg", "image/svg+xml"),
}
MESSAGES = {
    404: ("NOT_FOUND", "Nothing is served here. /docs lists all paths."),
    405: ("METHOD_NOT_ALLOWED", "This path does not support the method. /docs lists all paths."),
}


def create_app(
    dispatcher: Dispatcher, toolset: Toolset, *, sign_in: SignIn | None, is_public: bool, rpc: str | None
) -> Starlette:
    """The application: all routes, behind the guard."""
    app = Starlette(
        routes=[
            Route("/", lambda _: RedirectResponse("/docs"), methods=["GET"]),
            Route("/health", _health(dispatcher, rpc), methods=["GET"]),
            Route("/openapi.json", _openapi, methods=["GET"]),
            *(Route(path, _page(*page), methods=["GET"]) for path, page in PAGES.items()),
            McpEndpoint(dispatcher, toolset).route(),
            *routes(dispatcher),
            *(sign_in.routes() if sign_in is not None else ()),
        ],
        middleware=[Middleware(Guard, sign_in, is_public=is_public)],
        exception_handlers={HTTPException: _http_error, Exception: _internal_error},  # type: ignore[dict-item]
    )
    app.router.redirect_slashes = False  # `/docs/` is not another name of `/docs`
    return app


def _health(dispatcher: Dispatcher, rpc: str | None) -> Any:
    realm = dispatcher.realm
    health: dict[str, Any] = {"status": "ok", "version": __version__, "realm_id": realm.name, "instance_id": realm.instance}
    health |= {"backend": realm.backend, "rpc": rpc}

    async def respond(request: Request) -> Response:
        return Response(msgspec.json.encode(health), media_type=JSON)

    return respond


async def _openapi(request: Request) -> Response:
    return Response(document(), media_type=JSON)


def _page(name: str, kind: str) -> Any:
    content = (files("recollect.surfaces.http") / "pages" / name).read_bytes()

    async def page(request: Request) -> Response:
        return Response(content, media_type=kind, headers={"cache-control": "no-cache"})

    return page


async def _http_error(request: Request, error: HTTPException) -> Response:
    code, message = MESSAGES.get(error.status_code, ("HTTP_ERROR", str(error.detail)))
    return error_response(error.status_code, code, message, headers=error.headers or {})


async def _internal_error(request: Request, error: Exception) -> Response:
    return error_response(500, "INTERNAL_ERROR", "This request failed. Run `recollect doctor` to look for the cause.")
