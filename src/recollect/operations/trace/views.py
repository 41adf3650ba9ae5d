"""Stored things in the trace family's shapes."""

from collections.abc import Sequence
from typing import Any

import msgspec

from recollect.index.ngrams import fold_case
from recollect.model import KIND_CODE, TOKEN_USAGE_CODE, Kind, Usage, timestamp
from recollect.operations.history.answers import main_argument
from recollect.operations.ids import uuid_text
from recollect.operations.trace.steps import Status, Step, ToolUse
from recollect.shown_time import estimate_field
from recollect.store import EventRow, SessionRow
from recollect.title import label

PREVIEW = 300  # characters, the contract's
PREVIEW_BYTES = 1_300  # of its JSON: ten of them and what stands around them are less than 15 KB in any script
LEAD = 80  # characters shown before the match
COMPACT, SHORT = 1_500, 200  # bytes of a compact call's arguments, and characters of one of them
SUMMARY = 160  # characters of a step in one line
MAX_ARGUMENT = 80  # and of a call's main argument in that line

EVENT_TYPES: dict[str, tuple[int, ...]] = {
    "user": (KIND_CODE[Kind.USER_INPUT],),
    "message": (KIND_CODE[Kind.ASSISTANT_RESPONSE],),
    "reasoning": (KIND_CODE[Kind.REASONING],),
    "tool_call": (KIND_CODE[Kind.TOOL_CALL],),
    "tool_result": (KIND_CODE[Kind.TOOL_RESPONSE],),
    "token_usage": (KIND_CODE[Kind.RUNTIME] + TOKEN_USAGE_CODE,),
    "notification": tuple(KIND_CODE[kind] for kind in (Kind.COMPACTION, Kind.SYSTEM, Kind.RUNTIME, Kind.UNKNOWN)),
}
TYPE_OF = {code: name for name, codes in EVENT_TYPES.items() for code in codes}


def event_type(event: EventRow) -> str:
    return TYPE_OF[event.index_kind()]


def head(event: EventRow, session: SessionRow) -> dict[str, Any]:
    return {
        "session_id": uuid_text(session.id),
        "event_index": event.seq,
        "timestamp": timestamp(event.at),
        **estimate_field(event.estimated),
        "event_type": event_type(event),
    }


def payload(event: EventRow) -> dict[str, Any]:
    """All that is stored of an event."""
    model = {"model": event.model} if event.model else {}
    match event.kind:
        case Kind.TOOL_CALL:
            return {"name": event.tool, "arguments": event.arguments(), **model}
        case Kind.TOOL_RESPONSE:
            exit_code = {"exit_code": event.exit_code} if event.exit_code is not None else {}
            return {"output": event.text(), "is_error": event.has_failed(), **exit_code, "call_index": event.answers}
        case Kind.RUNTIME if event.usage is not None:
            return {**(event.tokens() or Usage()).counts(), "text": event.text(), **model}
        case Kind.COMPACTION | Kind.SYSTEM | Kind.RUNTIME | Kind.UNKNOWN:
            return {"text": event.text(), "kind": event.kind}
        case _:
            return {"text": event.text(), **model}


def compact(event: EventRow, wanted: str) -> dict[str, Any]:
    """What identifies an event: more than a preview, less than all of it."""
    match event.kind:
        case Kind.TOOL_CALL:
            return {"name": event.tool, "arguments": _compact_arguments(event.arguments())}
        case Kind.TOOL_RESPONSE:
            return {"output": preview(event, wanted), "is_error": event.has_failed(), "call_index": event.answers}
        case _:
            return {"text": preview(event, wanted)}


def _compact_arguments(arguments: dict[str, Any]) -> dict[str, str]:
    """The first arguments, each cut, and no more of them than make up a compact event."""
    shown: dict[str, str] = {}
    room = COMPACT
    for name, value in arguments.items():
        shown[name] = cut(value if isinstance(value, str) else msgspec.json.encode(value).decode(), SHORT)
        room -= len(msgspec.json.encode((name, shown[name])))
        if room < 0:
            del shown[name]
            break
    return shown


def preview(event: EventRow, wanted: str) -> str:
    """At most 300 characters around the first match, as they are; marked where there is more."""
    text = event.full_text()
    place = _place_of(text, fold_case(wanted))
    lead, most = LEAD, PREVIEW
    while True:
        start = max(0, place - lead) if len(text) > most else 0
        shown = _window(text, start, most)
        if len(msgspec.json.encode(shown)) <= PREVIEW_BYTES:
            return shown
        lead, most = lead // 2, most - 10  # what leads to the match goes before the match does


def _window(text: str, start: int, most: int) -> str:
    before = "…" if start else ""
    room = most - len(before)
    if len(text) - start <= room:
        return before + text[start:]
    return f"{before}{text[start : start + room - 1]}…"


def _place_of(text: str, wanted: str) -> int:
    """Where a folded string stands in a text. Some characters are longer when folded, so places may have to be counted."""
    plain = fold_case(text)
    place = max(0, plain.find(wanted))
    if len(plain) == len(text):
        return place
    passed = 0
    for index, letter in enumerate(text):
        passed += len(fold_case(letter))
        if passed > place:
            return index
    return 0


def cut(text: str, most: int | None) -> str:
    """A text of at most so many characters; None leaves it as it is."""
    return text if most is None or len(text) <= most else text[: most - 1] + "…"


# ---- steps


def step_line(step: Step, index: int, texts: dict[int, str], *, reasoning: bool, scale: int, thought: int) -> dict[str, Any]:
    """A step in one line, cut by a scale; with so many characters of its reasoning, where that is wanted."""
    most = SUMMARY // scale
    said = label(texts.get(step.message.seq, ""), most) if step.message is not None else ""
    done = "; ".join(_tool_line(tool, texts) for tool in step.tools)
    thoughts = _thoughts(step, texts)
    line = {
        "step_index": index,
        "summary": cut(" | ".join(part for part in (said, done) if part) or label(thoughts, most), most),
        "tool_calls": len(step.tools),
        "failed_tools": step.failed(),
        "tokens": step.usage.total(),
    }
    return {**line, "reasoning": cut(thoughts, thought)} if reasoning and thoughts else line


def _thoughts(step: Step, texts: dict[int, str]) -> str:
    return "\n\n".join(texts.get(event.seq, "") for event in step.reasoning)


def _tool_line(tool: ToolUse, texts: dict[int, str]) -> str:
    arguments = msgspec.json.decode(texts.get(tool.call.seq, "{}")) if tool.call is not None else {}
    argument = main_argument(arguments)
    failed = " (failed)" if tool.status() is Status.FAILED else ""
    return tool.name() + (f": {label(argument, MAX_ARGUMENT)}" if argument else "") + failed


def step_whole(step: Step, index: int, texts: dict[int, str], most: int | None, message: int | None) -> dict[str, Any]:
    """A step with all its parts, reasoning and output cut to so many characters, the message to so many."""
    return {
        "step_index": index,
        "status": step.status(),
        "reasoning": cut(_thoughts(step, texts), most) if step.reasoning else None,
        "message": cut(texts.get(step.message.seq, ""), message) if step.message is not None else None,
        "tools": [_tool_whole(tool, texts, most, message) for tool in step.tools],
        "tokens": step.usage.total(),
    }


def _tool_whole(tool: ToolUse, texts: dict[int, str], most: int | None, arguments: int | None) -> dict[str, Any]:
    given = msgspec.json.decode(texts.get(tool.call.seq, "{}")) if tool.call is not None else None
    result = tool.result
    return {
        "name": tool.name(),
        "status": tool.status(),
        "arguments": given if arguments is None or given is None else _shortened(given, arguments),
        "output": cut(texts.get(result.seq, ""), most) if result is not None else None,
        "exit_code": result.exit_code if result is not None else None,
        "duration_ms": tool.duration_ms(),
        "call_index": tool.call.seq if tool.call is not None else None,
        "result_index": result.seq if result is not None else None,
    }


def _shortened(value: Any, most: int) -> Any:
    """A value whose texts are cut."""
    if isinstance(value, str):
        return cut(value, most)
    if isinstance(value, dict):
        return {name: _shortened(inner, most) for name, inner in value.items()}
    return [_shortened(inner, most) for inner in value] if isinstance(value, list) else value


def tools_of(steps: Sequence[Step]) -> list[ToolUse]:
    return [tool for step in steps for tool in step.tools]
