"""What a tool call asks of files, in the tools of many agents: to read, write, edit, move or delete them.

The names of tools and arguments are data: agents name the same tool differently, but with few words.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from recollect.observe.patches import FilePatch, holds_patch, hunk_lines, read_patch, replace_blocks
from recollect.observe.paths import MAX_PATH

MAX_FILES = 200  # of one call; a call that names more, names folders or patterns

READ, CHANGED, CREATED, DELETED = "read", "changed", "created", "deleted"
WRITTEN = "written"  # all of the content is replaced: the file is created if it did not exist
Pairs = tuple[tuple[str, str], ...]


class FileAccess(Struct, frozen=True, kw_only=True):
    """What a call asks of one file. `path` is as in the call, and empty if only the response names the file."""

    path: str
    action: str
    base: str = ""  # the folder in which the call runs, if it states one
    content: str | None = None  # the text that is written or added
    replacements: Pairs = ()  # (old, new) texts
    every: bool = False  # all occurrences are replaced, and the call does not tell their number
    patch: tuple[str, ...] | None = None  # the lines of hunks
    optional: bool = False  # the call succeeds also if the file does not exist


PATHS = """
file_path filePath path filename file_name fileName filepath target_file TargetFile targetFile notebook_path notebookPath
absolute_path AbsolutePath absolutePath relative_path relativePath relative_workspace_path file File uri target_path
filePathInProject pathInProject
""".split()
PATH_LISTS = frozenset("paths files file_paths filePaths edits changes replacements operations multi_edits targets".split())
EDIT_LISTS = frozenset("edits changes replacements edit operations multi_edits ReplacementChunks diffs blocks".split())
OLD_AND_NEW = tuple(
    (pair.split("/")[0], pair.split("/")[1])
    for pair in """
    old_string/new_string oldString/newString old_str/new_str oldStr/newStr old_text/new_text oldText/newText old/new
    search/replace before/after TargetContent/ReplacementContent old_content/new_content original/replacement
    find/replace search_text/replace_text to_replace/new_content original_text/new_text search_string/replace_string
    """.split()
)
ALL_OCCURRENCES = frozenset(
    "replace_all replaceAll replace-all change_all allow_multiple AllowMultiple all_occurrences use_regex".split()
)
CONTENTS = """
content file_text fileText contents file_content fileContent CodeContent text new_content code_content insert_text new_str
newStr new_source new_text body data
""".split()
MOVES = tuple(
    (pair.split("/")[0], pair.split("/")[1])
    for pair in """
    source/destination source_path/destination_path old_path/new_path oldPath/newPath from/to src/dst src/dest
    sourcePath/destinationPath old_file/new_file from_path/to_path
    """.split()
)
COMMANDS = {  # of editors that do everything in one tool
    "view": "read", "read": "read", "open": "read", "view_range": "read", "create": "write", "write": "write",
    "str_replace": "edit", "replace": "edit", "edit": "edit", "insert": "insert", "append": "append",
    "undo_edit": "edit", "delete": "delete", "remove": "delete", "rename": "move", "move": "move",
}  # fmt: skip
READING_TOOLS = frozenset(
    """
cat fileread fsread getfile getfilecontents gettext open openfile read readcontext readfile readfiles readlints readcode
readmanyfiles readmediafile readmultiplefiles readnotebook readtextfile view viewcode viewfile viewimage viewfileincontext
opensourcefile readimage readpdf viewcodeitem readfilelines readfilerange showfile
""".split()
)
EDITING = re.compile(
    r"edit|write|replace|patch|insert|create|delete|remove|rename|appl(?:y|ied)diff|updatefile|append|savefile|modif|"
    r"^save$|newfile|movefile|movepath|copyfile|copypath|unlink|overwrite|^move$"
)
OTHER_TARGETS = re.compile(
    r"todo|plan|task|memory|memories|issue|pullrequest|comment|stdin|branch|agent|thought|document|project|session|director|"
    r"folder|mkdir|worktree|database|record|label|rule|skill|message|artifact|webhook|secret|event"
)
DELETING = re.compile(r"(?:delete|remove|unlink)d?(?!line|text|block|symbol|cell|import|node|key)|deleted$")
MOVING = re.compile(r"rename|^move|movefile|movepath")
COPYING = re.compile(r"copyfile|copypath")
WRITING = re.compile(r"write|create|newfile|save|overwrite|textfile$")
INSERTING = re.compile(r"insert(?!edit)")
APPENDING = re.compile(r"append")
REMOTE = frozenset(["owner", "repo", "repository", "repository_full_name", "project_id"])  # then the file is on a server
PUNCTUATION = re.compile(r"[^a-z0-9]")
VENDOR = re.compile(r"^(?:copilot|builtin|functions|default_api|developer)_")
QUOTED = re.compile(r"`([^`\n]{1,300})`")
PROSE_PATH = re.compile(r"^(?:Edit|Read|Write|Create|Delete|View) file: ([^\n]{1,300})", re.MULTILINE)
FENCE = re.compile(r"^```(\w*)\n(.*?)\n?^```", re.DOTALL | re.MULTILINE)
TAGGED_FILE = re.compile(r"<file>(.*?)</file>", re.DOTALL)
TAGGED_PATH = re.compile(r"<path>\s*(.*?)\s*</path>", re.DOTALL)
ELIDED = re.compile(r"\.\.\. ?existing code|existing code ?\.\.\.|rest of (?:the )?(?:code|file)", re.IGNORECASE)


def normalize_tool(tool: str | None) -> str:
    """A tool's name without its server and its punctuation: `mcp__fs__write_file` becomes `writefile`."""
    name = VENDOR.sub("", (tool or "").rsplit("__", 1)[-1].rsplit(".", 1)[-1])
    return PUNCTUATION.sub("", name.lower())


@lru_cache(maxsize=1024)
def role_of(tool: str | None) -> str:
    """What a tool does with files: read, write, insert, append, delete, move, copy, edit, or nothing known ("")."""
    name = normalize_tool(tool)
    if name in READING_TOOLS:
        return "read"
    if name in {"texteditor", "fileeditor", "editor"} or name.startswith("strreplace"):
        return "edit"
    if EDITING.search(name) is None or OTHER_TARGETS.search(name) is not None:
        return ""
    for pattern, role in (
        (DELETING, "delete"), (MOVING, "move"), (COPYING, "copy"), (INSERTING, "insert"), (APPENDING, "append"),
    ):  # fmt: skip
        if pattern.search(name):
            return role
    if "searchandreplace" in name or "regex" in name:
        return "replace"
    return "write" if WRITING.search(name) and "edit" not in name.replace("edited", "") else "edit"


def tool_accesses(tool: str | None, arguments: Mapping[str, Any]) -> list[FileAccess]:
    """What a tool with a role asks of files."""
    role = role_of(tool)
    if not role or not REMOTE.isdisjoint(arguments) or arguments.get("dryRun") is True:
        return []
    if role != "read":
        command = arguments.get("command")
        role = COMMANDS.get(command, role) if isinstance(command, str) else role
    if role == "read":
        return [FileAccess(path=path, action=READ) for path in _read_paths(arguments)]
    if role in {"move", "copy"} and (moved := list(_moves(role, arguments))):
        return moved
    if role == "delete":
        return [FileAccess(path=path, action=DELETED) for path in argument_paths(arguments)]
    return list(_edits(role, arguments))[:MAX_FILES]


# ---- paths


def argument_paths(arguments: Mapping[str, Any]) -> Iterator[str]:
    """The paths that arguments name, one by one or in lists."""
    for name in PATHS:
        value = arguments.get(name)
        if isinstance(value, str) and 0 < len(value) < MAX_PATH and "\n" not in value:
            yield value
            break
    for name in () if PATH_LISTS.isdisjoint(arguments) else sorted(PATH_LISTS):
        value = arguments.get(name)
        if isinstance(value, dict):
            yield from (key for key in list(value)[:MAX_FILES] if isinstance(key, str) and ("/" in key or "." in key))
        elif isinstance(value, list):
            for item in value[:MAX_FILES]:
                if isinstance(item, str):
                    yield item
                elif isinstance(item, dict) and (path := own_path(item)):
                    yield path


def own_path(arguments: Mapping[str, Any]) -> str:
    """The one path that arguments name by themselves."""
    for name in PATHS:
        value = arguments.get(name)
        if isinstance(value, str) and 0 < len(value) < MAX_PATH and "\n" not in value:
            return value
    return ""


def _read_paths(arguments: Mapping[str, Any]) -> Iterator[str]:
    """The paths that a reading tool reads. Folders are left out as far as the call shows them."""
    if arguments.get("mode") == "Directory":
        return
    operations = arguments.get("operations")
    if isinstance(operations, list):
        yield from (own_path(item) for item in operations if isinstance(item, dict) and item.get("mode") != "Directory")
        return
    paths = [*argument_paths(arguments), *_prose_paths(arguments)]
    if isinstance(tagged := arguments.get("args"), str):
        paths += TAGGED_PATH.findall(tagged) or ([tagged] if "<" not in tagged else [])
    yield from (path for path in paths if not path.endswith(("/", "\\")))


def _prose_paths(arguments: Mapping[str, Any]) -> Iterator[str]:
    """The paths in a call that the log stores as prose: "`./pkg/agent.go`", "Edit file: pkg/agent.go"."""
    text = arguments.get("input")
    if isinstance(text, str) and len(arguments) == 1:
        yield from (path for path in PROSE_PATH.findall(text[:MAX_PATH]) if path != "undefined")
        if text.startswith("`") and not text.startswith("```"):
            yield from (path for path in QUOTED.findall(text[:MAX_PATH]) if "/" in path or "." in path)


def _moves(role: str, arguments: Mapping[str, Any]) -> Iterator[FileAccess]:
    for old_name, new_name in MOVES:
        old, new = arguments.get(old_name), arguments.get(new_name)
        if isinstance(old, str) and isinstance(new, str):
            yield FileAccess(path=old, action=DELETED if role == "move" else READ)
            yield FileAccess(path=new, action=WRITTEN)
            return


# ---- edits


def _edits(role: str, arguments: Mapping[str, Any]) -> Iterator[FileAccess]:
    """What an editing tool changes: by a patch, by replaced texts, or by new content."""
    path = own_path(arguments)
    patches = [text for text in arguments.values() if isinstance(text, str) and holds_patch(text)]
    if patches and role in {"edit", "replace"} and not pairs_of(arguments):
        yield from patch_accesses(read_patch(patches[0]), path)
        return
    if isinstance(changes := arguments.get("changes"), dict):
        moves = arguments.get("moves")
        for name, text in changes.items():
            yield from _changed_as_shown(name, text, moves.get(name) if isinstance(moves, dict) else None)
        return
    if isinstance(tagged := arguments.get("args"), str) and "<file>" in tagged:
        for block in TAGGED_FILE.findall(tagged):
            if named := TAGGED_PATH.search(block):
                yield FileAccess(path=named[1], action=CHANGED, replacements=tuple(replace_blocks(block)))
        return
    listed = []
    if not EDIT_LISTS.isdisjoint(arguments):
        values = [value for name in sorted(EDIT_LISTS) if isinstance(value := arguments.get(name), list)]
        listed = [item for value in values for item in value if isinstance(item, dict)]
    if any(map(own_path, listed)):
        yield from (_one_edit(role, item, own_path(item) or path) for item in listed)
    elif listed:
        yield _many_edits(path, listed)
    elif not path and (prose := list(_prose_paths(arguments))):
        yield _edit_in_prose(role, prose[0], str(arguments["input"]))
    elif not path and isinstance(files := arguments.get("files") or arguments.get("paths"), list):
        yield from (FileAccess(path=name, action=CHANGED) for name in files if isinstance(name, str))
    else:
        yield _one_edit(role, arguments, path)


def _changed_as_shown(path: str, text: Any, moved: Any) -> Iterator[FileAccess]:
    """A file in Codex's report of a patch: its diff, or the content of a file that it created or deleted."""
    text = text if isinstance(text, str) else ""
    hunks = hunk_lines(text) or () if text.startswith("@@ ") else None
    if isinstance(moved, str) and moved:
        yield FileAccess(path=path, action=DELETED)
        yield FileAccess(path=moved, action=CREATED, patch=hunks or ())
    elif hunks is not None:
        yield FileAccess(path=path, action=CHANGED, patch=hunks)
    else:
        yield FileAccess(path=path, action=CREATED, content=text)


def patch_accesses(patches: list[FilePatch], path: str = "", base: str = "") -> Iterator[FileAccess]:
    """What the files of a patch become. A rename deletes the old file and creates the new one."""
    for patch in patches:
        name = patch.path or path
        if patch.moved_to:
            yield FileAccess(path=name, action=DELETED, base=base)
            yield FileAccess(path=patch.moved_to, action=CREATED, base=base, patch=patch.lines)
        elif patch.operation == DELETED:
            yield FileAccess(path=name, action=DELETED, base=base, patch=patch.lines or None)
        else:
            yield FileAccess(path=name, action=patch.operation, base=base, patch=patch.lines)


def pairs_of(arguments: Mapping[str, Any]) -> Pairs:
    """The (old, new) texts of a replacement, under the names of any agent."""
    for old_name, new_name in OLD_AND_NEW:
        if old_name in arguments and new_name in arguments:
            old, new = arguments[old_name], arguments[new_name]
            return ((_text(old), _text(new)),) if isinstance(old, str | list) else ()
        if old_name in arguments and isinstance(arguments[old_name], str) and old_name in {"old_string", "old_str"}:
            return ((arguments[old_name], ""),)
    return ()


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(item for item in value if isinstance(item, str))
    return value if isinstance(value, str) else ""


def _replaces_all(arguments: Mapping[str, Any]) -> bool:
    if ALL_OCCURRENCES.isdisjoint(arguments):
        return False
    return any(arguments.get(name) in (True, "true", "True") for name in ALL_OCCURRENCES)


def _many_edits(path: str, edits: list[dict[str, Any]]) -> FileAccess:
    """Several replacements in one file. If the first one replaces nothing, it creates the file."""
    pairs = tuple(pair for edit in edits for pair in pairs_of(edit))
    if pairs and not pairs[0][0]:
        content = pairs[0][1]
        for old, new in pairs[1:]:
            content = content.replace(old, new, 1) if old else content
        return FileAccess(path=path, action=WRITTEN, content=content)
    every = len(pairs) < len(edits) or any(map(_replaces_all, edits))
    return FileAccess(path=path, action=CHANGED, replacements=pairs, every=every)


def _one_edit(role: str, arguments: Mapping[str, Any], path: str) -> FileAccess:
    if isinstance(edit := arguments.get("edit"), dict) and (pairs := pairs_of(edit)):
        return FileAccess(path=path, action=CHANGED, replacements=pairs, every=_replaces_all(edit))
    if pairs := pairs_of(arguments):
        if role == "insert" or (not pairs[0][0] and "command" in arguments):
            return FileAccess(path=path, action=CHANGED, content=pairs[0][1])
        if not pairs[0][0]:
            return FileAccess(path=path, action=WRITTEN, content=pairs[0][1])
        every = role == "replace" or _replaces_all(arguments)
        return FileAccess(path=path, action=CHANGED, replacements=pairs, every=every)
    for name in ("diff", "patch", "content", "input"):
        text = arguments.get(name)
        if isinstance(text, str) and role == "edit":
            if blocks := replace_blocks(text):
                return FileAccess(path=path, action=CHANGED, replacements=tuple(blocks))
            if name != "input" and (lines := hunk_lines(text)):
                return FileAccess(path=path, action=CHANGED, patch=lines)
    return _new_content(role, arguments, path)


def _new_content(role: str, arguments: Mapping[str, Any], path: str) -> FileAccess:
    content = next((value for name in CONTENTS if isinstance(value := arguments.get(name), str)), None)
    mode = arguments.get("mode") or arguments.get("edit_mode")
    if role == "append" or mode in {"append", "a"} or arguments.get("append") is True:
        return FileAccess(path=path, action=CHANGED, content=content)
    if role == "insert" or mode == "insert":
        return FileAccess(path=path, action=CHANGED, content=content)
    if role == "write" or mode in {"create", "overwrite"}:
        if content is None and isinstance(text := arguments.get("input"), str) and (fence := FENCE.search(text)):
            content = fence[2] + "\n"
        return FileAccess(path=path, action=WRITTEN, content=content)
    return FileAccess(path=path, action=CHANGED)


def _edit_in_prose(role: str, path: str, text: str) -> FileAccess:
    """An edit in a log that keeps calls as prose, with its diff in a fence."""
    for _, block in FENCE.findall(text):
        if lines := hunk_lines(block):
            return FileAccess(path=path, action=CHANGED, patch=lines)
    return FileAccess(path=path, action=WRITTEN if role == "write" else CHANGED)
