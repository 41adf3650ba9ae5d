"""Reads shell commands: the files that a command touches, its commit, the check that it runs, and the outcome."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from recollect.model import Event
from recollect.observe.phrases import PhraseTable, contains_any
from recollect.observe.sentences import ANSI, SPACES

MAX_COMMAND = 6_000  # characters of a command that are read: the rest is the body of a here-document
MAX_PARTS = 24  # commands that are read, if several are joined in one
HEAD, TAIL = 1_000, 2_500  # characters of output: compilers print the error first, test runners the summary last
MAX_ERROR_LINE = 600  # characters of an error line
MAX_DIGITS = 9  # of a count: a longer number is not a count
COMMAND_ARGUMENTS = ("command", "cmd", "CommandLine", "commandLine", "script")
COUNT_WORDS = {"passing": "passed", "failing": "failed", "error": "errors"}
NEWLINE = "\n"

SHELL = re.compile(r"(?:sh|cmd|cmd\.exe|powershell(?:\.exe)?)$")
HERE_DOCUMENT = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?(?:^\s*\2\b|\Z)", re.DOTALL | re.MULTILINE)
QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
SEPARATOR = re.compile(r"\s*(?:&&|\|\||[;\n|])\s*")
SCRIPT_COMMAND = re.compile(r"\bcmd\"?\s*:\s*(\"(?:[^\"\\]|\\.){1,6000}\")", re.DOTALL)
IN_BACKTICKS = re.compile(r"```[a-z]*\n(.*?)\n?```|`([^`]+)`", re.DOTALL)
REDIRECTION = re.compile(r"(?<![-=<>&\d])(?:1?>>?|\btee(?: -a)?)\s+([~\w./@+-]*\w)(?=[\s;&|)]|$)")
PATH_LIKE = re.compile(r"[~\w./@+\-\[\]]*[\w\])]")
COMMIT = re.compile(r"\bgit\b(?: -[cC] \S+)* commit\b")
MESSAGE = re.compile(
    r"(?:-[a-z]*m|--message)[= ]?\s*(?:\"\$\(cat <<-?\s*['\"]?(?P<mark>\w+)['\"]?\n(?P<here>.*?)\n\s*(?P=mark)|"
    r"\"(?P<double>(?:[^\"\\]|\\.)+)\"|'(?P<single>[^']+)')",
    re.DOTALL,
)
MESSAGE_FILE = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?[^\n]*\n(?P<here>.*?)\n\s*\1\b", re.DOTALL)
PULL_REQUEST = re.compile(
    r"\bgh pr (?:create|edit)\b.*?(?:--title|-t)[= ]\s*(?:\"(?P<double>(?:[^\"\\]|\\.)+)\"|'(?P<single>[^']+)')",
    re.DOTALL,
)
LINE_NUMBER = re.compile(r"^\s*(?:\d+[:|→]\s?)+")
COUNT = re.compile(r"\b(\d+) (passed|failed|errors?|skipped|passing|failing)\b")
ESCAPED_NEWLINE = re.compile(r"\\n")
SPEC_COUNT = re.compile(r"\b(\d+) (?:examples?|tests?|specs?), (\d+) (?:failures?|failed)")
UNITTEST_COUNT = re.compile(r"^Ran (\d+) tests? in [\d.]+s?$", re.MULTILINE)
GO_PASSED = re.compile(r"^ok\s+\S+/\S+\s", re.MULTILINE)
GO_FAILED = re.compile(r"^FAIL\s+\S+/\S+\s", re.MULTILINE)

TABLE = PhraseTable("commands")
SEARCH_PROGRAMS = TABLE.word_set("search_programs")
READING_PROGRAMS = TABLE.word_set("reading_programs")
CHECK = TABLE.pattern("check")
TEST_CHECK = TABLE.pattern("test_check")
FAILURE_HINTS = TABLE.phrases("failure_hints")
FAILED = TABLE.pattern("failed")
RAISED_ERROR = TABLE.pattern("raised_error")
ERROR_LINE = TABLE.pattern("error_line")
FAILURE_LINE = TABLE.pattern("failure_line")


class Outcome(Struct, frozen=True):
    """The outcome of a command, as far as its response shows it."""

    failed: bool
    error: str = ""
    counts: str = ""


# ---- the command


def shell_command(arguments: dict[str, Any]) -> str:
    """The command that a shell tool runs. Agents use different names for this argument."""
    for name in COMMAND_ARGUMENTS:
        value = arguments.get(name)
        if isinstance(value, list):
            words = [part for part in value if isinstance(part, str)]
            value = words[-1] if words and SHELL.search(words[0]) else " ".join(words)
        if isinstance(value, str) and value:
            return value[:MAX_COMMAND]
    text = arguments.get("input")
    if not isinstance(text, str):
        return ""
    if "cmd" in text and (commands := SCRIPT_COMMAND.findall(text[: 4 * MAX_COMMAND])):
        return "\n".join(_unquote(command) for command in commands[:MAX_PARTS])[:MAX_COMMAND]
    quoted = IN_BACKTICKS.search(text[:MAX_COMMAND])
    return (quoted[1] or quoted[2] or "") if quoted else ""


def _unquote(text: str) -> str:
    try:
        return str(msgspec.json.decode(text, type=str))
    except (msgspec.DecodeError, UnicodeEncodeError):
        return text[1:-1]


def strip_quoted(command: str) -> str:
    """A command without here-documents and without the content of quotes."""
    if "<<" in command:
        command = HERE_DOCUMENT.sub(r"\3", command)
    return QUOTED.sub("''", command)


def check_name(command: str) -> str:
    """The test, build or lint that a stripped command runs. The same name means the same check."""
    checks: list[str] = CHECK.findall(command)
    return next((check for check in checks if runs_tests(check)), checks[-1] if checks else "")


def only_searches(command: str) -> bool:
    """Whether a stripped command only searches. A search without a match is not a failure worth reporting."""
    return command.split(None, 1)[:1] != [] and command.split(None, 1)[0] in SEARCH_PROGRAMS


def runs_tests(check: str) -> bool:
    return TEST_CHECK.search(check) is not None


def commit_subject(command: str) -> str:
    """The subject of the commit that a command makes; empty without one."""
    if "commit" in command and COMMIT.search(command):
        message = MESSAGE.search(command) or (MESSAGE_FILE.search(command) if " -F" in command else None)
        if message:
            groups = message.groupdict()
            return _first_line(groups.get("here") or groups.get("double") or groups.get("single") or "")
    return ""


def pull_request_title(command: str) -> str:
    """The title of the pull request that a command creates or edits; empty without one."""
    title = PULL_REQUEST.search(command) if "gh pr" in command else None
    return _first_line(title["double"] or title["single"]) if title else ""


def _first_line(message: str) -> str:
    lines = (line.strip() for line in message.strip().split("\n"))
    return next((line.replace("\\`", "`").replace('\\"', '"') for line in lines if line), "")


def touched_files(command: str) -> Iterator[tuple[str, str, bool]]:
    """(folder, path, whether it is changed) of each file that a stripped command clearly reads or changes."""
    folder = ""
    for part in SEPARATOR.split(command, maxsplit=MAX_PARTS)[:MAX_PARTS]:
        words = part.split()
        while words and ("=" in words[0] or words[0] in {"sudo", "time", "("}):
            words = words[1:]
        if not words:
            continue
        if words[0] == "cd" and len(words) == 2:
            folder = words[1]
            continue
        for path, is_changed in _files_of_program(words):
            yield folder, path, is_changed
        if ">" in part or words[0] == "tee":
            for path in REDIRECTION.findall(part):
                if _is_path(path) and not path.startswith("/dev/"):
                    yield folder, path, True


def _files_of_program(words: list[str]) -> Iterator[tuple[str, bool]]:
    """(path, whether it is changed) of each file that a program reads or changes."""
    program, arguments = words[0], words[1:]
    if program in READING_PROGRAMS and ">" not in arguments and ">>" not in arguments:
        yield from ((word, False) for word in arguments if _is_path(word))
    elif program == "sed" and arguments:
        in_place = any(word.startswith(("-i", "--in-place")) for word in arguments)
        if in_place or arguments[0].startswith("-n"):
            yield from ((word, in_place) for word in arguments if _is_path(word))
    elif program == "git" and arguments[:1] in (["mv"], ["rm"]):
        yield from ((word, True) for word in arguments[1:] if _is_path(word))


def _is_path(word: str) -> bool:
    """Whether a word is a plain file name, with an extension or a folder: not an option, a number or a pattern."""
    return (
        word[:1] != "-" and ("." in word or "/" in word) and PATH_LIKE.fullmatch(word) is not None and not _is_number(word)
    )


def _is_number(word: str) -> bool:
    return word.replace(".", "").replace(",", "").isdigit()


# ---- the outcome


def judge_outcome(response: Event, *, is_check: bool) -> Outcome:
    """The outcome of a command. Only for a check does the output count: other commands may print an old error."""
    reported_failed = response.failed or response.exit_code not in (None, 0)
    text = _relevant_output(response) if is_check or reported_failed else ""
    if not is_check:
        return Outcome(reported_failed, find_error(text) if reported_failed else "")
    failed = reported_failed or (contains_any(FAILURE_HINTS, text) and FAILED.search(text) is not None)
    return Outcome(failed, find_error(text) if failed else "", count_tests(text))


def _relevant_output(response: Event) -> str:
    """The beginning and the end of an output, without colours. Escaped line breaks become real ones."""
    text = response.text
    if len(text) > HEAD + TAIL:
        tail = text[-TAIL:]
        text = f"{text[:HEAD]}\n{tail.split(NEWLINE, 1)[-1]}"
    if text.startswith(("{", "[")) and "\\n" in text:
        text = ESCAPED_NEWLINE.sub("\n", text)
    return ANSI.sub("", text) if "\x1b" in text else text


def find_error(text: str) -> str:
    """The line of an output that names the error: the last one of a traceback, the first one of a compiler."""
    if "Traceback" in text or "\nE  " in text:
        raised = RAISED_ERROR.findall(text)
        if raised:
            return _clean_line(str(raised[-1]))
    line = ERROR_LINE.search(text) or FAILURE_LINE.search(text)
    return _clean_line(line[0]) if line else ""


def _clean_line(text: str) -> str:
    text = LINE_NUMBER.sub("", text[:MAX_ERROR_LINE])
    return SPACES.sub(" ", text.removeprefix("E ").strip().strip("`")).strip()


def count_tests(text: str) -> str:
    """The counts that a test runner printed: "12 passed, 1 failed"; empty without any."""
    if "passed" in text or "passing" in text or "failed" in text:
        counts: dict[str, int] = {}
        for digits, word in COUNT.findall(text):
            word, count = COUNT_WORDS.get(word, word), int(digits[:MAX_DIGITS])
            counts[word] = counts.get(word, 0) + count if "test result:" in text else count
        if counts.get("passed") or counts.get("failed"):
            return ", ".join(f"{counts[word]} {word}" for word in ("passed", "failed", "errors") if counts.get(word))
    if specs := SPEC_COUNT.search(text):
        return f"{specs[1]} tests, {specs[2]} failed"
    if ran := UNITTEST_COUNT.search(text):
        return f"{ran[1]} tests run"
    passed, failed = len(GO_PASSED.findall(text)), len(GO_FAILED.findall(text))
    if passed + failed:
        return f"{passed} package{'s' if passed != 1 else ''} passed" + (f", {failed} failed" if failed else "")
    return ""
