"""A tool call in one line: the tool, what it was called with, and how it ended."""

from itertools import pairwise
from typing import Any

import msgspec

from recollect.display import one_line
from recollect.export.steps import TranscriptStep
from recollect.observe.shell_calls import COMMANDS, SHELL
from recollect.shown_amounts import duration_text

TENTHS_S = 10  # seconds: shorter calls are shown with tenths
SUMMARY = 160  # characters: two lines of a terminal
MAIN_ARGUMENTS = (  # names of the argument that says most, the best first; those of shell tools are before them
    *COMMANDS,
    "file_path", "filePath", "path", "absolute_path", "notebook_path", "AbsolutePath", "TargetFile", "file", "filename",
    "pattern", "regex", "query", "Query", "search_term", "url", "Url", "uri", "skill", "description", "question",
    "prompt", "message", "task", "input", "code", "text", "content", "name", "title",
)  # fmt: skip
NEW_FILE = "+++ "
NO_FILE = "/dev/null"


def call_summary(step: TranscriptStep, folder: str | None, max_length: int = SUMMARY) -> str:
    """What a call was about: its command, its file, its query. Paths in the session's folder are relative."""
    arguments = step.event.arguments or {}
    text = _files(step.event.diff) if step.event.diff else _main_argument(arguments)
    return one_line(_relative(text, folder), max_length)


def _main_argument(arguments: dict[str, Any]) -> str:
    for name in MAIN_ARGUMENTS:
        value = arguments.get(name)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return _command_line(value)
    texts = [value for value in arguments.values() if isinstance(value, str) and value.strip()]
    return texts[0] if texts else _as_json(arguments) if arguments else ""


def _command_line(words: list[str]) -> str:
    """The script of a shell, or a program with its arguments."""
    return words[-1] if len(words) > 2 and SHELL.search(words[0]) and words[1].startswith("-") else " ".join(words)


def _files(diff: str) -> str:
    """The files of a diff."""
    lines = diff.splitlines()
    names = [new[4:] for new in lines if new.startswith(NEW_FILE)]
    gone = [old[4:] for old, new in pairwise(lines) if new == NEW_FILE + NO_FILE]
    return ", ".join(dict.fromkeys([*(name for name in names if name != NO_FILE), *gone]))


def _relative(text: str, folder: str | None) -> str:
    return text.replace(f"{folder.rstrip('/')}/", "") if folder and len(folder) > 1 else text


def changed_lines(diff: str) -> tuple[int, int]:
    """(added, removed) lines of a diff."""
    lines = diff.splitlines()
    added = sum(line.startswith("+") and not line.startswith(NEW_FILE) for line in lines)
    return added, sum(line.startswith("-") and not line.startswith("--- ") for line in lines)


def call_outcome(step: TranscriptStep) -> list[str]:
    """How a call ended: `+3 −1`, `exit 1`, `1.2 s`."""
    output, outcome = step.output, list[str]()
    if step.event.diff:
        added, removed = changed_lines(step.event.diff)
        outcome.append(f"+{added:,} −{removed:,}")
    if output is not None and output.exit_code:
        outcome.append(f"exit {output.exit_code}")
    elif step.has_failed():
        outcome.append("failed")
    elif output is not None and output.exit_code == 0:
        outcome.append("exit 0")
    if output is None:
        outcome.append("no result")
    elif output.duration_ms is not None:
        outcome.append(_took(output.duration_ms / 1_000))
    return outcome


def _took(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < TENTHS_S else duration_text(seconds)


def shown_arguments(step: TranscriptStep) -> str:
    """The arguments of a call, one per line; empty if its summary and its diff have them all."""
    arguments = step.event.arguments or {}
    if step.event.diff or not arguments:
        return ""
    main = _main_argument(arguments)
    if len(arguments) == 1:
        return "" if len(main) <= SUMMARY and "\n" not in main.strip() else main
    return "\n".join(f"{name}: {_shown_value(value)}" for name, value in arguments.items())


def _shown_value(value: Any) -> str:
    text = value if isinstance(value, str) else _as_json(value)
    return f"\n{text}" if "\n" in text else text


def _as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
