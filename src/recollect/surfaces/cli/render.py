"""Output for people: tables, highlighted matches, relative times, IDs to copy."""

import os
import sys
import time
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from recollect.display import escape_json, neutralise
from recollect.model import timestamp
from recollect.shown_time import FIELD, marked
from recollect.surfaces.cli.local_times import local_day

KIND_STYLES = {
    "user_input": "bold green",
    "assistant_response": "cyan",
    "tool_call": "yellow",
    "tool_response": "magenta",
    "reasoning": "dim",
    "compaction": "blue",
    "system": "dim",
    "runtime": "dim",
    "unknown": "dim",
}
plain = neutralise  # text of a transcript, for a terminal
PIPED_WIDTH = 200  # columns of a pipe: wide enough that IDs and snippets stay on their lines


class SafeConsole(Console):
    """A console that neutralises all text it prints; styles stay."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=plain(segment.text))

    def on_broken_pipe(self) -> None:
        raise


def console(*, stderr: bool = False) -> Console:
    """Standard output (or standard error); plain and wide unless it is a terminal."""
    width = None if (sys.stderr if stderr else sys.stdout).isatty() else int(os.environ.get("COLUMNS", PIPED_WIDTH))
    return SafeConsole(width=width, highlight=False, soft_wrap=False, emoji=False, stderr=stderr)


def say(text: str, *, err: bool = False) -> None:
    """Print a line for a person, neutralised."""
    click.echo(plain(text), err=err)


def print_json(text: str) -> None:
    """Print JSON. Control characters are escaped, because a person may read it in a terminal."""
    click.echo(escape_json(text))


def tilde(path: str) -> str:
    """A path with `~` for the home folder."""
    home = os.environ.get("HOME", "")
    return f"~{path.removeprefix(home)}" if home and path.startswith(f"{home}/") else path


def ago(stamp: str | int | None, *, estimated: bool = False) -> str:
    """A relative time: 5 min ago, 3 h ago, 12 d ago, then the date. `~` marks an estimate."""
    if stamp is None:
        return "never"
    at = datetime.fromisoformat(stamp).timestamp() if isinstance(stamp, str) else stamp / 1000
    seconds = time.time() - at
    for limit, unit, size in ((90, "s", 1), (5_400, "min", 60), (129_600, "h", 3_600), (2_592_000, "d", 86_400)):
        if 0 <= seconds < limit:
            return marked(f"{int(seconds / size)} {unit} ago", estimated=estimated)
    return local_day(timestamp(round(at * 1000)), estimated=estimated)


def time_of(item: dict[str, Any], field: str) -> str:
    """The relative time in a field of an answer's item."""
    return ago(item[field], estimated=FIELD in item)


def size(count: float) -> str:
    """A number of bytes in a readable unit."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1024 or unit == "GB":
            return f"{count:.0f} {unit}" if unit in ("B", "KB") else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError
