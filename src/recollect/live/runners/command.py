"""`command`: any program that reads a prompt on standard input and writes an answer on standard output."""

import codecs
import math
import os
import selectors
import subprocess
import time
from collections.abc import Generator, Iterator

from recollect.errors import AgentFault
from recollect.live.runners.context import injected_context, prompt_with_context
from recollect.live.runners.process import STDERR_SIZE, describe_exit, failure_message, running_process, stop
from recollect.live.runners.runner import AnswerText, Assignment, Output

CHUNK = 65_536  # bytes of an answer per output
DRAIN_S = 0.3  # seconds to read the rest of a finished program's pipes; its children may hold them open for ever
MAX_DRAIN_S = 2.0  # seconds after which reading ends even if those children still write
POLL_S = 0.05  # seconds between two checks of a program, where the system has no pidfd


def run(assignment: Assignment) -> Generator[Output, None, None]:
    """The program's output as it comes. Cancelling ends it with everything it started."""
    with running_process(assignment) as process, assignment.cancel.on_cancel(lambda: stop(process)):
        io = _ProcessIO(process, _input(assignment).encode("utf-8", "replace"))
        yield from injected_context(assignment)
        yield from (AnswerText(text) for text in io.read_output() if text)
        code = process.wait()
    if code != 0 and not assignment.cancel.is_set():
        stderr = io.stderr_text()
        raise AgentFault(failure_message(assignment.command[0], describe_exit(code), stderr), exit_code=code, stderr=stderr)


def _input(assignment: Assignment) -> str:
    """The prompt. A program has no memory: a session that goes on with another one also passes what came before."""
    return prompt_with_context(assignment) if assignment.is_continuation or assignment.context else assignment.prompt


class _ProcessIO:
    """Writes the prompt to a program and reads its output, without threads."""

    def __init__(self, process: "subprocess.Popen[bytes]", prompt: bytes) -> None:
        assert process.stdin and process.stdout and process.stderr
        self._process = process
        self._in, self._out, self._error = process.stdin.fileno(), process.stdout.fileno(), process.stderr.fileno()
        self._prompt = memoryview(prompt)
        self._stderr_tail = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._selector = selectors.DefaultSelector()
        for stream in (self._in, self._out, self._error):
            os.set_blocking(stream, False)
        self._selector.register(self._in, selectors.EVENT_WRITE)
        self._selector.register(self._out, selectors.EVENT_READ)
        self._selector.register(self._error, selectors.EVENT_READ)

    def stderr_text(self) -> str:
        return self._stderr_tail.decode("utf-8", "replace")

    def read_output(self) -> Iterator[str]:
        """The program's standard output as text, until it ends."""
        pidfd = _pidfd(self._process.pid)
        if pidfd is not None:
            self._selector.register(pidfd, selectors.EVENT_READ)
        try:
            yield from self._pump(pidfd)
            yield self._decoder.decode(b"", final=True)
        finally:
            self._selector.close()
            if pidfd is not None:
                os.close(pidfd)

    def _pump(self, pidfd: int | None) -> Iterator[str]:
        """Runs until stdout and stderr are closed, or the program has ended and its pipes are empty."""
        has_ended, deadline = False, math.inf
        while self._open_streams() & {self._out, self._error}:
            timeout = DRAIN_S if has_ended else POLL_S if pidfd is None else None
            ready = [key.fd for key, _ in self._selector.select(timeout)]
            if (has_ended and not ready) or time.monotonic() > deadline:
                return
            for stream in ready:
                if stream == pidfd:
                    has_ended = True
                    self._selector.unregister(stream)
                elif stream == self._in:
                    self._write_prompt()
                else:
                    yield self._read(stream)
            has_ended = has_ended or (pidfd is None and self._process.poll() is not None)
            deadline = min(deadline, time.monotonic() + MAX_DRAIN_S) if has_ended else deadline

    def _open_streams(self) -> set[int]:
        return {key.fd for key in self._selector.get_map().values()}

    def _write_prompt(self) -> None:
        try:
            self._prompt = self._prompt[os.write(self._in, self._prompt[:CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # the program closed its input
            self._prompt = self._prompt[:0]
        if not self._prompt:
            self._selector.unregister(self._in)
            assert self._process.stdin
            self._process.stdin.close()

    def _read(self, stream: int) -> str:
        try:
            chunk = os.read(stream, CHUNK)
        except BlockingIOError:
            return ""
        if not chunk:
            self._selector.unregister(stream)
        if stream == self._error:
            self._stderr_tail = (self._stderr_tail + chunk)[-STDERR_SIZE:]
            return ""
        return self._decoder.decode(chunk)


def _pidfd(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends; None if the system has none."""
    pidfd_open = getattr(os, "pidfd_open", None)
    try:
        return int(pidfd_open(pid)) if pidfd_open is not None else None
    except OSError:
        return None
