"""The pipes of an agent, as messages of JSON-RPC, a line each.

The SDK's own pipes pass over a line that is no message, telling the log of the whole program, and take lines of any length.
Here the first such line ends the conversation, and `broken` says why.
"""

import asyncio
import json
import subprocess
from contextlib import suppress
from typing import Any

from recollect.runners._process import COMPLAINT

LINE = 50_000_000  # bytes of one message: a few images
SHOWN = 200  # characters of a line that is shown because it is no message
UNREAD = 1_000  # answers that an agent may leave unread while it asks on
DRAIN_S = 0.3  # seconds that what a finished agent left in its pipes may take; its children may hold them open for ever
LEAVE_S = 0.5  # seconds that an agent has to end by itself once nobody speaks to it any more
POLL_S = 0.02  # seconds between two looks at whether it still runs
DEAF, MUTE = "closed its input", "closed its output"  # what an agent does that ends, among others


class Wire:
    """What the SDK calls a transport: it sends and receives messages. Opened inside a running loop."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.broken = ""  # what the agent did that ended the conversation
        self.shown = ""  # the line by which it did
        self._process = process
        self._complaint = _Complaint()
        self._sending = 0

    async def open(self) -> None:
        loop, process = asyncio.get_running_loop(), self._process
        self._lines = asyncio.StreamReader(limit=LINE)
        flow = asyncio.StreamReaderProtocol(asyncio.StreamReader())  # knows when what is written has to wait
        to_agent, _ = await loop.connect_write_pipe(lambda: flow, process.stdin)
        self._input = asyncio.StreamWriter(to_agent, flow, None, loop)
        self._output, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self._lines), process.stdout)
        self._error, _ = await loop.connect_read_pipe(lambda: self._complaint, process.stderr)
        self._watching = asyncio.create_task(self._watch())

    async def send(self, message: dict[str, Any]) -> None:
        if self._sending >= UNREAD:
            self.give_up("asks and asks but reads no answer")
            return
        self._sending += 1
        try:
            if self._input.is_closing():  # else asyncio would warn of every further message
                raise BrokenPipeError
            self._input.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
            await self._input.drain()
        except ConnectionError:
            if "id" in message and "method" in message:  # nothing else of ours needs to be heard
                self.give_up(DEAF)
        finally:
            self._sending -= 1

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None where there will be no more."""
        await asyncio.sleep(0)  # the message before is dealt with first: order is kept, and a flood stays in the pipe
        line = b""
        while not line.strip() and not self.broken:
            try:
                line = await self._lines.readuntil(b"\n")
            except asyncio.LimitOverrunError:
                self.give_up(f"wrote a line of more than {LINE // 1_000_000} MB")
            except (asyncio.IncompleteReadError, OSError):
                self.give_up(MUTE)
        if self.broken:
            return None
        message = _message(line)
        if message is None:
            self.shown = line[:SHOWN].decode("utf-8", "replace").strip()
            self.give_up("wrote a line that is no message of the protocol")
        return message

    def give_up(self, reason: str) -> None:
        """Hear nothing more from this agent. The first reason is the one that counts."""
        self.broken = self.broken or reason
        self._output.close()

    async def leave(self) -> None:
        """Let an agent end by itself: it may still have its session to save."""
        self._input.close()
        await self._gone(LEAVE_S)

    async def last_words(self) -> dict[str, Any]:
        """What explains the end of a conversation: an agent that is about to go has a moment to say it."""
        await self._gone(DRAIN_S)
        return self.details()

    def details(self) -> dict[str, Any]:
        said: dict[str, Any] = {"stderr": self._complaint.text()}
        if (code := self._process.poll()) is not None:
            said["exit_code"] = code
        return said | ({"line": self.shown} if self.shown else {})

    async def close(self) -> None:
        self._watching.cancel()
        for transport in (self._input, self._output, self._error):
            transport.close()

    async def _gone(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._complaint.ended.wait()
                while self._process.poll() is None:
                    await asyncio.sleep(POLL_S)

    async def _watch(self) -> None:
        while self._process.poll() is None:
            await asyncio.sleep(POLL_S)
        await asyncio.sleep(DRAIN_S)
        self._output.close()


class _Complaint(asyncio.Protocol):
    """The end of what an agent writes to standard error."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self._end = b""

    def text(self) -> str:
        return self._end.decode("utf-8", "replace")

    def data_received(self, data: bytes) -> None:
        self._end = (self._end + data)[-COMPLAINT:]

    def connection_lost(self, reason: Exception | None) -> None:
        self.ended.set()


def _message(line: bytes) -> dict[str, Any] | None:
    """The message of a line, if it has the shape that the SDK takes for granted."""
    try:
        message = json.loads(line)
        if b"\\ud" in line.lower():  # half a character, as agents write that cut text by UTF-16
            message = json.loads(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    match message:
        case {"method": str()} if isinstance(message.get("id"), int | str | None):
            return dict(message)
        case {"id": int() | str() | None} if "method" not in message and isinstance(message.get("error"), dict | None):
            return dict(message)
    return None
