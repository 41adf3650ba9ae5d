"""Writes a generated session as Claude Code does: `~/.claude/projects/<slug>/<session id>.jsonl`.

Evidence: Claude Code 2.1. Each line has one content block and names its parent. The lines of one model answer
share `message.id` and repeat its usage. A tool's result is in the line twice: as the model saw it, and as
`toolUseResult`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import msgspec
from sessions import Call, Round, Session, Turn

VERSION = "2.1.71"  # the last version with readable thinking
MODEL = "claude-opus-4-6"

Record = dict[str, Any]


@dataclass(slots=True)
class Log:
    """The state of the log while it is written: each record names its predecessor."""

    session: str
    folder: str
    clock: datetime
    rng: Random
    parent: str | None = None
    usage: Record = field(default_factory=dict)

    def record(self, kind: str, **fields: Any) -> bytes:
        uuid = new_uuid(self.rng)
        self.clock += timedelta(seconds=self.rng.expovariate(1 / 4))
        envelope = {
            "parentUuid": self.parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": self.folder,
            "sessionId": self.session,
            "version": VERSION,
            "gitBranch": "main",
            "type": kind,
            **fields,
            "uuid": uuid,
            "timestamp": stamp(self.clock),
        }
        self.parent = uuid
        return msgspec.json.encode(envelope)


def new_uuid(rng: Random) -> str:
    return str(UUID(int=rng.getrandbits(128), version=4))


def stamp(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03d}Z"


def path_and_lines(session: Session) -> tuple[Path, Iterator[bytes]]:
    """The log's path below the home folder, and its lines."""
    log = Log(new_uuid(session.rng), session.folder, session.started, session.rng)
    return session_path(session.folder, log.session), lines(session, log)


def session_path(folder: str, session_id: str) -> Path:
    slug = re.sub(r"[^A-Za-z0-9]", "-", folder)
    return Path(".claude/projects", slug, f"{session_id}.jsonl")


def lines(session: Session, log: Log) -> Iterator[bytes]:
    for turn in session.turns:
        began = log.clock
        yield from turn_lines(turn, log)
        duration_ms = round((log.clock - began) / timedelta(milliseconds=1))
        yield log.record("system", subtype="turn_duration", durationMs=duration_ms, isMeta=False)


def turn_lines(turn: Turn, log: Log) -> Iterator[bytes]:
    yield prompt_line(turn.prompt, log)
    for model_round in turn.rounds:
        yield from round_lines(model_round, log)
    yield answer_line({"type": "text", "text": turn.answer}, new_id(log.rng, "msg"), log, "end_turn")


def prompt_line(text: str, log: Log) -> bytes:
    log.usage = usage(log.rng)
    return log.record("user", message={"role": "user", "content": text}, promptId=new_uuid(log.rng))


def round_lines(model_round: Round, log: Log) -> Iterator[bytes]:
    message, call_id = new_id(log.rng, "msg"), new_id(log.rng, "toolu")
    log.usage = usage(log.rng)
    if model_round.reasoning:
        thinking = {"type": "thinking", "thinking": model_round.reasoning, "signature": f"{log.rng.getrandbits(800):x}"}
        yield answer_line(thinking, message, log)
    if model_round.remark:
        yield answer_line({"type": "text", "text": model_round.remark}, message, log)
    use = {"type": "tool_use", "id": call_id, "name": model_round.call.tool, "input": model_round.call.arguments}
    yield answer_line(use, message, log)
    yield result_line(model_round.call, call_id, log)


def answer_line(block: Record, message_id: str, log: Log, stop_reason: str | None = None) -> bytes:
    message = {
        "model": MODEL,
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "content": [block],
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": log.usage,
    }
    return log.record("assistant", message=message, requestId=message_id.replace("msg", "req"))


def result_line(call: Call, call_id: str, log: Log) -> bytes:
    block = {"tool_use_id": call_id, "type": "tool_result", "content": call.output, "is_error": call.failed}
    return log.record(
        "user",
        message={"role": "user", "content": [block]},
        toolUseResult=tool_use_result(call),
        sourceToolAssistantUUID=log.parent,
    )


def tool_use_result(call: Call) -> Record | str:
    """The value of `toolUseResult`: Claude Code's own form of the result."""
    if call.failed:
        return f"Error: {call.output}"
    match call.tool:
        case "Bash":
            return {"stdout": call.output, "stderr": "", "interrupted": False, "isImage": False}
        case "Edit":
            old, new = call.arguments["old_string"], call.arguments["new_string"]
            return {"filePath": call.arguments["file_path"], "oldString": old, "newString": new, "userModified": False}
        case "Grep":
            return {"mode": "content", "numFiles": 0, "filenames": [], "content": call.output}
        case _:
            file = {"filePath": call.arguments["file_path"], "content": call.output, "startLine": 1}
            return {"type": "text", "file": file}


def usage(rng: Random) -> Record:
    return {
        "input_tokens": rng.randint(1, 12),
        "cache_creation_input_tokens": rng.randint(100, 9000),
        "cache_read_input_tokens": rng.randint(9000, 150_000),
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": rng.randint(1, 2000),
        "service_tier": "standard",
    }


def new_id(rng: Random, kind: str) -> str:
    return f"{kind}_01{rng.getrandbits(88):022x}"
