"""Files as tables: those that were touched last, by project; and what sessions did to one file."""

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

from msgspec import Struct
from rich.table import Table
from rich.text import Text

from recollect.label import plural
from recollect.store import SessionRow
from recollect.surfaces.cli.render import ago, console, plain

STRENGTH = ("read", "changed", "created", "deleted")  # of several operations the last of these is shown
STYLES = {"read": "dim", "changed": "yellow", "created": "green", "deleted": "red"}
NO_PROJECT = "(no project)"
FIXED = 46  # columns of a line beside the path or the title
MIN_NAME = 16


class FileSum(Struct):
    """What sessions did to one file. `newest` is the newest access."""

    path: str
    project: str
    newest: dict[str, Any]
    operation: str
    added: int = 0
    removed: int = 0
    sessions: set[str] = set()


def sum_by_file(rows: list[dict[str, Any]]) -> list[FileSum]:
    """The files of accesses, in the order of their newest access."""
    files: dict[tuple[str, str], FileSum] = {}
    for row in rows:
        project = row["project"] or NO_PROJECT
        file = files.setdefault((project, row["path"]), FileSum(row["path"], project, row, row["operation"]))
        file.operation = max(file.operation, row["operation"], key=STRENGTH.index)
        file.added += row["lines_added"] or 0
        file.removed += row["lines_removed"] or 0
        file.sessions.add(row["session"])
    return list(files.values())


def draw_files(files: list[FileSum], shorten: Callable[[str], str], *, has_more: bool) -> None:
    """Files by project. The project with the newest file comes first."""
    out = console()
    if not files:
        out.print("No files. `recollect sync` reads the logs of your agents; --since 30d looks further back.")
        return
    for project in dict.fromkeys(file.project for file in files):
        own = [file for file in files if file.project == project]
        out.print(Text(plain(project), "bold"))
        table = _table(out.width)
        for file in own:
            table.add_row(
                shortened(plain(file.path), _name_width(out.width)),
                Text(file.operation, STYLES[file.operation]),
                lines_text(file.added, file.removed),
                Text(ago(file.newest["at"]), "dim"),
                Text(shorten(file.newest["session"]), "blue"),
            )
        out.print(table)
    notes = f"{plural(len(files), 'file')}{'; more with -n 200' if has_more else ''}. One file: recollect files PATH"
    out.print(Text(notes, "dim"))


def draw_history(answer: dict[str, Any], sessions: Mapping[str, SessionRow], shorten: Callable[[str], str]) -> None:
    """What sessions did to one file, newest first. What a session did several times in a row is one line."""
    out = console()
    rows = answer["data"]["files"]
    if not rows:
        out.print("No session that fits these filters touched the file.")
        return
    for path, project in dict.fromkeys((row["path"], row["project"] or NO_PROJECT) for row in rows):
        out.print(Text.assemble((plain(path), "bold"), (f"  {plain(project)}", "dim")))
        table = _table(out.width)
        own = [row for row in rows if (row["path"], row["project"] or NO_PROJECT) == (path, project)]
        for (identity, operation), together in groupby(own, lambda row: (row["session"], row["operation"])):
            (file,) = sum_by_file(list(together))
            session = sessions.get(identity)
            title = f"{session.source}: {session.title}" if session is not None else ""
            table.add_row(
                Text(plain(title)),
                Text(operation, STYLES[operation]),
                lines_text(file.added, file.removed),
                Text(ago(file.newest["at"]), "dim"),
                Text(shorten(identity), "blue"),
            )
        out.print(table)
    page = answer["page"]
    if page["next"] is not None:
        out.print(Text(f"{len(rows)} of {page['total']:,}; more with -n {min(200, page['total'])}.", "dim"))


def _table(width: int) -> Table:
    """A table without lines: name, operation, lines, time, session."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, overflow="ellipsis", width=_name_width(width))
    table.add_column(no_wrap=True, width=7)
    table.add_column(no_wrap=True, width=12, justify="right")
    table.add_column(no_wrap=True, width=10, justify="right")
    table.add_column(no_wrap=True, min_width=8)
    return table


def _name_width(width: int) -> int:
    return max(MIN_NAME, width - FIXED)


def lines_text(added: int | None, removed: int | None) -> Text:
    """`+12 -3`; empty if no lines are known or none changed."""
    parts = [(f"+{added:,}", "green")] if added else []
    parts += [(f"-{removed:,}", "red")] if removed else []
    return Text(" ").join(Text(*part) for part in parts)


def shortened(path: str, width: int) -> str:
    """A path of at most so many columns. Its first folders go first, because the end tells files apart."""
    if len(path) <= width:
        return path
    folders = path.split("/")
    while len(folders) > 1 and len("/".join(folders)) > width - 2:
        folders.pop(0)
    end = "/".join(folders)
    return f"…/{end}" if len(end) <= width - 2 else f"…{end[len(end) - width + 1 :]}"
