"""Hits for people: the row of each session, and below it the events that match."""

import re
import shlex
from typing import Any

from msgspec import Struct
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from recollect.display import one_line
from recollect.filters import split
from recollect.label import plural
from recollect.search import parse
from recollect.surfaces.cli.local_times import short_age
from recollect.surfaces.cli.render import KIND_STYLES, say
from recollect.surfaces.cli.session_rows import SessionRows, tab_row
from recollect.surfaces.cli.short_forms import Shorten

SHOWN = 3  # matches of a session; the others are counted
LINES = 2  # lines of a terminal that a match gets
INDENT = "  "
LEAD = 3  # a cut text begins so that this part (1/3) of what is shown precedes the first match


class Hits(Struct, frozen=True):
    """What a search found, in the form of the library."""

    hits: list[Any]
    query: str
    elapsed_ms: float

    def words(self) -> str:
        return split(self.query).text

    def nothing(self) -> str:
        return f"Nothing found for {self.query!r}."


def draw_hits(out: Console, found: Hits, shorten: Shorten) -> None:
    """Print hits on a terminal."""
    pattern = _pattern(found.words())
    rows = SessionRows(
        [hit["session"] for hit in found.hits], out.width, shorten, lambda session: short_age(session["updated_at"])
    )
    for hit in found.hits:
        out.print(rows.row(hit["session"]), soft_wrap=True)
        for match in hit["matches"][:SHOWN]:
            out.print(_match(match, shorten, out, pattern), soft_wrap=True)
            if match["why"]:
                out.print(Text(f"{INDENT}{_why(match)}", "dim"), soft_wrap=True)
        if (more := len(hit["matches"]) - SHOWN) > 0:
            out.print(Text(f"{INDENT}{_more(found, hit, more, shorten)}", "dim"), soft_wrap=True)
        out.print()
    matches = sum(len(hit["matches"]) for hit in found.hits)
    counts = f"{plural(matches, 'match', 'matches')} in {plural(len(found.hits), 'session')}, {found.elapsed_ms:.0f} ms."
    out.print(Text(f"{counts} Read one: recollect open ID", "dim"))


def print_hits(found: Hits, shorten: Shorten) -> None:
    """Print hits for a pipe: whole rows and snippets, one line each."""
    for hit in found.hits:
        say(tab_row(hit["session"], shorten))
        for match in hit["matches"][:SHOWN]:
            say(f"{INDENT}{shorten(match['event'])}\t{match['type']}\t{one_line(match['text'])}")
            if match["why"]:
                say(f"{INDENT}{_why(match)}")
        if (more := len(hit["matches"]) - SHOWN) > 0:
            say(f"{INDENT}{_more(found, hit, more, shorten)}")


def _more(found: Hits, hit: Any, count: int, shorten: Shorten) -> str:
    command = f"recollect search {shlex.quote(found.query)} --within {shorten(hit['session']['id'])}"
    return f"{plural(count, 'more match', 'more matches')}: {command}"


def _match(match: Any, shorten: Shorten, out: Console, pattern: re.Pattern[str] | None) -> Text:
    """A match in two lines or so: its ID, its type, and its text around the first word that was found."""
    width = out.width - len(INDENT)
    line = Text.assemble((shorten(match["event"]), "blue"), " ", (match["type"], KIND_STYLES[match["type"]]), " ")
    text = Text(_around(one_line(match["text"]), LINES * width - cell_len(line.plain), pattern))
    if pattern is not None:
        text.highlight_regex(pattern, "bold yellow")
    return Text("\n").join(Text(INDENT).append_text(part) for part in line.append_text(text).wrap(out, width))


def _around(text: str, length: int, pattern: re.Pattern[str] | None) -> str:
    """The part of a text, of at most this length, that has the first word that was found."""
    if len(text) <= length:
        return text
    found = pattern.search(text) if pattern is not None else None
    start = 0
    if found is not None and found.end() > length - 1:
        start = text.rfind(" ", 0, found.start() - length // LEAD) + 1
    part = text[start : start + length - 2]
    return f"{'…' if start else ''}{part.rsplit(' ', 1)[0] if ' ' in part else part}…"


def _pattern(words: str) -> re.Pattern[str] | None:
    """A pattern of the words of a query, with their endings."""
    stems = {word for group in parse(words).word_groups() for word in group}
    if not stems:
        return None
    alternatives = "|".join(sorted(map(re.escape, stems), key=len, reverse=True))
    return re.compile(rf"(?:{alternatives})\w*", re.IGNORECASE)


def _why(match: Any) -> str:
    parts = " + ".join(f"{name} {points:.1f}" for name, points in match["why"].items())
    return f"score {match['score']:.3f} = {parts}"
