"""Agents whose logs have few edits: Gemini CLI, Copilot CLI, Cursor, Qwen Code, Kimi, and Crush.

Each reader yields calls with their outcome; `change` tells what a call that succeeded did, by the agents' own tool names.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from tests.raw_files.changes import Change, Counts, envelope, inner, json_lines, lines_in, relative, replaced


class Call(NamedTuple):
    tool: str
    given: Any
    folder: str | None
    succeeded: bool
    output: str


READERS = {"read_file", "Read", "ReadFile", "view"}
WRITERS = {"write_file", "Write", "WriteFile", "write"}
EDITORS = {"replace", "Edit", "StrReplaceFile", "edit", "multiedit"}


def changes_of(log: Path, calls: Iterator[Call]) -> Iterator[Change]:
    """The files of the calls that succeeded, by the names that these agents' tools have."""
    for call in calls:
        if not call.succeeded:
            continue
        if call.tool == "apply_patch":
            patch = call.given if isinstance(call.given, str) else next(iter(call.given.values()))
            for path, operation, counts in envelope(patch):
                yield Change(str(log), call.tool, relative(path, call.folder), operation, counts)
        elif call.tool in READERS | WRITERS | EDITORS:
            path = relative(call.given.get("file_path") or call.given["path"], call.folder)
            yield Change(str(log), call.tool, path, *_effect(call))


def _effect(call: Call) -> tuple[str, Counts]:
    if call.tool in READERS:
        return "read", (None, None)
    if call.tool in WRITERS:
        told = "created" if "new file" in call.output else "changed" if "overwrote" in call.output else "written"
        return told, (None, None) if told == "changed" else (lines_in(call.given["content"]), 0)
    given = call.given.get("edits") or call.given.get("edit") or call.given
    edits = given if isinstance(given, list) else [given]
    pairs = [replaced(edit.get("old_string", edit.get("old")), edit.get("new_string", edit.get("new"))) for edit in edits]
    return "changed", (sum(added for added, _ in pairs), sum(removed for _, removed in pairs))


def gemini_cli(log: Path) -> Iterator[Call]:
    lines = (
        [*json_lines(log)] if log.suffix == ".jsonl" else json.loads(log.read_text("utf-8", "replace")).get("messages") or []
    )
    messages = {line.get("id") or place: line for place, line in enumerate(lines)}
    for message in messages.values():
        for call in message.get("toolCalls") or []:
            yield Call(call["name"], call.get("args"), None, call.get("status") == "success", json.dumps(call.get("result")))


def copilot_cli(log: Path) -> Iterator[Call]:
    folder, calls = None, dict[str, dict[str, Any]]()
    for line in json_lines(log):
        data = line.get("data") or {}
        folder = folder or (data.get("context") or {}).get("cwd")
        if line.get("type") == "tool.execution_start":
            calls[data["toolCallId"]] = data
        elif line.get("type") == "tool.execution_complete" and (call := calls.pop(data["toolCallId"], None)):
            result = data.get("result") or {}
            is_folder = call["toolName"] == "view" and "diff --git" not in (result.get("detailedContent") or "diff --git")
            succeeded = bool(data.get("success")) and not is_folder
            yield Call(call["toolName"], call.get("arguments"), folder, succeeded, str(result.get("content")))


def cursor(log: Path) -> Iterator[Call]:
    """Its transcripts have no results, or results without a state."""
    for line in json_lines(log):
        content = inner(line, "message").get("content")
        for block in content if isinstance(content, list) else []:
            if block.get("type") in {"tool_use", "tool_call"}:
                yield Call(block["name"], block.get("input"), None, True, "")


def qwen_code(log: Path) -> Iterator[Call]:
    folder, calls = None, dict[str, dict[str, Any]]()
    for line in json_lines(log):
        folder = folder or line.get("cwd")
        for part in (line.get("message") or {}).get("parts") or []:
            if call := part.get("functionCall"):
                calls[call["id"]] = call
        result = line.get("toolCallResult") or {}
        if call := calls.pop(result.get("callId", ""), None):
            yield Call(call["name"], call["args"], folder, result.get("status") == "success", str(line["message"]))


def kimi(log: Path) -> Iterator[Call]:
    """Three formats: messages of a context, and the events of either program."""
    calls: dict[str, tuple[str, Any]] = {}
    for line in json_lines(log):
        event = inner(line, "event") or inner(line, "message") or line
        payload = inner(event, "payload") or event
        for call in [*(line.get("tool_calls") or []), *([payload] if event.get("type") == "ToolCall" else [])]:
            calls[call["id"]] = call["function"]["name"], json.loads(call["function"]["arguments"] or "{}")
        if event.get("type") == "tool.call" and "toolCallId" in event:
            calls[event["toolCallId"]] = event["name"], event["args"]
        result = payload.get("return_value") or event.get("result") or line.get("content")
        call_id = payload.get("tool_call_id") or event.get("toolCallId")
        is_result = event.get("type") in {"ToolResult", "tool.result"} or line.get("role") == "tool"
        if is_result and call_id in calls:
            text = json.dumps(result)
            failed = '"isError": true' in text or '"is_error": true' in text or "<system>ERROR" in text
            yield Call(*calls.pop(call_id), None, not failed, text)


def crush(log: Path) -> Iterator[Call]:
    """A database. Its log is read as the program left it, with what is not merged yet."""
    with closing(sqlite3.connect(log)) as db:
        rows = db.execute("SELECT parts FROM messages ORDER BY created_at, rowid").fetchall()
    parts = [part for (cell,) in rows for part in json.loads(cell)]
    results = {part["data"]["tool_call_id"]: part["data"] for part in parts if part["type"] == "tool_result"}
    for part in parts:
        if part["type"] == "tool_call" and (result := results.get(part["data"]["id"])):
            given = json.loads(part["data"]["input"] or "{}")
            yield Call(
                part["data"]["name"], given, str(log.parent.parent), not result.get("is_error"), str(result.get("content"))
            )
