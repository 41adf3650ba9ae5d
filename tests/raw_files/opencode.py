"""OpenCode: the state of an edit has its diff.

The state of a write tells whether the file was there before, but the archive has no place for it: only the order tells there.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.raw_files.changes import Change, diff_signs, lines_in, relative, replaced


def changes(log: Path) -> Iterator[Change]:
    """Each read, edit and write that completed."""
    document = json.loads(log.read_text("utf-8", "replace"))
    if not isinstance(document, dict) or not isinstance(document.get("messages"), list):
        return
    folder = document["info"].get("directory")
    for message in document["messages"]:
        for part in message["parts"]:
            if part.get("type") == "tool" and part["state"].get("status") == "completed":
                yield from _change(str(log), part["tool"], part["state"], folder)


def _change(log: str, tool: str, state: dict[str, Any], folder: str | None) -> Iterator[Change]:
    given, told = state.get("input") or {}, state.get("metadata") or {}
    if tool == "read":
        is_folder = (told.get("display") or {}).get("type") == "directory"
        if not is_folder:
            yield Change(log, tool, relative(given["filePath"], folder), "read")
    elif tool == "edit":
        asked = (None, None) if given.get("replaceAll") else replaced(given["oldString"], given["newString"])
        yield Change(log, tool, relative(given["filePath"], folder), "changed", asked, diff_signs(told["diff"]))
    elif tool == "write":
        yield Change(log, tool, relative(given["filePath"], folder), "written", (lines_in(given["content"]), 0))
