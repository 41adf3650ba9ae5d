"""OpenHands up to 1.0: an event is an action with its `args`, or an observation of what came of one.

The answer of the provider comes with every action that it called for (`tool_call_metadata`). Until early 2025 there are
events without it, and in the outputs of 2024 some without an id, a time or a source, their arguments in the event itself.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Ignored, Kind, Record, SessionMetadata, Stop
from recollect.sources.formats.json import decoded
from recollect.sources.formats.litellm import usage_of
from recollect.sources.formats.message import Scribe, text_of
from recollect.sources.formats.values import as_text
from recollect.sources.openhands.state import Talk

TOOLS = {
    "run", "run_ipython", "edit", "read", "write", "browse", "browse_interactive", "call_tool_mcp", "mcp", "delegate",
    "task_tracking", "push", "send_pr", "download", "success",
}  # fmt: skip
QUIET = {"null", "recall", "condensation_request", "initialize", "start", "pause", "resume", "stop", "loop_recovery"}
BOOKKEEPING = {  # what the arguments hold besides those of the tool
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


class Metadata(Struct):
    tool_call_id: str | None = None
    function_name: str | None = None
    model_response: Any = None


def act_entries(scribe: Scribe, raw: str, talk: Talk) -> Iterator[Entry]:
    act = decoded(raw, Act) or Act()
    metadata = decoded(as_text(act.tool_call_metadata), Metadata) or Metadata()
    if isinstance(act.action, str):
        args = act.args if isinstance(act.args, dict) else decoded(raw, dict[str, Any]) or {}
        _account(scribe, metadata.model_response, talk)
        yield from _action(scribe, act, args, metadata, talk)
    elif isinstance(act.observation, str):
        yield from _observation(scribe, act, metadata, talk)
    else:
        yield scribe.unknown(raw)


def _account(scribe: Scribe, response: Any, talk: Talk) -> None:
    """The model and the tokens of the answer that an action is from: one answer may call for several."""
    if not isinstance(response, dict):
        return
    scribe.model = text_of(response.get("model")) or scribe.model
    if talk.is_new(response.get("id")):
        scribe.usage = usage_of(response.get("usage"))


def _action(scribe: Scribe, act: Act, args: dict[str, Any], metadata: Metadata, talk: Talk) -> Iterator[Entry]:
    match act.action:
        case "message":
            is_user = act.source == "user" or (act.source is None and not talk.has_task)
            words = text_of(args.get("content"))
            yield talk.said(scribe, words) if is_user else _answer(scribe, words, args)
        case "system":
            yield scribe.record(Kind.SYSTEM, text_of(args.get("content")))
        case "think":
            yield scribe.record(Kind.REASONING, text_of(args.get("thought")))
        case "finish" | "reject":
            yield _end(scribe, act.action, args)
            if scribe.model:
                yield SessionMetadata(session=scribe.session, model=scribe.model)
        case "condensation":
            yield scribe.record(Kind.COMPACTION, text_of(args.get("summary")))
        case "change_agent_state":
            yield scribe.record(Kind.RUNTIME, text_of(act.message))
        case str(kind) if kind in QUIET:
            yield Ignored(kind)
        case str(kind) if kind in TOOLS:
            yield from _call(scribe, kind, args, metadata, talk)
        case _:
            yield scribe.unknown({"action": act.action, "args": act.args})


def _answer(scribe: Scribe, words: str, args: dict[str, Any]) -> Record:
    waits = args.get("wait_for_response") is True
    return scribe.record(Kind.ASSISTANT_RESPONSE, words, stop=Stop.ANSWER if waits else None)


def _end(scribe: Scribe, action: str, args: dict[str, Any]) -> Record:
    stop = Stop.ANSWER if action == "finish" else Stop.OTHER
    if words := text_of(args.get("final_thought")) or text_of(args.get("thought")):
        return scribe.record(Kind.ASSISTANT_RESPONSE, words, stop=stop)
    return scribe.record(Kind.RUNTIME, action, stop=stop, usage=scribe.usage)


def _call(scribe: Scribe, kind: str, args: dict[str, Any], metadata: Metadata, talk: Talk) -> Iterator[Record]:
    if words := text_of(args.get("thought")).strip():
        yield scribe.record(Kind.ASSISTANT_RESPONSE, words)
    talk.call = metadata.tool_call_id or scribe.key
    given = _called(metadata) or {name: value for name, value in args.items() if name not in BOOKKEEPING}
    yield scribe.call(metadata.function_name or kind, talk.call, given)


def _called(metadata: Metadata) -> Any:
    """The arguments as the model gave them: the action has them in its own words, or not all of them."""
    match metadata.model_response:
        case {"choices": [{"message": {"tool_calls": list(calls)}}, *_]}:
            for call in calls:
                match call:
                    case {"id": metadata.tool_call_id, "function": {"arguments": given}}:
                        return given
    return None


def _observation(scribe: Scribe, act: Act, metadata: Metadata, talk: Talk) -> Iterator[Entry]:
    match act.observation:
        case "null" | "think":
            yield Ignored(act.observation)
        case "agent_state_changed":
            state = act.extras.get("agent_state") if isinstance(act.extras, dict) else None
            stop = STATES.get(state) if isinstance(state, str) else None
            yield scribe.record(Kind.RUNTIME, text_of(act.message) or text_of(state), stop=stop, failed=state == "error")
        case "recall" | "loop_detection":
            yield scribe.record(Kind.SYSTEM, text_of(act.content) or as_text(act.extras))
        case "condense":
            yield scribe.record(Kind.COMPACTION, text_of(act.content))
        case "error" if metadata.tool_call_id is None and act.cause is None:
            yield scribe.record(Kind.RUNTIME, text_of(act.content), failed=True)
        case "error" | "user_rejected":
            stop = Stop.CANCEL if act.observation == "user_rejected" else None
            yield scribe.result(_call_of(scribe, act, metadata, talk), act.content, failed=True, stop=stop)
        case str(kind) if kind in TOOLS:
            code = _exit_code(act)
            call = _call_of(scribe, act, metadata, talk)
            yield scribe.result(call, act.content, exit_code=code, failed=code not in (0, None))
        case _:
            yield scribe.unknown({"observation": act.observation, "content": act.content, "extras": act.extras})


def _call_of(scribe: Scribe, act: Act, metadata: Metadata, talk: Talk) -> str | None:
    if metadata.tool_call_id:
        return metadata.tool_call_id
    return f"{scribe.session}/{act.cause}" if act.cause is not None else talk.call


def _exit_code(act: Act) -> int | None:
    """Below zero there is none: the command was still running."""
    for told in (act.extras, {"exit_code": act.exit_code}):
        match told:
            case {"metadata": {"exit_code": int(code)}} | {"exit_code": int(code)}:
                return code if code >= 0 else None
    return None
