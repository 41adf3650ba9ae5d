"""Threads for the requests of all connections: a few for quick requests, and one for each that may take long."""

import logging
import queue
import threading
from collections.abc import Callable

QUICK_THREADS = 4  # more threads would only compete for the interpreter
LONG_THREADS = 512  # turns at once: each has a thread here, and most have a program
IDLE_S = 10.0  # seconds that a thread waits for its next job: a new thread would have to open its connections again
QUICK_TIMEOUT_S = 30.0  # seconds for quick requests that were submitted before the server stops
LONG_TIMEOUT_S = 15.0  # seconds for turns to end after they were cancelled; a program has 5 of them

OVERLOADED = "this server takes no more requests now"  # the error when `submit` returns False

Job = Callable[[], None]

log = logging.getLogger(__name__)


class ThreadPool:
    """Runs quick jobs on a few threads in order, and long jobs on a thread each."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._quick = _Workers(QUICK_THREADS, "quick")
        self._long = _Workers(LONG_THREADS, "long")

    def is_stopping(self) -> bool:
        """Whether running turns should end because the server stops."""
        return self._stopping.is_set()

    def submit(self, job: Job, *, is_long: bool) -> bool:
        """Run a quick job when a thread is free, a long one at once. False if there are too many, or the pool is ending."""
        if self.is_stopping():
            return False
        return self._long.submit(job, may_wait=False) if is_long else self._quick.submit(job, may_wait=True)

    def wait(self, seconds: float) -> bool:
        """Wait for all quick jobs, and this many seconds for the long ones. False if that took too long."""
        return self._quick.wait(QUICK_TIMEOUT_S) and self._long.wait(seconds)

    def finish(self) -> None:
        """Cancel the long jobs, and wait for all jobs to end."""
        self._stopping.set()
        self.wait(LONG_TIMEOUT_S)


class _Workers:
    """Up to `max_threads` threads. They start when there are jobs for them, and end after some idle time."""

    def __init__(self, max_threads: int, name: str) -> None:
        self._max_threads = max_threads
        self._name = name
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._threads = 0
        self._unfinished = 0  # jobs, waiting or running
        self._changed = threading.Condition()

    def submit(self, job: Job, *, may_wait: bool) -> bool:
        """Queue a job. False if all threads are busy and the job may not wait."""
        with self._changed:
            if self._unfinished >= self._threads and not self._start_thread() and not (may_wait and self._threads):
                return False
            self._unfinished += 1
            self._jobs.put(job)
        return True

    def _start_thread(self) -> bool:
        if self._threads >= self._max_threads:
            return False
        try:
            threading.Thread(target=self._work, daemon=True, name=self._name).start()
        except RuntimeError:  # the system's limit of threads
            return False
        self._threads += 1
        return True

    def wait(self, seconds: float) -> bool:
        """Wait until all jobs are finished. False if that took longer."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._unfinished, seconds)

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                job()
            except BaseException:  # not only Exception: this thread must continue with the next job
                log.exception("A job failed")
            with self._changed:
                self._unfinished -= 1
                self._changed.notify_all()

    def _next(self) -> Job | None:
        """The next job; None after some idle time, unless a job for this thread was just queued."""
        while True:
            try:
                return self._jobs.get(timeout=IDLE_S)
            except queue.Empty:
                with self._changed:
                    if self._unfinished < self._threads:
                        self._threads -= 1
                        return None
