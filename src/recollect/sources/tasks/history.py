"""Reads a task's messages to and from the model in Cline, Roo Code or Kilo Code: `api_conversation_history.json`.

The history is cut when it gets too long, and old versions had no times, so it is not a log. But it holds the exact input
and output of tools; the interface shows only a part of them. A call is a `tool_use` block or, in older versions, XML in the
text; its result is a `tool_result` block or text, in Cline under a heading such as `[read_file for 'a.txt'] Result:`.
A call does not name its entry in the interface. Calls and entries are matched if both sides have the same number of calls
with the same kind of tool and the same subject: then they are paired in order. The interface shows paths relative to the
agent's folder, in whatever form the model wrote them.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from recollect.sources.formats.message import text_of
from recollect.sources.formats.tags import find_blocks, without_blocks
from recollect.sources.formats.values import arguments_of, as_text

MODEL_TOOLS = {  # the model's tools -> sort of call, and the argument with its subject
    "read_file": ("read", "path"),
    "write_to_file": ("edit", "path"),
    "replace_in_file": ("edit", "path"),
    "apply_diff": ("edit", "path"),
    "insert_content": ("edit", "path"),
    "search_and_replace": ("edit", "path"),
    "search_replace": ("edit", "path"),
    "edit_file": ("edit", "path"),
    "apply_patch": ("edit", "path"),
    "list_files": ("list", "path"),
    "list_code_definition_names": ("definitions", "path"),
    "search_files": ("search", "regex"),
    "codebase_search": ("codebase", "query"),
    "web_fetch": ("fetch", "url"),
    "web_search": ("websearch", "query"),
    "execute_command": ("command", "command"),
    "use_mcp_tool": ("mcp", "tool_name"),
    "access_mcp_resource": ("mcp", "uri"),
    "new_task": ("task", "message"),
    "switch_mode": ("mode", "mode_slug"),
    "use_subagents": ("subagents", ""),
    "update_todo_list": ("todos", ""),
    "use_skill": ("skill", "skill_name"),
}
INTERFACE_TOOLS = {  # the interface's tools, in the same way
    "readFile": ("read", "path"),
    "newFileCreated": ("edit", "path"),
    "editedExistingFile": ("edit", "path"),
    "fileDeleted": ("edit", "path"),
    "appliedDiff": ("edit", "path"),
    "insertContent": ("edit", "path"),
    "searchAndReplace": ("edit", "path"),
    "listFilesTopLevel": ("list", "path"),
    "listFilesRecursive": ("list", "path"),
    "listCodeDefinitionNames": ("definitions", "path"),
    "searchFiles": ("search", "regex"),
    "codebaseSearch": ("codebase", "query"),
    "webFetch": ("fetch", "path"),
    "webSearch": ("websearch", "path"),
    "execute_command": ("command", "command"),
    "use_mcp_tool": ("mcp", "toolName"),
    "access_mcp_resource": ("mcp", "uri"),
    "newTask": ("task", "content"),
    "switchMode": ("mode", "mode"),
    "use_subagents": ("subagents", ""),
    "updateTodoList": ("todos", ""),
    "useSkill": ("skill", "path"),
}
FILE_SORTS = {"read", "edit", "list", "definitions"}
HEADING_NAMES = {"subagents": "use_subagents"}  # a tool's name in a heading, if it differs -> its name
MESSAGE_TOOLS = {
    "attempt_completion",
    "ask_followup_question",
    "plan_mode_respond",
    "act_mode_respond",
}  # they send a message to the person, and do not count as calls
CALL_TAG = re.compile(rf"<({'|'.join([*MODEL_TOOLS, *MESSAGE_TOOLS])})>")
PARAMETER = re.compile(r"<(\w+)>")
NATIVE_MCP = re.compile(r"^(?:mcp--\w.*?--|\w+0mcp0)(.+)$")
HEADING = re.compile(r"\[(\w+)(?: for .*?)?\] Result:\s*", re.DOTALL)
ENVIRONMENT = "<environment_details>"
APPENDED = re.compile(  # texts that Cline appends to an answer
    r"<environment_details>"
    r"|# (?:TODO LIST|Todo List|task_progress(?: List)?) "
    r"(?:RECOMMENDED|(?:UPDATE|CREATION) REQUIRED|\(Optional - Plan Mode\))"
)
PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
FOLDER = re.compile(r"# Current (?:Working|Workspace) Directory \((.+?)\) Files")
MODEL = re.compile(r"<model>([^<\n]{1,200})</model>")

Topic = tuple[str, str]  # the sort of call and its subject


class ModelMessage(Struct, rename="camel"):
    """One message to or from the model. Since the end of 2025 it has a time, a model and tokens."""

    role: Any = None
    content: Any = None
    ts: Any = None
    model_info: Any = None
    metrics: Any = None
    is_summary: Any = None


class Exchange(Struct):
    """One tool call and its exact result. `output` is None without a result."""

    tool: str
    arguments: dict[str, Any]
    call: str | None = None
    output: Any = None
    failed: bool = False


def shown_topic(tool: str, arguments: dict[str, Any]) -> Topic:
    """A call's sort and subject, as the interface shows them."""
    return _topic(INTERFACE_TOOLS.get(tool, (tool, "")), arguments)


def folder_in(text: str) -> str | None:
    """The working folder, from the environment details of a request."""
    folder = FOLDER.search(text)
    return folder[1] if folder else None


def model_in(history: list[ModelMessage]) -> str | None:
    """The model, if the environment details name it."""
    texts = (text for message in history if message.role == "user" for text in texts_in(message))
    model = next((model for text in texts if (model := MODEL.search(text))), None)
    return model[1].strip() if model else None


def first_text(history: list[ModelMessage]) -> str:
    return "\n".join(texts_in(history[0])) if history else ""


def answered_in(request: str) -> str | None:
    """The tool result with which a request to the model begins."""
    heading = HEADING.match(request)
    return APPENDED.split(request[heading.end() :], maxsplit=1)[0].strip() if heading else None


def match_calls(shown: dict[int, Topic], history: list[ModelMessage]) -> dict[int, Exchange]:
    """The exchange of each interface entry, by the entry's number, for entries that match without doubt."""
    folders = _folders(history)
    exchanges: dict[Topic, list[Exchange]] = {}
    for exchange in _exchanges(history):
        exchanges.setdefault(_in_folder(_exchange_topic(exchange), folders), []).append(exchange)
    places: dict[Topic, list[int]] = {}
    for place, topic in shown.items():
        places.setdefault(_in_folder(topic, folders), []).append(place)
    return {
        place: exchange
        for topic, entries in places.items()
        if len(entries) == len(exchanges.get(topic, []))
        for place, exchange in zip(entries, exchanges[topic], strict=True)
    }


def _folders(history: list[ModelMessage]) -> list[str]:
    """The working folders: a task may be resumed in another one."""
    texts = (text for message in history if message.role == "user" for text in texts_in(message) if ENVIRONMENT in text)
    folders = (folder[1].replace("\\", "/").rstrip("/") for text in texts for folder in FOLDER.finditer(text))
    return list(dict.fromkeys(folders))


def _in_folder(topic: Topic, folders: list[str]) -> Topic:
    """A topic as the interface shows it: a path is relative to the working folder, and that folder has its name only."""
    sort, path = topic
    if sort not in FILE_SORTS:
        return topic
    for folder in folders:
        if path in {"", "."} or path.rstrip("/").lower() == folder.lower():
            return sort, folder.rpartition("/")[2]
        if path.lower().startswith(f"{folder.lower()}/"):
            return sort, path[len(folder) + 1 :].rstrip("/")
    return sort, path.rstrip("/")


def _exchange_topic(exchange: Exchange) -> Topic:
    if native := NATIVE_MCP.match(exchange.tool):
        return "mcp", native[1]
    return _topic(MODEL_TOOLS.get(exchange.tool, (exchange.tool, "")), exchange.arguments)


def _topic(known: tuple[str, str], arguments: dict[str, Any]) -> Topic:
    sort, argument = known
    subject = arguments.get(argument) if argument else None
    if sort in {"read", "edit"} and subject is None:
        subject = _only_file(arguments)
    text = as_text(subject).strip()
    return sort, text.replace("\\", "/").removeprefix("./") if argument == "path" else text


def _only_file(arguments: dict[str, Any]) -> Any:
    """The file of a call that can have several files, if it has exactly one."""
    files = arguments.get("files")
    patch = arguments.get("input") or arguments.get("patch")
    if isinstance(files, list):
        paths = [file.get("path") if isinstance(file, dict) else file for file in files]
    elif patch:
        paths = PATCHED.findall(as_text(patch))
    else:
        paths = re.findall(r"<path>(.*?)</path>", as_text(arguments.get("args")), re.DOTALL)
    return paths[0] if len(paths) == 1 else None


def _exchanges(history: list[ModelMessage]) -> Iterator[Exchange]:
    for place, message in enumerate(history):
        if message.role != "assistant":
            continue
        calls = calls_in(message, history[place + 1] if place + 1 < len(history) else None)
        yield from (call for call in calls if call.tool not in MESSAGE_TOOLS)


def calls_in(message: ModelMessage, answer: ModelMessage | None) -> list[Exchange]:
    """The calls of one message, with the results from the next message."""
    calls = list(_calls(message))
    if answer is not None:
        _set_results(calls, answer)
    return calls


def without_calls(text: str) -> str:
    """The agent's text without the calls that it contains."""
    return without_blocks(text, CALL_TAG).strip()


def _calls(message: ModelMessage) -> Iterator[Exchange]:
    native = [block for block in blocks_in(message) if isinstance(block, dict) and block.get("type") == "tool_use"]
    for block in native:
        arguments = arguments_of(block.get("input"))
        yield Exchange(as_text(block.get("name")), arguments, call=as_text(block.get("id")) or None)
    for text in [] if native else texts_in(message):
        for call in find_blocks(text, CALL_TAG):
            arguments = {block.name: block.text.strip("\n") for block in find_blocks(call.text, PARAMETER)}
            yield Exchange(call.name, arguments)


def _set_results(calls: list[Exchange], answer: ModelMessage) -> None:
    """Set the results of one message's calls, from the next message."""
    results = {
        block["tool_use_id"]: block
        for block in blocks_in(answer)
        if isinstance(block, dict) and block.get("type") == "tool_result" and isinstance(block.get("tool_use_id"), str)
    }
    for call in calls:
        if call.call in results:
            output = text_of(results[call.call].get("content"))
            heading = HEADING.match(output)
            call.output = output[heading.end() :] if heading and _tool_in(heading) == call.tool else output
            call.failed = bool(results[call.call].get("is_error"))
    headings = list(results_with_heading(texts_in(answer)))
    if not results and [tool for tool, _ in headings] == [call.tool for call in calls]:
        for call, (_, output) in zip(calls, headings, strict=True):
            call.output = output


def results_with_heading(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(tool, output) of results that are text with a heading; the output may be in the next text."""
    tool: str | None = None
    for text in texts:
        heading = HEADING.match(text)
        if heading and (output := text[heading.end() :]):
            yield _tool_in(heading), output
        elif tool is not None and not heading:
            yield tool, "" if text.startswith(ENVIRONMENT) else text
        tool = _tool_in(heading) if heading and heading.end() == len(text) else None


def _tool_in(heading: re.Match[str]) -> str:
    return HEADING_NAMES.get(heading[1], heading[1])


def blocks_in(message: ModelMessage) -> list[Any]:
    return message.content if isinstance(message.content, list) else [message.content] if message.content else []


def texts_in(message: ModelMessage) -> list[str]:
    blocks = ({"type": "text", "text": block} if isinstance(block, str) else block for block in blocks_in(message))
    return [text_of(block.get("text")) for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
