"""Opens a client's connection: starts a server, or connects to a running one over TCP or HTTP."""

from collections.abc import Awaitable, Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from recollect.client._child_process import ChildConnection, SpawnOptions
from recollect.client._http_transport import HttpTransport
from recollect.client._line_connection import LineConnection, TcpConnection
from recollect.client._rpc_transport import RpcTransport
from recollect.client._token import find_token
from recollect.client._transport import Transport


class Closable(Protocol):
    async def close(self) -> None: ...


ClientType = TypeVar("ClientType", bound=Closable)


class Opening(Awaitable[ClientType], Generic[ClientType]):
    """A client that is not connected yet: `await` it, or use it in `async with`."""

    def __init__(self, client: Callable[[Transport], ClientType], opening: Coroutine[Any, Any, Transport]) -> None:
        self._make_client = client
        self._opening = opening

    def __await__(self) -> Generator[Any, None, ClientType]:
        return self._make_client((yield from self._opening.__await__()))

    async def __aenter__(self) -> ClientType:
        self._client = await self
        return self._client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._client.close()


async def spawn_server(options: SpawnOptions) -> Transport:
    return await _start_rpc(await ChildConnection.start(options), lambda: None)


async def connect_tcp(host: str, port: int, token: str | None) -> Transport:
    return await _start_rpc(await TcpConnection.connect(host, port), lambda: token or find_token(host, port))


async def _start_rpc(connection: LineConnection, token: Callable[[], str | None]) -> Transport:
    transport = RpcTransport(connection)
    try:
        await transport.handshake(token())
    except BaseException:  # also after a cancel: a server that we started must not stay behind
        await transport.close()
        raise
    return transport


async def connect_http(url: str, token: str | None, silence_s: float) -> Transport:
    transport = HttpTransport(url, token, silence_s)
    try:
        await transport.handshake()
    except BaseException:
        await transport.close()
        raise
    return transport
