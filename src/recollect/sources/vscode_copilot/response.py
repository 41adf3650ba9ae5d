"""Reads a response in VS Code's chat: its parts, and the rounds of tool calls that complete them.

A part has its call's id without the `__vscode-…` suffix. Before 2026 it had a different id. Then the nth part of a tool is
the nth call of that tool, if the numbers of parts and calls are equal.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from recollect.model import Entry, Ignored, Kind, Record, SessionMetadata, Stop
from recollect.sources.formats.message import RecordBuilder, text_of
from recollect.sources.formats.values import as_object, text_or_none

DENIED = 0  # the type of confirmation of a refused tool
MAX_DEPTH = 40  # levels of a tool's output
EDIT_FENCE = re.compile(r"\s*`{3,}\s*")  # around the parts of an edit, which are not read
CAPITAL = re.compile(r"(?=[A-Z])")
MODEL_NAMES = {  # the model's name of a tool, if it is not the id in lower case
    "copilot_editNotebook": "edit_notebook_file",
    "copilot_fetchWebPage": "fetch_webpage",
    "copilot_findFiles": "file_search",
    "copilot_findTestFiles": "test_search",
    "copilot_findTextInFiles": "grep_search",
    "copilot_getNotebookSummary": "copilot_getNotebookSummary",
    "copilot_getSearchResults": "get_search_view_results",
    "copilot_getVSCodeAPI": "get_vscode_api",
    "copilot_insertEdit": "insert_edit_into_file",
    "copilot_listDirectory": "list_dir",
    "copilot_multiReplaceString": "multi_replace_string_in_file",
    "copilot_replaceString": "replace_string_in_file",
    "copilot_searchCodebase": "semantic_search",
}
TOOLS = {"toolInvocationSerialized", "toolInvocation"}
TEXT_PARTS = {None, "markdownContent", "markdownVuln", "inlineReference"}
MESSAGES = {"warning", "confirmation", "elicitationSerialized", "elicitation", "questionCarousel", "hook"}
CONTROLS = {
    "autoModeResolution",
    "clearToPreviousToolInvocation",
    "codeblockUri",
    "command",
    "disabledClaudeHooks",
    "extensions",
    "mcpServersStarting",
    "move",
    "multiDiffData",
    "notebookEditGroup",
    "prepareToolInvocation",
    "progressMessage",
    "progressTask",
    "progressTaskSerialized",
    "pullRequest",
    "textEditGroup",
    "treeData",
    "undoStop",
    "workspaceEdit",
}


class Response:
    """Builds the records of one response."""

    def __init__(self, builder: RecordBuilder, metadata: dict[str, Any]) -> None:
        self.builder = builder
        self.outputs = {_plain(call): output for call, output in as_object(metadata.get("toolCallResults")).items()}
        self.calls = {
            _plain(call["id"]): call
            for turn in listing(metadata.get("toolCallRounds"))
            for call in listing(as_object(turn).get("toolCalls"))
            if isinstance(call, dict) and isinstance(call.get("id"), str)
        }
        self.agents: dict[str, RecordBuilder] = {}
        self.answers: dict[str, str] = {}  # of sub-agents: yielded last, though their part comes first

    def read(self, parts: list[Any]) -> Iterator[Entry]:
        self._pair([part for part in parts if isinstance(part, dict) and part.get("kind") in TOOLS])
        texts: list[str] = []
        for part in parts:
            if isinstance(part, dict) and EDIT_FENCE.fullmatch(text_of(part.get("value"))):
                continue
            kind = str(part["kind"]) if isinstance(part, dict) and part.get("kind") is not None else None
            if kind in TEXT_PARTS and isinstance(part, dict | str):
                texts.append(_part_text(part))
                continue
            yield from self._answer(texts)
            texts = []
            yield from self._part(kind, part)
        yield from self._answer(texts)
        for agent, answer in self.answers.items():
            yield self.agents[agent].record(Kind.ASSISTANT_RESPONSE, answer, stop=Stop.ANSWER)

    def _pair(self, tools: list[dict[str, Any]]) -> None:
        """Find the calls of parts that do not name them."""
        own = {_plain(part.get("toolCallId")): part for part in tools if not part.get("subAgentInvocationId")}
        shown, requested = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
        for call in own:
            if call and call not in self.calls:
                shown[_name_for_models(own[call].get("toolId"))].append(call)
        for call, call_parts in self.calls.items():
            if call not in own:
                requested[str(call_parts.get("name"))].append(call)
        for name, calls in shown.items():
            if len(calls) == len(requested[name]):
                for call, known in zip(calls, requested[name], strict=True):
                    self.calls[call], self.outputs[call] = self.calls[known], self.outputs.get(known)

    def _answer(self, texts: list[str]) -> Iterator[Record]:
        if text := "".join(texts).strip():
            yield self.builder.record(Kind.ASSISTANT_RESPONSE, text)

    def _part(self, kind: str | None, part: Any) -> Iterator[Entry]:
        if not isinstance(part, dict):
            yield self.builder.unknown(part)
        elif kind == "thinking":
            if thought := text_of(part.get("value")).strip():
                yield self.builder.record(Kind.REASONING, thought)
        elif kind in TOOLS:
            yield from self._tool(part)
        elif kind in MESSAGES:
            texts = [text_of(part.get(name)) for name in ("title", "message", "content", "questions", "systemMessage")]
            yield self.builder.record(Kind.RUNTIME, "\n".join(text for text in texts if text))
        elif kind in CONTROLS:
            yield Ignored(kind or "")
        else:
            yield self.builder.unknown(part)

    def _tool(self, part: dict[str, Any]) -> Iterator[Entry]:
        builder = self.builder
        call, name = text_or_none(part.get("toolCallId")), text_or_none(part.get("toolId"))
        data, details = as_object(part.get("toolSpecificData")), as_object(part.get("resultDetails"))
        if agent := text_or_none(part.get("subAgentInvocationId")):
            if agent not in self.agents:
                yield self._agent(agent)
            builder = self.agents[agent]
        known = self.calls.get(_plain(call), {})
        shown = details.get("input") or _shown_arguments(data) or {"message": text_of(part.get("invocationMessage"))}
        arguments = known.get("arguments") or shown
        yield builder.call(text_or_none(known.get("name")) or name, call, arguments)
        if data.get("kind") == "subagent" and call:
            yield from self._delegated(call, data)
        code = as_object(data.get("terminalCommandState")).get("exitCode")
        output = _output(self.outputs.get(_plain(call))) or _shown_output(part, data, details)
        yield builder.result(
            call,
            output,
            failed=bool(details.get("isError")) or _is_denied(part.get("isConfirmed")),
            exit_code=code if isinstance(code, int) and not isinstance(code, bool) else None,
        )

    def _agent(self, agent: str) -> SessionMetadata:
        session = f"{self.builder.session}/{agent}"
        self.agents[agent] = RecordBuilder(session=session, key=session, at=self.builder.at, line=self.builder.line)
        return SessionMetadata(session=session, parent=self.builder.session, parent_call=agent)

    def _delegated(self, agent: str, data: dict[str, Any]) -> Iterator[Entry]:
        """A sub-agent's prompt and its final answer."""
        if agent not in self.agents:
            yield self._agent(agent)
        if task := text_of(data.get("prompt")).strip():
            yield self.agents[agent].prompt(task)
        if answer := text_of(data.get("result")).strip():
            self.answers[agent] = answer


def _plain(call: Any) -> str:
    """A call's id without VS Code's suffix."""
    return call.partition("__vscode")[0] if isinstance(call, str) else ""


def _name_for_models(tool: Any) -> str:
    """The model's name of a tool, from its id in VS Code."""
    name = str(tool)
    snake_case = CAPITAL.sub("_", name.removeprefix("copilot_")).lower() if name.startswith("copilot_") else name
    return MODEL_NAMES.get(name, snake_case)


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if part.get("kind") == "inlineReference":
        return text_of(part.get("name")) or _file_name(part.get("inlineReference"))
    return text_of(part.get("value") if "value" in part else part.get("content"))


def _file_name(reference: Any) -> str:
    place = as_object(reference)
    path = place.get("path") or as_object(place.get("uri")).get("path") or place.get("name")
    return str(path).rpartition("/")[2] if path else ""


def _shown_arguments(data: dict[str, Any]) -> Any:
    """The arguments of a tool that its part shows."""
    match data.get("kind"):
        case "terminal":
            return {"command": text_of(as_object(data.get("commandLine")).get("original")) or text_of(data.get("command"))}
        case "input":
            return data.get("rawInput")
        case "subagent":
            return {name: data[name] for name in ("agentName", "description", "prompt") if name in data}
        case "todoList":
            return {"todoList": data.get("todoList")}
        case _:
            return None


def _shown_output(part: dict[str, Any], data: dict[str, Any], details: dict[str, Any]) -> str:
    printed = as_object(data.get("terminalCommandOutput")).get("text") or data.get("result")
    output = [_embedded(item) for item in listing(details.get("output"))] or details.get("output")
    return text_of(output) or text_of(printed) or text_of(part.get("pastTenseMessage"))


def _embedded(item: Any) -> Any:
    """The output of an MCP server's tool: images are named, not quoted."""
    return f"[{item.get('mimeType') or 'data'}]" if isinstance(item, dict) and item.get("isText") is False else item


def _output(result: Any) -> str:
    """The text of a tool's result, which has plain parts or trees of elements."""
    match result:
        case {"content": list(parts)}:
            return "\n".join(text for part in parts if (text := _output(part)))
        case {"value": str(text)}:
            return text
        case {"value": {"node": node}}:
            return _leaves(node).removeprefix("\n")
        case _:
            return ""


def _leaves(node: Any, depth: int = 0) -> str:
    """The text in a tree's leaves. Each leaf says whether it begins a line."""
    if depth > MAX_DEPTH:
        return "[nested too deep]"
    match node:
        case {"text": str(text)}:
            return f"\n{text}" if node.get("lineBreakBefore") else text
        case {"children": list(children)}:
            return "".join(_leaves(child, depth + 1) for child in children)
        case _:
            return ""


def _is_denied(confirmed: Any) -> bool:
    return confirmed is False or (isinstance(confirmed, dict) and confirmed.get("type") == DENIED)


def listing(value: Any) -> list[Any]:
    """The value if it is a list; else an empty list."""
    return value if isinstance(value, list) else []
