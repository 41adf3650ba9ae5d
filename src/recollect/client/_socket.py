"""A server that runs already, over TCP."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from recollect.client._rpc import CHUNK, cut, put
from recollect.client._wire import CONNECT_S
from recollect.client.errors import ConnectionLost, lost


class SocketLines:
    def __init__(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.name = name
        self._reader = reader
        self._writer = writer
        self._why = "the server closed the connection"

    @classmethod
    async def connect(cls, host: str, port: int) -> "SocketLines":
        name = f"{host}:{port}"
        try:
            async with asyncio.timeout(CONNECT_S):
                return cls(name, *await asyncio.open_connection(host, port, limit=CHUNK))
        except TimeoutError:
            raise lost(f"{name}: nobody took the connection within {CONNECT_S:g} s") from None
        except (OSError, OverflowError, UnicodeError) as reason:
            raise lost(f"{name}: {reason}") from reason

    async def lines(self) -> AsyncIterator[bytes]:
        try:
            async for line in cut(self._reader):
                yield line
        except OSError as reason:
            self._why = reason.strerror or str(reason)

    async def end(self) -> ConnectionLost:
        await self.close()
        return lost(f"{self.name}: {self._why}")

    async def send(self, line: bytes) -> None:
        await put(self._writer, line)

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
