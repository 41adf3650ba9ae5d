"""Files: which ones a tool call read and which it changed, from the arguments of many agents' tools."""

import posixpath
import re
from collections.abc import Iterator
from typing import Any

MOST_FILES = 20  # of each kind; a turn that touches more is told by its title
LOOKED_AT = 40_000  # characters of a patch in which names of files are sought

PATH_NAMES = tuple(
    """file_path filePath path filename file_name fileName filepath target_file TargetFile targetFile notebook_path
    absolute_path AbsolutePath absolutePath relative_path relativePath relative_workspace_path file File uri
    filePathInProject pathInProject""".split()
)
READING = frozenset(
    """read readfile readfiles view viewfile openfile open cat getfile readmanyfiles fileread fsread readtextfile viewimage
    readmediafile getfilecontents gettext readnotebook readcontext readlints viewcode""".split()
)
CHANGING = re.compile(
    r"edit|write|replace|patch|insert|create|delete|remove|rename|applydiff|updatefile|appendfile|savefile|modif",
    re.IGNORECASE,
)
NOT_FILES = re.compile(
    r"todo|plan|task|memory|issue|pullrequest|comment|stdin|branch|agent|thought|document|project|session",
    re.IGNORECASE,
)
VIEWING = ("view", "read", "open", "view_range")
PATCHED = re.compile(r"\*\*\* (?:Update|Add|Delete) File: ([^\n\\\"']{1,400})|\*\*\* Move to: ([^\n\\\"']{1,400})")
DIFFED = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]{1,400})", re.MULTILINE)
ANSWERED = re.compile(
    r"(?:[Tt]he file |[Ff]ile (?:successfully )?(?:written|created|updated|edited)(?: successfully)?(?: at)?: ?|"
    r"[Ff]ile created successfully at: ?|edits? to (?:file: )?|[Ww]rote [^\n]{0,40}?to |"
    r"[Uu]pdated )(?P<path>(?:[~.]?/|[A-Za-z]:\\|[\w.-]+/)[^\s:'\"<>]{1,300})"
)
TICKED = re.compile(r"`([^`\n]{1,300})`")
PLACE = re.compile(r":\d+(?:[:-]\d+)*$|^file://")
SQUEEZED = re.compile(r"[^a-z0-9]")


def short_name(tool: str | None) -> str:
    """A tool's name without its server and its punctuation: `mcp__fs__write_file` is `writefile`."""
    name = (tool or "").rsplit("__", 1)[-1].rsplit(".", 1)[-1]
    return SQUEEZED.sub("", name.lower())


def reads(name: str, arguments: dict[str, Any]) -> bool:
    """Whether a tool of this (short) name is one that reads a file."""
    return name in READING or (name.startswith("strreplace") and arguments.get("command") in VIEWING)


def changes(name: str, arguments: dict[str, Any]) -> bool:
    """Whether a tool of this (short) name is one that changes files."""
    if name.startswith("strreplace") and arguments.get("command") in VIEWING:
        return False
    return CHANGING.search(name) is not None and NOT_FILES.search(name) is None


def named_in(arguments: dict[str, Any]) -> Iterator[str]:
    """The paths that arguments name outright, one by one or in lists."""
    for name in PATH_NAMES:
        value = arguments.get(name)
        if isinstance(value, str) and value and len(value) < 500 and "\n" not in value:
            yield value
    for name in ("paths", "files", "file_paths", "edits", "changes", "replacements"):
        value = arguments.get(name)
        if isinstance(value, dict):
            yield from (key for key in list(value)[:MOST_FILES] if isinstance(key, str) and ("/" in key or "." in key))
        elif isinstance(value, list):
            yield from _listed(value)


def _listed(values: list[Any]) -> Iterator[str]:
    for value in values[:MOST_FILES]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from (value[name] for name in PATH_NAMES if isinstance(value.get(name), str))


def patched_in(arguments: dict[str, Any]) -> Iterator[str]:
    """The paths that a patch among the arguments changes, whether an envelope or a unified diff."""
    for value in arguments.values():
        if not isinstance(value, str):
            continue
        value = value[:LOOKED_AT]
        if "*** " in value:
            yield from (found[0] or found[1] for found in PATCHED.findall(value)[:MOST_FILES])
        if "+++ " in value:
            yield from (path for path in DIFFED.findall(value)[:MOST_FILES] if path != "/dev/null")


def ticked_in(arguments: dict[str, Any]) -> Iterator[str]:
    """The paths in a call that its log kept as prose: "`./pkg/agent.go`"."""
    told = arguments.get("input")
    if isinstance(told, str):
        yield from (path for path in TICKED.findall(told[:1_000])[:MOST_FILES] if "/" in path or "." in path)


def answered_in(text: str) -> Iterator[str]:
    """The path that a tool says it has written, where its arguments were not kept."""
    found = ANSWERED.search(text[:600])
    if found:
        yield found["path"].rstrip(".,;")


def shown(path: str, folder: str, cwd: str | None) -> str:
    """A path as it is shown: relative to the working folder where it lies inside, without a line number."""
    path = PLACE.sub("", path.strip().strip("`'\"")).replace("\\", "/")
    here = (cwd or "").replace("\\", "/").rstrip("/")
    folder = folder.replace("\\", "/")
    if folder and not _is_absolute(path):
        path = posixpath.join(folder, path)
    path = posixpath.normpath(path) if path else ""
    if here and path.startswith(here + "/"):
        path = path[len(here) + 1 :]
    return "" if path in {".", "..", "/", here} else path


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "~")) or path[1:2] == ":"
