"""Finds the files that a tool call reads or changes, in the arguments of the tools of many agents."""

import posixpath
import re
from collections.abc import Iterator
from typing import Any

from recollect.observe.phrases import PhraseTable

MAX_FILES = 20  # of each kind; the title describes a turn that touches more
MAX_PATCH = 40_000  # characters of a patch that are searched for file names
MAX_PATH = 500  # characters: a longer argument is not a path
MAX_QUOTED = 1_000  # characters of a call's text that are searched for quoted paths
MAX_RESPONSE = 600  # characters of a response that are searched for the file's name

TABLE = PhraseTable("files")
PATH_ARGUMENTS = TABLE.words("path_arguments")
PATH_LIST_ARGUMENTS = TABLE.words("path_list_arguments")
READING_TOOLS = TABLE.word_set("reading_tools")
VIEWING_COMMANDS = TABLE.words("viewing_commands")
CHANGING_TOOL = TABLE.pattern("changing_tool")
OTHER_TARGET = TABLE.pattern("other_target")
REPORTED_PATH = TABLE.pattern("reported_path")
PATCHED = re.compile(r"\*\*\* (?:Update|Add|Delete) File: ([^\n\\\"']{1,400})|\*\*\* Move to: ([^\n\\\"']{1,400})")
DIFFED = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]{1,400})", re.MULTILINE)
QUOTED = re.compile(r"`([^`\n]{1,300})`")
LINE_NUMBER = re.compile(r":\d+(?:[:-]\d+)*$|^file://")
PUNCTUATION = re.compile(r"[^a-z0-9]")


def normalize_tool(tool: str | None) -> str:
    """A tool's name without its server and its punctuation: `mcp__fs__write_file` becomes `writefile`."""
    name = (tool or "").rsplit("__", 1)[-1].rsplit(".", 1)[-1]
    return PUNCTUATION.sub("", name.lower())


def reads_file(tool: str, arguments: dict[str, Any]) -> bool:
    """Whether a tool of this normalized name reads a file."""
    return tool in READING_TOOLS or _only_views(tool, arguments)


def changes_file(tool: str, arguments: dict[str, Any]) -> bool:
    """Whether a tool of this normalized name changes files."""
    if _only_views(tool, arguments):
        return False
    return CHANGING_TOOL.search(tool) is not None and OTHER_TARGET.search(tool) is None


def _only_views(tool: str, arguments: dict[str, Any]) -> bool:
    return tool.startswith("strreplace") and arguments.get("command") in VIEWING_COMMANDS


def argument_paths(arguments: dict[str, Any]) -> Iterator[str]:
    """The paths that arguments name, one by one or in lists."""
    for name in PATH_ARGUMENTS:
        value = arguments.get(name)
        if isinstance(value, str) and value and len(value) < MAX_PATH and "\n" not in value:
            yield value
    for name in PATH_LIST_ARGUMENTS:
        value = arguments.get(name)
        if isinstance(value, dict):
            yield from (key for key in list(value)[:MAX_FILES] if isinstance(key, str) and ("/" in key or "." in key))
        elif isinstance(value, list):
            yield from _listed_paths(value)


def _listed_paths(values: list[Any]) -> Iterator[str]:
    for value in values[:MAX_FILES]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from (value[name] for name in PATH_ARGUMENTS if isinstance(value.get(name), str))


def patched_paths(arguments: dict[str, Any]) -> Iterator[str]:
    """The paths that a patch in the arguments changes. Reads patch envelopes and unified diffs."""
    for value in arguments.values():
        if not isinstance(value, str):
            continue
        value = value[:MAX_PATCH]
        if "*** " in value:
            yield from (changed or moved for changed, moved in PATCHED.findall(value)[:MAX_FILES])
        if "+++ " in value:
            yield from (path for path in DIFFED.findall(value)[:MAX_FILES] if path != "/dev/null")


def quoted_paths(arguments: dict[str, Any]) -> Iterator[str]:
    """The paths in backticks, for a call that the log stores as prose: "`./pkg/agent.go`"."""
    text = arguments.get("input")
    if isinstance(text, str):
        yield from (path for path in QUOTED.findall(text[:MAX_QUOTED])[:MAX_FILES] if "/" in path or "." in path)


def reported_paths(response: str) -> Iterator[str]:
    """The path that a tool's response says it wrote, for logs without the tool's arguments."""
    match = REPORTED_PATH.search(response[:MAX_RESPONSE])
    if match:
        yield match["path"].rstrip(".,;")


def display_path(path: str, folder: str, cwd: str | None) -> str:
    """A path without a line number, relative to the working folder if it is inside."""
    path = LINE_NUMBER.sub("", path.strip().strip("`'\"")).replace("\\", "/")
    working_folder = (cwd or "").replace("\\", "/").rstrip("/")
    path = join_path(folder.replace("\\", "/"), path)
    path = posixpath.normpath(path) if path else ""
    if working_folder and path.startswith(working_folder + "/"):
        path = path[len(working_folder) + 1 :]
    return "" if path in {".", "..", "/", working_folder} else path


def join_path(folder: str, path: str) -> str:
    """A path inside a folder; the path alone if it is absolute."""
    is_absolute = path.startswith(("/", "~")) or path[1:2] == ":"
    return path if is_absolute or not folder else posixpath.join(folder, path)
