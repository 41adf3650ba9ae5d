"""What a tool call did to one file, by the log alone."""

import json
import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

Counts = tuple[int | None, int | None]  # lines added, lines removed


class Change(NamedTuple):
    """A change of a file. Lines are None where the log does not tell them."""

    log: str
    tool: str
    path: str
    operation: str
    asked: Counts = (None, None)  # lines by the arguments of the call
    recorded: Counts = (None, None)  # lines by what the agent recorded of the result


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a log. A line may hold several, and the last one may be incomplete."""
    decoder = json.JSONDecoder()
    for line in path.read_bytes().decode("utf-8", "replace").split("\n"):
        rest = line.strip()
        while rest:
            try:
                value, end = decoder.raw_decode(rest)
            except ValueError:
                break
            rest = rest[end:].strip()
            if isinstance(value, dict):
                yield value


def inner(line: dict[str, Any], name: str) -> dict[str, Any]:
    """The object in a field; empty if the field has another value."""
    value = line.get(name)
    return value if isinstance(value, dict) else {}


def relative(path: str, folder: str | None) -> str:
    """A path inside a folder, relative to it. `~` is the home folder that contains the folder."""
    home = re.match(r"/(?:home|Users)/[^/]+|/root", folder or "")
    if path.startswith("~/") and home:
        path = home[0] + path[1:]
    if not folder:
        return posixpath.normpath(path)
    if re.match(r"[A-Za-z]:[\\/]", folder):
        path, folder = path.replace("\\", "/"), folder.replace("\\", "/")
    whole = posixpath.normpath(path if re.match(r"/|[A-Za-z]:/", path) else posixpath.join(folder, path))
    root = posixpath.normpath(folder)
    return whole[len(root) + 1 :] if whole.startswith(root.rstrip("/") + "/") else whole


def lines_in(text: str) -> int:
    """The lines of a whole file."""
    lines = text.split("\n")
    return len(lines) - (lines[-1] == "")


def signs(lines: Iterable[str]) -> tuple[int, int]:
    """The lines that begin with a plus and with a minus."""
    found = [line[:1] for line in lines]
    return found.count("+"), found.count("-")


def diff_signs(diff: str) -> tuple[int, int]:
    """The lines that a unified diff of one file adds and removes. Its header is what is before the first hunk."""
    lines = diff.split("\n")
    first = next((place for place, line in enumerate(lines) if line.startswith("@@")), 0)
    return signs(lines[first:])


def replaced(old: str, new: str) -> tuple[int, int]:
    """The lines of a replacement of one text by another."""
    before, after = old.split("\n") if old else [], new.split("\n") if new else []
    if new == "" and old.endswith("\n"):
        before.pop()
    if old == "" and new.endswith("\n"):
        after.pop()
    return compared(before, after)


def compared(before: list[str], after: list[str]) -> tuple[int, int]:
    """(added, removed) lines, by the longest common subsequence."""
    row = [0] * (len(after) + 1)
    for line in before:
        last = row
        row = [0]
        for place, other in enumerate(after):
            row.append(last[place] + 1 if line == other else max(last[place + 1], row[place]))
    return len(after) - row[-1], len(before) - row[-1]


def envelope(patch: str) -> Iterator[tuple[str, str, Counts]]:
    """(path, operation, lines) of each file of an `apply_patch` envelope. A rename is a deletion and a creation."""
    for part in re.split(r"^(?=\*\*\* (?:Add|Update|Delete) File: )", patch, flags=re.MULTILINE)[1:]:
        head, *body = part.split("\n")
        verb, _, path = head[4:].partition(" File: ")
        moved = body[0][13:].strip() if body and body[0].startswith("*** Move to: ") else ""
        operation = {"Add": "created", "Update": "changed", "Delete": "deleted"}[verb]
        counts = hunks(body)
        if moved:
            yield path.strip(), "deleted", (None, None)
        yield moved or path.strip(), "created" if moved else operation, (None, None) if operation == "deleted" else counts


def hunks(lines: Iterable[str]) -> tuple[int, int]:
    """The lines of hunks without line numbers, each compared on its own: a model removes lines and adds them again."""
    added = removed = 0
    old, new = list[str](), list[str]()
    for line in [*lines, "@@"]:
        if line.startswith("@@"):
            more, less = compared(old, new)
            added, removed, old, new = added + more, removed + less, [], []
        elif not line.startswith("*** "):
            old += [line[1:]] if line[:1] in {" ", "-"} else []
            new += [line[1:]] if line[:1] in {" ", "+"} else []
    return added, removed
