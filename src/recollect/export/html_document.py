"""Sessions as one HTML file: no scripts, no requests, light and dark, for screen and paper."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from recollect.export.facts import facts_of, title_of, turn_facts, utc_minute
from recollect.export.html_steps import StepsHtml
from recollect.export.html_text import label_html, text_html
from recollect.export.length_limits import LengthLimits, budget_of
from recollect.export.redactor import ExportRedactor
from recollect.export.session_content import SessionContent
from recollect.export.steps import join_calls
from recollect.library_answers import FileEntry, LibrarySession, LibraryTurn, Match

OUTLINE = 90  # bytes of a prompt in the outline: two lines beside the text
MAX_OUTLINE = 2_000  # turns that the outline lists
MAX_FILES = 200  # files that are listed


class HtmlDocument:
    """Writes HTML for sessions, one after the other."""

    def __init__(self, title: str, redactor: ExportRedactor, *, is_single: bool, is_full: bool) -> None:
        self._title = title
        self._redactor = redactor
        self._is_single = is_single
        self._is_full = is_full
        self._all_events = 0

    def begin(self, sessions: Sequence[LibrarySession]) -> Iterator[str]:
        self._all_events = sum(session.events for session in sessions)
        yield (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{_policy()}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="referrer" content="no-referrer">\n<meta name="robots" content="noindex">\n'
            f"<title>{text_html(self._title)}</title>\n<style>{_style()}</style>\n</head>\n"
        )
        yield '<body class="one">\n' if self._is_single else "<body>\n"
        if not self._is_single:
            rows = "".join(
                f'<li><a href="#s{number}">{text_html(title_of(session))}</a> '
                f'<span class="tag">{text_html(f"{session.agent}, {utc_minute(session.updated_at)}")}</span></li>\n'
                for number, session in enumerate(sessions, 1)
            )
            yield f"<header>\n<h1>{text_html(self._title)}</h1>\n<nav><ol>\n{rows}</ol></nav>\n</header>\n"

    def session(self, number: int, content: SessionContent) -> Iterator[str]:
        """One session. `number` counts from 1."""
        prefix = "" if self._is_single else f"s{number}-"
        head = self._head(number, content.session) + _outline(content.turns, prefix)
        head += f"<main>\n{_matches(content.matches, prefix)}{_files(content.files)}"
        yield head
        yield from self._turns(content, prefix, len(head.encode()))
        yield "</main>\n"

    def end(self) -> Iterator[str]:
        sentences = text_html(" ".join(self._redactor.receipt.sentences()))
        yield f"<footer>\n<p>{sentences}</p>\n<p>Exported by Recollect. Times are in UTC.</p>\n</footer>\n</body>\n</html>\n"

    def _head(self, number: int, session: LibrarySession) -> str:
        rows = "".join(f"<dt>{name}</dt><dd>{text_html(value)}</dd>\n" for name, value in facts_of(session))
        anchor = "" if self._is_single else f' id="s{number}"'
        return f"<header{anchor}>\n<h1>{text_html(title_of(session))}</h1>\n<dl>\n{rows}</dl>\n</header>\n"

    def _turns(self, content: SessionContent, prefix: str, begun: int) -> Iterator[str]:
        receipt = self._redactor.receipt
        sizes = () if self._is_full else content.sizes
        limits = LengthLimits(sizes, budget_of(len(content.sizes), self._all_events))
        limits.wrote(0, begun)
        writer = StepsHtml(content.session.folder, prefix, limits.limit, receipt)
        turns = {turn.number: turn for turn in content.turns}
        redacted = (event for batch in content.events for event in self._redactor.redact_events(batch))
        current = None
        for step in join_calls(redacted):
            piece = writer.html(step)
            if step.event.turn != current:
                current = step.event.turn
                facts = turn_facts(turns.get(current), content.session)
                piece = _turn_head(current, facts, prefix) + piece
            limits.wrote(1 + (step.response is not None), len(piece.encode()))
            if piece:
                yield piece


def _turn_head(number: int, facts: list[str], prefix: str) -> str:
    shown = text_html(" · ".join(facts))
    return f'<h2 id="{prefix}t{number}"><a href="#{prefix}t{number}">Turn {number}</a> <span>{shown}</span></h2>\n'


def _outline(turns: Sequence[LibraryTurn], prefix: str) -> str:
    """Links to all prompts."""
    if len(turns) < 2:
        return ""
    rows = "".join(
        f'<li value="{turn.number}"><a href="#{prefix}t{turn.number}">{_prompt_label(turn)}</a></li>\n'
        for turn in turns[:MAX_OUTLINE]
    )
    more = f"<p>and {len(turns) - MAX_OUTLINE:,} more turns</p>\n" if len(turns) > MAX_OUTLINE else ""
    return f'<nav aria-label="Prompts">\n<b>Prompts</b>\n<ol>\n{rows}</ol>\n{more}</nav>\n'


def _prompt_label(turn: LibraryTurn) -> str:
    return label_html(turn.prompt.lstrip("`#>*- \n"), OUTLINE) or "(without a prompt)"


def _matches(matches: Sequence[Match], prefix: str) -> str:
    """What a search found, with links to the events."""
    if not matches:
        return ""
    rows = "".join(f'<li><a href="#{prefix}e{match.sequence}">{_marked(match)}</a></li>\n' for match in matches)
    return f'<div class="note"><b>Found</b>\n<ul>\n{rows}</ul></div>\n'


def _marked(match: Match) -> str:
    """The text of a match, with what was looked for in bold."""
    parts, start = list[str](), 0
    for first, end in match.offsets:
        parts += [text_html(match.text[start:first]), f"<mark>{text_html(match.text[first:end])}</mark>"]
        start = end
    return "".join([*parts, text_html(match.text[start:])])


def _files(files: Sequence[FileEntry]) -> str:
    """The files that a session changed, each once."""
    changed: dict[str, str] = {}
    for file in files:
        if file.operation != "read":
            changed.setdefault(file.path, file.operation)
    if not changed:
        return ""
    shown = list(changed.items())[:MAX_FILES]
    rows = "".join(f"<li>{text_html(path)} <span>{text_html(operation)}</span></li>\n" for path, operation in shown)
    more = f"<li>and {len(changed) - MAX_FILES:,} more</li>\n" if len(changed) > MAX_FILES else ""
    summary = f"<summary><span>Files changed: {len(changed):,}</span></summary>"
    return f'<details>{summary}\n<ul class="files">\n{rows}{more}</ul></details>\n'


@cache
def _style() -> str:
    return (files("recollect.export") / "style.css").read_text("utf-8")


@cache
def _policy() -> str:
    """No requests, no scripts, no forms; only our own style."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
