"""What setup puts into a settings file: the MCP server, hooks, and the keys that every such file has."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from recollect.setup.changes import (
    Added,
    Base,
    Changes,
    HookAdded,
    HookReplaced,
    Replaced,
    hook_commands,
    missing_containers,
)
from recollect.setup.editing import Missing, NotEditable, SettingsDocument, value_at
from recollect.setup.program import ProgramCommand, hook_parts, is_plain, is_plain_hook, runs_recollect

SERVER = "recollect"  # the name of the MCP server in every agent; tools are called mcp__recollect__search
STATE_VARIABLE = "RECOLLECT_HOME"
ADDRESSES = ("url", "httpUrl", "serverUrl", "uri")  # how agents name the address of a server that they do not start


class Part(Protocol):
    def apply(self, document: SettingsDocument, program: ProgramCommand) -> tuple[SettingsDocument, Changes]:
        """The document with this part, and what had to change. Raises `NotEditable`."""

    def label(self) -> str:
        """What this part is, for people."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """The MCP server, in the form that an agent has for one."""

    at: tuple[str, ...] = ("mcpServers",)
    """Where the agent keeps its servers."""
    fixed: Mapping[str, Any] | None = None
    """What the agent wants besides the command."""
    command: str = "command"
    arguments: str | None = "args"
    """The key of the arguments. None if the command is one list."""
    env: str = "env"
    last: Mapping[str, Any] | None = None
    """Like `fixed`, after the command."""

    def label(self) -> str:
        return "MCP server"

    def apply(self, document: SettingsDocument, program: ProgramCommand) -> tuple[SettingsDocument, Changes]:
        path = (*self.at, SERVER)
        existing = value_at(document.value, path)
        if isinstance(existing, Missing):
            entry = self.entry(program)
            changes: Changes = [Added(path=path, value=entry, containers=missing_containers(document, path))]
            return document.put(path, entry), changes
        if not isinstance(existing, dict):
            raise NotEditable(f"has a server {SERVER!r} in a form that is not understood")
        words = self._words(existing)
        if not words and any(name in existing for name in ADDRESSES):
            return document, []  # connected to `recollect serve`
        if not runs_recollect(words):
            raise NotEditable(f"has a server {SERVER!r} that runs another program: {' '.join(map(str, words))}")
        return self._update(document, existing, program, words)

    def _update(
        self, document: SettingsDocument, existing: Mapping[str, Any], program: ProgramCommand, words: list[Any]
    ) -> tuple[SettingsDocument, Changes]:
        """Change the command of a server, but not its options nor what else a person set."""
        before_mcp = words[: words.index("mcp")] if "mcp" in words else words
        if not is_plain(before_mcp):
            return document, []
        values: dict[tuple[str, ...], Any] = {
            (key,): value
            for key, value in self._command_fields((*program.words, "mcp", *words[len(before_mcp) + 1 :])).items()
        }
        if program.home:
            values[(self.env, STATE_VARIABLE)] = program.home
        changes: Changes = []
        for inner, value in values.items():
            path, current = (*self.at, SERVER, *inner), value_at(existing, inner)
            if current == value or (not value and isinstance(current, Missing)):
                continue
            if isinstance(current, Missing):
                changes.append(Added(path=path, value=value, containers=missing_containers(document, path)))
            else:
                changes.append(Replaced(path=path, before=document.raw(path), value=value))
            document = document.put(path, value)
        return document, changes

    def entry(self, program: ProgramCommand) -> dict[str, Any]:
        """The whole entry of the server."""
        env = {self.env: {STATE_VARIABLE: program.home}} if program.home else {}
        return {**(self.fixed or {}), **self._command_fields((*program.words, "mcp")), **env, **(self.last or {})}

    def _command_fields(self, words: tuple[Any, ...]) -> dict[str, Any]:
        if self.arguments is None:
            return {self.command: list(words)}
        return {self.command: words[0], self.arguments: list(words[1:])}

    def _words(self, entry: Mapping[str, Any]) -> list[Any]:
        """The command of an entry, with its arguments."""
        command = entry.get(self.command)
        arguments = entry.get(self.arguments) if self.arguments is not None else None
        if isinstance(command, dict):  # Zed's older form: {"path": …, "args": […]}
            raise NotEditable(f"has a server {SERVER!r} in an older form; remove it and run setup again")
        words = command if isinstance(command, list) else [command] if isinstance(command, str) else []
        return [*words, *(arguments if isinstance(arguments, list) else ())]


@dataclass(frozen=True)
class Hook:
    """A hook that runs `recollect hook EVENT`."""

    name: str
    """The agent's name of the event."""
    event: str
    """Ours."""
    item: Any
    """The item of the list of hooks, as the installed file has it."""
    at: tuple[str, ...] = ("hooks",)

    def label(self) -> str:
        return f"hook {self.name}"

    def apply(self, document: SettingsDocument, program: ProgramCommand) -> tuple[SettingsDocument, Changes]:
        path = (*self.at, self.name)
        for found in hook_commands(document, path, self.event):
            current = value_at(document.value, found)
            parts = hook_parts(current)
            assert parts is not None  # else it would not have been found
            command = program.hook(self.event, parts[1])
            if current == command or not is_plain_hook(current):
                return document, []
            return document.put(found, command), [HookReplaced(path=path, event=self.event, before=current, value=command)]
        containers = missing_containers(document, (*path, ""))
        item = _with_program(self.item, program)
        return document.append(path, item), [HookAdded(path=path, event=self.event, containers=containers)]


@dataclass(frozen=True)
class Key:
    """A key that every file of this kind has. An existing value stays."""

    name: str
    value: Any
    only_new: bool = False
    """Whether only an empty file gets it."""

    def label(self) -> str:
        return ""

    def apply(self, document: SettingsDocument, program: ProgramCommand) -> tuple[SettingsDocument, Changes]:
        if self.name in document.value or (self.only_new and document.value):
            return document, []
        return document.put((self.name,), self.value), [Base(path=(self.name,), value=self.value)]


def _with_program(item: Any, program: ProgramCommand) -> Any:
    """The item of an installed file, with the absolute path of the program in its command."""
    if isinstance(item, dict):
        return {key: _with_program(value, program) for key, value in item.items()}
    if isinstance(item, list):
        return [_with_program(value, program) for value in item]
    parts = hook_parts(item)
    return program.hook(*parts) if parts is not None else item
