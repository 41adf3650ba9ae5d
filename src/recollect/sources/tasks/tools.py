"""Reads tool calls and their results in a task of Cline, Roo Code or Kilo Code.

A question about a tool and the report that it runs are one call. The exact call in the task's history, if there is one,
replaces the interface's version; else Cline's next request begins with the last call's result. A command's output comes in
pieces, each an entry.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from recollect.model import Kind, Record, Stop
from recollect.sources.formats.message import RecordBuilder, text_of
from recollect.sources.formats.values import arguments_of, as_text, parse_time
from recollect.sources.tasks.entries import Message, NumberedMessage, Task
from recollect.sources.tasks.history import Topic, answered_in, shown_topic

CALLS = {"tool", "command", "use_mcp_server", "browser_action", "browser_action_launch", "use_subagents", "new_task"}
ANSWERS = {  # entries of a call -> entries of its results
    "command_output": {"command"},
    "mcp_server_response": {"use_mcp_server"},
    "browser_action_result": {"browser_action", "browser_action_launch"},
    "subagent": {"use_subagents"},
    "subtask_result": {"tool", "new_task"},
    "codebase_search_result": {"tool"},
}
RESULT_IN_CONTENT = {"listFilesTopLevel", "listFilesRecursive", "listCodeDefinitionNames", "searchFiles"}
REFUSED = (
    *("The user denied this operation", "The tool execution failed", "Error:\n"),
    *('{"status":"error"', '{"status":"denied"'),
)
EXIT_CODE = re.compile(r"(?:Exit code:|exited with (?:exit )?code|^Command [a-z ]+\(?exit code) (\d{1,9})\b")


def topic_of(message: Message) -> Topic:
    """A call's sort and subject, by which it is found in the history."""
    return shown_topic(*_shown_call(message))


def calls_of(entries: Iterable[NumberedMessage]) -> dict[int, Topic]:
    """The topic of each call, by its entry's number."""
    messages = ((entry.place, entry.message) for entry in entries)
    return {place: topic_of(call) for place, call in messages if call and call.name() in CALLS and not is_summary(call)}


def answers_of(entries: Iterable[NumberedMessage]) -> dict[int, list[Message]]:
    """The result entries of each call, by the number of its entry: all with the right name up to the next such call."""
    answers: dict[int, list[Message]] = {}
    last: dict[str, int] = {}
    unsent: list[int] = []  # calls whose results are in the next request
    for entry in entries:
        message, name = entry.message, entry.message.name() if entry.message else ""
        if message and name in CALLS and not is_summary(message):
            last[name] = entry.place
            unsent.append(entry.place)
        calls = [last[call] for call in ANSWERS.get(name, ()) if call in last]
        if message and calls:
            answers.setdefault(max(calls), []).append(message)
        elif message and name == "api_req_started":
            _answer_from_request(answers, unsent, message)
            unsent = []
    return answers


def _answer_from_request(answers: dict[int, list[Message]], unsent: list[int], request: Message) -> None:
    """Use a request's result, if it can belong to one call only."""
    if len(unsent) != 1 or unsent[0] in answers:
        return
    output = answered_in(as_text(request.json().get("request")))
    if output is not None:
        answers[unsent[0]] = [Message(ts=request.ts, type="say", say="answer", text=output)]


def is_summary(message: Message) -> bool:
    return message.name() == "tool" and message.json().get("tool") == "summarizeTask"


def call(task: Task, place: int, builder: RecordBuilder, message: Message) -> Iterator[Record]:
    """Reads a call and its result, if it has one. A command that shows the task's result does not open the turn again."""
    if is_summary(message):
        yield builder.record(Kind.COMPACTION, text_of(message.json().get("content")))
        return
    shows_result = task.completed and message.name() == "command"
    task.waiting = shows_result
    task.called.add(message.name())
    tool, arguments = _shown_call(message)
    exact, answers = task.exact.get(place), task.answers.get(place, [])
    shown = "\n".join(filter(None, map(output_of, answers))) if answers else _shown_output(message)
    if exact is not None:
        tool, arguments = exact.tool, exact.arguments
    call_id = (exact.call if exact else None) or builder.key
    yield builder.call(*with_server_name(tool, arguments, call_id), stop=Stop.ANSWER if shows_result else None)
    output = exact.output if exact is not None and exact.output is not None else shown
    if output is not None:
        builder.at = max((at for answer in answers if (at := parse_time(answer.ts))), default=builder.at)
        failed = exact is not None and exact.failed
        yield build_result(builder, call_id, output, is_command=message.name() == "command", failed=failed)


def build_result(builder: RecordBuilder, call: str, output: str, *, is_command: bool, failed: bool) -> Record:
    """A tool's result. A command's exit code is in its output."""
    code = EXIT_CODE.search(output) if is_command else None
    exit_code = int(code[1]) if code else None
    failed = failed or bool(exit_code) or output.startswith(REFUSED)
    return builder.result(call, output, failed=failed, exit_code=exit_code)


def answer(task: Task, builder: RecordBuilder, message: Message) -> Iterator[Record]:
    """Reads a result without a call; all others are read with their calls."""
    if not ANSWERS[message.name()] & task.called:
        yield builder.result(None, output_of(message))


def _shown_call(message: Message) -> tuple[str, dict[str, Any]]:
    """The tool and the arguments that the interface shows."""
    fields = message.json()
    match message.name():
        case "command":
            return "execute_command", {"command": message.text_without_marks()}
        case "browser_action_launch":
            return "browser_action", {"action": "launch", "url": message.text_without_marks()}
        case "use_mcp_server":
            return as_text(fields.get("type")) or "use_mcp_tool", fields
        case "tool":
            tool = as_text(fields.pop("tool", None)) or "tool"
            if tool in RESULT_IN_CONTENT:
                fields.pop("content", None)
            return tool, fields
        case name:
            return name, fields or ({"text": message.text_without_marks()} if message.text_without_marks() else {})


def with_server_name(tool: str, arguments: dict[str, Any], call: str) -> tuple[str, str, dict[str, Any]]:
    """(tool, call, arguments). A tool of an MCP server gets a name with its server, and its own arguments."""
    server = arguments.get("serverName") or arguments.get("server_name")
    name = arguments.get("toolName") or arguments.get("tool_name")
    if tool != "use_mcp_tool" or not (server and name):
        return tool, call, arguments
    return f"mcp__{as_text(server)}__{as_text(name)}", call, arguments_of(arguments.get("arguments"))


def _shown_output(message: Message) -> str | None:
    fields = message.json()
    shown = message.name() == "tool" and as_text(fields.get("tool")) in RESULT_IN_CONTENT and fields.get("content")
    return text_of(shown) if shown else None


def output_of(message: Message) -> str:
    fields = message.json()
    match message.name():
        case "browser_action_result" if fields:
            return "\n".join(text_of(fields[part]) for part in ("currentUrl", "logs") if fields.get(part))
        case "subagent" if isinstance(fields.get("items"), list):
            return "\n\n".join(text_of(item) for item in fields["items"])
        case _:
            return text_of(message.text)
