"""Requests under way, of all connections of a server: quick ones take turns, one that may take long gets its own thread."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

QUICK = 8  # quick requests that run side by side
MOST_LONG = 512  # turns at once: each is a thread here and mostly a program beside it
ENDED_WITHIN_S = 15.0  # seconds in which all turns have ended once they are unwanted; a program has 5 of them

Job = Callable[[], None]


class Work:
    def __init__(self) -> None:
        self._unwanted = threading.Event()
        self._quick = ThreadPoolExecutor(QUICK, "quick")
        self._long: set[threading.Thread] = set()
        self._changing = threading.Lock()

    def is_unwanted(self) -> bool:
        """Whether turns that still run are to end: the server does."""
        return self._unwanted.is_set()

    def soon(self, job: Job) -> "Future[None] | None":
        """Begin when it is its turn; None where the server is about to end."""
        with self._changing:
            return None if self.is_unwanted() else self._quick.submit(job)

    def beside(self, job: Job) -> bool:
        """Begin at once, in a thread of its own; False where there are too many already, or the server is about to end."""

        def run() -> None:
            try:
                job()
            finally:
                with self._changing:
                    self._long.discard(threading.current_thread())

        thread = threading.Thread(target=run, daemon=True, name="long")
        with self._changing:
            if self.is_unwanted() or len(self._long) >= MOST_LONG:
                return False
            self._long.add(thread)
            try:
                thread.start()
            except RuntimeError:  # the system gives no more threads
                self._long.discard(thread)
                return False
        return True

    def finish(self) -> None:
        """Answer what is quick, interrupt what is long, and wait for both."""
        with self._changing:
            self._unwanted.set()
        self._quick.shutdown()
        until = time.monotonic() + ENDED_WITHIN_S
        with self._changing:
            running = list(self._long)
        for thread in running:
            thread.join(max(0.0, until - time.monotonic()))
