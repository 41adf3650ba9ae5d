"""Codex: `patch_apply_end` has the diff of every file; without it, the patch of a call that succeeded counts."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.raw_files.changes import Change, Counts, diff_signs, envelope, json_lines, lines_in, relative

FAILED = re.compile(
    r"\s*(?:apply_patch verification failed|patch failed|failed|error|aborted)|.{0,80}\bExit code: [1-9]", re.I | re.S
)


def changes(log: Path) -> Iterator[Change]:
    """The files of each patch that was applied, once."""
    lines = [line for line in json_lines(log) if isinstance(line.get("payload"), dict)]
    folder = next((line["payload"].get("cwd") for line in lines if line.get("type") == "session_meta"), None)
    payloads = [line["payload"] for line in own(lines)]
    ends = {part["call_id"]: part for part in payloads if part.get("type") == "patch_apply_end"}
    outputs = {part.get("call_id"): part for part in payloads if str(part.get("type")).endswith("_call_output")}
    calls = {part["call_id"]: part for part in payloads if part.get("name") == "apply_patch"}
    for call in [*calls, *(end for end in ends if end not in calls)]:
        recorded = _recorded(ends[call], folder) if call in ends else None
        if call not in calls:
            yield from (Change(str(log), "apply_patch", *key, counts, counts) for key, counts in (recorded or {}).items())
        elif recorded != {} and _succeeded(outputs.get(call)):
            for path, operation, asked in envelope(_patch(calls[call])):
                key = relative(path, folder), operation
                yield Change(str(log), "apply_patch", *key, asked, (recorded or {}).get(key, (None, None)))


def _patch(part: dict[str, Any]) -> str:
    """The patch of a call: its input, or the value of its only argument."""
    arguments = part.get("arguments") or "{}"
    given = json.loads(arguments) if isinstance(arguments, str) else arguments
    return part.get("input") or next((text for text in given.values() if isinstance(text, str)), "")


def own(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines of the session itself: a fork begins with copies of its parent, all written in the same second."""
    heads = [line["payload"].get("id") for line in lines if line.get("type") == "session_meta"]
    if len({*heads}) < 2:
        return lines
    copied_at = lines[0]["timestamp"][:19]
    return [line for line in lines if line["timestamp"][:19] > copied_at]


def _succeeded(output: dict[str, Any] | None) -> bool:
    text = (output or {}).get("output")
    if isinstance(text, list):
        text = "\n".join(item.get("text", "") for item in text)
    return not (isinstance(text, str) and FAILED.match(text))


def _recorded(part: dict[str, Any], folder: str | None) -> dict[tuple[str, str], Counts]:
    """The files of a patch by the event of its end: none if it failed."""
    found: dict[tuple[str, str], Counts] = {}
    for path, change in part["changes"].items() if part.get("success") else ():
        name, moved = relative(path, folder), change.get("move_path")
        if change["type"] == "add":
            found[name, "created"] = lines_in(change["content"]), 0
        elif change["type"] == "delete":
            found[name, "deleted"] = None, lines_in(change["content"])
        elif moved:
            found |= {
                (name, "deleted"): (None, None),
                (relative(moved, folder), "created"): diff_signs(change["unified_diff"]),
            }
        else:
            found[name, "changed"] = diff_signs(change["unified_diff"])
    return found
