"""Reads events of OpenHands before 1.0: actions with their `args`, and the observations that follow them.

Every action has the provider's answer that called for it (`tool_call_metadata`). Until early 2025 some events do not have
it. In the outputs of 2024 some have no id, time or source, and have their arguments in the event itself.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Ignored, Kind, Record, SessionMetadata, Stop
from recollect.sources.formats.json import decode_or_none
from recollect.sources.formats.message import RecordBuilder, text_of
from recollect.sources.formats.usage import litellm_usage, with_cost
from recollect.sources.formats.values import as_object, as_text
from recollect.sources.openhands.progress import SessionProgress

TOOLS = {
    "run", "run_ipython", "edit", "read", "write", "browse", "browse_interactive", "call_tool_mcp", "mcp", "delegate",
    "task_tracking", "push", "send_pr", "download", "success",
}  # fmt: skip
QUIET = {"null", "recall", "condensation_request", "initialize", "start", "pause", "resume", "stop", "loop_recovery"}
BOOKKEEPING = {  # arguments that are not the tool's
    "thought", "blocking", "is_input", "is_static", "hidden", "confirmation_state", "is_confirmed", "security_risk",
    "keep_prompt", "kernel_init_code", "impl_source", "action", "images_urls", "id", "timestamp", "source", "message",
}  # fmt: skip
STATES = {
    "finished": Stop.ANSWER,
    "awaiting_user_input": Stop.ANSWER,
    "error": Stop.CRASH,
    "paused": Stop.INTERRUPT,
    "stopped": Stop.EXIT,
    "rejected": Stop.OTHER,
}


class Act(Struct):
    """An action or an observation."""

    source: Any = None
    message: Any = None
    action: Any = None
    args: Any = None
    observation: Any = None
    content: Any = None
    extras: Any = None
    cause: Any = None
    exit_code: Any = None
    tool_call_metadata: Any = None
    llm_metrics: Any = None


class Metadata(Struct):
    tool_call_id: str | None = None
    function_name: str | None = None
    model_response: Any = None


def act_entries(builder: RecordBuilder, raw: str, progress: SessionProgress) -> Iterator[Entry]:
    act = decode_or_none(raw, Act) or Act()
    metadata = decode_or_none(as_text(act.tool_call_metadata), Metadata) or Metadata()
    if isinstance(act.action, str):
        args = act.args if isinstance(act.args, dict) else decode_or_none(raw, dict[str, Any]) or {}
        _set_model_and_usage(builder, metadata.model_response, progress)
        cost = progress.cost_since(as_object(act.llm_metrics).get("accumulated_cost"))
        builder.usage = with_cost(builder.usage, cost)
        yield from _action(builder, act, args, metadata, progress)
    elif isinstance(act.observation, str):
        yield from _observation(builder, act, metadata, progress)
    else:
        yield builder.unknown(raw)


def _set_model_and_usage(builder: RecordBuilder, response: Any, progress: SessionProgress) -> None:
    """Set the model, and the tokens on the first action of an answer: one answer may call for several actions."""
    if not isinstance(response, dict):
        return
    builder.model = text_of(response.get("model")) or builder.model
    if progress.is_new(response.get("id")):
        builder.usage = litellm_usage(response.get("usage"))


def _action(
    builder: RecordBuilder, act: Act, args: dict[str, Any], metadata: Metadata, progress: SessionProgress
) -> Iterator[Entry]:
    match act.action:
        case "message":
            is_user = act.source == "user" or (act.source is None and not progress.has_task)
            text = text_of(args.get("content"))
            yield progress.user_input(builder, text) if is_user else _answer(builder, text, args)
        case "system":
            yield builder.record(Kind.SYSTEM, text_of(args.get("content")))
        case "think":
            yield builder.record(Kind.REASONING, text_of(args.get("thought")))
        case "finish" | "reject":
            yield _end(builder, act.action, args)
            if builder.model:
                yield SessionMetadata(session=builder.session, model=builder.model)
        case "condensation":
            yield builder.record(Kind.COMPACTION, text_of(args.get("summary")))
        case "change_agent_state":
            yield builder.record(Kind.RUNTIME, text_of(act.message))
        case str(kind) if kind in QUIET:
            yield Ignored(kind)
        case str(kind) if kind in TOOLS:
            yield from _call(builder, kind, args, metadata, progress)
        case _:
            yield builder.unknown({"action": act.action, "args": act.args})


def _answer(builder: RecordBuilder, text: str, args: dict[str, Any]) -> Record:
    waits = args.get("wait_for_response") is True
    return builder.record(Kind.ASSISTANT_RESPONSE, text, stop=Stop.ANSWER if waits else None)


def _end(builder: RecordBuilder, action: str, args: dict[str, Any]) -> Record:
    stop = Stop.ANSWER if action == "finish" else Stop.OTHER
    if text := text_of(args.get("final_thought")) or text_of(args.get("thought")):
        return builder.record(Kind.ASSISTANT_RESPONSE, text, stop=stop)
    return builder.record(Kind.RUNTIME, action, stop=stop, usage=builder.usage)


def _call(
    builder: RecordBuilder, kind: str, args: dict[str, Any], metadata: Metadata, progress: SessionProgress
) -> Iterator[Record]:
    if text := text_of(args.get("thought")).strip():
        yield builder.record(Kind.ASSISTANT_RESPONSE, text)
    progress.call = metadata.tool_call_id or builder.key
    arguments = _model_arguments(metadata) or {name: value for name, value in args.items() if name not in BOOKKEEPING}
    yield builder.call(metadata.function_name or kind, progress.call, arguments)


def _model_arguments(metadata: Metadata) -> Any:
    """The arguments as the model wrote them: the action may have renamed or dropped some."""
    match metadata.model_response:
        case {"choices": [{"message": {"tool_calls": list(calls)}}, *_]}:
            for call in calls:
                match call:
                    case {"id": metadata.tool_call_id, "function": {"arguments": arguments}}:
                        return arguments
    return None


def _observation(builder: RecordBuilder, act: Act, metadata: Metadata, progress: SessionProgress) -> Iterator[Entry]:
    match act.observation:
        case "null" | "think":
            yield Ignored(act.observation)
        case "agent_state_changed":
            state = act.extras.get("agent_state") if isinstance(act.extras, dict) else None
            stop = STATES.get(state) if isinstance(state, str) else None
            yield builder.record(Kind.RUNTIME, text_of(act.message) or text_of(state), stop=stop, failed=state == "error")
        case "recall" | "loop_detection":
            yield builder.record(Kind.SYSTEM, text_of(act.content) or as_text(act.extras))
        case "condense":
            yield builder.record(Kind.COMPACTION, text_of(act.content))
        case "error" if metadata.tool_call_id is None and act.cause is None:
            yield builder.record(Kind.RUNTIME, text_of(act.content), failed=True)
        case "error" | "user_rejected":
            stop = Stop.CANCEL if act.observation == "user_rejected" else None
            yield builder.result(_call_of(builder, act, metadata, progress), act.content, failed=True, stop=stop)
        case str(kind) if kind in TOOLS:
            code = _exit_code(act)
            call = _call_of(builder, act, metadata, progress)
            yield builder.result(call, act.content, exit_code=code, failed=code not in (0, None))
        case _:
            yield builder.unknown({"observation": act.observation, "content": act.content, "extras": act.extras})


def _call_of(builder: RecordBuilder, act: Act, metadata: Metadata, progress: SessionProgress) -> str | None:
    if metadata.tool_call_id:
        return metadata.tool_call_id
    return f"{builder.session}/{act.cause}" if act.cause is not None else progress.call


def _exit_code(act: Act) -> int | None:
    """The exit code; a negative one means that the command was still running."""
    for fields in (act.extras, {"exit_code": act.exit_code}):
        match fields:
            case {"metadata": {"exit_code": int(code)}} | {"exit_code": int(code)}:
                return code if code >= 0 else None
    return None
