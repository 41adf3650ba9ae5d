"""Commands: what a shell was told, which files that touched, which commit it made, which check it ran."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

LONGEST = 6_000  # characters of a command that are looked at: the rest is the body of a here-document
MOST_PARTS = 24  # commands joined into one that are looked at

SHELL = re.compile(r"(?:sh|cmd|cmd\.exe|powershell(?:\.exe)?)$")
HERE = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?(?:^\s*\2\b|\Z)", re.DOTALL | re.MULTILINE)
QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
JOINTS = re.compile(r"\s*(?:&&|\|\||[;\n|])\s*")
SCRIPTED = re.compile(r"\bcmd\"?\s*:\s*(\"(?:[^\"\\]|\\.){1,6000}\")", re.DOTALL)
TICKED = re.compile(r"```[a-z]*\n(.*?)\n?```|`([^`]+)`", re.DOTALL)
REDIRECTED = re.compile(r"(?<![-=<>&\d])(?:1?>>?|\btee(?: -a)?)\s+([~\w./@+-]*\w)(?=[\s;&|)]|$)")
PATHLIKE = re.compile(r"[~\w./@+\-\[\]]*[\w\])]")
LOOKERS = frozenset("""rg grep ls cat find sed head tail which stat test diff cd command git gh wc [""".split())
READERS = {"cat", "head", "tail", "less", "more", "nl", "bat"}
COMMIT = re.compile(r"\bgit\b(?: -[cC] \S+)* commit\b")
MESSAGE = re.compile(
    r"(?:-[a-z]*m|--message)[= ]?\s*(?:\"\$\(cat <<-?\s*['\"]?(?P<mark>\w+)['\"]?\n(?P<here>.*?)\n\s*(?P=mark)|"
    r"\"(?P<double>(?:[^\"\\]|\\.)+)\"|'(?P<single>[^']+)')",
    re.DOTALL,
)
FILED = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?[^\n]*\n(?P<here>.*?)\n\s*\1\b", re.DOTALL)
PULL_REQUEST = re.compile(
    r"\bgh pr (?:create|edit)\b.*?(?:--title|-t)[= ]\s*(?:\"(?P<double>(?:[^\"\\]|\\.)+)\"|'(?P<single>[^']+)')",
    re.DOTALL,
)
CHECK = re.compile(
    r"(?:^|[\s;&|(/])((?:pytest|py\.test|tox|nox|rspec|phpunit|ctest|jest|vitest|mypy|pyright|flake8|pylint|shellcheck|"
    r"eslint|tsc|golangci-lint run|ruff (?:check|format)|python3? -m (?:pytest|unittest|mypy|build|compileall|py_compile)|"
    r"go (?:test|build|vet|run)|cargo (?:test|nextest run|build|check|clippy|run|fmt)|"
    r"(?:npm|pnpm|yarn|bun)(?: run)? (?:test|build|lint|check|typecheck|type-check|ci|compile|[\w-]+:[\w:-]+|dev)\b|"
    r"npx (?:tsc|jest|vitest|eslint|playwright test|biome \w+|next build|expo \w+)|make(?: [a-z][\w-]*)?|"
    r"mise run [\w:.-]+|just [a-z][\w-]*|(?:\./)?gradlew? :?[\w:]+|mvn [\w:]+|dotnet (?:test|build|run)|bundle exec \w+|"
    r"rails test|mix test|swift (?:test|build)|cmake --build|deno (?:test|check|lint)|terraform (?:plan|validate|apply)|"
    r"docker(?:-compose| compose)? build|bazel (?:test|build)|zig build(?: test)?|pre-commit run|python3? [\w./-]+\.py|"
    r"node [\w./-]+\.[cm]?js|ruby [\w./-]+\.rb|bash [\w./-]+\.sh|\./[\w./-]+\.sh)(?=[\s;&|)]|$))"
)
TESTING = re.compile(r"test|spec|jest|tox|nox|phpunit|coverage")


def command_of(arguments: dict[str, Any]) -> str:
    """What the shell was told, whatever the agent calls that argument."""
    for name in ("command", "cmd", "CommandLine", "commandLine", "script"):
        value = arguments.get(name)
        if isinstance(value, list):
            words = [part for part in value if isinstance(part, str)]
            value = words[-1] if words and SHELL.search(words[0]) else " ".join(words)
        if isinstance(value, str) and value:
            return value[:LONGEST]
    told = arguments.get("input")
    if not isinstance(told, str):
        return ""
    if "cmd" in told and (scripted := SCRIPTED.findall(told[: 4 * LONGEST])):
        return "\n".join(_unquoted(text) for text in scripted[:MOST_PARTS])[:LONGEST]
    ticked = TICKED.search(told[:LONGEST])
    return (ticked[1] or ticked[2] or "") if ticked else ""


def _unquoted(text: str) -> str:
    try:
        return str(msgspec.json.decode(text, type=str))
    except (msgspec.DecodeError, UnicodeEncodeError):
        return text[1:-1]


def bare(command: str) -> str:
    """A command without the bodies of here-documents and without what stands in quotes, so that words are words."""
    if "<<" in command:
        command = HERE.sub(r"\3", command)
    return QUOTED.sub("''", command)


def parts_of(bared: str) -> list[str]:
    return JOINTS.split(bared, maxsplit=MOST_PARTS)[:MOST_PARTS]


def check_of(bared: str) -> str:
    """The test, build or lint that a command runs, by its name; the same name is the same check."""
    found: list[str] = CHECK.findall(bared)
    return next((check for check in found if is_test(check)), found[-1] if found else "")


def only_looks(bared: str) -> bool:
    """Whether a command only looks for something: finding nothing is no failure worth telling."""
    return bared.split(None, 1)[:1] != [] and bared.split(None, 1)[0] in LOOKERS


def is_test(check: str) -> bool:
    return TESTING.search(check) is not None


def commit_of(command: str) -> str:
    """The subject of the commit or pull request that a command makes."""
    if "commit" in command and COMMIT.search(command):
        found = MESSAGE.search(command) or (FILED.search(command) if " -F" in command else None)
        if found:
            groups = found.groupdict()
            return _subject(groups.get("here") or groups.get("double") or groups.get("single") or "")
    return ""


def pull_request_of(command: str) -> str:
    found = PULL_REQUEST.search(command) if "gh pr" in command else None
    return _subject(found["double"] or found["single"]) if found else ""


def _subject(message: str) -> str:
    lines = (line.strip() for line in message.strip().split("\n"))
    return next((line.replace("\\`", "`").replace('\\"', '"') for line in lines if line), "")


def touched(bared: str) -> Iterator[tuple[str, str, bool]]:
    """(folder, path, whether it was changed) of every file that a command plainly reads or changes."""
    folder = ""
    for part in parts_of(bared):
        words = part.split()
        while words and ("=" in words[0] or words[0] in {"sudo", "time", "("}):
            words = words[1:]
        if not words:
            continue
        if words[0] == "cd" and len(words) == 2:
            folder = words[1]
            continue
        for path, changed in _touched_by(words):
            yield folder, path, changed
        if ">" in part or words[0] == "tee":
            for path in REDIRECTED.findall(part):
                if _is_path(path) and not path.startswith("/dev/"):
                    yield folder, path, True


def _touched_by(words: list[str]) -> Iterator[tuple[str, bool]]:
    program, rest = words[0], words[1:]
    if program in READERS and ">" not in rest and ">>" not in rest:
        yield from ((word, False) for word in rest if _is_path(word))
    elif program == "sed" and rest:
        inplace = any(word.startswith(("-i", "--in-place")) for word in rest)
        if inplace or rest[0].startswith("-n"):
            yield from ((word, inplace) for word in rest if _is_path(word))
    elif program == "git" and rest[:1] in (["mv"], ["rm"]):
        yield from ((word, True) for word in rest[1:] if _is_path(word))


def _is_path(word: str) -> bool:
    """A plain name of a file: no option, no number, no pattern, with an extension or a folder."""
    return word[:1] != "-" and ("." in word or "/" in word) and PATHLIKE.fullmatch(word) is not None and not _is_number(word)


def _is_number(word: str) -> bool:
    return word.replace(".", "").replace(",", "").isdigit()
