"""`command`: any program that reads a prompt on standard input and writes an answer on standard output."""

import codecs
import math
import os
import selectors
import subprocess
import time
from collections.abc import Generator, Iterator

from recollect.errors import AgentFault
from recollect.live.runners.process import COMPLAINT, ending, running, sentence, stop
from recollect.live.runners.runner import AnswerText, Assignment, Output

CHUNK = 65_536  # bytes of an answer that are passed on at once
DRAIN_S = 0.3  # seconds that what a finished program left in its pipes may take; its children may hold them open for ever
LAST_S = 2.0  # seconds after which nothing more is heard of them, however much they write
POLL_S = 0.05  # seconds between two looks at a program, where the system cannot tell of its end


def run(given: Assignment) -> Generator[Output, None, None]:
    """The program's output as it comes. It is ended with all that it started when the turn is cancelled."""
    with running(given) as process, given.cancel.calling(lambda: stop(process)):
        talk = _Talk(process, given.prompt.encode("utf-8", "replace"))
        yield from (AnswerText(text) for text in talk.answers() if text)
        code = process.wait()
    if code != 0 and not given.cancel.is_set():
        complaint = talk.complaint()
        raise AgentFault(sentence(given.command[0], ending(code), complaint), exit_code=code, stderr=complaint)


class _Talk:
    """What goes to and comes from a program, without a thread of its own."""

    def __init__(self, process: "subprocess.Popen[bytes]", prompt: bytes) -> None:
        assert process.stdin and process.stdout and process.stderr
        self._process = process
        self._in, self._out, self._error = process.stdin.fileno(), process.stdout.fileno(), process.stderr.fileno()
        self._prompt = memoryview(prompt)
        self._complaint = b""
        self._pieces = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting = selectors.DefaultSelector()
        for stream in (self._in, self._out, self._error):
            os.set_blocking(stream, False)
        self._waiting.register(self._in, selectors.EVENT_WRITE)
        self._waiting.register(self._out, selectors.EVENT_READ)
        self._waiting.register(self._error, selectors.EVENT_READ)

    def complaint(self) -> str:
        return self._complaint.decode("utf-8", "replace")

    def answers(self) -> Iterator[str]:
        ended = _end_of(self._process.pid)
        if ended is not None:
            self._waiting.register(ended, selectors.EVENT_READ)
        try:
            yield from self._pump(ended)
            yield self._pieces.decode(b"", final=True)
        finally:
            self._waiting.close()
            if ended is not None:
                os.close(ended)

    def _pump(self, ended: int | None) -> Iterator[str]:
        """Until both ends of output are closed, or the program is gone and nothing more comes."""
        over, last = False, math.inf
        while self._open() & {self._out, self._error}:
            ready = [key.fd for key, _ in self._waiting.select(DRAIN_S if over else None if ended is not None else POLL_S)]
            if (over and not ready) or time.monotonic() > last:
                return
            for stream in ready:
                if stream == ended:
                    over = True
                    self._waiting.unregister(stream)
                elif stream == self._in:
                    self._feed()
                else:
                    yield self._take(stream)
            over = over or (ended is None and self._process.poll() is not None)
            last = min(last, time.monotonic() + LAST_S) if over else last

    def _open(self) -> set[int]:
        return {key.fd for key in self._waiting.get_map().values()}

    def _feed(self) -> None:
        try:
            self._prompt = self._prompt[os.write(self._in, self._prompt[:CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # it does not want to hear it
            self._prompt = self._prompt[:0]
        if not self._prompt:
            self._waiting.unregister(self._in)
            assert self._process.stdin
            self._process.stdin.close()

    def _take(self, stream: int) -> str:
        try:
            chunk = os.read(stream, CHUNK)
        except BlockingIOError:
            return ""
        if not chunk:
            self._waiting.unregister(stream)
        if stream == self._error:
            self._complaint = (self._complaint + chunk)[-COMPLAINT:]
            return ""
        return self._pieces.decode(chunk)


def _end_of(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends; None where there is no such thing."""
    opened = getattr(os, "pidfd_open", None)
    try:
        return int(opened(pid)) if opened is not None else None
    except OSError:
        return None
