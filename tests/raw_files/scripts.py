"""What a shell script did to files, for scripts that are simple enough to read without doubt.

A script with a variable, a glob, a condition, a loop or an alternative is left out, and so is a program whose effect is not
plain from its words.
"""

import re
import shlex
from collections.abc import Iterator
from itertools import groupby

from tests.raw_files.changes import Counts, envelope, lines_in

Effect = tuple[str, str, Counts]  # path, operation, lines; "written" is created or changed

HEREDOC = re.compile(r"<<-?[ ]*(['\"]?)(\w+)\1(?P<rest>[^\n]*)\n(?P<body>.*?)^\t*\2[ \t]*$", re.DOTALL | re.MULTILINE)
STREAMS = re.compile(r"(?:(?<=\s)|^)(?:[12&]?>>?[ ]*/dev/null|2>&1|[12]?>&[12])(?=\s|[;|&]|$)")
COMMENT = re.compile(r"^[ \t]*#[^\n]*$", re.MULTILINE)
DOUBT = re.compile(r"[`$*?{}\[\]!()\\#]|<<|(?<!&)&(?!&)|\|\|")  # outside of single quotes
DOUBTFUL_PROGRAMS = frozenset(
    """
    for while until if case function exit return set trap sudo time timeout env xargs bash sh zsh perl patch touch ssh exec eval
    source popd pushd . then do done fi else tac less more bat unlink gawk
    """.split()
)
WITH_VALUE = {"head": {"-n", "-c"}, "tail": {"-n", "-c"}}
FILE = re.compile(r"(?:.*/)?[\w-][\w.-]*\.\w+")
BODY = "HERE-DOCUMENT-"


def effects(script: str, folder: str = "") -> list[Effect] | None:
    """What a script that succeeded did to files, in its order; None if this reader cannot tell."""
    bodies: list[str] = []

    def take(document: re.Match[str]) -> str:
        bodies.append(document["body"])
        is_quoted = document[1] != "" or not re.search(r"[$`\\]", document["body"])
        return f" {BODY}{len(bodies) - 1} {document['rest']}\n" if is_quoted else " $ "

    text = STREAMS.sub(" ", COMMENT.sub("", HEREDOC.sub(take, script)))
    if DOUBT.search(re.sub(r"'[^']*'", "''", text)):
        return None
    lexer = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars=";&|<>")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return None
    found: list[Effect] = []
    for is_end, group in groupby(words, lambda word: _consists_of(word, ";&|")):
        command = list(group)
        if is_end or not command:
            continue
        if command[0] == "cd":
            if len(command) != 2:
                return None
            folder = _joined(folder, command[1])
        else:
            effect = list(_command(command, bodies))
            if None in effect:
                return None
            found += [(_joined(folder, path), operation, counts) for path, operation, counts in filter(None, effect)]
    return found


def _consists_of(word: str, signs: str) -> bool:
    return word != "" and set(word) <= set(signs)


def _joined(folder: str, path: str) -> str:
    return path if path.startswith(("/", "~")) or not folder else f"{folder.rstrip('/')}/{path}"


def _command(words: list[str], bodies: list[str]) -> Iterator[Effect | None]:
    """The effects of one command. None stands for a command that is in doubt."""
    body = next((bodies[int(word.removeprefix(BODY))] for word in words if word.startswith(BODY)), None)
    plain, redirects = list[str](), list[tuple[str, str]]()
    place = 0
    while place < len(words):
        if _consists_of(words[place], "<>"):
            if place + 1 == len(words):
                yield None
                return
            redirects.append((words[place], words[place + 1]))
            place += 1
        elif not words[place].startswith(BODY):
            plain.append(words[place])
        place += 1
    for operator, path in redirects:
        yield _redirected(operator, path, plain, body)
    if plain:
        yield from _program(plain[0].rsplit("/", 1)[-1], plain[1:], body)


def _redirected(operator: str, path: str, words: list[str], body: str | None) -> Effect | None:
    if operator == "<":
        return path, "read", (None, None)
    counts: Counts = (None, None)
    if words == ["cat"] and body is not None:
        counts = lines_in(body), 0
    elif words[:1] == ["echo"] and len(words) > 1 and not words[1].startswith("-"):
        counts = lines_in(" ".join(words[1:]) + "\n"), 0
    elif words[:1] == ["printf"] or not words or words[0] == "echo":
        return None
    return path, "written" if operator == ">" else "changed", counts


def _program(program: str, words: list[str], body: str | None) -> Iterator[Effect | None]:
    options = [word for word in words if word.startswith("-")]
    names = [word for word in words if not word.startswith("-")]
    nothing: Counts = (None, None)
    if program in DOUBTFUL_PROGRAMS or (program == "git" and words[:1] in (["apply"], ["rm"], ["-C"], ["-c"])):
        yield None
    elif program in {"cat", "head", "tail", "nl"}:
        values = {words[place + 1] for place, word in enumerate(words[:-1]) if word in WITH_VALUE.get(program, ())}
        yield from ((name, "read", nothing) for name in names if name not in values and not name.startswith("+"))
    elif program == "sed":
        if set(options) - {"-n", "-i", "-E"}:
            yield None
        files = [name for name in names if name][1:]  # the suffix of a copy that BSD's -i keeps is empty
        yield from ((name, "changed" if "-i" in options else "read", nothing) for name in files)
    elif program in {"mv", "cp"} or (program == "git" and names[:1] == ["mv"]):
        names = names[1:] if program == "git" else names
        if options or len(names) != 2 or not all(map(FILE.fullmatch, names)):
            yield None
            return
        yield names[0], "read" if program == "cp" else "deleted", nothing
        yield names[1], "written", nothing
    elif program == "rm":
        if options:
            yield None
        yield from ((name, "deleted", nothing) for name in names)
    elif program == "tee":
        counts = (lines_in(body), 0) if body is not None else nothing
        yield from ((name, "changed" if "-a" in options else "written", counts) for name in names)
    elif program == "apply_patch":
        yield from envelope(body) if body else (None,)
