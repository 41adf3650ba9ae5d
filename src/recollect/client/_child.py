"""A server of our own: `recollect rpc` as a child process, spoken to over its pipes."""

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, SubprocessStreamProtocol
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recollect import OURS
from recollect.client._rpc import CHUNK, cut, put
from recollect.client.errors import ConnectionLost, lost

COMPLAINT = 4_096  # bytes of standard error that are kept: its end says what went wrong
DRAIN_S = 1.0  # seconds for what a dead server left in its pipes; a child of its may hold them open for ever
LEAVE_S = 25.0  # seconds to leave in: a server first ends its turns and writes its answers, 20 seconds at most
REST_S = 0.5  # seconds to leave in for one that is at rest; one that runs turns is told to end them


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawn:
    """Which server to start, and in which realm it works."""

    realm: str | None = None
    isolated: bool = False
    backend: str | None = None
    instance: str | None = None
    home: str | os.PathLike[str] | None = None
    cwd: str | os.PathLike[str] | None = None
    env: Mapping[str, str | None] | None = None
    command: Sequence[str] | None = None
    leave_s: float = LEAVE_S

    def words(self) -> list[str]:
        """The command line."""
        named = {"--realm": self.realm, "--realm-backend": self.backend, "--instance": self.instance}
        options = [word for name, value in named.items() if value is not None for word in (name, value)]
        return [*(self.command or OURS), "rpc", *options, *(["--isolated"] if self.isolated else [])]

    def environment(self) -> dict[str, str]:
        """Ours, with what was given; None takes a name away."""
        env = {**os.environ, **(self.env or {})}
        if self.home is not None:
            env["RECOLLECT_HOME"] = str(Path(self.home).absolute())
        return {name: value for name, value in env.items() if value is not None}


class Watched(SubprocessStreamProtocol):
    """Pipes, and word of the end of a process: asyncio's own `wait` goes on while a child of its holds a pipe open."""

    def __init__(self) -> None:
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        super().__init__(limit=CHUNK, loop=asyncio.get_running_loop())

    def process_exited(self) -> None:
        super().process_exited()
        self.gone.set_result(None)


class ChildLines:
    def __init__(self, process: asyncio.SubprocessTransport, pipes: Watched, name: str, leave_s: float) -> None:
        assert pipes.stdin and pipes.stdout and pipes.stderr
        self.name = name
        self._process = process
        self._gone = pipes.gone
        self._in, self._out = pipes.stdin, pipes.stdout
        self._leave_s = leave_s
        self._complaint = b""
        self._listening = asyncio.create_task(self._listen(pipes.stderr))
        self._closing = False

    @classmethod
    async def start(cls, given: Spawn) -> "ChildLines":
        program, *arguments = given.words()
        try:
            process, pipes = await asyncio.get_running_loop().subprocess_exec(
                Watched,
                program,
                *arguments,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env=given.environment(),
                cwd=given.cwd,
                start_new_session=True,  # Ctrl-C means a program; what becomes of its server is for the program to say
            )
        except (OSError, ValueError) as reason:
            raise lost(f"{program} cannot be started: {reason}") from reason
        return cls(process, pipes, program if given.command else "recollect", given.leave_s)

    async def lines(self) -> AsyncIterator[bytes]:
        """Until its end, or a second after the process is gone, if a child of its still holds the pipe."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None) as patience:
                self._gone.add_done_callback(lambda _: _shorten(patience))
                async for line in cut(self._out):
                    yield line

    async def end(self) -> ConnectionLost:
        """It has closed its output, so it is of no use to anybody: it ends now, by itself or not."""
        if not self._closing and not await _within(DRAIN_S, self._gone):
            await self.close()
        await _within(self._leave_s + 2 * DRAIN_S, self._gone)
        await _within(DRAIN_S, self._listening)
        self._listening.cancel()
        self._process.close()
        return self._told()

    async def send(self, line: bytes) -> None:
        await put(self._in, line)

    async def close(self) -> None:
        """Let it leave; a server that does not want to is made to."""
        self._closing = True
        self._in.close()
        try:
            if await _within(min(REST_S, self._leave_s), self._gone):
                return
            self._signal(signal.SIGTERM)
            await _within(self._leave_s, self._gone)
        finally:  # also of one who was cancelled while waiting
            if not self._gone.done():
                self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def _listen(self, stderr: asyncio.StreamReader) -> None:
        while said := await stderr.read(CHUNK):
            self._complaint = (self._complaint + said)[-COMPLAINT:]

    def _told(self) -> ConnectionLost:
        code = self._process.get_returncode()
        number = -code if code is not None and code < 0 else None
        ended = f"was ended by signal {number}" if number is not None else f"exited with code {code}"
        said = self._complaint.decode("utf-8", "replace").strip()
        last = f": {said.splitlines()[-1]}" if said else ""
        details = {"exit_code": None if number is not None else code, "signal": number, "stderr": said}
        return lost(f"{self.name} {ended}{last}", details)


async def _within(seconds: float, what: Awaitable[None]) -> bool:
    """Whether it came to pass in that time."""
    try:
        await asyncio.wait_for(asyncio.shield(what), seconds)
    except TimeoutError:
        return False
    return True


def _shorten(patience: asyncio.Timeout) -> None:
    with contextlib.suppress(RuntimeError):  # all lines have come
        patience.reschedule(asyncio.get_running_loop().time() + DRAIN_S)
