"""Requests under way, of all connections of a server: quick ones take turns, one that may take long gets its own thread."""

import logging
import queue
import threading
from collections.abc import Callable

QUICK = 4  # quick requests that run side by side: more would only take turns at one interpreter
MOST_LONG = 512  # turns at once: each is a thread here and mostly a program beside it
IDLE_S = 10.0  # seconds that a thread waits for the next job: it has connections open that a new one would have to open
ANSWERED_WITHIN_S = 30.0  # seconds for what was asked before the server was told to end
ENDED_WITHIN_S = 15.0  # seconds in which all turns have ended once they are unwanted; a program has 5 of them

Job = Callable[[], None]

log = logging.getLogger(__name__)


class ThreadPool:
    def __init__(self) -> None:
        self._unwanted = threading.Event()
        self._quick = _Threads(QUICK, "quick")
        self._long = _Threads(MOST_LONG, "long")

    def is_unwanted(self) -> bool:
        """Whether turns that still run are to end: the server does."""
        return self._unwanted.is_set()

    def take(self, job: Job, *, is_long: bool) -> bool:
        """Do what is quick when it is its turn, what is long at once; False where too much of that is under way already, or
        the server is about to end."""
        if self.is_unwanted():
            return False
        return self._long.take(job, may_wait=False) if is_long else self._quick.take(job, may_wait=True)

    def rests(self, seconds: float) -> bool:
        """Wait for all that is quick, and so many seconds for the rest; False where that took longer."""
        return self._quick.rests(ANSWERED_WITHIN_S) and self._long.rests(seconds)

    def finish(self) -> None:
        """Answer what is quick, interrupt what is long, and wait for both."""
        self._unwanted.set()
        self.rests(ENDED_WITHIN_S)


class _Threads:
    """Threads that are started when there is work for them, up to so many, and end when there is none for long."""

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._threads = 0
        self._unfinished = 0  # jobs, begun or not
        self._changed = threading.Condition()

    def take(self, job: Job, *, may_wait: bool) -> bool:
        """Have a job done; False where all threads are at work and it may not wait for one."""
        with self._changed:
            if self._unfinished >= self._threads and not self._has_grown() and not (may_wait and self._threads):
                return False
            self._unfinished += 1
            self._jobs.put(job)
        return True

    def _has_grown(self) -> bool:
        if self._threads >= self._most:
            return False
        try:
            threading.Thread(target=self._work, daemon=True, name=self._name).start()
        except RuntimeError:  # the system gives no more threads
            return False
        self._threads += 1
        return True

    def rests(self, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._unfinished, seconds)

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                job()
            except BaseException:  # even what is no Exception: the next job waits for this thread
                log.exception("A job broke off")
            with self._changed:
                self._unfinished -= 1
                self._changed.notify_all()

    def _next(self) -> Job | None:
        """The next job; None when none came for long, and none is on its way to this thread."""
        while True:
            try:
                return self._jobs.get(timeout=IDLE_S)
            except queue.Empty:
                with self._changed:
                    if self._unfinished < self._threads:
                        self._threads -= 1
                        return None
