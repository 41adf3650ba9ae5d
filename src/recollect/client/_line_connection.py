"""Connections that carry one message per line; the one over TCP."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Protocol

from recollect.client._transport import CONNECT_TIMEOUT_S
from recollect.client.errors import ConnectionLost, connection_lost

CHUNK_BYTES = 1 << 18  # per read: a long message arrives in a few reads


class LineConnection(Protocol):
    """A connection that carries one message per line."""

    name: str

    def lines(self) -> AsyncIterator[bytes]:
        """Incoming lines, until the connection ends."""

    async def wait_ended(self) -> ConnectionLost:
        """Why the connection ended."""

    async def send(self, line: bytes) -> None:
        """Send a line. Never fails: if the connection is gone, `lines` ends."""

    async def close(self) -> None: ...


async def read_chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while chunk := await reader.read(CHUNK_BYTES):
        yield chunk


async def split_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Lines without their line feed. A last line without one is incomplete and is dropped."""
    parts: list[bytes] = []  # of the current line: joined once, because a line may have many
    async for chunk in chunks:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            yield b"".join((*parts, end))
            parts = []
        parts.append(rest)


async def write_line(writer: asyncio.StreamWriter, line: bytes) -> None:
    """Write a line. Waits while the other end reads too slowly."""
    try:
        writer.write(line)
        await writer.drain()
    except (OSError, RuntimeError):  # the connection is gone; `wait_ended` says why
        pass


class TcpConnection:
    """A connection over TCP."""

    def __init__(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.name = name
        self._reader = reader
        self._writer = writer
        self._reason = "the server closed the connection"

    @classmethod
    async def connect(cls, host: str, port: int) -> "TcpConnection":
        name = f"{host}:{port}"
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                return cls(name, *await asyncio.open_connection(host, port, limit=CHUNK_BYTES))
        except TimeoutError:
            raise connection_lost(f"{name} did not accept a connection within {CONNECT_TIMEOUT_S:g} s") from None
        except (OSError, OverflowError, UnicodeError) as reason:
            raise connection_lost(f"{name}: {reason}") from reason

    async def lines(self) -> AsyncIterator[bytes]:
        try:
            async for line in split_lines(read_chunks(self._reader)):
                yield line
        except OSError as reason:
            self._reason = reason.strerror or str(reason)

    async def wait_ended(self) -> ConnectionLost:
        await self.close()
        return connection_lost(f"{self.name}: {self._reason}")

    async def send(self, line: bytes) -> None:
        await write_line(self._writer, line)

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
