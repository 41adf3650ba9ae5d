"""Finds the files that a shell script certainly reads, writes, moves or deletes if it succeeds.

A path counts only if it is spelled out: no variable, glob or substitution, outside of loops and conditions.
"""

import re
from collections.abc import Callable, Iterator

from recollect.observe.file_access import CHANGED, DELETED, READ, WRITTEN, FileAccess, patch_accesses
from recollect.observe.patches import holds_patch, read_patch
from recollect.observe.paths import join_path
from recollect.observe.shell_parser import UNCERTAIN, ShellCommand, is_certain, parse_script

MAX_NESTING = 2  # of `bash -c` in `bash -c`
UNKNOWN_FOLDER = "\0"

MENTIONS_FILES = re.compile(
    r">(?![&=]|[|>]?\s*(?:/dev/|&))|\b(?:cat|bat|batcat|head|tail|less|more|nl|tac|sed|perl|mv|cp|rm|unlink|touch|tee|"
    r"apply_patch|applypatch|patch|git\s+apply|get-content)\b|<(?!<)",
    re.IGNORECASE,
)
ASSIGNMENT = re.compile(r"\0?\w+\+?=")
WRAPPERS = frozenset(["sudo", "time", "command", "nohup", "builtin", "exec", "env", "nice", "stdbuf"])
SHELLS = frozenset(["bash", "sh", "zsh", "dash", "ksh"])
FILE_NAME = re.compile(r"[^/]*[^/.][^/]*\.[A-Za-z0-9_+~-]{1,16}$|(?:.*/)?(?:Makefile|Dockerfile|LICENSE|README|CHANGELOG)$")
PRINTF_ESCAPE = {"\\n": "\n", "\\t": "\t", "\\\\": "\\"}
VALUE_OPTIONS = {  # options whose value is the next word
    "head": {"-n", "-c", "--lines", "--bytes"},
    "tail": {"-n", "-c", "-s", "--lines", "--bytes", "--pid"},
    "nl": {"-b", "-d", "-f", "-h", "-i", "-l", "-n", "-s", "-v", "-w"},
    "bat": {"-r", "--line-range", "-l", "--language", "-H", "--style", "--theme", "--color", "--paging"},
    "get-content": {"-totalcount", "-tail", "-head", "-first", "-encoding", "-readcount", "-delimiter"},
    "touch": {"-t", "-d", "-r", "--date", "--reference"},
}
VALUE_OPTIONS["batcat"] = VALUE_OPTIONS["bat"]
NO_OPTIONS: set[str] = set()


def shell_accesses(script: str, folder: str = "", nesting: int = 0) -> list[FileAccess]:
    """What a script asks of files if all of it succeeds. `folder` is where it runs, if the call states it."""
    if MENTIONS_FILES.search(script) is None:
        return []
    accesses: list[FileAccess] = []
    folders: dict[tuple[int, ...], str] = {(): folder}  # of the script, and of each subshell
    for command in parse_script(script):
        shells = command.subshells
        for depth in range(len(shells)):
            folders.setdefault(shells[: depth + 1], folders[shells[:depth]])
        words = strip_wrappers(command.words)
        if words and words[0] in {"cd", "pushd", "popd", "chdir", "set-location"}:
            folders[shells] = _entered(folders[shells], words) if command.certain else UNKNOWN_FOLDER
        elif command.certain:
            found = command_accesses(words, command, nesting)
            accesses += [access for access in (_based(access, folders[shells]) for access in found) if access]
    return accesses


def _entered(folder: str, words: list[str]) -> str:
    """The folder after a `cd`."""
    targets = [word for word in words[1:] if not word.startswith("-")] if len(words) > 1 else []
    if words[0] == "popd" or len(targets) != 1 or not is_certain(targets[0]):
        return UNKNOWN_FOLDER
    joined = join_path("" if folder == UNKNOWN_FOLDER else folder, targets[0])
    is_known = folder != UNKNOWN_FOLDER or joined.startswith(("/", "~")) or joined[1:2] == ":"
    return joined if is_known else UNKNOWN_FOLDER


def _based(access: FileAccess, folder: str) -> FileAccess | None:
    """An access with the folder in which its command runs; None for a path that is not certain."""
    path = access.path
    if not path or path[0] == UNCERTAIN or path in {"-", "/dev/stdin", "/dev/stdout", "/dev/stderr"}:
        return None
    if not (folder or access.base):
        return access
    base = join_path("" if folder == UNKNOWN_FOLDER else folder, access.base) if access.base else folder
    if folder == UNKNOWN_FOLDER and not join_path(access.base, path).startswith(("/", "~")):
        return None
    return FileAccess(
        path=path, action=access.action, base="" if base == UNKNOWN_FOLDER else base, content=access.content,
        patch=access.patch, optional=access.optional, replacements=access.replacements, every=access.every,
    )  # fmt: skip


def strip_wrappers(words: list[str]) -> list[str]:
    """A command's words without assignments and programs that only start another one."""
    start = 0
    while start < len(words):
        word = words[start]
        if word in WRAPPERS or ASSIGNMENT.match(word):
            start += 1
        elif word == "timeout":
            start += 1
            while start < len(words) and words[start].startswith("-"):
                start += 1
            start += 1
        else:
            break
    return words[start:]


def command_accesses(words: list[str], command: ShellCommand, nesting: int = 0) -> Iterator[FileAccess]:
    """What one command asks of files: its redirections first, then its program."""
    for redirect in command.redirects:
        if words[:1] == ["[["]:
            break
        if redirect.operator == "<":
            yield FileAccess(path=redirect.target, action=READ)
        else:
            action = WRITTEN if redirect.operator == ">" else CHANGED
            yield FileAccess(path=redirect.target, action=action, content=_printed(words, command))
    if not words:
        return
    program = words[0].rsplit("/", 1)[-1].lower()
    if program in SHELLS and nesting < MAX_NESTING:
        script = _inline_script(words, command)
        yield from shell_accesses(script, "", nesting + 1) if script else ()
    elif handler := PROGRAMS.get(program):
        yield from handler(program, words[1:], command)


def _printed(words: list[str], command: ShellCommand) -> str | None:
    """The text that a command prints to its output, if the script spells it out."""
    if not words:
        return ""
    if words == ["cat"] or words == ["cat", "-"]:
        return _body(command)
    if words[0] == "echo" and len(words) > 1 and all(map(is_certain, words[1:])) and not words[1].startswith("-"):
        text = " ".join(words[1:])
        return None if "\\" in text else text + "\n"
    if words[0] == "printf" and len(words) == 2 and is_certain(words[1]) and "%" not in words[1]:
        return re.sub(r"\\[nt\\]", lambda escape: PRINTF_ESCAPE[escape[0]], words[1])
    return None


def _body(command: ShellCommand) -> str | None:
    """The text of a here-document, if the shell does not run commands to make it."""
    body = command.body
    if body is None or (command.expanded and ("$(" in body or "`" in body)):
        return None
    return body


def _inline_script(words: list[str], command: ShellCommand) -> str:
    """The script of `bash -c SCRIPT` or of `bash <<EOF`."""
    if len(words) == 1 or words[1:] == ["-s"]:
        return command.body or "" if not command.expanded else ""
    if words[1].startswith("-") and words[1].endswith("c") and len(words) > 2 and is_certain(words[2]):
        return words[2]
    return ""


# ---- programs


def operands(program: str, words: list[str]) -> list[str]:
    """The words that are not options or their values."""
    with_value = VALUE_OPTIONS.get(program, NO_OPTIONS)
    found: list[str] = []
    place = 0
    while place < len(words):
        word = words[place]
        if word == "--":
            return found + words[place + 1 :]
        if word.lower() in with_value or word in with_value:
            place += 1
        elif word.startswith(("-", UNCERTAIN + "-")) and word != "-":
            pass
        elif not (program in {"head", "tail"} and word[:1] == "+"):
            found.append(word)
        place += 1
    return found


def options(words: list[str]) -> str:
    """The letters of all short options, and the long options, in one text."""
    return " ".join(word if word.startswith("--") else word[1:] for word in words if word.startswith("-") and word != "-")


def _read(program: str, words: list[str], command: ShellCommand) -> Iterator[FileAccess]:
    yield from (FileAccess(path=word, action=READ) for word in operands(program, words) if not word.endswith("/"))


def _sed(program: str, words: list[str], command: ShellCommand) -> Iterator[FileAccess]:
    """sed reads its files, or changes them with -i. BSD's -i has a suffix of its own, often empty."""
    in_place = has_script = False
    files: list[str] = []
    place = 0
    while place < len(words):
        word = words[place]
        if word in {"-e", "-f", "--expression", "--file"}:
            has_script = True
            place += 1
        elif word.startswith(("-e", "-f", "--expression=", "--file=")):
            has_script = True
        elif word.startswith(("-i", "--in-place")) or re.match(r"-[nErsuz]+i", word):
            in_place = True
        elif word.startswith("-") and word != "-":
            pass
        elif word:
            files.append(word)
        place += 1
    for file in files if has_script else files[1:]:
        yield FileAccess(path=file, action=CHANGED if in_place else READ)


def _perl(program: str, words: list[str], command: ShellCommand) -> Iterator[FileAccess]:
    """perl -pi -e changes its files."""
    letters = [word for word in words if re.match(r"-[a-zA-Z0-9]*i", word)]
    scripts = [place for place, word in enumerate(words) if re.fullmatch(r"-\w*[eE]", word)]
    if letters and scripts:
        files = [word for place, word in enumerate(words) if place - 1 not in scripts and not word.startswith("-")]
        yield from (FileAccess(path=file, action=CHANGED) for file in files)


def _tee(program: str, words: list[str], command: ShellCommand) -> Iterator[FileAccess]:
    appends = "a" in options(words)
    for word in operands(program, words):
        yield FileAccess(path=word, action=CHANGED if appends else WRITTEN, content=_body(command))


def _remove(program: str, words: list[str], command: ShellCommand) -> Iterator[FileAccess]:
    """rm deletes files; with -r it may delete folders, and with -f the file need not exist."""
    letters = options(words).lower()
    is_optional = "f" in letters or "r" in letters
    yield from (
        FileAccess(path=word, action=DELETED, optional=is_optional)
        for word in operands(program, words)
        if not word.endswith("/")
    )


def _touch(program: str, words: list[str], command: ShellCommand) -> Iterator[FileAccess]:
    if "c" not in options(words):
        yield from (FileAccess(path=word, action=TOUCHED) for word in operands(program, words))


def _move(program: str, words: list[str], command: ShellCommand) -> Iterator[FileAccess]:
    """mv and cp. A target without an extension may be a folder, and then the new path is not certain."""
    letters = options(words)
    names = operands(program, words)
    if "t" in letters.replace("--strip-trailing-slashes", "") or len(names) < 2:
        return
    *sources, target = names
    is_recursive = program == "cp" and ("r" in letters.lower() or "a" in letters)
    for source in sources:
        if program == "mv" or not is_recursive:
            is_file = program == "cp" or FILE_NAME.search(source) is not None
            if not is_file or source.endswith("/"):
                continue
            yield FileAccess(path=source, action=READ if program == "cp" else DELETED)
            if new := _target(source, target, several=len(sources) > 1):
                yield FileAccess(path=new, action=WRITTEN)


def _target(source: str, target: str, *, several: bool) -> str:
    """Where a copied or moved file goes; empty if that is not certain."""
    if not is_certain(target):
        return ""
    name = source.rstrip("/").rsplit("/", 1)[-1]
    if several or target.endswith("/") or target.rsplit("/", 1)[-1] in {".", "..", "~"}:
        return f"{target.rstrip('/')}/{name}" if is_certain(source) and target != "/" else ""
    is_file = FILE_NAME.search(target) is not None or target.rsplit("/", 1)[-1] == name
    return target if is_file else ""


def _git(program: str, words: list[str], command: ShellCommand) -> Iterator[FileAccess]:
    """git mv, git rm and git apply, in the folder of -C."""
    base = ""
    while len(words) > 1 and words[0] in {"-C", "-c"}:
        base = words[1] if words[0] == "-C" else base
        words = words[2:]
    if not words or not is_certain(base):
        return
    found: Iterator[FileAccess] = iter(())
    if words[0] == "mv":
        found = _move("mv", words[1:], command)
    elif words[0] == "rm" and "--cached" not in words and "-n" not in words:
        found = _remove("rm", words[1:], command)
    elif words[0] == "apply" and not {"--check", "--stat", "--cached", "-R", "--reverse"} & set(words):
        found = _patch(program, words[1:], command)
    for access in found:
        yield FileAccess(
            path=access.path, action=access.action, base=base, patch=access.patch, content=access.content,
            optional=access.optional and words[0] == "rm" and "r" in options(words[1:]).lower(),
        )  # fmt: skip


def _patch(program: str, words: list[str], command: ShellCommand) -> Iterator[FileAccess]:
    """A patch in a here-document, or in a word of `apply_patch`."""
    texts = [word for word in words if is_certain(word)] if "patch" in program else []
    text = next((text for text in (command.body, *texts) if text and holds_patch(text)), None)
    if text and "--dry-run" not in words:
        yield from patch_accesses(read_patch(text))


TOUCHED = "touched"  # the file is created if it did not exist, else it stays as it was
Handler = Callable[[str, list[str], ShellCommand], Iterator[FileAccess]]
PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys(["cat", "bat", "batcat", "head", "tail", "less", "more", "nl", "tac", "get-content"], _read),
    "sed": _sed,
    "gsed": _sed,
    "perl": _perl,
    "tee": _tee,
    "rm": _remove,
    "unlink": _remove,
    "touch": _touch,
    "mv": _move,
    "cp": _move,
    "git": _git,
    "patch": _patch,
    "apply_patch": _patch,
    "applypatch": _patch,
}
