"""Tells which files a tool call read, changed, created and deleted, and how many lines it added and removed.

Ingest asks this for every call, so it imports only what it needs, and reads no file. What a log cannot tell is left out:
a path with a variable, a call that failed, the lines of a file that was overwritten.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from recollect.model import FileChange
from recollect.observe.file_access import (
    CHANGED,
    CREATED,
    DELETED,
    READ,
    WRITTEN,
    FileAccess,
    normalize_tool,
    role_of,
    tool_accesses,
)
from recollect.observe.line_counts import changed_lines, line_count, patched_lines
from recollect.observe.paths import project_path
from recollect.observe.shell_calls import script_accesses
from recollect.observe.shell_files import TOUCHED

HEAD = 400  # characters of a response in which an editor tells what it did
SHELL_HEAD = 4_000  # characters of a command's output in which it tells what it could not read

UNNAMED_TOOLS = frozenset(
    "create createfile edit editfile insert multiedit searchreplace strreplace write writefile".split()
)
REFUSED = re.compile(
    r"\s*(?:<(?:system|result|tool_use_error|error)>\s*)?(?:(?:ERROR|Error|error)\b(?! ?handl)|Failed to |Cannot |Could "
    r"not |Unable to |No replacement was |No changes |\[?No (?:exact )?match|String to replace not found|"
    r"Your proposed edit has introduced|The user (?:doesn't|does not|denied|rejected)|User (?:denied|rejected)|Permission "
    r"denied|edit \d+ failed|old_?string not found|oldString not found|apply_patch verification failed|Invalid |"
    r"File (?:has not been read|does not exist|not found|has been (?:unexpectedly )?modified)|Found \d+ matches|"
    r"new content is the same|<tool_use_error>|patch failed|Rejected)"
)
NOT_READ = re.compile(
    r"\s*(?:ERROR:\s|Error: |<tool_use_error>|<error>|File (?:does not exist|not found|content \(\d)|Path does not exist|"
    r"Here's the files and directories|<path>[^\n]*</path>\n<type>directory|\[Directory|EISDIR|ENOENT|No such file|"
    r"File not found)"
)
WAS_CREATED = re.compile(
    r"\bcreated\b(?! \d+ director)|^\s*(?:<\w+>\s*)?(?:Created|Added \d+ file|New file|Creating)\b|\bnew file\b",
    re.IGNORECASE,
)
WAS_UPDATED = re.compile(
    r"\b(?:overwrote|has been (?:updated|edited|overwritten)|updated (?:successfully|file)|modified|replaced|"
    r"File updated)\b|^\s*(?:<\w+>\s*)?(?:Updated|Modified|Edited|Replaced)\b",
    re.IGNORECASE,
)
TIMES = re.compile(r"\b(\d{1,6}) (?:total )?(?:replacements?|occurrences?)\b|\bReplaced (\d{1,6})\b")
PATCH_RESULT = re.compile(r"^([AMD]) (\S.*)$", re.MULTILINE)
REPORTED_PATH = re.compile(
    r"\[File: (?P<open>[^\n(]{1,300}?) \(\d+ lines|"
    r"(?:[Tt]he file |[Ff]ile (?:successfully )?(?:written|created|updated|edited)(?: successfully)?(?: at)?: ?|"
    r"edits? to (?:file: )?|[Ww]rote [^\n]{0,40}?to |[Uu]pdated )(?P<path>(?:[~.]?/|[A-Za-z]:\\|[\w.-]+/)[^\s:'\"<>]{1,300})"
)
UNREADABLE = re.compile(r"(?:No such file or directory|cannot open|Permission denied|Is a directory|does not exist)")

Known = Callable[[str], bool]


def file_changes(
    tool: str | None,
    arguments: str | bytes | Mapping[str, Any] | None,
    folder: str | None,
    response: str | None = None,
    *,
    failed: bool = False,
    known: Known | None = None,
) -> list[FileChange]:
    """What a call did to files, in its order, each path and operation once.

    `arguments` are as stored: a mapping, or its JSON. Paths inside the session's `folder` become relative to it.
    `response` is the text of the call's response; None if the log has none (yet), and then the call counts as done.
    `failed` is the response's error flag or an exit code other than 0: such a call did nothing.
    `known` tells whether a path occurred earlier in the session. It decides between created and changed where the
    response does not.
    """
    if failed or not (mapping := decode_arguments(arguments)):
        return [] if failed else _named_by_response(tool, [FileAccess(path="", action=CHANGED)], folder, response, known)
    accesses = requested_accesses(tool, mapping)
    if not accesses or (response and _is_refused(tool, response)):
        return []
    if not accesses[0].path:
        return _named_by_response(tool, accesses, folder, response, known)
    if isinstance(mapping.get("changes"), dict):
        accesses = _settle_patch(accesses, response)
    return _merge(_change(access, tool, folder, response, known) for access in accesses)


def requested_accesses(tool: str | None, arguments: Mapping[str, Any]) -> list[FileAccess]:
    """What a call asks of files: by its tool, else by the script that it runs."""
    if role_of(tool):
        found = tool_accesses(tool, arguments)
        if not found or BASES.isdisjoint(arguments):
            return found
        base = next((value for name in sorted(BASES) if isinstance(value := arguments.get(name), str)), "")
        return [msgspec.structs.replace(access, base=base) for access in found] if base else found
    return script_accesses(tool, arguments)


BASES = frozenset(["workdir", "cwd", "working_directory"])


def decode_arguments(arguments: str | bytes | Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Arguments as a mapping; empty if they are damaged or of another type."""
    if type(arguments) is dict:
        return arguments
    if isinstance(arguments, str | bytes):
        try:
            arguments = msgspec.json.decode(arguments)
        except (msgspec.DecodeError, UnicodeEncodeError):
            return {}
    return arguments if isinstance(arguments, Mapping) else {}


def confirmed(tool: str | None, changes: Iterable[FileChange], response: str | None, *, failed: bool) -> list[FileChange]:
    """The changes of a call whose response came later. What the arguments tell is not needed again."""
    changes = list(changes)
    if failed or (response and _is_refused(tool, response)):
        return []
    judged_by = response if role_of(tool) else None
    return [_judged(change, judged_by) for change in changes if not _is_unread(change, tool, response)]


# ---- one file


def _change(
    access: FileAccess, tool: str | None, folder: str | None, response: str | None, known: Known | None
) -> FileChange | None:
    """What an access did to its file; None if it did nothing, or if the path is not a file's."""
    path = project_path(access.path, folder, access.base)
    if not path:
        return None
    if access.action == READ:
        change = FileChange(path, READ)
        return None if response and _is_unread(change, tool, response) else change
    is_known = known(path) if known is not None else None
    if access.optional and not is_known:
        return None
    if access.action == TOUCHED:
        return None if is_known else FileChange(path, CREATED, 0, 0)
    if access.action == WRITTEN:
        return _judged(_written(access, path, is_known=bool(is_known)), response if role_of(tool) else None, access)
    if access.action == DELETED:
        return FileChange(path, DELETED, *lines_of(access, response))
    return FileChange(path, access.action, *lines_of(access, response))


def _written(access: FileAccess, path: str, *, is_known: bool) -> FileChange:
    if is_known:
        return FileChange(path, CHANGED)
    return FileChange(path, CREATED, *lines_of(access, None))


def _judged(change: FileChange, response: str | None, access: FileAccess | None = None) -> FileChange:
    """A written file as the editor's response tells: created, or changed in lines that the log does not tell."""
    if not response or change.operation not in {CREATED, CHANGED}:
        return change
    if access is None and (change.operation == CHANGED or change.removed != 0):
        return change
    head = response[:HEAD].replace(change.path, "")
    if WAS_UPDATED.search(head):
        return change if change.operation == CHANGED else FileChange(change.path, CHANGED)
    if access is not None and change.operation == CHANGED and WAS_CREATED.search(head):
        return FileChange(change.path, CREATED, *lines_of(access, None))
    return change


def lines_of(access: FileAccess, response: str | None) -> tuple[int | None, int | None]:
    """(added, removed) lines of one access, None for what the call does not tell."""
    if access.patch is not None:
        return patched_lines(access.patch) if access.patch or access.action != CREATED else (None, None)
    if access.replacements:
        return _replaced_lines(access, response)
    if access.action == DELETED:
        return None, (None if access.content is None else line_count(access.content))
    if access.content is not None:
        return line_count(access.content), 0
    return None, None


def _replaced_lines(access: FileAccess, response: str | None) -> tuple[int | None, int | None]:
    """The lines of replacements. If all occurrences are replaced, the response may tell their number."""
    times = 1
    if access.every:
        told = TIMES.search(response[:HEAD]) if response and len(access.replacements) == 1 else None
        if told is None:
            return None, None
        times = int(told[1] or told[2])
    added = removed = 0
    for old, new in access.replacements:
        counts = changed_lines(old, new)
        if counts is None:
            return None, None
        added, removed = added + counts[0] * times, removed + counts[1] * times
    return added, removed


def _merge(changes: Iterable[FileChange | None]) -> list[FileChange]:
    """Each path and operation once, with the sum of its lines."""
    merged: dict[tuple[str, str], FileChange] = {}
    for change in changes:
        if change is not None:
            key = change.path, change.operation
            earlier = merged.get(key)
            merged[key] = change if earlier is None else _sum(earlier, change)
    return list(merged.values())


def _sum(one: FileChange, other: FileChange) -> FileChange:
    added = None if one.added is None or other.added is None else one.added + other.added
    removed = None if one.removed is None or other.removed is None else one.removed + other.removed
    return FileChange(one.path, one.operation, added, removed)


# ---- the response


def _is_refused(tool: str | None, response: str) -> bool:
    """Whether an editor's response says that it changed nothing, for logs that do not mark it as an error."""
    role = role_of(tool)
    return bool(role) and role != "read" and REFUSED.match(response) is not None


def _is_unread(change: FileChange, tool: str | None, response: str | None) -> bool:
    """Whether a response says that a file could not be read, or that it is a folder."""
    if not response or change.operation != READ:
        return False
    if role_of(tool):
        return NOT_READ.match(response) is not None
    head = response[:SHELL_HEAD]
    if UNREADABLE.search(head) is None:
        return False
    name = re.escape(change.path.rsplit("/", 1)[-1])
    return re.search(rf"{name}['\"’]?(?: for reading)?: (?:{UNREADABLE.pattern})", head) is not None


def _settle_patch(accesses: list[FileAccess], response: str | None) -> list[FileAccess]:
    """Codex's report of a patch, with the letters of its response: A created, M changed, D deleted.

    A file that is listed under another name than it was changed under was renamed.
    """
    letters = {path: letter for letter, path in PATCH_RESULT.findall(response or "")}
    names = [access.path for access in accesses]
    renamed_to = [path for path in letters if not any(path == name or name.endswith("/" + path) for name in names)]
    settled: list[FileAccess] = []
    for access in accesses:
        letter = next((letters[path] for path in letters if access.path == path or access.path.endswith("/" + path)), "")
        if letter == "D":
            settled.append(msgspec.structs.replace(access, action=DELETED))
        elif letter == "M" or not letters:
            settled.append(access)
        elif letter == "" and len(renamed_to) == 1:
            settled.append(FileAccess(path=access.path, action=DELETED))
            settled.append(msgspec.structs.replace(access, path=renamed_to[0], action=CREATED))
        else:
            settled.append(access)
    return settled


def _named_by_response(
    tool: str | None, accesses: list[FileAccess], folder: str | None, response: str | None, known: Known | None
) -> list[FileChange]:
    """What a call without a path did to the file that its response names."""
    name = normalize_tool(tool)
    if not response or name not in UNNAMED_TOOLS or _is_refused(tool, response):
        return []
    reported = REPORTED_PATH.search(response[: 2 * HEAD])
    if reported is None:
        return []
    path = (reported["open"] or reported["path"]).rstrip(".,;")
    named = (msgspec.structs.replace(access, path=path) for access in accesses[:1])
    return _merge(_change(access, tool, folder, response, known) for access in named)
