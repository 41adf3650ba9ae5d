"""Shows output that is longer than a screen in the person's pager: `PAGER`, else less."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOBase
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from recollect.surfaces.cli.render import SafeConsole, console

Function = TypeVar("Function", bound=Callable[..., Any])

LESS_OPTIONS = "FRX"  # end at once if all fits on a screen, show colours, leave the text on the terminal: as git does
NO_PAGER = ("", "cat")  # values of PAGER that mean none
WITH_COLOURS = ("less", "bat", "moar", "moor", "most", "ov")  # pagers that show colours; others print escape codes


def pager_option(function: Function) -> Function:
    text = "Print everything at once, without a pager."
    return click.option("--no-pager", "has_pager", flag_value=False, default=True, type=bool, help=text)(function)


def pager_command() -> list[str] | None:
    """The words of the command that shows long output; None if there is none, or nobody reads at a terminal."""
    if not sys.stdout.isatty() or not sys.stdin.isatty():
        return None
    chosen = os.environ.get("PAGER", "less").strip()
    words = [] if chosen in NO_PAGER else shlex.split(chosen)
    if not words or shutil.which(words[0]) is None:
        return None
    return [*words, "-R"] if words == ["less"] else words


@contextmanager
def paged(*, has_pager: bool = True) -> Iterator[Console]:
    """A console. On a terminal, output of more than one screen goes to a pager as it is printed."""
    command = pager_command() if has_pager else None
    if command is None:
        yield console()
        return
    screen = shutil.get_terminal_size()
    stream = _PagedStream(command, screen.lines)
    is_coloured = Path(command[0]).name in WITH_COLOURS
    shown = SafeConsole(
        file=stream,  # type: ignore[arg-type]
        force_terminal=True,
        no_color=None if is_coloured else True,
        width=screen.columns,
        highlight=False,
        soft_wrap=False,
        emoji=False,
    )
    with suppress(BrokenPipeError), stream:  # the person has left the pager
        yield shown


class _PagedStream(TextIOBase):
    """Keeps a screen of text. What is more than that starts the pager."""

    def __init__(self, command: list[str], lines: int) -> None:
        self._command, self._room = command, lines - 1  # the shell's prompt takes one
        self._kept: list[str] = []
        self._pager: subprocess.Popen[str] | None = None

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self._pager is None:
            self._kept.append(text)
            self._room -= text.count("\n")
            if self._room < 0:
                self._start()
        else:
            self._send(text)
        return len(text)

    def close(self) -> None:
        if self.closed:
            return
        if self._pager is None:
            sys.stdout.write("".join(self._kept))
            sys.stdout.flush()
        else:
            with suppress(BrokenPipeError, KeyboardInterrupt):
                assert self._pager.stdin is not None
                self._pager.stdin.close()
            self._wait(self._pager)
        super().close()

    def _start(self) -> None:
        env = {"LESS": LESS_OPTIONS, "LESSCHARSET": "utf-8", **os.environ}
        self._pager = subprocess.Popen(self._command, stdin=subprocess.PIPE, env=env, text=True, errors="replace")
        self._send("".join(self._kept))

    def _send(self, text: str) -> None:
        assert self._pager is not None and self._pager.stdin is not None
        self._pager.stdin.write(text)
        self._pager.stdin.flush()

    def _wait(self, pager: subprocess.Popen[str]) -> None:
        """Wait until the person leaves the pager. An interrupt is the pager's own key."""
        while pager.returncode is None:
            with suppress(KeyboardInterrupt):
                pager.wait()
