"""Pi: an edit's result has a diff with line numbers. A write does not tell whether the file was there before."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.raw_files.changes import Change, inner, json_lines, lines_in, relative, replaced, signs


def calls(log: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any], str | None]]:
    """(call, its result, folder of the session) of each call with a result."""
    folder, open_calls = None, dict[str, dict[str, Any]]()
    for line in json_lines(log):
        folder = folder or line.get("cwd")
        message = inner(line, "message")
        if message.get("role") == "assistant":
            blocks = [block for block in message.get("content") or [] if isinstance(block, dict)]
            open_calls.update((block["id"], block) for block in blocks if block.get("type") == "toolCall")
        elif message.get("role") == "toolResult" and (call := open_calls.pop(message.get("toolCallId", ""), None)):
            yield call, message, folder


def changes(log: Path) -> Iterator[Change]:
    """Each read, edit and write whose result is not an error."""
    for call, result, folder in calls(log):
        if not result.get("isError"):
            yield from _change(str(log), call["name"], call["arguments"], result.get("details") or {}, folder)


def _change(log: str, tool: str, given: dict[str, Any], told: dict[str, Any], folder: str | None) -> Iterator[Change]:
    if tool == "read":
        yield Change(log, tool, relative(given.get("path") or given["file_path"], folder), "read")
    elif tool == "edit":
        recorded = signs(told["diff"].split("\n")) if "diff" in told else (None, None)
        asked = replaced(given["oldText"], given["newText"])
        yield Change(log, tool, relative(given.get("path") or given["file_path"], folder), "changed", asked, recorded)
    elif tool == "write":
        yield Change(
            log, tool, relative(given.get("path") or given["file_path"], folder), "written", (lines_in(given["content"]), 0)
        )
