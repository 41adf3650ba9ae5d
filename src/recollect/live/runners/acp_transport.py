"""The pipes of an agent, as messages of JSON-RPC, a line each.

Agents also print banners and warnings there: such lines are passed over, and shown where the conversation fails. What is
meant as a message and is none ends it, since somebody may wait for that message for ever. The SDK's own pipes pass over
both, telling the log of the whole program, and take lines of any length. When it has ended, `broken` says why.
"""

import asyncio
import json
import subprocess
from contextlib import suppress
from typing import Any

from recollect.live.runners.process import STDERR_SIZE

MAX_LINE = 50_000_000  # bytes of one message: a few images
SHOWN = 200  # bytes of a line that is shown because it is no message
MAX_NOISE = 1_000_000  # bytes of lines one after another that are no messages: who writes more does not speak the protocol
MAX_UNREAD = 1_000  # answers that an agent may leave unread while it asks on
DRAIN_S = 0.3  # seconds that what a finished agent left in its pipes may take; its children may hold them open for ever
EXIT_S = 0.5  # seconds that an agent has to end by itself once nobody speaks to it any more
POLL_S = 0.02  # seconds between two looks at whether it still runs
CLOSED_INPUT, CLOSED_OUTPUT = "closed its input", "closed its output"  # what an agent does that ends, among others
INVALID_MESSAGE = "wrote a line that is no message of the protocol"


class AcpTransport:
    """What the SDK calls a transport: it sends and receives messages. Opened inside a running loop."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.failure = ""  # what the agent did that ended the conversation
        self.shown_line = ""  # the line by which it did, or the last one behind its last message
        self._process = process
        self._noise = 0
        self._stderr = _StderrTail()
        self._sending = 0

    async def open(self) -> None:
        loop, process = asyncio.get_running_loop(), self._process
        self._lines = asyncio.StreamReader(limit=MAX_LINE)
        flow = asyncio.StreamReaderProtocol(asyncio.StreamReader())  # knows when what is written has to wait
        to_agent, _ = await loop.connect_write_pipe(lambda: flow, process.stdin)
        self._input = asyncio.StreamWriter(to_agent, flow, None, loop)
        self._output, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self._lines), process.stdout)
        self._error, _ = await loop.connect_read_pipe(lambda: self._stderr, process.stderr)
        self._watching = asyncio.create_task(self._watch())

    async def send(self, message: dict[str, Any]) -> None:
        if self._sending >= MAX_UNREAD:
            self.fail("asks and asks but reads no answer")
            return
        self._sending += 1
        try:
            if self._input.is_closing():  # else asyncio would warn of every further message
                raise BrokenPipeError
            self._input.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
            await self._input.drain()
        except ConnectionError:
            if "id" in message and "method" in message:  # nothing else of ours needs to be heard
                self.fail(CLOSED_INPUT)
        finally:
            self._sending -= 1

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None where there will be no more."""
        await asyncio.sleep(0)  # the message before is dealt with first: order is kept, and a flood stays in the pipe
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
        """The next line; None where nothing more is heard."""
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
            self.fail("writes and writes but no message of the protocol")

    def _show(self, line: bytes) -> None:
        self.shown_line = line[:SHOWN].decode("utf-8", "replace").strip()

    def fail(self, reason: str) -> None:
        """Hear nothing more from this agent. The first reason is the one that counts."""
        self.failure = self.failure or reason
        self._output.close()

    async def close_input(self) -> None:
        """Let an agent end by itself: it may still have its session to save."""
        self._input.close()
        await self._wait_for_exit(EXIT_S)

    async def wait_for_details(self) -> dict[str, Any]:
        """What explains the end of a conversation: an agent that is about to go has a moment to say it."""
        await self._wait_for_exit(DRAIN_S)
        return self.details()

    def details(self) -> dict[str, Any]:
        said: dict[str, Any] = {"stderr": self._stderr.text()}
        if (code := self._process.poll()) is not None:
            said["exit_code"] = code
        return said | ({"line": self.shown_line} if self.shown_line else {})

    async def close(self) -> None:
        self._watching.cancel()
        if not self._input.is_closing():
            self._input.transport.abort()  # to close it would be to wait for an agent that leaves things unread
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
    """The end of what an agent writes to standard error."""

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
    """The message of a line, if it has the shape that the SDK takes for granted; None, if it was not meant as one.
    Raises `ValueError` where it was."""
    try:
        message = json.loads(line)
        if b"\\ud" in line.lower():  # half a character, as agents write that cut text by UTF-16
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
