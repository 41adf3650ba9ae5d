"""Reads the scripts that shell tools run, under the argument names of many agents."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from recollect.observe.file_access import FileAccess, normalize_tool
from recollect.observe.shell_files import MENTIONS_FILES, command_accesses, shell_accesses, strip_wrappers
from recollect.observe.shell_parser import ShellCommand

COMMANDS = ("command", "cmd", "CommandLine", "commandLine", "script")
FOLDERS = ("workdir", "cwd", "Cwd", "working_directory", "workingDirectory", "working_dir", "directory", "dir_path", "cd")
CONTENT_SHELLS = frozenset(["shell", "bash", "sh", "terminal"])  # of gptme, with the script in `content`
SHELL = re.compile(r"(?:^|/)(?:ba|z|da|k)?sh$")
SCRIPTED = re.compile(
    r"exec_command\(\s*\{(?P<before>[^{}\"]{0,40}?)[\"']?cmd[\"']?\s*:\s*(?P<command>\"(?:[^\"\\]|\\.)*+\")(?P<after>[^}]{0,400})",
    re.DOTALL,
)
SCRIPTED_FOLDER = re.compile(r"[\"']?workdir[\"']?\s*:\s*(?P<folder>\"(?:[^\"\\]|\\.)*+\")")
FENCED = re.compile(r"```(?:ba|z|da)?(?:sh|shell|console)?\n(.*?)\n?```", re.DOTALL)


def script_accesses(tool: str | None, arguments: Mapping[str, Any]) -> list[FileAccess]:
    """What the script of a shell tool asks of files."""
    for name in COMMANDS:
        value = arguments.get(name)
        if isinstance(value, str) and value:
            return shell_accesses(value, _folder(arguments)) if MENTIONS_FILES.search(value) else []
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return _program_accesses(value, _folder(arguments))
    if isinstance(text := arguments.get("input"), str):
        if "exec_command" in text:
            return [access for script, folder in scripted_commands(text) for access in shell_accesses(script, folder)]
        if fenced := FENCED.match(text):
            return shell_accesses(fenced[1])
    if isinstance(text := arguments.get("content"), str) and normalize_tool(tool) in CONTENT_SHELLS:
        return shell_accesses(text)
    return []


def _folder(arguments: Mapping[str, Any]) -> str:
    return next((value for name in FOLDERS if isinstance(value := arguments.get(name), str)), "")


def _program_accesses(words: list[str], folder: str) -> list[FileAccess]:
    """What a program and its arguments ask of files: a shell with its script, or any other."""
    words = strip_wrappers(words)
    if len(words) > 2 and SHELL.search(words[0]) and words[1].startswith("-"):
        return shell_accesses(words[-1], folder)
    return [msgspec.structs.replace(access, base=folder) for access in command_accesses(words, ShellCommand(words=words))]


def scripted_commands(text: str) -> Iterator[tuple[str, str]]:
    """(script, folder) of the commands in a program that Codex ran, as far as they are literals."""
    for call in SCRIPTED.finditer(text):
        folder = SCRIPTED_FOLDER.search(call["before"]) or SCRIPTED_FOLDER.search(call["after"])
        yield _literal(call["command"]), _literal(folder["folder"]) if folder else ""


def _literal(text: str) -> str:
    """The value of a string literal that is also JSON; empty if it is not."""
    try:
        return msgspec.json.decode(text, type=str)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return ""
