"""HTTP/1.1 as far as a client of one server needs it: connections are used again, and bodies come piece by piece."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from ssl import SSLContext, create_default_context
from urllib.parse import urlsplit

from recollect.client._rpc import CHUNK
from recollect.client._token import find_token
from recollect.client._wire import CONNECT_S
from recollect.client.errors import ConnectionLost, lost

IDLE_S = 4.0  # seconds that a connection may rest here: most servers let it go after five, and would not hear us
MOST_IDLE = 16
LEAVE_S = 1.0  # seconds for the other end to take leave in
BODILESS = (204, 304)


class NoHttp(ValueError):
    """What came is no HTTP."""


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.rests_since: float | None = None  # None while it was never used

    def is_fresh(self) -> bool:
        """Whether the other end is likely to hear us."""
        rested = time.monotonic() - self.rests_since if self.rests_since is not None else 0.0
        return rested < IDLE_S and not self._reader.at_eof() and not self._writer.is_closing()

    async def ask(self, request: bytes) -> tuple[int, Mapping[str, str]]:
        """Send a request; status and headers of its answer."""
        self._writer.write(request)
        await self._writer.drain()
        while (head := await self._head())[0] < 200:
            pass  # what is told in between is for those who asked for it
        return head

    async def _head(self) -> tuple[int, Mapping[str, str]]:
        try:
            first, *rest = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").rstrip("\r\n").split("\r\n")
        except asyncio.LimitOverrunError:
            raise NoHttp("a head without an end") from None
        except asyncio.IncompleteReadError as torn:
            if torn.partial:
                raise NoHttp("a torn head") from None
            raise
        version, _, status = first.partition(" ")
        if not version.startswith("HTTP/1.") or not status[:3].isdigit():
            raise NoHttp(first[:200])
        named = (line.partition(":") for line in rest)
        headers = {name.strip().lower(): value.strip() for name, _, value in named}
        if version == "HTTP/1.0":
            headers.setdefault("connection", "close")
        return int(status[:3]), headers

    async def body(self, status: int, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
        if status in BODILESS:
            return
        if "chunked" in headers.get("transfer-encoding", "").lower():
            async for part in self._chunks():
                yield part
        elif "content-length" in headers:
            left = _number(headers["content-length"], 10)
            while left:
                part = await self._reader.read(min(left, CHUNK))
                if not part:
                    raise asyncio.IncompleteReadError(b"", left)
                left -= len(part)
                yield part
        else:
            while part := await self._reader.read(CHUNK):
                yield part

    async def _chunks(self) -> AsyncIterator[bytes]:
        while size := _number((await self._line()).partition(b";")[0].decode("latin-1").strip(), 16):
            yield await self._reader.readexactly(size)
            await self._reader.readexactly(2)
        while await self._line():
            pass  # trailers

    async def _line(self) -> bytes:
        try:
            return (await self._reader.readuntil(b"\r\n"))[:-2]
        except asyncio.LimitOverrunError:
            raise NoHttp("a line without an end") from None

    def abort(self) -> None:
        self._writer.transport.abort()

    async def close(self) -> None:
        self._writer.close()
        try:
            async with asyncio.timeout(LEAVE_S):
                await self._writer.wait_closed()
        except OSError:  # TimeoutError is one: then without a word
            self.abort()


def _number(text: str, base: int) -> int:
    try:
        number = int(text, base)
    except ValueError:
        number = -1
    if number < 0:
        raise NoHttp(f"{text[:40]!r} is no length")
    return number


class Exchange:
    """An answer under way."""

    def __init__(self, connection: Connection, status: int, headers: Mapping[str, str]) -> None:
        self.status = status
        self.headers = headers
        self.is_whole = False  # all of it has been read
        self._body = connection.body(status, headers)

    async def parts(self, silence_s: float | None = None) -> AsyncIterator[bytes]:
        """As they come. A server that says nothing for so long is taken for gone."""
        while (part := await self._next(silence_s)) is not None:
            yield part
        self.is_whole = True

    async def _next(self, silence_s: float | None) -> bytes | None:
        try:
            async with asyncio.timeout(silence_s):
                return await anext(self._body, None)
        except TimeoutError:
            raise lost(f"the server said nothing for {silence_s:g} s") from None

    async def read(self) -> bytes:
        return b"".join([part async for part in self.parts()])

    def can_go_on(self) -> bool:
        """Whether its connection may carry another one."""
        has_end = "content-length" in self.headers or "transfer-encoding" in self.headers or self.status in BODILESS
        return self.is_whole and has_end and self.headers.get("connection", "").lower() != "close"


class Http:
    """One server, and the connections to it."""

    def __init__(self, url: str, token: str | None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"{url!r} is no address such as http://127.0.0.1:7377")
        if token is not None and not (token.isascii() and token.isprintable()):
            raise ValueError("a token is printable ASCII")
        self.url = url.rstrip("/")
        self._host = parts.hostname
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._ssl: SSLContext | None = create_default_context() if parts.scheme == "https" else None
        self._path = parts.path.rstrip("/")
        self._headers = f"host: {parts.netloc.rpartition('@')[2]}\r\nuser-agent: recollect-python\r\n"
        token = token or find_token(self._host, self._port)
        if token is not None:
            self._headers += f"authorization: Bearer {token}\r\n"
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()
        self.is_closed = False

    @asynccontextmanager
    async def exchange(self, verb: str, target: str, body: bytes | None, headers: str) -> AsyncIterator[Exchange]:
        """Ask, with more headers. Whatever becomes of the connection meanwhile is `ConnectionLost`."""
        request = self._request(verb, target, body, headers)
        connection: Connection | None = None
        exchange: Exchange | None = None
        try:
            connection, status, told = await self._asked(request, is_safe=verb == "GET")
            exchange = Exchange(connection, status, told)
            yield exchange
        except NoHttp as reason:
            raise lost(f"{self.url} said what is no HTTP: {reason}") from None
        except (OSError, EOFError) as reason:
            raise self._lost(reason) from reason
        finally:
            if connection is not None:
                self._put_back(connection, is_usable=exchange is not None and exchange.can_go_on())

    def _request(self, verb: str, target: str, body: bytes | None, headers: str) -> bytes:
        head = f"{verb} {self._path}{target} HTTP/1.1\r\n{self._headers}{headers}"
        if body is not None or verb not in ("GET", "DELETE"):
            head += f"content-type: application/json\r\ncontent-length: {len(body or b'')}\r\n"
        return head.encode("ascii") + b"\r\n" + (body or b"")

    async def _asked(self, request: bytes, *, is_safe: bool) -> tuple[Connection, int, Mapping[str, str]]:
        """What only reads is asked again where a connection turns out to have been let go of meanwhile."""
        while True:
            connection = await self._connection()
            try:
                return connection, *await connection.ask(request)
            except (OSError, EOFError):
                self._put_back(connection, is_usable=False)
                if not is_safe or connection.rests_since is None or self.is_closed:
                    raise
            except BaseException:
                self._put_back(connection, is_usable=False)
                raise

    async def _connection(self) -> Connection:
        if self.is_closed:
            raise lost("the client was closed")
        while self._idle:
            connection = self._idle.pop()
            if connection.is_fresh():
                break
            connection.abort()
        else:
            connection = await self._connected()
        self._busy.add(connection)
        return connection

    async def _connected(self) -> Connection:
        try:
            async with asyncio.timeout(CONNECT_S):
                return Connection(*await asyncio.open_connection(self._host, self._port, ssl=self._ssl, limit=CHUNK))
        except TimeoutError:
            raise lost(f"{self.url}: nobody took the connection within {CONNECT_S:g} s") from None
        except (OSError, OverflowError, UnicodeError) as reason:
            raise lost(f"{self.url}: {reason}") from reason

    def _put_back(self, connection: Connection, *, is_usable: bool) -> None:
        self._busy.discard(connection)
        if is_usable and not self.is_closed and len(self._idle) < MOST_IDLE:
            connection.rests_since = time.monotonic()
            self._idle.append(connection)
        else:
            connection.abort()

    def _lost(self, reason: Exception) -> ConnectionLost:
        if self.is_closed:
            return lost("the client was closed")
        why = "the server closed the connection" if isinstance(reason, EOFError) else str(reason)
        return lost(f"{self.url}: {why}")

    async def close(self) -> None:
        self.is_closed = True
        for connection in self._busy:
            connection.abort()
        idle, self._idle = self._idle, []
        await asyncio.gather(*(connection.close() for connection in idle))
