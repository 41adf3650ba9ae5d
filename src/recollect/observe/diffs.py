"""Shows an edit as a unified diff, with as much context as the call itself contains."""

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from recollect.observe.file_access import CHANGED, CREATED, DELETED, READ, WRITTEN, FileAccess, patch_accesses
from recollect.observe.file_changes import decode_arguments, requested_accesses
from recollect.observe.patches import HUNK, NO_FILE, holds_patch, read_patch
from recollect.observe.shell_files import TOUCHED

MAX_LINES = 4_000  # of a text that is compared line by line; longer texts are shown removed and added as a whole
LITERAL = re.compile(r"\"(?:[^\"\\]|\\.)*+\"|`[^`]*`|String\.raw`[^`]*`", re.DOTALL)


def unified_diff(tool: str | None, arguments: str | bytes | Mapping[str, Any] | None) -> str | None:
    """The diff of what a call edits; None if it edits nothing, or if the call does not tell how.

    Line numbers are the file's own only if the call has them; else each hunk begins with a bare `@@`.
    """
    mapping = decode_arguments(arguments)
    accesses = requested_accesses(tool, mapping) or list(_scripted_patch(mapping))
    parts = [part for access in accesses if (part := _file_diff(access))]
    return "\n".join(parts) + "\n" if parts else None


def _scripted_patch(arguments: Mapping[str, Any]) -> Iterator[FileAccess]:
    """The patch in a program that calls `apply_patch`. What it changed, the log tells in a call of its own."""
    text = arguments.get("input")
    if not isinstance(text, str) or "apply_patch" not in text:
        return
    for literal in LITERAL.findall(text):
        patch = _value(literal)
        if holds_patch(patch):
            yield from patch_accesses(read_patch(patch))


def _value(literal: str) -> str:
    if not literal.startswith('"'):
        return literal.removeprefix("String.raw")[1:-1]
    try:
        return msgspec.json.decode(literal, type=str)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return ""


def _file_diff(access: FileAccess) -> str:
    """The diff of one file, with its two headers; empty if the call does not tell what changes."""
    if access.action in {READ, TOUCHED} or access.optional or not access.path:
        return ""
    lines = _lines_of(access)
    if lines is None:
        return ""
    is_new = access.action in {CREATED, WRITTEN}
    old, new = (NO_FILE, access.path) if is_new else (access.path, NO_FILE if access.action == DELETED else access.path)
    return "\n".join([f"--- {old}", f"+++ {new}", *lines])


def _lines_of(access: FileAccess) -> list[str] | None:
    """The hunks of one access. A text that is inserted somewhere gets a hunk without line numbers."""
    if access.patch is not None:
        return _with_hunk(list(access.patch), access.action)
    if access.replacements:
        return [line for old, new in access.replacements for line in _hunks(old, new)] or None
    if access.content is not None:
        return _with_hunk(_signed("-" if access.action == DELETED else "+", access.content), access.action)
    return [] if access.action == DELETED else None


def _with_hunk(lines: list[str], action: str) -> list[str]:
    """Hunks that begin with `@@`. Only a whole file has line numbers: others would be invented."""
    if not lines or lines[0].startswith("@@"):
        return lines
    if action == DELETED:
        return [f"@@ -1,{len(lines)} +0,0 @@", *lines]
    return ["@@" if action == CHANGED else f"@@ -0,0 +1,{len(lines)} @@", *lines]


def _signed(sign: str, text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    return [sign + line for line in lines]


def _hunks(old: str, new: str) -> Iterator[str]:
    """The hunks of one replacement. Their line numbers count from the start of the replaced text, so they are dropped."""
    before, after = ([line[1:] for line in _signed(" ", text)] for text in (old, new))
    if len(before) > MAX_LINES or len(after) > MAX_LINES:
        yield from ("@@", *_signed("-", old), *_signed("+", new))
        return
    for line in list(difflib.unified_diff(before, after, n=3, lineterm=""))[2:]:
        yield "@@" if HUNK.match(line) else line
