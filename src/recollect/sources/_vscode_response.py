"""One response in VS Code's chat: its parts, and the rounds of tool calls that complete them."""

from collections.abc import Iterator
from typing import Any

from recollect.model import About, Entry, Kind, Noise, Record, Stop
from recollect.sources._message import Scribe, text_of
from recollect.sources._values import word

DENIED = 0  # how a tool was confirmed
DEEPEST = 40  # levels of a tool's output
TEXT_PARTS = {None, "markdownContent", "markdownVuln", "inlineReference"}
TOLD = {"warning", "confirmation", "elicitationSerialized", "elicitation", "questionCarousel", "hook"}
CONTROLS = {
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
    """The parts of one response, written down."""

    def __init__(self, scribe: Scribe, metadata: dict[str, Any]) -> None:
        self.scribe = scribe
        self.outputs = mapping(metadata.get("toolCallResults"))
        self.calls = {
            call["id"]: call
            for turn in listing(metadata.get("toolCallRounds"))
            for call in listing(mapping(turn).get("toolCalls"))
            if isinstance(call, dict) and isinstance(call.get("id"), str)
        }
        self.agents: dict[str, Scribe] = {}
        self.answers: dict[str, str] = {}  # of sub-agents: they come last, though the part that has them comes first

    def read(self, parts: list[Any]) -> Iterator[Entry]:
        said: list[str] = []
        for part in parts:
            kind = str(part["kind"]) if isinstance(part, dict) and part.get("kind") is not None else None
            if kind in TEXT_PARTS and isinstance(part, dict | str):
                said.append(_words(part))
                continue
            yield from self._say(said)
            said = []
            yield from self._part(kind, part)
        yield from self._say(said)
        for agent, answer in self.answers.items():
            yield self.agents[agent].record(Kind.ASSISTANT_RESPONSE, answer, stop=Stop.ANSWER)

    def _say(self, said: list[str]) -> Iterator[Record]:
        if words := "".join(said).strip():
            yield self.scribe.record(Kind.ASSISTANT_RESPONSE, words)

    def _part(self, kind: str | None, part: Any) -> Iterator[Entry]:
        if not isinstance(part, dict):
            yield self.scribe.unknown(part)
        elif kind == "thinking":
            if thought := text_of(part.get("value")).strip():
                yield self.scribe.record(Kind.REASONING, thought)
        elif kind in {"toolInvocationSerialized", "toolInvocation"}:
            yield from self._tool(part)
        elif kind in TOLD:
            told = [text_of(part.get(name)) for name in ("title", "message", "content", "questions", "systemMessage")]
            yield self.scribe.record(Kind.RUNTIME, "\n".join(words for words in told if words))
        elif kind in CONTROLS:
            yield Noise(kind or "")
        else:
            yield self.scribe.unknown(part)

    def _tool(self, part: dict[str, Any]) -> Iterator[Entry]:
        scribe = self.scribe
        call, name = word(part.get("toolCallId")), word(part.get("toolId"))
        data, details = mapping(part.get("toolSpecificData")), mapping(part.get("resultDetails"))
        if agent := word(part.get("subAgentInvocationId")):
            if agent not in self.agents:
                yield self._agent(agent)
            scribe = self.agents[agent]
        known = self.calls.get(call or "", {})
        shown = details.get("input") or _given(data) or {"message": text_of(part.get("invocationMessage"))}
        given = known.get("arguments") or shown
        yield scribe.call(word(known.get("name")) or name, call, given)
        if data.get("kind") == "subagent" and call:
            yield from self._delegated(call, data)
        code = mapping(data.get("terminalCommandState")).get("exitCode")
        output = _output(self.outputs.get(call or "")) or _shown(part, data, details)
        yield scribe.result(
            call,
            output,
            failed=bool(details.get("isError")) or _is_denied(part.get("isConfirmed")),
            exit_code=code if isinstance(code, int) and not isinstance(code, bool) else None,
        )

    def _agent(self, agent: str) -> About:
        session = f"{self.scribe.session}/{agent}"
        self.agents[agent] = Scribe(session=session, key=session, at=self.scribe.at, line=self.scribe.line)
        return About(session=session, parent=self.scribe.session, parent_call=agent)

    def _delegated(self, agent: str, data: dict[str, Any]) -> Iterator[Entry]:
        """What a sub-agent was asked, and what it answered in the end."""
        if agent not in self.agents:
            yield self._agent(agent)
        if task := text_of(data.get("prompt")).strip():
            yield self.agents[agent].prompt(task)
        if answer := text_of(data.get("result")).strip():
            self.answers[agent] = answer


def _words(part: Any) -> str:
    if isinstance(part, str):
        return part
    if part.get("kind") == "inlineReference":
        return text_of(part.get("name")) or _file_name(part.get("inlineReference"))
    return text_of(part.get("value") if "value" in part else part.get("content"))


def _file_name(reference: Any) -> str:
    place = mapping(reference)
    path = place.get("path") or mapping(place.get("uri")).get("path") or place.get("name")
    return str(path).rpartition("/")[2] if path else ""


def _given(data: dict[str, Any]) -> Any:
    """The arguments of a tool, from what its part shows of them."""
    match data.get("kind"):
        case "terminal":
            return {"command": text_of(mapping(data.get("commandLine")).get("original")) or text_of(data.get("command"))}
        case "input":
            return data.get("rawInput")
        case "subagent":
            return {name: data[name] for name in ("agentName", "description", "prompt") if name in data}
        case "todoList":
            return {"todoList": data.get("todoList")}
        case _:
            return None


def _shown(part: dict[str, Any], data: dict[str, Any], details: dict[str, Any]) -> str:
    printed = mapping(data.get("terminalCommandOutput")).get("text") or data.get("result")
    return text_of(details.get("output")) or text_of(printed) or text_of(part.get("pastTenseMessage"))


def _output(result: Any, depth: int = 0) -> str:
    """The text of a tool's result: plain parts, or a tree of elements with text in its leaves."""
    if depth > DEEPEST:
        return "[nested too deep]"
    match result:
        case str():
            return result
        case list():
            return "\n".join(text for item in result if (text := _output(item, depth + 1)))
        case {"text": str(words)}:
            return words
        case dict():
            inner = next((result[name] for name in ("content", "value", "node", "children") if name in result), None)
            return _output(inner, depth + 1)
        case _:
            return ""


def _is_denied(confirmed: Any) -> bool:
    return confirmed is False or (isinstance(confirmed, dict) and confirmed.get("type") == DENIED)


def mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def listing(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
