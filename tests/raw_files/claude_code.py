"""Claude Code: a result's `toolUseResult` has the file, whether it is new, and a patch of its lines."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.raw_files.changes import Change, Counts, json_lines, lines_in, relative, replaced, signs

MADE_UP = 20  # characters: shorter ids of calls are of hand-written samples
EDITORS = ("Edit", "MultiEdit", "Write", "NotebookEdit")


def messages(log: Path) -> Iterator[tuple[dict[str, Any], str | None, list[dict[str, Any]]]]:
    """(record, folder of its session, blocks). A sub-agent is a session of its own, also inside its parent's log."""
    folders: dict[Any, str] = {}
    for line in json_lines(log):
        copy = (line.get("data") or {}).get("message") if line.get("type") == "progress" else None
        record = copy if isinstance(copy, dict) else line
        agent = (line["data"].get("agentId")) if copy else line.get("agentId")
        if isinstance(line.get("cwd"), str):
            folders.setdefault(agent, line["cwd"])
        message = record.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, list):
            yield record, folders.get(agent), [block for block in content if isinstance(block, dict)]


def changes(logs: Iterable[Path]) -> Iterator[Change]:
    """Each edit and each read that succeeded, once: resumed sessions begin with copies of calls."""
    seen: set[str] = set()
    for log in logs:
        for call, result, told, folder in _answered_calls(log):
            change = None if result.get("is_error") else _change(str(log), call, told, folder)
            if change and is_new(call["id"], seen):
                yield change


def is_new(call: str, seen: set[str]) -> bool:
    """Whether a call was not seen in another log. Hand-written samples use the same ids in several files."""
    if len(call) >= MADE_UP and call in seen:
        return False
    seen.add(call)
    return True


def _answered_calls(log: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any], Any, str | None]]:
    """(call, result, what the program recorded of it, folder of the session)."""
    calls: dict[str, dict[str, Any]] = {}
    for record, folder, blocks in messages(log):
        for block in blocks:
            if block.get("type") == "tool_use":
                calls.setdefault(block.get("id", ""), block)
            elif block.get("type") == "tool_result" and (call := calls.pop(block.get("tool_use_id", ""), None)):
                yield call, block, record.get("toolUseResult"), folder


def _change(log: str, call: dict[str, Any], result: Any, folder: str | None) -> Change | None:
    tool, given = call.get("name", ""), call.get("input") or {}
    path = relative(given.get("file_path") or given.get("notebook_path") or given.get("path") or "", folder)
    if tool == "Read":
        return Change(log, tool, path, "read")
    if tool not in EDITORS:
        return None
    told = result if isinstance(result, dict) else {}
    if told.get("type") == "create":
        return Change(log, tool, path, "created", (lines_in(given["content"]), 0), (lines_in(told["content"]), 0))
    lines = [line for hunk in told.get("structuredPatch") or () for line in hunk["lines"]]
    recorded = signs(lines) if "structuredPatch" in told else (None, None)
    return Change(log, tool, path, *_asked(tool, given), recorded)


def _asked(tool: str, given: dict[str, Any]) -> tuple[str, Counts]:
    """What the arguments tell. New content, or all occurrences, do not tell the lines. An empty text is a new file's."""
    edits = given.get("edits") or [given]
    if tool == "Write" or any(edit.get("replace_all") for edit in edits):
        return "changed", (None, None)
    if not edits[0]["old_string"]:
        text = edits[0]["new_string"]
        for edit in edits[1:]:
            text = text.replace(edit["old_string"], edit["new_string"], 1)
        return "created", (lines_in(text), 0)
    pairs = [replaced(edit["old_string"], edit["new_string"]) for edit in edits]
    return "changed", (sum(added for added, _ in pairs), sum(removed for _, removed in pairs))
