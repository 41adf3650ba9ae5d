"""The parts of an agent's message in SpecStory's files of 2025, which a rule (`---`) separates.

A tool may fill such a part and have no mark: a file that was read, an edit as a diff, a command and its output as code. In
autumn 2025 a line `Tool use: **name**` comes first. What became of a tool may be a part of its own. All else is the agent's
text, which may contain rules as well.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

RULE = "---"
FENCE = "```"
OUTPUT = ("```text", FENCE)
NAMED = re.compile(r"Tool use: \*\*(?P<tool>[^*\n]{1,200})\*\*[ \t]*(?:\n|$)")
READ = re.compile(r"Read file: [^\n]{1,4096}")  # characters: no path is longer
READS = "read_file"
PLAIN_TOOLS = {"diff": "edit_file", **dict.fromkeys(("bash", "sh", "shell", "zsh", "powershell"), "run_terminal_cmd")}
CHANGED = "Lines added:"  # counts below a diff
CANCELLED = "Cancelled"  # stands in place of a tool that the person did not let run
BROKEN = re.compile(r"Error calling tool\.?|Tool call timed out after \d{1,9} ?m?s")


class Used(Struct):
    """A tool, what it was used for, what was shown of its input, and its output."""

    tool: str
    use: str = ""
    shown: str = ""
    output: str | None = None


class Outcome(Struct):
    """What became of the tool before it, where it did not run to its end."""

    text: str
    cancelled: bool


def parts_of(words: str) -> Iterator[str | Used | Outcome]:
    """The agent's texts and tools in their order."""
    text: list[str] = []
    for section in _sections(words):
        part = _tool(section)
        if part is None:
            text.append(section)
            continue
        yield from _joined(text)
        text = []
        yield part
    yield from _joined(text)


def _joined(sections: list[str]) -> Iterator[str]:
    """Texts that only rules separate are one: the rules may be the agent's own."""
    written = [section for section in sections if section]
    if written:
        yield f"\n\n{RULE}\n\n".join(written)


def _sections(words: str) -> Iterator[str]:
    """What is between two rules. A rule in code separates nothing."""
    held: list[str] = []
    is_code = False
    for line in words.split("\n"):
        if line.startswith(FENCE):
            is_code = not is_code
        if line.strip() == RULE and not is_code:
            yield "\n".join(held).strip()
            held = []
        else:
            held.append(line)
    yield "\n".join(held).strip()


def _tool(section: str) -> Used | Outcome | None:
    if section == CANCELLED:
        return Outcome(section, cancelled=True)
    if BROKEN.fullmatch(section):
        return Outcome(section, cancelled=False)
    if named := NAMED.match(section):
        return _named_tool(named["tool"], section[named.end() :].strip())
    if READ.fullmatch(section):
        return Used(READS, section)
    codes = _codes(section)
    if codes and (tool := PLAIN_TOOLS.get(codes[0][0])):
        return Used(tool, shown=codes[0][1], output=codes[1][1] if len(codes) > 1 else None)
    return None


def _named_tool(tool: str, body: str) -> Used:
    if not body.startswith("<details>"):
        codes = _codes(body)
        return Used(tool, shown=codes[0][1], output=codes[1][1] if len(codes) > 1 else None) if codes else Used(tool, body)
    summary, _, found = body.removeprefix("<details>").strip().removeprefix("<summary>").partition("</summary>")
    return Used(tool, summary, *shown_and_found(found.strip().removesuffix("</details>").strip()))


def _codes(section: str) -> list[tuple[str, str]]:
    """(language, code) of the blocks of a section that has nothing else in it; nothing for any other."""
    codes: list[tuple[str, list[str]]] = []
    is_code = False
    for line in section.split("\n") if section.startswith(FENCE) else ():
        if line.startswith(FENCE):
            is_code = not is_code
            if is_code:
                codes.append((line.removeprefix(FENCE).strip(), []))
        elif is_code:
            codes[-1][1].append(line)
        elif line.strip() and not line.startswith(CHANGED):
            return []
    return [(language, "\n".join(code).strip("\n")) for language, code in codes]


def shown_and_found(body: str) -> tuple[str, str | None]:
    """Of a tool of 2025: what it changed or ran is code, what it found is a table."""
    return shown_and_output(body) if body.startswith((FENCE, "**Chunk")) else ("", body or None)


def shown_and_output(body: str) -> tuple[str, str | None]:
    """What was shown of a tool's input, and its output: all of the block that is marked as text, or not at all."""
    lines = body.split("\n")
    is_code = False
    for place, line in enumerate(lines):
        if line in OUTPUT and not is_code:
            return "\n".join(lines[:place]).strip(), "\n".join(lines[place + 1 :]).rstrip().removesuffix(FENCE).rstrip("\n")
        if line.startswith(FENCE):
            is_code = line != FENCE
    return body.strip(), None


def without_rules(words: str) -> str:
    """A text without the rules and blank lines around it."""
    lines = words.split("\n")
    written = [place for place, line in enumerate(lines) if line.strip() not in ("", RULE)]
    return "\n".join(lines[written[0] : written[-1] + 1]).strip() if written else ""
