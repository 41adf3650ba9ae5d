"""Shows on a terminal what a command does that takes longer than a second."""

import sys
import time
from typing import Any, Self

SHOWN_AFTER_S = 1.0


class StepProgress:
    """The current step and how much of it is done. Prints nothing unless standard error is a terminal."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def update(self, what: str, done: int, total: int) -> None:
        """Show a step, with a bar if its `total` is known and not 0."""
        if self._bar is None:
            if time.monotonic() - self._began < SHOWN_AFTER_S or not sys.stderr.isatty():
                return
            self._open()
        self._bar.update(self._task, description=what, completed=done, total=total or None)

    def _open(self) -> None:
        # 5 ms of CPU, only needed to draw progress
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("", total=None)
        self._bar.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
