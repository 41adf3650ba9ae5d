"""Reads the sections of an agent's message in SpecStory's files of 2025, which rules (`---`) separate.

A tool may fill a section without a mark: a file that was read, an edit as a diff, a command and its output as code. In
autumn 2025 a line `Tool use: **name**` comes first. A tool's outcome may be a section of its own. Everything else is the
agent's text, which may contain rules too.
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
CANCELLED = "Cancelled"  # is in place of a tool that the person refused
BROKEN = re.compile(r"Error calling tool\.?|Tool call timed out after \d{1,9} ?m?s")


class ToolUse(Struct):
    """A tool with its purpose, the shown input, and its output."""

    tool: str
    use: str = ""
    shown: str = ""
    output: str | None = None


class Outcome(Struct):
    """The outcome of the tool before it, if it did not complete."""

    text: str
    cancelled: bool


def parts_of(message: str) -> Iterator[str | ToolUse | Outcome]:
    """The agent's texts and tools in order."""
    text: list[str] = []
    for section in _sections(message):
        part = _tool(section)
        if part is None:
            text.append(section)
            continue
        yield from _joined(text)
        text = []
        yield part
    yield from _joined(text)


def _joined(sections: list[str]) -> Iterator[str]:
    """Adjacent texts joined to one: the agent itself may have written the rules between them."""
    texts = [section for section in sections if section]
    if texts:
        yield f"\n\n{RULE}\n\n".join(texts)


def _sections(message: str) -> Iterator[str]:
    """The texts between rules. A rule inside code does not count."""
    section: list[str] = []
    is_code = False
    for line in message.split("\n"):
        if line.startswith(FENCE):
            is_code = not is_code
        if line.strip() == RULE and not is_code:
            yield "\n".join(section).strip()
            section = []
        else:
            section.append(line)
    yield "\n".join(section).strip()


def _tool(section: str) -> ToolUse | Outcome | None:
    if section == CANCELLED:
        return Outcome(section, cancelled=True)
    if BROKEN.fullmatch(section):
        return Outcome(section, cancelled=False)
    if named := NAMED.match(section):
        return _named_tool(named["tool"], section[named.end() :].strip())
    if READ.fullmatch(section):
        return ToolUse(READS, section)
    codes = _codes(section)
    if codes and (tool := PLAIN_TOOLS.get(codes[0][0])):
        return ToolUse(tool, shown=codes[0][1], output=codes[1][1] if len(codes) > 1 else None)
    return None


def _named_tool(tool: str, body: str) -> ToolUse:
    if not body.startswith("<details>"):
        codes = _codes(body)
        return (
            ToolUse(tool, shown=codes[0][1], output=codes[1][1] if len(codes) > 1 else None)
            if codes
            else ToolUse(tool, body)
        )
    summary, _, details = body.removeprefix("<details>").strip().removeprefix("<summary>").partition("</summary>")
    return ToolUse(tool, summary, *shown_and_result(details.strip().removesuffix("</details>").strip()))


def _codes(section: str) -> list[tuple[str, str]]:
    """(language, code) of the code blocks in a section; empty if it has other text too."""
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


def shown_and_result(body: str) -> tuple[str, str | None]:
    """(input, output) of a tool of 2025: changes and commands are shown as code, results as a table."""
    return shown_and_output(body) if body.startswith((FENCE, "**Chunk")) else ("", body or None)


def shown_and_output(body: str) -> tuple[str, str | None]:
    """(input, output) of a tool: the output is the code block whose language is `text` or missing."""
    lines = body.split("\n")
    is_code = False
    for place, line in enumerate(lines):
        if line in OUTPUT and not is_code:
            return "\n".join(lines[:place]).strip(), "\n".join(lines[place + 1 :]).rstrip().removesuffix(FENCE).rstrip("\n")
        if line.startswith(FENCE):
            is_code = line != FENCE
    return body.strip(), None


def without_rules(text: str) -> str:
    """A text without the rules and blank lines around it."""
    lines = text.split("\n")
    written = [place for place, line in enumerate(lines) if line.strip() not in ("", RULE)]
    return "\n".join(lines[written[0] : written[-1] + 1]).strip() if written else ""
