"""A server that this client starts: `recollect rpc` as a child process, connected by its pipes."""

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, SubprocessStreamProtocol
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recollect import SELF_COMMAND
from recollect.client._line_connection import CHUNK_BYTES, read_chunks, split_lines, write_line
from recollect.client.errors import ConnectionLost, connection_lost

STDERR_BYTES = 4_096  # of standard error that are stored: its end says what went wrong
DRAIN_S = 1.0  # to read the rest of a dead server's output; a child process of it may hold the pipes open for ever
EXIT_TIMEOUT_S = 25.0  # a server first ends its turns and sends its responses, which takes at most 20 seconds
IDLE_EXIT_S = 0.5  # an idle server exits within this when its input closes; a busy one then gets SIGTERM


@dataclass(frozen=True, slots=True, kw_only=True)
class SpawnOptions:
    """Which server to start, and in which realm it works."""

    realm: str | None = None
    isolated: bool = False
    backend: str | None = None
    instance: str | None = None
    home: str | os.PathLike[str] | None = None
    cwd: str | os.PathLike[str] | None = None
    env: Mapping[str, str | None] | None = None
    command: Sequence[str] | None = None
    exit_timeout_s: float = EXIT_TIMEOUT_S

    def command_line(self) -> list[str]:
        values = {"--realm": self.realm, "--realm-backend": self.backend, "--instance": self.instance}
        options = [word for name, value in values.items() if value is not None for word in (name, value)]
        return [*(self.command or SELF_COMMAND), "rpc", *options, *(["--isolated"] if self.isolated else [])]

    def environment(self) -> dict[str, str]:
        """Our environment, changed by `env`; None removes a variable."""
        env = {**os.environ, **(self.env or {})}
        if self.home is not None:
            env["RECOLLECT_HOME"] = str(Path(self.home).absolute())
        return {name: value for name, value in env.items() if value is not None}


class ProcessPipes(SubprocessStreamProtocol):
    """The pipes of a process, and a future for its exit.

    asyncio's own `wait` does not return while a child of the process holds a pipe open.
    """

    def __init__(self) -> None:
        self.exited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        super().__init__(limit=CHUNK_BYTES, loop=asyncio.get_running_loop())

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set_result(None)


class ChildConnection:
    """A connection to a child process, by its pipes."""

    def __init__(self, process: asyncio.SubprocessTransport, pipes: ProcessPipes, name: str, exit_timeout_s: float) -> None:
        assert pipes.stdin and pipes.stdout and pipes.stderr
        self.name = name
        self._process = process
        self._exited = pipes.exited
        self._stdin, self._stdout = pipes.stdin, pipes.stdout
        self._exit_timeout_s = exit_timeout_s
        self._stderr_end = b""
        self._reading_stderr = asyncio.create_task(self._read_stderr(pipes.stderr))
        self._is_closing = False

    @classmethod
    async def start(cls, options: SpawnOptions) -> "ChildConnection":
        program, *arguments = options.command_line()
        try:
            process, pipes = await asyncio.get_running_loop().subprocess_exec(
                ProcessPipes,
                program,
                *arguments,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env=options.environment(),
                cwd=options.cwd,
                start_new_session=True,  # Ctrl-C goes to our program only, which decides when its server ends
            )
        except (OSError, ValueError) as reason:
            raise connection_lost(f"{program} cannot be started: {reason}") from reason
        return cls(process, pipes, program if options.command else "recollect", options.exit_timeout_s)

    async def lines(self) -> AsyncIterator[bytes]:
        """All lines of the output. Ends `DRAIN_S` after the exit, even if a child of the process still holds the pipe."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None) as limit:
                self._exited.add_done_callback(lambda _: _end_soon(limit))
                async for line in split_lines(read_chunks(self._stdout)):
                    yield line

    async def wait_ended(self) -> ConnectionLost:
        """Why the server exited. A server that has closed its output is useless, so this also ends it."""
        if not self._is_closing and not await _finishes_within(DRAIN_S, self._exited):
            await self.close()
        await _finishes_within(self._exit_timeout_s + 2 * DRAIN_S, self._exited)
        await _finishes_within(DRAIN_S, self._reading_stderr)
        self._reading_stderr.cancel()
        self._process.close()
        return self._exit_error()

    async def send(self, line: bytes) -> None:
        await write_line(self._stdin, line)

    async def close(self) -> None:
        """Close the server's input and wait for its exit. A server that does not exit gets SIGTERM, then SIGKILL."""
        self._is_closing = True
        self._stdin.close()
        try:
            if await _finishes_within(min(IDLE_EXIT_S, self._exit_timeout_s), self._exited):
                return
            self._signal(signal.SIGTERM)
            await _finishes_within(self._exit_timeout_s, self._exited)
        finally:  # also if this task was cancelled while it waited
            if not self._exited.done():
                self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def _read_stderr(self, stderr: asyncio.StreamReader) -> None:
        async for chunk in read_chunks(stderr):
            self._stderr_end = (self._stderr_end + chunk)[-STDERR_BYTES:]

    def _exit_error(self) -> ConnectionLost:
        code = self._process.get_returncode()
        number = -code if code is not None and code < 0 else None
        how = f"was ended by signal {number}" if number is not None else f"exited with code {code}"
        stderr = self._stderr_end.decode("utf-8", "replace").strip()
        last_line = f": {stderr.splitlines()[-1]}" if stderr else ""
        details = {"exit_code": None if number is not None else code, "signal": number, "stderr": stderr}
        return connection_lost(f"{self.name} {how}{last_line}", details)


async def _finishes_within(seconds: float, awaited: Awaitable[None]) -> bool:
    try:
        await asyncio.wait_for(asyncio.shield(awaited), seconds)
    except TimeoutError:
        return False
    return True


def _end_soon(limit: asyncio.Timeout) -> None:
    with contextlib.suppress(RuntimeError):  # reading has already ended
        limit.reschedule(asyncio.get_running_loop().time() + DRAIN_S)
