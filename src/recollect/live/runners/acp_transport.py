"""The transport to an ACP agent: JSON-RPC messages over its pipes, one per line.

Agents also print banners and warnings there: such lines are skipped, and shown if the turn fails. An invalid message ends
the connection, because it may be an answer that a request waits for. The SDK's own transport skips both, writes them to
the log of the whole program, and accepts lines of any length.
"""

import asyncio
import json
import subprocess
from contextlib import suppress
from typing import Any

from recollect.live.runners.process import STDERR_SIZE

MAX_LINE = 50_000_000  # bytes of one message: a few images
SHOWN = 200  # bytes of an invalid line that are shown
MAX_NOISE = 1_000_000  # bytes of consecutive lines that are not messages; a program that writes more does not speak ACP
MAX_UNREAD = 1_000  # answers that an agent may leave unread while it sends more requests
DRAIN_S = 0.3  # seconds to read the rest of a finished agent's pipes; its children may hold them open for ever
EXIT_S = 0.5  # seconds that an agent has to exit by itself after its input is closed
POLL_S = 0.02  # seconds between two checks whether it still runs
CLOSED_INPUT, CLOSED_OUTPUT = "closed its input", "closed its output"  # an agent that exits does this, too
INVALID_MESSAGE = "wrote an invalid message"


class AcpTransport:
    """Sends and receives messages, as the SDK expects of a transport. Opened inside a running event loop."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.failure = ""  # what the agent did that ended the connection
        self.shown_line = ""  # the line that ended it, or the last skipped one since the last message
        self._process = process
        self._noise = 0
        self._stderr = _StderrTail()
        self._sending = 0

    async def open(self) -> None:
        loop, process = asyncio.get_running_loop(), self._process
        self._lines = asyncio.StreamReader(limit=MAX_LINE)
        flow = asyncio.StreamReaderProtocol(asyncio.StreamReader())  # applies back-pressure to writes
        to_agent, _ = await loop.connect_write_pipe(lambda: flow, process.stdin)
        self._input = asyncio.StreamWriter(to_agent, flow, None, loop)
        self._output, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self._lines), process.stdout)
        self._error, _ = await loop.connect_read_pipe(lambda: self._stderr, process.stderr)
        self._watching = asyncio.create_task(self._watch())

    async def send(self, message: dict[str, Any]) -> None:
        if self._sending >= MAX_UNREAD:
            self.fail("sends requests but does not read the answers")
            return
        self._sending += 1
        try:
            if self._input.is_closing():  # otherwise asyncio warns of every further message
                raise BrokenPipeError
            self._input.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
            await self._input.drain()
        except ConnectionError:
            if "id" in message and "method" in message:  # only our requests must arrive
                self.fail(CLOSED_INPUT)
        finally:
            self._sending -= 1

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None if there are no more."""
        await asyncio.sleep(0)  # handles the previous message first: keeps the order, and leaves a flood in the pipe
        while (line := await self._read_line()) is not None:
            try:
                message = _parse(line)
            except ValueError:
                self._show(line)
                self.fail(INVALID_MESSAGE)
                return None
            if message is not None:
                self._noise, self.shown_line = 0, ""
                return message
            self._skip(line)
        return None

    async def _read_line(self) -> bytes | None:
        """The next line; None if there are no more."""
        try:
            line = b"" if self.failure else await self._lines.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            self.fail(f"wrote a line of more than {MAX_LINE // 1_000_000} MB")
        except (asyncio.IncompleteReadError, OSError):
            self.fail(CLOSED_OUTPUT)
        return None if self.failure else line

    def _skip(self, line: bytes) -> None:
        if line.strip():
            self._show(line)
        self._noise += len(line)
        if self._noise > MAX_NOISE:
            self.fail("writes a lot but no valid message")

    def _show(self, line: bytes) -> None:
        self.shown_line = line[:SHOWN].decode("utf-8", "replace").strip()

    def fail(self, reason: str) -> None:
        """Stop reading from this agent. The first reason counts."""
        self.failure = self.failure or reason
        self._output.close()

    async def close_input(self) -> None:
        """Close the agent's input and let it exit by itself: it may have to save its session."""
        self._input.close()
        await self._wait_for_exit(EXIT_S)

    async def wait_for_details(self) -> dict[str, Any]:
        """Details of a lost connection. An agent that is about to exit gets a moment to explain on standard error."""
        await self._wait_for_exit(DRAIN_S)
        return self.details()

    def details(self) -> dict[str, Any]:
        details: dict[str, Any] = {"stderr": self._stderr.text()}
        if (code := self._process.poll()) is not None:
            details["exit_code"] = code
        return details | ({"line": self.shown_line} if self.shown_line else {})

    async def close(self) -> None:
        self._watching.cancel()
        if not self._input.is_closing():
            self._input.transport.abort()  # closing would wait for an agent that does not read
        self._output.close()
        self._error.close()

    async def _wait_for_exit(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stderr.ended.wait()
                while self._process.poll() is None:
                    await asyncio.sleep(POLL_S)

    async def _watch(self) -> None:
        while self._process.poll() is None:
            await asyncio.sleep(POLL_S)
        await asyncio.sleep(DRAIN_S)
        self._output.close()


class _StderrTail(asyncio.Protocol):
    """The last bytes that an agent writes to standard error."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self._end = b""

    def text(self) -> str:
        return self._end.decode("utf-8", "replace")

    def data_received(self, data: bytes) -> None:
        self._end = (self._end + data)[-STDERR_SIZE:]

    def connection_lost(self, reason: Exception | None) -> None:
        self.ended.set()


def _parse(line: bytes) -> dict[str, Any] | None:
    """The message in a line; None if the line is not a message. Raises `ValueError` if it is an invalid message.

    The SDK relies on the shape that is checked here.
    """
    try:
        message = json.loads(line)
        if b"\\ud" in line.lower():  # half a surrogate pair, from agents that cut text by UTF-16
            message = json.loads(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        message = None
    match message:
        case {"method": str()} if isinstance(message.get("id"), int | str | None):
            return dict(message)
        case {"id": int() | str() | None} if "method" not in message and isinstance(message.get("error"), dict | None):
            return dict(message)
        case {"method": _} | {"id": _, "result": _} | {"id": _, "error": _}:
            raise ValueError(INVALID_MESSAGE)
    if b'"jsonrpc"' in line:
        raise ValueError(INVALID_MESSAGE)
    return None
