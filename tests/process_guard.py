"""Tests that start processes are marked `process`: one that is not, and starts one, fails."""

import os
import subprocess
from collections.abc import Callable
from typing import Any

MARKER = "process"
_current: list[str] = []  # the test that runs, where it must not start a process

_started: list[str] = []


class StartedProcess(AssertionError):
    """A test started a process and does not say so."""


def forbid(test: str) -> None:
    """From now on, until `allow`, whatever starts a process fails."""
    _current[:] = [test]


def allow() -> None:
    _current.clear()


def check() -> None:
    """Fail also where the code under test took the error for one of its own."""
    while _started:
        raise _error(_started.pop())


def _error(test: str) -> StartedProcess:
    return StartedProcess(f"{test} starts a process: mark it with @pytest.mark.{MARKER}")


def _guarded(start: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(*given: Any, **named: Any) -> Any:
        if _current:
            _started.extend(_current)
            raise _error(_current[0])
        return start(*given, **named)

    return guarded


def install() -> None:
    """Every way in which Python code starts a process here. asyncio and anyio go through `Popen` too."""
    subprocess.Popen.__init__ = _guarded(subprocess.Popen.__init__)  # type: ignore[method-assign]
    os.posix_spawn = _guarded(os.posix_spawn)
    os.fork = _guarded(os.fork)
