"""Tool calls in a Codex rollout, their outputs, and the events that tell of their ends.

An end event comes before the output as a rule and lends it the exit code. It comes after it where a command was left
running. Where a script called the tool, there is no call and no output beside it: then the event is both.
"""

from typing import Any

import msgspec

from recollect.model import Entry, Ignored, Kind, Record, SessionMetadata
from recollect.sources.codex import shapes as shape
from recollect.sources.codex.memory import EVENT, ITEM, Call, CodexMemory, is_twin, record, runtime, shaped, twin_of
from recollect.sources.codex.text import (
    IMAGE,
    Outcome,
    arguments_of,
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

OPEN_CALLS = 256  # tool calls without an output, or still running; real sessions leave a handful
ANSWERED = 32  # calls remembered after their output: a late end event follows within a few lines
TWIN_OF_RESPONSE = Ignored("twin of a tool response")


class Spawned(msgspec.Struct):
    agent_id: str


SPAWNED = msgspec.json.Decoder(Spawned)
CHANGES = msgspec.json.Decoder(dict[str, dict[str, Any]])


# ---- calls


def function_call(part: shape.FunctionCall, line: Line, memory: CodexMemory) -> list[Entry]:
    name = part.name or (part.function.name if part.function else None)
    return _called(full_name(part.namespace, name), part.call_id, arguments_of(part.arguments), line, memory)


def custom_tool_call(part: shape.CustomToolCall, line: Line, memory: CodexMemory) -> list[Entry]:
    given = {"input": part.input} if isinstance(part.input, str) else arguments_of(part.input)
    return _called(full_name(part.namespace, part.name), part.call_id, given, line, memory)


def local_shell_call(part: shape.LocalShellCall, line: Line, memory: CodexMemory) -> list[Entry]:
    return _called("local_shell", part.call_id or part.id, arguments_of(part.action), line, memory)


def tool_search_call(part: shape.ToolSearchCall, line: Line, memory: CodexMemory) -> list[Entry]:
    return _called("tool_search", part.call_id, arguments_of(part.arguments), line, memory)


def _called(tool: str | None, call: str | None, arguments: dict[str, Any], line: Line, memory: CodexMemory) -> list[Entry]:
    if call:
        memory.calls[call] = Call()
        if len(memory.calls) > OPEN_CALLS:
            del memory.calls[next(iter(memory.calls))]
    return [_call(tool, call, arguments, line, memory)]


def _call(tool: str | None, call: str | None, arguments: dict[str, Any], line: Line, memory: CodexMemory) -> Record:
    return record(line, memory, Kind.TOOL_CALL, tool=tool, call=call, arguments=arguments, model=memory.model)


# ---- outputs


def function_call_output(part: shape.FunctionCallOutput, line: Line, memory: CodexMemory) -> list[Entry]:
    outcome = outcome_of(part.output)
    entries = _answered(part.call_id, outcome, line, memory)
    if outcome.text.startswith('{"agent_id":') and (spawned := shaped(SPAWNED, outcome.text.encode())):
        entries.append(SessionMetadata(session=spawned.agent_id, parent=memory.session, parent_call=part.call_id))
    return entries


def tool_search_output(part: shape.ToolSearchOutput, line: Line, memory: CodexMemory) -> list[Entry]:
    return _answered(part.call_id, Outcome(bytes(part.tools).decode("utf-8", "replace")), line, memory)


def tool_result(part: shape.ToolResult, line: Line, memory: CodexMemory) -> list[Entry]:
    entries = _answered(part.call_id, result_outcome(part.result), line, memory)
    return [msgspec.structs.replace(entry, tool=part.name) for entry in entries]


def _answered(call: str | None, outcome: Outcome, line: Line, memory: CodexMemory) -> list[Entry]:
    told = memory.calls.pop(call or "", None) or Call()
    if call and outcome.running and told.exit_code is None:
        memory.calls[call] = Call(running=True)
    elif call:
        memory.answered = [*memory.answered[1 - ANSWERED :], call]
    code = outcome.exit_code if outcome.exit_code is not None else told.exit_code
    failed = outcome.failed or told.failed or bool(code)
    return [record(line, memory, Kind.TOOL_RESPONSE, outcome.text, call=call, exit_code=code, failed=failed)]


# ---- ends


def exec_command_end(part: shape.ExecCommandEnd, line: Line, memory: CodexMemory) -> list[Entry]:
    command = part.command[-1:] if isinstance(part.command, list) else [part.command or ""]
    failed = bool(part.exit_code) or part.status in ("failed", "declined")
    call = memory.calls.get(part.call_id or "")
    if call and call.running:
        memory.calls.pop(part.call_id or "")
        text = f"command ended with exit code {part.exit_code}: {''.join(command)}"
        return runtime(line, memory, text, exit_code=part.exit_code, failed=failed)
    streams = "\n".join(text for text in (part.stdout, part.stderr) if text)
    outcome = Outcome(part.aggregated_output or streams, part.exit_code, failed)
    return _ended("exec_command", part.call_id, {"cmd": "".join(command)}, outcome, line, memory)


def patch_apply_end(part: shape.PatchApplyEnd, line: Line, memory: CodexMemory) -> list[Entry]:
    failed = part.success is False or part.status in ("failed", "declined")
    outcome = Outcome("\n".join(text for text in (part.stdout, part.stderr) if text), failed=failed)
    if _is_known(part.call_id, memory):
        return _ended("apply_patch", part.call_id, {}, outcome, line, memory)
    changes: dict[str, dict[str, Any]] = shaped(CHANGES, part.changes) or {}
    diffs = {path: change.get("unified_diff") or change.get("content") or "" for path, change in changes.items()}
    return _ended("apply_patch", part.call_id, {"changes": diffs}, outcome, line, memory)


def mcp_tool_call_end(part: shape.McpToolCallEnd, line: Line, memory: CodexMemory) -> list[Entry]:
    asked = part.invocation or shape.Invocation()
    tool = f"mcp__{asked.server}__{asked.tool}"
    return _ended(tool, part.call_id, arguments_of(asked.arguments), mcp_outcome(part.result), line, memory)


def mcp_turn_item(part: shape.McpTurnItem, line: Line, memory: CodexMemory) -> list[Entry]:
    outcome = mcp_outcome(part.result)
    if part.error:
        text = part.error if isinstance(part.error, str) else part.error.message or ""
        outcome = Outcome(text or outcome.text, failed=True)
    return _ended(f"mcp__{part.server}__{part.tool}", part.call_id, arguments_of(part.arguments), outcome, line, memory)


def dynamic_tool_request(part: shape.DynamicToolRequest, line: Line, memory: CodexMemory) -> list[Entry]:
    if _is_known(part.call_id, memory):
        return [Ignored("twin of a tool call")]
    return [_call(full_name(part.namespace, part.tool), part.call_id, arguments_of(part.arguments), line, memory)]


def dynamic_tool_response(part: shape.DynamicToolResponse, line: Line, memory: CodexMemory) -> list[Entry]:
    if call := memory.calls.get(part.call_id or ""):
        call.failed = part.success is False
        return [TWIN_OF_RESPONSE]
    if part.call_id in memory.answered:
        return [TWIN_OF_RESPONSE]
    texts, images = texts_of(part.content_items)
    text = with_images("\n".join(texts), images) or part.error or ""
    return [record(line, memory, Kind.TOOL_RESPONSE, text, call=part.call_id, failed=part.success is False)]


def view_image(part: shape.ViewImage, line: Line, memory: CodexMemory) -> list[Entry]:
    return _ended("view_image", part.call_id, {"path": part.path}, Outcome(IMAGE), line, memory)


def spawn_end(part: shape.CollabSpawnEnd, line: Line, memory: CodexMemory) -> list[Entry]:
    if not part.new_thread_id:
        return [TWIN_OF_RESPONSE]
    return [SessionMetadata(session=part.new_thread_id, parent=memory.session, parent_call=part.call_id)]


def _is_known(call: str | None, memory: CodexMemory) -> bool:
    return call in memory.calls or call in memory.answered


def _ended(
    tool: str, call: str | None, arguments: dict[str, Any], outcome: Outcome, line: Line, memory: CodexMemory
) -> list[Entry]:
    """The end of a call: news for its output if that is still to come, a call and a response if there is neither."""
    if known := memory.calls.get(call or ""):
        known.exit_code, known.failed = outcome.exit_code, outcome.failed
        return [TWIN_OF_RESPONSE]
    if call in memory.answered:
        return [TWIN_OF_RESPONSE]
    if call:
        memory.answered = [*memory.answered[1 - ANSWERED :], call]
    text, code, failed, _ = outcome
    return [
        _call(tool, call, arguments, line, memory),
        record(line, memory, Kind.TOOL_RESPONSE, text, 1, tool=tool, call=call, exit_code=code, failed=failed),
    ]


# ---- tools of the model's own: a call and an event, in either order, and no output


def web_search_call(part: shape.WebSearchCall, line: Line, memory: CodexMemory) -> list[Entry]:
    if is_twin("search", search_subject(part.action), ITEM, line, memory):
        return twin_of(ITEM)
    return [_search(part.id, part.action or {}, line, memory)]


def web_search_end(part: shape.WebSearchEnd, line: Line, memory: CodexMemory) -> list[Entry]:
    entries: list[Entry] = []
    if not is_twin("search", search_subject(part.action, part.query), EVENT, line, memory):
        entries.append(_search(part.call_id, part.action or {"query": part.query}, line, memory))
    if part.results:
        text, tool = hits_text(part.results), "web_search"
        entries.append(record(line, memory, Kind.TOOL_RESPONSE, text, 1, tool=tool, call=part.call_id))
    return entries or twin_of(EVENT)


def _search(call: str | None, action: dict[str, Any], line: Line, memory: CodexMemory) -> Entry:
    arguments = {name: value for name, value in action.items() if value is not None}
    return _call("web_search", call, arguments, line, memory)


def image_generation_call(part: shape.ImageGenerationCall, line: Line, memory: CodexMemory) -> list[Entry]:
    if is_twin("image", part.id or "", ITEM, line, memory):
        return twin_of(ITEM)
    return [_call("image_generation", part.id, {"prompt": part.revised_prompt}, line, memory)]


def image_generation_end(part: shape.ImageGenerationEnd, line: Line, memory: CodexMemory) -> list[Entry]:
    entries: list[Entry] = []
    if not is_twin("image", part.call_id or "", EVENT, line, memory):
        entries.append(_call("image_generation", part.call_id, {"prompt": part.revised_prompt}, line, memory))
    text = f"{IMAGE} {part.saved_path or ''}".strip()
    entries.append(record(line, memory, Kind.TOOL_RESPONSE, text, 1, tool="image_generation", call=part.call_id))
    return entries
