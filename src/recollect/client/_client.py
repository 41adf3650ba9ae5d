"""The client for those who wait: `AsyncClient` in a thread of its own. Any thread may use it."""

import atexit
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

from recollect.client._async_client import AsyncClient, Opening
from recollect.client._http import SILENCE_S
from recollect.client._journey import Journey
from recollect.client._loop import LoopThread
from recollect.client._session import DeferredSession, Session, StartedSession
from recollect.client.errors import ConnectionLost
from recollect.client.results import (
    ArchiveResult,
    HistoryPage,
    JsonObject,
    RealmConfig,
    RealmInfo,
    RealmRow,
    ServerInfo,
    SessionState,
    ToolResult,
)


class Client:
    """Turns of different sessions run side by side when different threads ask for them."""

    def __init__(self, loop: LoopThread, client: AsyncClient) -> None:
        self._loop = loop
        self._client = client
        atexit.register(self.close)  # a server that we started must not outlive us

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
    ) -> "Client":
        """Start a server of our own, in a fresh realm unless one is named. It ends with `close`, or with us.

        `home` is the state folder, `cwd` where agents work, `env` what is another than in our environment (None takes a
        name away), and `command` a program, with its first arguments, to start instead of this one.
        """
        opening = AsyncClient.spawn(
            realm,
            isolated=isolated,
            backend=backend,
            instance=instance,
            home=home,
            cwd=cwd,
            env=env,
            command=command,
        )
        return cls._opened(opening)

    @classmethod
    def connect(cls, host: str, port: int, token: str | None = None) -> "Client":
        """Use a server that runs already, over TCP. The token of one on this machine is found without being given."""
        return cls._opened(AsyncClient.connect(host, port, token))

    @classmethod
    def http(cls, url: str, token: str | None = None, *, silence_s: float = SILENCE_S) -> "Client":
        """Use a server that runs already, over HTTP. The token of one on this machine is found without being given.

        A server that says nothing for `silence_s` while a turn runs is gone.
        """
        return cls._opened(AsyncClient.http(url, token, silence_s=silence_s))

    @classmethod
    def _opened(cls, opening: Opening) -> "Client":
        loop = LoopThread()
        try:
            return cls(loop, loop.run(opening))
        except BaseException:
            loop.close()
            raise

    @property
    def server(self) -> ServerInfo:
        """What the server tells of itself, such as its realm."""
        return self._client.server

    def close(self) -> None:
        """Let go of the server; one of our own ends, and its running turns are interrupted."""
        atexit.unregister(self.close)
        try:
            with suppress(ConnectionLost):  # it is closed already
                self._loop.run(self._client.close())
        finally:
            self._loop.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # ---- sessions

    def create_session(
        self,
        prompt: str,
        *,
        labels: Mapping[str, str] | None = None,
        runner: str | None = None,
        command: Sequence[str] | None = None,
        user_id: str | None = None,
        journey_id: str | None = None,
    ) -> StartedSession:
        """Make a session and run its first turn. Where that fails the session is there; the error has its `session_id`.

        `runner` is `recall` (default: answers from the realm's own history), `command`, `acp`, or a name from the realm's
        config; `command` is a program and its arguments, for `command` and `acp`. Both are kept for later turns.
        """
        session = self._client.create_session(
            prompt, labels=labels, runner=runner, command=command, user_id=user_id, journey_id=journey_id
        )
        return StartedSession(self._loop, self._loop.run(session))

    def create_deferred_session(
        self,
        *,
        labels: Mapping[str, str] | None = None,
        runner: str | None = None,
        command: Sequence[str] | None = None,
        user_id: str | None = None,
        journey_id: str | None = None,
    ) -> DeferredSession:
        """Make a session and run nothing yet."""
        session = self._client.create_deferred_session(
            labels=labels, runner=runner, command=command, user_id=user_id, journey_id=journey_id
        )
        return DeferredSession(self._loop, self._loop.run(session))

    def session(self, session_id: str) -> Session:
        """A session that exists already. Nothing is asked yet."""
        return Session(self._loop, self._client.session(session_id))

    def list_sessions(
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
        return self._loop.run(self._client.list_sessions(labels=labels, imported=imported, offset=offset, limit=limit))

    def read_session(self, session_id: str) -> SessionState:
        """State and usage of a session."""
        return self._loop.run(self._client.read_session(session_id))

    def read_session_history(self, session_id: str, *, offset: int | None = None, limit: int | None = None) -> HistoryPage:
        """Some of the committed messages of a session, oldest first; also of an archived one."""
        return self._loop.run(self._client.read_session_history(session_id, offset=offset, limit=limit))

    def archive_session(self, session_id: str) -> ArchiveResult:
        """End a session for good: hidden from lists, no more turns. Its history stays."""
        return self._loop.run(self._client.archive_session(session_id))

    # ---- the realm

    def config_get(self) -> RealmConfig:
        return self._loop.run(self._client.config_get())

    def config_set(self, config: JsonObject, *, expected_generation: int | None = None) -> RealmConfig:
        """Replace the realm's config; where it is of another generation than expected, `GenerationConflict`."""
        return self._loop.run(self._client.config_set(config, expected_generation=expected_generation))

    def config_patch(self, patch: JsonObject, *, expected_generation: int | None = None) -> RealmConfig:
        """Change the realm's config by a merge patch (RFC 7396): None takes a key away."""
        return self._loop.run(self._client.config_patch(patch, expected_generation=expected_generation))

    def realms(self) -> list[RealmRow]:
        """All realms here."""
        return self._loop.run(self._client.realms())

    def realm(self, realm_id: str) -> RealmInfo:
        """What a realm is and holds."""
        return self._loop.run(self._client.realm(realm_id))

    # ---- everything else

    def journey(self, *, user_id: str | None = None) -> Journey:
        """A person's journey, made when it is first asked for; without a person, a new one."""
        return Journey(self._loop, self._loop.run(self._client.journey(user_id=user_id)))

    def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> ToolResult:
        """Call a tool, as an agent would. What it refuses is an answer too, with `is_error`."""
        return self._loop.run(self._client.call_tool(name, arguments))

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Any method of the server, by its name on the wire."""
        return self._loop.run(self._client.request(method, params))
