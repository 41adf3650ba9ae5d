"""Reads tool calls in a Codex rollout, their outputs, and the events at their ends.

An end event usually comes before the output and provides its exit code. If a command was left running, the event comes
after the output. If a script called the tool, there is neither call nor output: then the event counts as both.
"""

from typing import Any

import msgspec

from recollect.model import Entry, Ignored, Kind, Record, SessionMetadata
from recollect.sources.codex import event_shapes, item_shapes
from recollect.sources.codex.state import EVENT, ITEM, Call, CodexState, decode_shape, is_twin, record, runtime, twin_of
from recollect.sources.codex.text import (
    IMAGE,
    Outcome,
    full_name,
    hits_text,
    mcp_outcome,
    outcome_of,
    result_outcome,
    search_subject,
    texts_of,
    with_images,
)
from recollect.sources.formats.container import Line
from recollect.sources.formats.values import arguments_of

MAX_OPEN_CALLS = 256  # tool calls without an output, or still running; real sessions have at most a handful
MAX_ANSWERED = 32  # calls remembered after their output: a late end event follows within a few lines
TWIN_OF_RESPONSE = Ignored("twin of a tool response")


class Spawned(msgspec.Struct):
    """The output of a call that started a sub-agent."""

    agent_id: str


SPAWNED = msgspec.json.Decoder(Spawned)
CHANGES = msgspec.json.Decoder(dict[str, dict[str, Any]])


# ---- calls


def function_call(part: item_shapes.FunctionCall, line: Line, state: CodexState) -> list[Entry]:
    name = part.name or (part.function.name if part.function else None)
    return _called(full_name(part.namespace, name), part.call_id, arguments_of(part.arguments), line, state)


def custom_tool_call(part: item_shapes.CustomToolCall, line: Line, state: CodexState) -> list[Entry]:
    arguments = {"input": part.input} if isinstance(part.input, str) else arguments_of(part.input)
    return _called(full_name(part.namespace, part.name), part.call_id, arguments, line, state)


def local_shell_call(part: item_shapes.LocalShellCall, line: Line, state: CodexState) -> list[Entry]:
    return _called("local_shell", part.call_id or part.id, arguments_of(part.action), line, state)


def tool_search_call(part: item_shapes.ToolSearchCall, line: Line, state: CodexState) -> list[Entry]:
    return _called("tool_search", part.call_id, arguments_of(part.arguments), line, state)


def _called(tool: str | None, call: str | None, arguments: dict[str, Any], line: Line, state: CodexState) -> list[Entry]:
    if call:
        state.calls[call] = Call()
        if len(state.calls) > MAX_OPEN_CALLS:
            del state.calls[next(iter(state.calls))]
    return [_call(tool, call, arguments, line, state)]


def _call(tool: str | None, call: str | None, arguments: dict[str, Any], line: Line, state: CodexState) -> Record:
    return record(line, state, Kind.TOOL_CALL, tool=tool, call=call, arguments=arguments, model=state.model)


# ---- outputs


def function_call_output(part: item_shapes.FunctionCallOutput, line: Line, state: CodexState) -> list[Entry]:
    outcome = outcome_of(part.output)
    entries = _answered(part.call_id, outcome, line, state)
    if outcome.text.startswith('{"agent_id":') and (spawned := decode_shape(SPAWNED, outcome.text.encode())):
        entries.append(SessionMetadata(session=spawned.agent_id, parent=state.session, parent_call=part.call_id))
    return entries


def tool_search_output(part: item_shapes.ToolSearchOutput, line: Line, state: CodexState) -> list[Entry]:
    return _answered(part.call_id, Outcome(bytes(part.tools).decode("utf-8", "replace")), line, state)


def tool_result(part: item_shapes.ToolResult, line: Line, state: CodexState) -> list[Entry]:
    entries = _answered(part.call_id, result_outcome(part.result), line, state)
    return [msgspec.structs.replace(entry, tool=part.name) for entry in entries]


def _answered(call: str | None, outcome: Outcome, line: Line, state: CodexState) -> list[Entry]:
    known = state.calls.pop(call or "", None) or Call()
    if call and outcome.running and known.exit_code is None:
        state.calls[call] = Call(running=True)
    elif call:
        state.answered = [*state.answered[1 - MAX_ANSWERED :], call]
    code = outcome.exit_code if outcome.exit_code is not None else known.exit_code
    failed = outcome.failed or known.failed or bool(code)
    return [record(line, state, Kind.TOOL_RESPONSE, outcome.text, call=call, exit_code=code, failed=failed)]


# ---- ends


def exec_command_end(part: event_shapes.ExecCommandEnd, line: Line, state: CodexState) -> list[Entry]:
    command = part.command[-1:] if isinstance(part.command, list) else [part.command or ""]
    failed = bool(part.exit_code) or part.status in ("failed", "declined")
    call = state.calls.get(part.call_id or "")
    if call and call.running:
        state.calls.pop(part.call_id or "")
        text = f"command ended with exit code {part.exit_code}: {''.join(command)}"
        return runtime(line, state, text, exit_code=part.exit_code, failed=failed)
    streams = "\n".join(text for text in (part.stdout, part.stderr) if text)
    outcome = Outcome(part.aggregated_output or streams, part.exit_code, failed)
    return _ended("exec_command", part.call_id, {"cmd": "".join(command)}, outcome, line, state)


def patch_apply_end(part: event_shapes.PatchApplyEnd, line: Line, state: CodexState) -> list[Entry]:
    failed = part.success is False or part.status in ("failed", "declined")
    outcome = Outcome("\n".join(text for text in (part.stdout, part.stderr) if text), failed=failed)
    if _is_known(part.call_id, state):
        return _ended("apply_patch", part.call_id, {}, outcome, line, state)
    changes: dict[str, dict[str, Any]] = decode_shape(CHANGES, part.changes) or {}
    diffs = {path: change.get("unified_diff") or change.get("content") or "" for path, change in changes.items()}
    moves = {path: change["move_path"] for path, change in changes.items() if change.get("move_path")}
    arguments = {"changes": diffs, "moves": moves} if moves else {"changes": diffs}
    return _ended("apply_patch", part.call_id, arguments, outcome, line, state)


def mcp_tool_call_end(part: event_shapes.McpToolCallEnd, line: Line, state: CodexState) -> list[Entry]:
    invocation = part.invocation or event_shapes.Invocation()
    tool = f"mcp__{invocation.server}__{invocation.tool}"
    return _ended(tool, part.call_id, arguments_of(invocation.arguments), mcp_outcome(part.result), line, state)


def mcp_turn_item(part: event_shapes.McpTurnItem, line: Line, state: CodexState) -> list[Entry]:
    outcome = mcp_outcome(part.result)
    if part.error:
        text = part.error if isinstance(part.error, str) else part.error.message or ""
        outcome = Outcome(text or outcome.text, failed=True)
    return _ended(f"mcp__{part.server}__{part.tool}", part.call_id, arguments_of(part.arguments), outcome, line, state)


def dynamic_tool_request(part: event_shapes.DynamicToolRequest, line: Line, state: CodexState) -> list[Entry]:
    if _is_known(part.call_id, state):
        return [Ignored("twin of a tool call")]
    return [_call(full_name(part.namespace, part.tool), part.call_id, arguments_of(part.arguments), line, state)]


def dynamic_tool_response(part: event_shapes.DynamicToolResponse, line: Line, state: CodexState) -> list[Entry]:
    if call := state.calls.get(part.call_id or ""):
        call.failed = part.success is False
        return [TWIN_OF_RESPONSE]
    if part.call_id in state.answered:
        return [TWIN_OF_RESPONSE]
    texts, images = texts_of(part.content_items)
    text = with_images("\n".join(texts), images) or part.error or ""
    return [record(line, state, Kind.TOOL_RESPONSE, text, call=part.call_id, failed=part.success is False)]


def view_image(part: event_shapes.ViewImage, line: Line, state: CodexState) -> list[Entry]:
    return _ended("view_image", part.call_id, {"path": part.path}, Outcome(IMAGE), line, state)


def spawn_end(part: event_shapes.CollabSpawnEnd, line: Line, state: CodexState) -> list[Entry]:
    if not part.new_thread_id:
        return [TWIN_OF_RESPONSE]
    return [SessionMetadata(session=part.new_thread_id, parent=state.session, parent_call=part.call_id)]


def _is_known(call: str | None, state: CodexState) -> bool:
    return call in state.calls or call in state.answered


def _ended(
    tool: str, call: str | None, arguments: dict[str, Any], outcome: Outcome, line: Line, state: CodexState
) -> list[Entry]:
    """Reads the end of a call. An open call gets its outcome; an event without a call becomes a call and a response."""
    if known := state.calls.get(call or ""):
        known.exit_code, known.failed = outcome.exit_code, outcome.failed
        return [TWIN_OF_RESPONSE]
    if call in state.answered:
        return [TWIN_OF_RESPONSE]
    if call:
        state.answered = [*state.answered[1 - MAX_ANSWERED :], call]
    text, code, failed, _ = outcome
    return [
        _call(tool, call, arguments, line, state),
        record(line, state, Kind.TOOL_RESPONSE, text, 1, tool=tool, call=call, exit_code=code, failed=failed),
    ]


# ---- tools that the provider runs: a call and an event, in either order, but no output


def web_search_call(part: item_shapes.WebSearchCall, line: Line, state: CodexState) -> list[Entry]:
    if is_twin("search", search_subject(part.action), ITEM, line, state):
        return twin_of(ITEM)
    return [_search(part.id, part.action or {}, line, state)]


def web_search_end(part: event_shapes.WebSearchEnd, line: Line, state: CodexState) -> list[Entry]:
    entries: list[Entry] = []
    if not is_twin("search", search_subject(part.action, part.query), EVENT, line, state):
        entries.append(_search(part.call_id, part.action or {"query": part.query}, line, state))
    if part.results:
        text, tool = hits_text(part.results), "web_search"
        entries.append(record(line, state, Kind.TOOL_RESPONSE, text, 1, tool=tool, call=part.call_id))
    return entries or twin_of(EVENT)


def _search(call: str | None, action: dict[str, Any], line: Line, state: CodexState) -> Entry:
    arguments = {name: value for name, value in action.items() if value is not None}
    return _call("web_search", call, arguments, line, state)


def image_generation_call(part: item_shapes.ImageGenerationCall, line: Line, state: CodexState) -> list[Entry]:
    if is_twin("image", part.id or "", ITEM, line, state):
        return twin_of(ITEM)
    return [_call("image_generation", part.id, {"prompt": part.revised_prompt}, line, state)]


def image_generation_end(part: event_shapes.ImageGenerationEnd, line: Line, state: CodexState) -> list[Entry]:
    entries: list[Entry] = []
    if not is_twin("image", part.call_id or "", EVENT, line, state):
        entries.append(_call("image_generation", part.call_id, {"prompt": part.revised_prompt}, line, state))
    text = f"{IMAGE} {part.saved_path or ''}".strip()
    entries.append(record(line, state, Kind.TOOL_RESPONSE, text, 1, tool="image_generation", call=part.call_id))
    return entries
