"""Writes a generated session as Codex does: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread id>.jsonl`.

Evidence: Codex 0.128. Every prompt and answer is written twice, as `response_item` and as `event_msg`.
`task_started` and `task_complete` enclose a turn. Token counts are cumulative.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import msgspec
from claude_log import Record, new_uuid, stamp
from sessions import Call, Round, Session, Turn

VERSION = "0.128.0"
MODEL = "gpt-5.5"
WINDOW = 258_400  # tokens


@dataclass(slots=True)
class Log:
    thread: str
    folder: str
    clock: datetime
    rng: Random
    tokens: int = 0

    def record(self, kind: str, **payload: Any) -> bytes:
        self.clock += timedelta(seconds=self.rng.expovariate(1 / 2))
        return msgspec.json.encode({"timestamp": stamp(self.clock), "type": kind, "payload": payload})

    def item(self, kind: str, **fields: Any) -> bytes:
        return self.record("response_item", type=kind, **fields)

    def event(self, kind: str, **fields: Any) -> bytes:
        return self.record("event_msg", type=kind, **fields)


def path_and_lines(session: Session) -> tuple[Path, Iterator[bytes]]:
    """The log's path below the home folder, and its lines."""
    started = session.started
    log = Log(thread_id(started, session.rng), session.folder, started, session.rng)
    name = f"rollout-{started:%Y-%m-%dT%H-%M-%S}-{log.thread}.jsonl"
    return Path(".codex/sessions", f"{started:%Y/%m/%d}", name), lines(session, log)


def thread_id(time: datetime, rng: Random) -> str:
    """A UUID of version 7, which begins with the time in milliseconds."""
    milliseconds = int(time.timestamp() * 1000)
    random = UUID(int=rng.getrandbits(128), version=4).int % (1 << 76)  # with the variant, without the version
    return str(UUID(int=milliseconds << 80 | 7 << 76 | random))


def lines(session: Session, log: Log) -> Iterator[bytes]:
    yield log.record(
        "session_meta",
        id=log.thread,
        timestamp=stamp(log.clock),
        cwd=log.folder,
        originator="codex-tui",
        cli_version=VERSION,
        source="cli",
        model_provider="openai",
        git={"branch": "main", "commit_hash": f"{log.rng.getrandbits(160):040x}"},
    )
    yield message(log, "user", f"<environment_context>\n  <cwd>{log.folder}</cwd>\n</environment_context>")
    for turn in session.turns:
        yield from turn_lines(turn, log)


def turn_lines(turn: Turn, log: Log) -> Iterator[bytes]:
    turn_id, began = new_uuid(log.rng), log.clock
    yield log.event("task_started", turn_id=turn_id, model_context_window=WINDOW)
    yield log.record(
        "turn_context",
        turn_id=turn_id,
        cwd=log.folder,
        approval_policy="never",
        sandbox_policy={"type": "danger-full-access"},
        model=MODEL,
        effort="medium",
        summary="auto",
    )
    yield message(log, "user", turn.prompt)
    yield log.event("user_message", message=turn.prompt, images=[], local_images=[], text_elements=[])
    for model_round in turn.rounds:
        yield from round_lines(model_round, log)
    yield from message_lines(log, turn.answer, "final_answer")
    yield token_count(log)
    duration_ms = round((log.clock - began) / timedelta(milliseconds=1))
    yield log.event("task_complete", turn_id=turn_id, last_agent_message=turn.answer, duration_ms=duration_ms)


def round_lines(model_round: Round, log: Log) -> Iterator[bytes]:
    if model_round.reasoning:
        yield log.event("agent_reasoning", text=model_round.reasoning)
        summary = [{"type": "summary_text", "text": model_round.reasoning}]
        yield log.item("reasoning", summary=summary, encrypted_content=f"{log.rng.getrandbits(800):x}")
    if model_round.remark:
        yield from message_lines(log, model_round.remark, "commentary")
    yield from call_lines(model_round.call, log)
    yield token_count(log)


def message_lines(log: Log, text: str, phase: str) -> Iterator[bytes]:
    yield log.event("agent_message", message=text, phase=phase)
    yield message(log, "assistant", text, phase=phase)


def message(log: Log, role: str, text: str, **fields: str) -> bytes:
    kind = "output_text" if role == "assistant" else "input_text"
    return log.item("message", role=role, content=[{"type": kind, "text": text}], **fields)


def call_lines(call: Call, log: Log) -> Iterator[bytes]:
    call_id = f"call_{log.rng.getrandbits(96):024x}"
    if call.tool == "Edit":
        yield log.item("custom_tool_call", status="completed", call_id=call_id, name="apply_patch", input=patch(call))
        yield log.item("custom_tool_call_output", call_id=call_id, output=f"Exit code: 0\nOutput:\n{call.output}")
        return
    arguments: Record = {"cmd": " ".join(call.arguments.values()), "workdir": log.folder, "yield_time_ms": 1000}
    encoded = msgspec.json.encode(arguments).decode()
    yield log.item("function_call", name="exec_command", arguments=encoded, call_id=call_id)
    header = f"Chunk ID: {log.rng.getrandbits(24):06x}\nWall time: 0.1 seconds\nProcess exited with code"
    output = f"{header} {int(call.failed)}\nOutput:\n{call.output}"
    yield log.item("function_call_output", call_id=call_id, output=output)


def patch(call: Call) -> str:
    removed = call.arguments["old_string"].replace("\n", "\n-")
    added = call.arguments["new_string"].replace("\n", "\n+")
    path = call.arguments["file_path"]
    return f"*** Begin Patch\n*** Update File: {path}\n@@\n-{removed}\n+{added}\n*** End Patch"


def token_count(log: Log) -> bytes:
    last = log.rng.randint(2000, 40_000)
    log.tokens += last
    info = {
        "total_token_usage": tokens(log.tokens),
        "last_token_usage": tokens(last),
        "model_context_window": WINDOW,
    }
    return log.event("token_count", info=info, rate_limits=None)


def tokens(total: int) -> Record:
    output = total // 40
    return {
        "input_tokens": total - output,
        "cached_input_tokens": total // 2,
        "output_tokens": output,
        "reasoning_output_tokens": output // 2,
        "total_tokens": total,
    }
