"""Prose: what a person or an agent said, without its dressing, as headings and sentences.

Code, tables, terminal colours, injected notes and emphasis carry no sentence that is worth keeping; what is left is
cut into sentences. Work is bounded: of a long text only its beginning and its end are looked at.
"""

import re

from msgspec import Struct

HEAD, TAIL = 5_000, 2_500  # characters: a summary stands at the beginning or at the end of a long answer
BEGINNING = 1_400  # characters: tags come from what is said first
MOST_SENTENCES = 45  # what comes later than this is never chosen

ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
INJECTED = re.compile(
    r"<(system[-_]reminder|environment[-_]context|environment_details|local-command-[a-z]+|"
    r"command-(?:name|args|message|contents)|user_instructions|permissions instructions|ide_[a-z_]+|attached_files?|"
    r"task-notification|recommended_plugins|skills_instructions|plugins_instructions|open_and_recently_viewed_files|"
    r"user_info|rules|instructions|INSTRUCTIONS|thinking|think|budget:[a-z_]+|available_skills|tool_use_error|"
    r"gitStatus)\b[^>]*>.*?(?:</\1>|\Z)",
    re.DOTALL,
)
FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t>]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
EDIT_BLOCK = re.compile(r"^<{5,} ?SEARCH.*?(?:^>{5,} ?REPLACE[^\n]*|\Z)", re.DOTALL | re.MULTILINE)
SOURCE_BLOCK = re.compile(r"<source>.*?(?:</source>|\Z)", re.DOTALL)
LONE_TAG = re.compile(r"^[ \t]*</?[A-Za-z][\w-]*(?: [^<>\n]{0,200})?/?>[ \t]*$", re.MULTILINE)
IMAGE = re.compile(r"!\[[^\]\n]{0,200}\]\([^)\n]{0,2000}\)|\[Image(?: #\d+)?[^\]\n]{0,80}\]|\[image\]")
LINK = re.compile(r"\[([^\]\n]{1,200})\]\(<?[^)\n]{0,2000}\)")
EMPHASIS = re.compile(r"\*(?=[\w\"'(])|(?<=[\w.!?:)\"'])\*(?=\W|$)|(?<!\w)_{1,2}(?=[A-Za-z])|(?<=[\w.!?:])_{1,2}(?![\w(])")
HEADING = re.compile(r"#{1,6}\s+(.+)")
BULLET = re.compile(r"(?:[-*+•◦▪●○–—>│├└─]+\s+|\(?\d{1,3}[.)]\s+|\[[ xX]\]\s+|(?:Step|STEP) \d+[:.]\s+)+")
SYMBOLS = re.compile(r"^[\W_]*[\u2190-\u2bff\U0001f000-\U0001faff\ufe0f\u200d]+[\s:]*")
END = re.compile(r"[.!?…][\"')\]]*\s+(?=[^a-z\s])|[。！？；]")
NOT_AN_END = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|Dr|Mr|Ms|No|Fig|al)|^\W*\d{1,3})\.$")
RULED = re.compile(r"^[\s|+\-=_*~#─━═│┌┐└┘├┤┬┴┼.:]*$")
SPACES = re.compile(r"\s+")


class Prose(Struct, frozen=True):
    """What was said. `heading_at` is the number of sentences before the first heading, `text` how it begins, as prose."""

    headings: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    heading_at: int = 0
    text: str = ""


NOTHING = Prose()


def bounded(text: str, head: int = HEAD, tail: int = TAIL) -> str:
    """The beginning and the end of a text, which is all that is looked at."""
    if len(text) <= head + tail:
        return text
    return f"{text[:head]}\n\n{text[-tail:]}"


def plain(text: str) -> str:
    """A text without what was put around or into it: colours, injected notes, code, links, emphasis."""
    if "\x1b" in text or "\x00" in text:
        text = ANSI.sub("", text)
    text = text.replace("\r", "").replace("’", "'").replace("‘", "'")
    if "<" in text:
        text = INJECTED.sub("\n", text)
        text = EDIT_BLOCK.sub("\n", text) if "SEARCH" in text else text
        text = SOURCE_BLOCK.sub("\n", text) if "<source>" in text else text
        text = LONE_TAG.sub("", text)
    if "```" in text or "~~~" in text:
        text = FENCE.sub("\n", text)
    if "[" in text:
        text = LINK.sub(r"\1", IMAGE.sub("", text))
    return text


def unmarked(text: str) -> str:
    """A line without emphasis and backticks, its spaces single."""
    text = text.replace("`", "").replace("**", "")
    if "*" in text or " _" in text or text.startswith("_"):
        text = EMPHASIS.sub("", text)
    if text.isascii() and "  " not in text and "\n" not in text and "\t" not in text:
        return text.strip()
    return " ".join(text.split())


def prose(text: str) -> Prose:
    """The headings and sentences of a text, in their order."""
    headings: list[str] = []
    sentences: list[str] = []
    heading_at = 0
    text = plain(bounded(text))
    for line in text.split("\n"):
        line = line.strip()
        if not line or line[0] in "|❯➜" or line[:2] in {"$ ", "::"} or RULED.match(line):
            continue
        if line[0] == "#" and (heading := HEADING.match(line)):
            heading_at = heading_at if headings else len(sentences)
            headings.append(BULLET.sub("", unmarked(SYMBOLS.sub("", heading[1].rstrip("# "))), count=1))
            continue
        sentences += line_sentences(line)
        if len(sentences) >= MOST_SENTENCES:
            break
    return Prose(tuple(headings), tuple(sentences), heading_at, text[:BEGINNING])


def line_sentences(line: str) -> list[str]:
    """The sentences of one line as it was written, its bullet and its emphasis left out."""
    line = unmarked(line)
    if listed := BULLET.match(line):
        line = line[listed.end() :]
    if line and not line[0].isalnum() and line[0] not in "`*_\"'([{</.$@~":
        line = SYMBOLS.sub("", line)
    return sentences_of(line)


def sentences_of(line: str) -> list[str]:
    """The sentences of one line. An abbreviation ends none."""
    if not line:
        return []
    if "." not in line and "!" not in line and "?" not in line and line.isascii():
        return [line]
    parts: list[str] = []
    start = 0
    for end in END.finditer(line):
        part = line[start : end.end()].rstrip()
        if not NOT_AN_END.search(part):
            parts.append(part)
            start = end.end()
    if start < len(line):
        parts.append(line[start:])
    return parts


def cut(text: str, most: int) -> str:
    """A text of at most so many characters, cut where a word ends."""
    if len(text) <= most:
        return text
    short = text[: most - 1]
    at = short.rfind(" ")
    return short[: at if at > most // 2 else most - 1].rstrip(" ,;:-–—([{\"'") + "…"
