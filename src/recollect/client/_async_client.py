"""Where everything begins: a connection to a server, which works in one realm."""

import os
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from types import TracebackType
from typing import Any

from recollect.client._ask import any_request, ask, call_tool, labelled, words
from recollect.client._child import ChildLines, Spawn
from recollect.client._http import SILENCE_S, HttpWire
from recollect.client._journey import AsyncJourney
from recollect.client._rpc import Lines, RpcWire
from recollect.client._session import AsyncDeferredSession, AsyncSession, AsyncStartedSession
from recollect.client._socket import SocketLines
from recollect.client._token import find_token
from recollect.client._wire import Wire
from recollect.client.results import (
    ArchiveResult,
    Created,
    HistoryPage,
    JourneyInfo,
    JsonObject,
    RealmConfig,
    RealmInfo,
    RealmList,
    RealmRow,
    ServerInfo,
    SessionList,
    SessionState,
    ToolResult,
    TurnResult,
)


class Opening(Awaitable["AsyncClient"]):
    """A client about to be: `client = await AsyncClient.spawn()`, or `async with AsyncClient.spawn() as client`."""

    def __init__(self, opening: Coroutine[Any, Any, Wire]) -> None:
        self._opening = opening

    def __await__(self) -> Generator[Any, None, "AsyncClient"]:
        return AsyncClient((yield from self._opening.__await__()))

    async def __aenter__(self) -> "AsyncClient":
        self._client = await self
        return self._client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._client.close()


async def _over_lines(opening: Awaitable[Lines], token: Callable[[], str | None] = lambda: None) -> Wire:
    wire = RpcWire(await opening)
    try:
        await wire.greet(token())
    except BaseException:  # a server that we started must not be left behind, whatever happened
        await wire.close()
        raise
    return wire


async def _over_http(url: str, token: str | None, silence_s: float) -> Wire:
    wire = HttpWire(url, token, silence_s)
    try:
        await wire.greet()
    except BaseException:
        await wire.close()
        raise
    return wire


class AsyncClient:
    """To be used in the event loop in which it was opened. Who is cancelled while waiting only stops waiting."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    @staticmethod
    def spawn(
        realm: str | None = None,
        *,
        isolated: bool = False,
        backend: str | None = None,
        instance: str | None = None,
        home: str | os.PathLike[str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str | None] | None = None,
        command: Sequence[str] | None = None,
    ) -> Opening:
        """Start a server of our own, in a fresh realm unless one is named. It ends with `close`, or with us.

        `home` is the state folder, `cwd` where agents work, `env` what is another than in our environment (None takes a
        name away), and `command` a program, with its first arguments, to start instead of this one.
        """
        given = Spawn(
            realm=realm,
            isolated=isolated,
            backend=backend,
            instance=instance,
            home=home,
            cwd=cwd,
            env=env,
            command=command,
        )
        return Opening(_over_lines(ChildLines.start(given)))

    @staticmethod
    def connect(host: str, port: int, token: str | None = None) -> Opening:
        """Use a server that runs already, over TCP. The token of one on this machine is found without being given."""
        return Opening(_over_lines(SocketLines.connect(host, port), lambda: token or find_token(host, port)))

    @staticmethod
    def http(url: str, token: str | None = None, *, silence_s: float = SILENCE_S) -> Opening:
        """Use a server that runs already, over HTTP. The token of one on this machine is found without being given.

        A server that says nothing for `silence_s` while a turn runs is gone.
        """
        return Opening(_over_http(url, token, silence_s))

    @property
    def server(self) -> ServerInfo:
        """What the server tells of itself, such as its realm."""
        return self._wire.server

    async def close(self) -> None:
        """Let go of the server; one of our own ends, and its running turns are interrupted."""
        await self._wire.close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    # ---- sessions

    async def create_session(
        self,
        prompt: str,
        *,
        labels: Mapping[str, str] | None = None,
        runner: str | None = None,
        command: Sequence[str] | None = None,
        user_id: str | None = None,
        journey_id: str | None = None,
    ) -> AsyncStartedSession:
        """Make a session and run its first turn. Where that fails the session is there; the error has its `session_id`.

        `runner` is `recall` (default: answers from the realm's own history), `command`, `acp`, or a name from the realm's
        config; `command` is a program and its arguments, for `command` and `acp`. Both are kept for later turns.
        """
        given = _creation(labels, runner, command, user_id, journey_id)
        result = await ask(self._wire, TurnResult, "session/create", prompt=prompt, **given)
        return AsyncStartedSession(self._wire, result.session_id, result)

    async def create_deferred_session(
        self,
        *,
        labels: Mapping[str, str] | None = None,
        runner: str | None = None,
        command: Sequence[str] | None = None,
        user_id: str | None = None,
        journey_id: str | None = None,
    ) -> AsyncDeferredSession:
        """Make a session and run nothing yet."""
        given = _creation(labels, runner, command, user_id, journey_id)
        created = await ask(self._wire, Created, "session/create", initial_turn="deferred", **given)
        return AsyncDeferredSession(self._wire, created.session_id)

    def session(self, session_id: str) -> AsyncSession:
        """A session that exists already. Nothing is asked yet."""
        return AsyncSession(self._wire, session_id)

    async def list_sessions(
        self,
        *,
        labels: Mapping[str, str] | None = None,
        imported: bool | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> list[SessionState]:
        """Sessions of the realm that have all of these labels, last used first, without archived ones.

        `imported` adds the sessions that were read from agents' logs.
        """
        page = {"labels": labelled(labels), "imported": imported, "offset": offset, "limit": limit}
        return (await ask(self._wire, SessionList, "session/list", **page)).sessions

    async def read_session(self, session_id: str) -> SessionState:
        """State and usage of a session."""
        return await self.session(session_id).read()

    async def read_session_history(
        self, session_id: str, *, offset: int | None = None, limit: int | None = None
    ) -> HistoryPage:
        """Some of the committed messages of a session, oldest first; also of an archived one."""
        return await self.session(session_id).history(offset=offset, limit=limit)

    async def archive_session(self, session_id: str) -> ArchiveResult:
        """End a session for good: hidden from lists, no more turns. Its history stays."""
        return await self.session(session_id).archive()

    # ---- the realm

    async def config_get(self) -> RealmConfig:
        return await ask(self._wire, RealmConfig, "config/get")

    async def config_set(self, config: JsonObject, *, expected_generation: int | None = None) -> RealmConfig:
        """Replace the realm's config; where it is of another generation than expected, `GenerationConflict`."""
        given = {"config": config, "expected_generation": expected_generation}
        return await ask(self._wire, RealmConfig, "config/set", **given)

    async def config_patch(self, patch: JsonObject, *, expected_generation: int | None = None) -> RealmConfig:
        """Change the realm's config by a merge patch (RFC 7396): None takes a key away."""
        given = {"patch": patch, "expected_generation": expected_generation}
        return await ask(self._wire, RealmConfig, "config/patch", **given)

    async def realms(self) -> list[RealmRow]:
        """All realms here."""
        return (await ask(self._wire, RealmList, "realm/list")).realms

    async def realm(self, realm_id: str) -> RealmInfo:
        """What a realm is and holds."""
        return await ask(self._wire, RealmInfo, "realm/get", realm_id=realm_id)

    # ---- everything else

    async def journey(self, *, user_id: str | None = None) -> AsyncJourney:
        """A person's journey, made when it is first asked for; without a person, a new one."""
        return AsyncJourney(self._wire, await ask(self._wire, JourneyInfo, "journey/get_or_create", user_id=user_id))

    async def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> ToolResult:
        """Call a tool, as an agent would. What it refuses is an answer too, with `is_error`."""
        return await call_tool(self._wire, name, arguments)

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Any method of the server, by its name on the wire."""
        return await any_request(self._wire, method, params)


def _creation(
    labels: Mapping[str, str] | None,
    runner: str | None,
    command: Sequence[str] | None,
    user_id: str | None,
    journey_id: str | None,
) -> dict[str, Any]:
    chosen = {"runner": runner, "command": words(command)}
    return {"labels": labelled(labels), **chosen, "user_id": user_id, "journey_id": journey_id}
