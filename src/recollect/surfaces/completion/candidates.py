"""What can stand at the cursor: commands, options, filters, and names that the archive has."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from recollect.store_module import store_module

Candidate = tuple[str, str]
"""A word, and what it is."""
Table = Mapping[str, Any]

DEFAULT_REALM = "main"
REALM = "--realm"
DATES = ("today", "yesterday", "7d", "30d", "24h", "last week", "this week", "last month")
LAST = ("last", "the newest session")


class TypedLine:
    """A command line while it is typed."""

    def __init__(self, words: Sequence[str], state_folder: Path) -> None:
        """`words`: without the program. The last one is the one at the cursor."""
        *self.before, self.typed = words
        self.state_folder = state_folder

    def realm(self) -> Path:
        """The folder of the realm that the line names."""
        place = self.before.index(REALM) + 1 if REALM in self.before else len(self.before)
        name = self.before[place] if place < len(self.before) else DEFAULT_REALM
        return self.state_folder / "realms" / name


def candidates(table: Table, line: TypedLine) -> list[Candidate] | None:
    """The words that can stand at the cursor; None if they are the names of files."""
    command, arguments = _command(table, line.before)
    option = line.before[-1] if line.before else ""
    options = command.get("options", {})
    typed = line.typed
    if options.get(option, {}).get("kind"):
        return _values(options[option]["kind"], typed, line, table)
    if typed.startswith("--") and "=" in typed:
        name, _, value = typed.partition("=")
        found = _values(options.get(name, {}).get("kind", ""), value, line, table)
        return None if found is None else [(f"{name}={text}", text_help) for text, text_help in found]
    if typed.startswith("-") and not _is_filter(typed, command):
        unused = ((name, about["help"]) for name, about in options.items() if _can_follow(name, about, line.before))
        negated = ((f"-{name}:", about["help"]) for name, about in table["filters"].items() if _has_query(command))
        return _beginning_with(typed, [*unused, *(negated if len(typed) > 1 else ())])
    if "commands" in command:
        return _beginning_with(typed, ((name, part["help"]) for name, part in command["commands"].items()))
    return _arguments(command, arguments, typed, line, table)


def _command(table: Table, words: Sequence[str]) -> tuple[Table, int]:
    """The command that the words name, and how many arguments it has so far."""
    command, arguments = table, 0
    waits_for_value = False
    for word in words:
        about = command.get("options", {}).get(word)
        if waits_for_value:
            waits_for_value = False
        elif about is not None:
            waits_for_value = bool(about.get("kind"))
        elif not word.startswith("--"):
            if word in command.get("commands", {}):
                command = command["commands"][word]
            else:
                arguments += 1
    return command, arguments


def _is_filter(typed: str, command: Table) -> bool:
    """Whether a word that begins with a dash is a filter of a query that leaves out: `-agent:codex`."""
    return _has_query(command) and ":" in typed and not typed.startswith("--")


def _has_query(command: Table) -> bool:
    return "query" in command.get("arguments", ())


def _can_follow(option: str, about: Table, before: Sequence[str]) -> bool:
    """Whether an option can be used again, or is used for the first time."""
    return about.get("is_repeatable", False) or option not in before


def _arguments(command: Table, count: int, typed: str, line: TypedLine, table: Table) -> list[Candidate] | None:
    kinds = command.get("arguments", ())
    kind = kinds[min(count, len(kinds) - 1)] if kinds else ""
    if kind != "query":
        return _values(kind, typed, line, table)
    dash = "-" if typed.startswith("-") else ""
    key, colon, value = typed.removeprefix("-").partition(":")
    filters = table["filters"]
    if not colon:
        return _beginning_with(typed, ((f"{dash}{name}:", about["help"]) for name, about in filters.items()))
    if key not in filters:
        return []
    found = _values(filters[key]["kind"], value, line, table) or []
    return [(f"{dash}{key}:{_quoted(text)}", about) for text, about in found]


def _quoted(value: str) -> str:
    return f'"{value}"' if " " in value else value


def _values(kind: str, typed: str, line: TypedLine, table: Table) -> list[Candidate] | None:
    """The values of a kind that begin with what was typed; None if they are files."""
    if kind == "file":
        return None
    if kind in table["choices"]:
        return _negated(typed, ((choice, "") for choice in table["choices"][kind]))
    match kind:
        case "date":
            return _beginning_with(typed, ((date, "") for date in DATES))
        case "realm":
            return _beginning_with(typed, ((name, "") for name in _folders(line.state_folder / "realms")))
        case "id":
            found = store_module("names").sessions(line.realm(), typed)
            described = [(session, _about(*rest)) for session, *rest in found]
            return [*_beginning_with(typed, [LAST]), *described]
        case "agent" | "project" | "branch" | "model" | "tool" | "label":
            return _negated(typed, ((name, "") for name in store_module("names").names(line.realm(), kind)))
        case _:
            return []


def _about(agent: str, project: str, title: str) -> str:
    """A session in a few words."""
    text = " ".join(f"{agent} {project}: {title}".split())
    return "".join(letter for letter in text if letter.isprintable())[:80]


def _negated(typed: str, found: Iterable[Candidate]) -> list[Candidate]:
    """The values that begin with what was typed; after a dash, those to leave out."""
    dash = "-" if typed.startswith("-") else ""
    return _beginning_with(typed, ((f"{dash}{text}", about) for text, about in found))


def _beginning_with(typed: str, found: Iterable[Candidate]) -> list[Candidate]:
    return [(text, about) for text, about in found if text.lower().startswith(typed.lower())]


def _folders(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir() if entry.is_dir()) if path.is_dir() else []
