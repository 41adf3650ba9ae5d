"""Defines an agent for setup: how it is found, which of its files get which parts, and how the result is checked."""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from recollect.setup.changes import Changes
from recollect.setup.editing import SettingsDocument
from recollect.setup.parts import Hook, Key, Part
from recollect.setup.places import Place
from recollect.setup.program import ProgramCommand, hook_parts
from recollect.sources.formats.homes import Homes


@dataclass(frozen=True)
class Hooks:
    """All hooks of an installed file (`agents/hooks.json`), with the other keys of that file."""

    source: str

    def label(self) -> str:
        return f"{sum(isinstance(part, Hook) for part in self._parts())} hooks"

    def apply(self, document: SettingsDocument, program: ProgramCommand) -> tuple[SettingsDocument, Changes]:
        changes: Changes = []
        for part in self._parts():
            document, made = part.apply(document, program)
            changes += made
        return document, changes

    def _parts(self) -> Iterator[Key | Hook]:
        template = json.loads(installed_file(self.source))
        for name, value in template.items():
            if name != "hooks":
                yield Key(name, value)
        for name, items in template["hooks"].items():
            for item in items:
                yield Hook(name, _event(item), item)


@dataclass(frozen=True)
class SettingsFile:
    """A file of the agent that gets parts of ours."""

    place: Place
    parts: tuple[Part, ...]
    format: Literal["json", "toml", "yaml"] = "json"


@dataclass(frozen=True)
class WholeFile:
    """A file of ours that the agent reads: a skill, a command, a sub-agent."""

    place: Place
    source: str
    """Its path below `recollect/agents`."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """A command of the agent that lists its MCP servers."""

    command: tuple[str, ...]
    connects: bool = True
    """Whether the agent connects to the servers before it lists them."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Other files that the agent needs for it, below its home. `{folder}` is the working folder."""
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Agent:
    name: str
    title: str
    aliases: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    signs: Homes
    """Files or folders that exist if the agent is used on this machine."""
    user: tuple[SettingsFile | WholeFile, ...]
    project: tuple[SettingsFile | WholeFile, ...] = ()
    check: Check | None = None
    by_hand: tuple[str, ...] = ()
    """What a person has to do, which setup cannot."""
    by_hand_in_project: tuple[str, ...] = ()

    def is_found(self, env: Mapping[str, str]) -> bool:
        """Whether the agent is on this machine: its program is installed, or it has left files."""
        return self.program(env) is not None or any(sign.exists() for sign in self.signs(env))

    def program(self, env: Mapping[str, str]) -> str | None:
        """The path of the agent's program."""
        found = (shutil.which(name, path=env.get("PATH")) for name in self.programs)
        return next((path for path in found if path), None)


@cache
def installed_file(source: str) -> str:
    """A file of `recollect/agents`."""
    return (files("recollect") / "agents" / source).read_text("utf-8")


def _event(item: Any) -> str:
    """The event of the command in an item of a list of hooks."""
    command = item["command"] if "command" in item else item["hooks"][0]["command"]
    parts = hook_parts(command)
    if parts is None:
        raise ValueError(f"not a hook of this program: {command}")
    return parts[0]
