"""Words of a command line: how shells split them, and how bash wants to get them back."""

import re
import shlex
from collections.abc import Iterable

BREAKS = re.compile(r"^.*[:=]")  # bash replaces what comes after the last of these only (COMP_WORDBREAKS)
SPECIAL = re.compile(r"([^\w@%+=:,./~-])")  # characters that bash would not take literally
QUOTED = r"\\\1"
OPEN_ENDS = (":", "=", "/")  # after these a word goes on: no blank is added


def split_line(line: str) -> list[str]:
    """The words of the line before the cursor, without the command. The last one is being typed; it may be empty."""
    for closing in ("", '"', "'"):
        try:
            words = shlex.split(line + closing)
        except ValueError:  # a quotation is not closed yet
            continue
        is_complete = not closing and line[-1:].isspace()
        return [*words[1:], *([""] if is_complete or len(words) < 2 else [])]
    return [""]


def as_bash_reply(candidates: Iterable[tuple[str, str]], typed: str) -> list[str]:
    """The candidates as `COMPREPLY`: quoted, without the part that bash keeps, with a blank if the word is complete."""
    kept = len(match[0]) if (match := BREAKS.match(typed)) else 0
    return [SPECIAL.sub(QUOTED, text[kept:]) + ("" if text.endswith(OPEN_ENDS) else " ") for text, _ in candidates]
