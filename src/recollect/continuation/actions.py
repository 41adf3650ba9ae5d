"""The tool calls of a turn in one line each, as a person would tell them."""

import os.path
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from recollect.label import label
from recollect.model import Kind
from recollect.observe.commands import shell_command
from recollect.observe.files import argument_paths, display_path, patched_paths
from recollect.store import EventRow

MAX_WORDS = 200  # characters of a command or a query
MAX_PATHS = 4  # of one call
INTO_FOLDER = re.compile(r"^cd (\S+) && ")


def describe_actions(events: Sequence[EventRow], folder: str | None) -> list[str]:
    """The tool calls of a turn. Equal ones in a row are one line; those that name nothing are left out."""
    failed = {event.answers for event in events if event.kind is Kind.TOOL_RESPONSE and event.has_failed()}
    lines = [line for event in events if (line := _describe(event, folder, has_failed=event.seq in failed))]
    return [f"{line} ({count} times)" if count > 1 else line for line, count in _count_equal(lines)]


def _describe(event: EventRow, folder: str | None, *, has_failed: bool) -> str:
    if event.kind is not Kind.TOOL_CALL or event.own:
        return ""
    arguments = event.arguments()
    words = _command(shell_command(arguments), folder) or ", ".join(_paths(arguments, folder)) or _first_text(arguments)
    mark = " (failed)" if has_failed else ""
    return f"{event.tool or 'tool'}{mark}: {label(words, MAX_WORDS)}" if words else ""


def _command(command: str, folder: str | None) -> str:
    """A command without the change into the session's own folder."""
    into = INTO_FOLDER.match(command)
    is_own = into is not None and folder is not None and os.path.normpath(into[1]) == os.path.normpath(folder)
    return command[into.end() :] if into is not None and is_own else command


def _paths(arguments: dict[str, object], folder: str | None) -> list[str]:
    paths = [*argument_paths(arguments)] or [*patched_paths(arguments)]
    return [shown for path in paths[:MAX_PATHS] if (shown := display_path(path, "", folder))]


def _first_text(arguments: dict[str, object]) -> str:
    return next((value for value in arguments.values() if isinstance(value, str) and value.strip()), "")


def _count_equal(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    return ((line, len(list(equal))) for line, equal in groupby(lines))
