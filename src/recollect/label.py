"""Labels: a text, a tool call, or a count, in one line.

They are not in `title.py`, because its patterns take 10 ms of CPU to compile, and reading commands need no titles.
"""

from typing import Any

import msgspec


def label(text: str, max_length: int) -> str:
    """The first line of a text that is not blank, in at most `max_length` characters, cut at a word."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    line = " ".join(line.split())
    if len(line) <= max_length:
        return line
    cut = line[: max_length - 1]
    return (cut.rsplit(" ", 1)[0] if " " in cut[max_length // 2 :] else cut) + "…"


def call_text(tool: str | None, arguments: dict[str, Any] | None) -> str:
    """A tool call in a readable form: `exec_command(cmd="ls", workdir="/w")`."""
    parts = [tool or "tool", "("]
    for index, (name, value) in enumerate((arguments or {}).items()):
        parts += [", " if index else "", name, "=", msgspec.json.encode(value).decode()]
    return "".join([*parts, ")"])


def plural(count: int, noun: str, nouns: str = "") -> str:
    """A number with its noun: "1 turn", "1,024 turns". `nouns` is a plural that does not just end in s."""
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"
