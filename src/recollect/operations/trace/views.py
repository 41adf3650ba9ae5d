"""Events and steps in the trace family's shapes."""

from typing import Any

import msgspec

from recollect.index.ngrams import fold_case
from recollect.label import label
from recollect.model import KIND_CODE, TOKEN_USAGE_CODE, Kind, Usage, timestamp
from recollect.operations.history.answers import main_argument
from recollect.operations.ids import uuid_text
from recollect.operations.trace.steps import Status, Step, ToolUse
from recollect.shown_time import estimate_field
from recollect.store import EventRow, SessionRow
from recollect.store.sqlite.rows import BETWEEN_STRINGS

PREVIEW = 300  # characters, fixed by the contract
PREVIEW_BYTES = 1_300  # of its JSON: ten previews with their frame are less than 15 KB in any script
LEAD = 80  # characters before the match
COMPACT, SHORT = 1_500, 200  # bytes of a compact call's arguments, and characters of one argument
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


def compact(event: EventRow, query: str) -> dict[str, Any]:
    """The key fields of an event: more than a preview, less than its payload."""
    match event.kind:
        case Kind.TOOL_CALL:
            return {"name": event.tool, "arguments": _compact_arguments(event.arguments())}
        case Kind.TOOL_RESPONSE:
            return {"output": preview(event, query), "is_error": event.has_failed(), "call_index": event.answers}
        case _:
            return {"text": preview(event, query)}


def _compact_arguments(arguments: dict[str, Any]) -> dict[str, str]:
    """The first arguments, each cut, as many as fit into a compact event."""
    shown: dict[str, str] = {}
    room = COMPACT
    for name, value in arguments.items():
        shown[name] = cut(value if isinstance(value, str) else msgspec.json.encode(value).decode(), SHORT)
        room -= len(msgspec.json.encode((name, shown[name])))
        if room < 0:
            del shown[name]
            break
    return shown


def preview(event: EventRow, query: str) -> str:
    """At most 300 unchanged characters around the first match, with an ellipsis for each cut end."""
    text = event.full_text().replace(BETWEEN_STRINGS, "\n")
    position = _find_folded(text, fold_case(query))
    lead, length = LEAD, PREVIEW
    while True:
        start = max(0, position - lead) if len(text) > length else 0
        shown = _window(text, start, length)
        if len(msgspec.json.encode(shown)) <= PREVIEW_BYTES:
            return shown
        lead, length = lead // 2, length - 10  # text before the match is dropped first


def _window(text: str, start: int, length: int) -> str:
    before = "…" if start else ""
    room = length - len(before)
    if len(text) - start <= room:
        return before + text[start:]
    return f"{before}{text[start : start + room - 1]}…"


def _find_folded(text: str, query: str) -> int:
    """The position of a folded string in a text. Some characters are longer when folded, so they may have to be counted."""
    folded = fold_case(text)
    position = max(0, folded.find(query))
    if len(folded) == len(text):
        return position
    length = 0
    for index, letter in enumerate(text):
        length += len(fold_case(letter))
        if length > position:
            return index
    return 0


def cut(text: str, max_length: int | None) -> str:
    """The text, cut to a length; None does not cut it."""
    return text if max_length is None or len(text) <= max_length else text[: max_length - 1] + "…"


# ---- steps


def step_line(step: Step, index: int, texts: dict[int, str], *, scale: int, max_reasoning: int) -> dict[str, Any]:
    """A step in one line, cut by a scale. `max_reasoning` is the length of its reasoning; 0 omits it."""
    max_length = SUMMARY // scale
    message = label(texts.get(step.message.seq, ""), max_length) if step.message is not None else ""
    tools = "; ".join(_tool_line(tool, texts) for tool in step.tools)
    reasoning = _reasoning(step, texts)
    line = {
        "step_index": index,
        "summary": cut(" | ".join(part for part in (message, tools) if part) or label(reasoning, max_length), max_length),
        "tool_calls": len(step.tools),
        "failed_tools": step.count_failed(),
        "tokens": step.usage.total(),
    }
    return {**line, "reasoning": cut(reasoning, max_reasoning)} if max_reasoning and reasoning else line


def _reasoning(step: Step, texts: dict[int, str]) -> str:
    return "\n\n".join(texts.get(event.seq, "") for event in step.reasoning)


def _tool_line(tool: ToolUse, texts: dict[int, str]) -> str:
    arguments = msgspec.json.decode(texts.get(tool.call.seq, "{}")) if tool.call is not None else {}
    argument = main_argument(arguments)
    failed = " (failed)" if tool.status() is Status.FAILED else ""
    return tool.name() + (f": {label(argument, MAX_ARGUMENT)}" if argument else "") + failed


def full_step(step: Step, index: int, texts: dict[int, str], max_short: int | None, max_long: int | None) -> dict[str, Any]:
    """A step with all its parts. `max_short` cuts reasoning and outputs, `max_long` cuts messages and arguments."""
    return {
        "step_index": index,
        "status": step.status(),
        "reasoning": cut(_reasoning(step, texts), max_short) if step.reasoning else None,
        "message": cut(texts.get(step.message.seq, ""), max_long) if step.message is not None else None,
        "tools": [_full_tool(tool, texts, max_short, max_long) for tool in step.tools],
        "tokens": step.usage.total(),
    }


def _full_tool(tool: ToolUse, texts: dict[int, str], max_short: int | None, max_long: int | None) -> dict[str, Any]:
    arguments = msgspec.json.decode(texts.get(tool.call.seq, "{}")) if tool.call is not None else None
    result = tool.result
    return {
        "name": tool.name(),
        "status": tool.status(),
        "arguments": arguments if max_long is None or arguments is None else _cut_texts(arguments, max_long),
        "output": cut(texts.get(result.seq, ""), max_short) if result is not None else None,
        "exit_code": result.exit_code if result is not None else None,
        "duration_ms": tool.duration_ms(),
        "call_index": tool.call.seq if tool.call is not None else None,
        "result_index": result.seq if result is not None else None,
    }


def _cut_texts(value: Any, max_length: int) -> Any:
    """A JSON value with all its texts cut."""
    if isinstance(value, str):
        return cut(value, max_length)
    if isinstance(value, dict):
        return {name: _cut_texts(inner, max_length) for name, inner in value.items()}
    return [_cut_texts(inner, max_length) for inner in value] if isinstance(value, list) else value
