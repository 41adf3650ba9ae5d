"""The client: a connection to a server, which works in one realm."""

import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from recollect.client._async_journey import AsyncJourney
from recollect.client._async_library import AsyncLibrary
from recollect.client._async_session import AsyncDeferredSession, AsyncSession, AsyncStartedSession
from recollect.client._child_process import SpawnOptions
from recollect.client._http_transport import SILENCE_S
from recollect.client._json import as_dict, as_list
from recollect.client._opening import Opening, connect_http, connect_tcp, spawn_server
from recollect.client._transport import Transport
from recollect.client.results import (
    ArchiveResult,
    CreatedSession,
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


class AsyncClient:
    """A client of one server. Use it in the event loop that opened it.

    Cancelling a call does not cancel the turn on the server.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @classmethod
    def spawn(
        cls,
        realm: str | None = None,
        *,
        isolated: bool = False,
        backend: str | None = None,
        instance: str | None = None,
        home: str | os.PathLike[str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str | None] | None = None,
        command: Sequence[str] | None = None,
    ) -> "Opening[AsyncClient]":
        """Start a server, in a new realm unless one is named. It ends with `close`, or with this process.

        `home` is the state folder; `cwd` is the folder in which agents work. `env` changes the environment; None removes a
        variable. `command` is a program and its first arguments, started instead of this Recollect.
        """
        options = SpawnOptions(
            realm=realm,
            isolated=isolated,
            backend=backend,
            instance=instance,
            home=home,
            cwd=cwd,
            env=env,
            command=command,
        )
        return Opening(cls, spawn_server(options))

    @classmethod
    def connect(cls, host: str, port: int, token: str | None = None) -> "Opening[AsyncClient]":
        """Connect to a running server over TCP. The token of a server on this machine is found automatically."""
        return Opening(cls, connect_tcp(host, port, token))

    @classmethod
    def http(cls, url: str, token: str | None = None, *, silence_s: float = SILENCE_S) -> "Opening[AsyncClient]":
        """Connect to a running server over HTTP. The token of a server on this machine is found automatically.

        If the server sends nothing for `silence_s` seconds while a turn runs, the connection counts as lost.
        """
        return Opening(cls, connect_http(url, token, silence_s))

    @property
    def server(self) -> ServerInfo:
        """The server's version, its realm, and the methods it has."""
        return self._transport.server

    async def close(self) -> None:
        """Disconnect. A server that this client started ends, and its running turns are interrupted."""
        await self._transport.close()

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
        """Create a session and run its first turn. If the turn fails, the session exists; the error has its `session_id`.

        `runner` is `recall` (the default, which answers from the realm's own history), `command`, `acp`, or a name from
        the realm's config. `command` is a program and its arguments, for `command` and `acp`. Later turns use both again.
        """
        params = _session_params(labels, runner, command, user_id, journey_id)
        result = await self._transport.call(TurnResult, "session/create", prompt=prompt, **params)
        return AsyncStartedSession(self._transport, result.session_id, result)

    async def create_deferred_session(
        self,
        *,
        labels: Mapping[str, str] | None = None,
        runner: str | None = None,
        command: Sequence[str] | None = None,
        user_id: str | None = None,
        journey_id: str | None = None,
    ) -> AsyncDeferredSession:
        """Create a session without running a turn."""
        params = _session_params(labels, runner, command, user_id, journey_id)
        created = await self._transport.call(CreatedSession, "session/create", initial_turn="deferred", **params)
        return AsyncDeferredSession(self._transport, created.session_id)

    def session(self, session_id: str) -> AsyncSession:
        """An existing session. Sends no request."""
        return AsyncSession(self._transport, session_id)

    async def list_sessions(
        self,
        *,
        labels: Mapping[str, str] | None = None,
        imported: bool | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> list[SessionState]:
        """Sessions of the realm that have all of these labels, most recently used first. Archived sessions are left out.

        `imported` adds the sessions that were read from agents' logs.
        """
        page = {"labels": as_dict(labels), "imported": imported, "offset": offset, "limit": limit}
        return (await self._transport.call(SessionList, "session/list", **page)).sessions

    async def read_session(self, session_id: str) -> SessionState:
        """State and usage of a session."""
        return await self.session(session_id).read()

    async def read_session_history(
        self, session_id: str, *, offset: int | None = None, limit: int | None = None
    ) -> HistoryPage:
        """One page of a session's committed messages, oldest first. Also works for archived sessions."""
        return await self.session(session_id).history(offset=offset, limit=limit)

    async def archive_session(self, session_id: str) -> ArchiveResult:
        """Archive a session: it is hidden from lists and runs no more turns. Its history stays readable."""
        return await self.session(session_id).archive()

    # ---- the realm

    async def config_get(self) -> RealmConfig:
        """The realm's config."""
        return await self._transport.call(RealmConfig, "config/get")

    async def config_set(self, config: JsonObject, *, expected_generation: int | None = None) -> RealmConfig:
        """Replace the realm's config. Raises `GenerationConflict` if its generation is not the expected one."""
        params = {"config": config, "expected_generation": expected_generation}
        return await self._transport.call(RealmConfig, "config/set", **params)

    async def config_patch(self, patch: JsonObject, *, expected_generation: int | None = None) -> RealmConfig:
        """Change the realm's config by a merge patch (RFC 7396); None removes a key."""
        params = {"patch": patch, "expected_generation": expected_generation}
        return await self._transport.call(RealmConfig, "config/patch", **params)

    async def realms(self) -> list[RealmRow]:
        """All realms of the server."""
        return (await self._transport.call(RealmList, "realm/list")).realms

    async def realm(self, realm_id: str) -> RealmInfo:
        """One realm, with its size and the processes that use it."""
        return await self._transport.call(RealmInfo, "realm/get", realm_id=realm_id)

    # ---- everything else

    @property
    def library(self) -> AsyncLibrary:
        """What the archive knows: sessions, events, search, usage, files, observations. Sends no request."""
        return AsyncLibrary(self._transport)

    async def journey(self, *, user_id: str | None = None) -> AsyncJourney:
        """The journey of a person, created if there is none. Without a `user_id`, a new journey."""
        return AsyncJourney(
            self._transport, await self._transport.call(JourneyInfo, "journey/get_or_create", user_id=user_id)
        )

    async def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> ToolResult:
        """Call a tool, as an agent would. An error of the tool is a result too, with `is_error`."""
        return await self._transport.call_tool(name, arguments)

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Call any JSON-RPC method by its name."""
        return await self._transport.call_method(method, params)


def _session_params(
    labels: Mapping[str, str] | None,
    runner: str | None,
    command: Sequence[str] | None,
    user_id: str | None,
    journey_id: str | None,
) -> dict[str, Any]:
    chosen = {"runner": runner, "command": as_list(command)}
    return {"labels": as_dict(labels), **chosen, "user_id": user_id, "journey_id": journey_id}
