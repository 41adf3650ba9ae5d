"""Loads phrase tables: the words and patterns of the rules, from the TOML files of this folder.

An entry contains `words` (separated by spaces), `phrases` (parts of a text in lower case) or a `pattern`.
It also contains a text that matches (`yes`) and one that does not (`no`); a test checks both.
A pattern can span lines: line breaks are dropped, and so are lines that begin with "# ".
Loading all files takes 3.5 ms of CPU, compiling all patterns of the rules 43 ms.
Only the rules load them, when a turn is distilled.
"""

import re
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

FOLDER = Path(__file__).parent
FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}


class Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One list or one pattern of a table. `method` is how the rules apply the pattern."""

    yes: str
    no: str
    words: str = ""
    phrases: tuple[str, ...] = ()
    pattern: str = ""
    flags: str = "i"
    method: Literal["search", "match", "fullmatch"] = "search"


class PhraseTable:
    """The entries of one file, by name."""

    def __init__(self, name: str) -> None:
        content = (FOLDER / f"{name}.toml").read_text(encoding="utf-8")
        self.entries = msgspec.toml.decode(content, type=dict[str, Entry])

    def words(self, name: str) -> tuple[str, ...]:
        """The words of an entry, in the order of the file."""
        return tuple(self.entries[name].words.split())

    def word_set(self, name: str) -> frozenset[str]:
        return frozenset(self.words(name))

    def phrases(self, name: str) -> tuple[str, ...]:
        return self.entries[name].phrases

    def pattern(self, name: str) -> re.Pattern[str]:
        """The compiled pattern of an entry. `{filler}` in it stands for the pattern of the entry `filler`."""
        entry = self.entries[name]
        text = _join_lines(entry.pattern)
        if "{filler}" in text:
            text = text.replace("{filler}", _join_lines(self.entries["filler"].pattern))
        flags = re.NOFLAG
        for letter in entry.flags:
            flags |= FLAGS[letter]
        return re.compile(text, flags)


def _join_lines(pattern: str) -> str:
    return "".join(line for line in pattern.split("\n") if not line.startswith("# "))


def contains_any(phrases: tuple[str, ...], text: str) -> bool:
    """Whether a text contains any of the phrases. This costs a fraction of a pattern, so the rules check it first."""
    return any(map(text.__contains__, phrases))


def phrases_in(phrases: tuple[str, ...], text: str) -> tuple[str, ...]:
    """The phrases that a text contains. Only these can occur in its sentences."""
    return tuple(filter(text.__contains__, phrases))
