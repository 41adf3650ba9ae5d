"""Tests that start processes are marked `process`: an unmarked test that starts one fails."""

import os
import subprocess
from collections.abc import Callable
from typing import Any

MARKER = "process"
_current: list[str] = []  # the running test, if it must not start a process

_started: list[str] = []


class StartedProcess(AssertionError):
    """An unmarked test started a process."""


def forbid(test: str) -> None:
    """Until `allow` is called, every start of a process fails."""
    _current[:] = [test]


def allow() -> None:
    _current.clear()


def check() -> None:
    """Fail also if the code under test caught the error."""
    while _started:
        raise _error(_started.pop())


def _error(test: str) -> StartedProcess:
    return StartedProcess(f"{test} starts a process: mark it with @pytest.mark.{MARKER}")


def _guarded(start: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(*args: Any, **kwargs: Any) -> Any:
        if _current:
            _started.extend(_current)
            raise _error(_current[0])
        return start(*args, **kwargs)

    return guarded


def install() -> None:
    """Guard every way in which Python code starts a process here. asyncio and anyio use `Popen` too."""
    subprocess.Popen.__init__ = _guarded(subprocess.Popen.__init__)  # type: ignore[method-assign]
    os.posix_spawn = _guarded(os.posix_spawn)
    os.fork = _guarded(os.fork)
