"""The scripts that agents ran, with how they ended, from the raw logs of several agents."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.raw_files import claude_code, codex, pi
from tests.raw_files.changes import json_lines


class Run(NamedTuple):
    """A script that ran. `place` is the folder in which it started, as far as the log tells."""

    log: str
    script: str
    folder: str | None  # of the session
    place: str
    output: str
    succeeded: bool


def claude_code_runs(logs: Iterable[Path]) -> Iterator[Run]:
    """Each command once. A record names the folder in which the shell is."""
    seen: set[str] = set()
    for log in logs:
        calls: dict[str, tuple[dict[str, Any], str]] = {}
        for record, folder, blocks in claude_code.messages(log):
            for block in blocks:
                if block.get("type") == "tool_use" and block.get("name") == "Bash":
                    calls.setdefault(block["id"], (block["input"], record.get("cwd") or ""))
                elif block.get("type") == "tool_result" and (called := calls.pop(block.get("tool_use_id", ""), None)):
                    output, succeeded = json.dumps(block.get("content")), not block.get("is_error")
                    if claude_code.is_new(block["tool_use_id"], seen):
                        yield Run(str(log), called[0].get("command", ""), folder, called[1], output, succeeded)


EXIT = re.compile(r"(?:Process exited with code|Exit code:|exit_code\"?:) ?(-?\d+)")


def codex_runs(log: Path) -> Iterator[Run]:
    """Commands that ended. A command that went on in the background has no exit code."""
    lines = [line for line in json_lines(log) if isinstance(line.get("payload"), dict)]
    folder = next((line["payload"].get("cwd") for line in lines if line.get("type") == "session_meta"), None)
    payloads = [line["payload"] for line in codex.own(lines)]
    outputs = {part.get("call_id"): part for part in payloads if part.get("type") == "function_call_output"}
    for part in payloads:
        if part.get("type") != "function_call" or part.get("name") not in {"exec_command", "shell_command", "shell"}:
            continue
        arguments = part.get("arguments") or "{}"
        given = json.loads(arguments) if isinstance(arguments, str) else arguments
        script = given.get("cmd") or given.get("command") or ""
        script = script[-1] if isinstance(script, list) else script
        output = outputs.get(part["call_id"], {}).get("output")
        ended = EXIT.search(output[:400]) if isinstance(output, str) else None
        if ended:
            yield Run(str(log), script, folder, given.get("workdir") or "", output, ended[1] == "0")


def opencode_runs(log: Path) -> Iterator[Run]:
    document = json.loads(log.read_text("utf-8", "replace"))
    for message in document.get("messages") or [] if isinstance(document, dict) else []:
        for part in message["parts"]:
            if part.get("type") == "tool" and part["tool"] == "bash" and part["state"].get("status") == "completed":
                state = part["state"]
                code = (state.get("metadata") or {}).get("exit")
                given, folder = state["input"], document["info"].get("directory")
                yield Run(
                    str(log), given["command"], folder, given.get("workdir") or "", state.get("output") or "", code == 0
                )


def pi_runs(log: Path) -> Iterator[Run]:
    for call, result, folder in pi.calls(log):
        if call["name"] == "bash":
            output = json.dumps(result["content"])
            yield Run(str(log), call["arguments"]["command"], folder, "", output, not result.get("isError"))


def mini_swe_agent_runs(log: Path) -> Iterator[Run]:
    """The commands of tool calls; each runs in a shell of its own."""
    document = json.loads(log.read_text("utf-8"))
    outputs = {message.get("tool_call_id"): message for message in document["messages"] if message.get("role") == "tool"}
    environment = ((document["info"].get("config") or {}).get("environment") or {}).get("cwd")
    for message in document["messages"]:
        for call in message.get("tool_calls") or []:
            script = json.loads(call["function"]["arguments"]).get("command", "")
            if (output := outputs.get(call["id"])) and isinstance(output.get("content"), str):
                code = re.search(r"<returncode>(-?\d+)</returncode>", output["content"])
                if code:
                    yield Run(str(log), script, environment, "", output["content"], code[1] == "0")
