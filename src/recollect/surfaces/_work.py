"""Requests under way, of all connections of a server: quick ones take turns, one that may take long gets its own thread."""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

QUICK = 4  # quick requests that run side by side: more would only take turns at one interpreter
MOST_LONG = 512  # turns at once: each is a thread here and mostly a program beside it
IDLE_S = 10.0  # seconds that a thread waits for the next turn: it has connections open that a new one would have to open
ENDED_WITHIN_S = 15.0  # seconds in which all turns have ended once they are unwanted; a program has 5 of them

Job = Callable[[], None]


class Work:
    def __init__(self) -> None:
        self._unwanted = threading.Event()
        self._quick = ThreadPoolExecutor(QUICK, "quick")
        self._long: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._idle = 0  # threads that wait for something long, beyond what is promised to them
        self._running = 0
        self._changed = threading.Condition()

    def is_unwanted(self) -> bool:
        """Whether turns that still run are to end: the server does."""
        return self._unwanted.is_set()

    def soon(self, job: Job) -> "Future[None] | None":
        """Begin when it is its turn; None where the server is about to end."""
        with self._changed:
            return None if self.is_unwanted() else self._quick.submit(job)

    def beside(self, job: Job) -> bool:
        """Begin at once, in a thread that has nothing else to do; False where there are too many, or the server ends."""
        with self._changed:
            if self.is_unwanted() or self._running >= MOST_LONG:
                return False
            if self._idle:
                self._idle -= 1
            else:
                try:
                    threading.Thread(target=self._work, daemon=True, name="long").start()
                except RuntimeError:  # the system gives no more threads
                    return False
            self._running += 1
            self._long.put(job)
        return True

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                job()
            finally:
                with self._changed:
                    self._running -= 1
                    self._idle += 1
                    self._changed.notify_all()

    def _next(self) -> Job | None:
        """The next job; None when none came for long, unless one is on its way."""
        while True:
            try:
                return self._long.get(timeout=IDLE_S)
            except queue.Empty:
                with self._changed:
                    if self._idle:
                        self._idle -= 1
                        return None

    def finish(self) -> None:
        """Answer what is quick, interrupt what is long, and wait for both."""
        with self._changed:
            self._unwanted.set()
        self._quick.shutdown()
        with self._changed:
            self._changed.wait_for(lambda: not self._running, ENDED_WITHIN_S)
