"""The facts about a session that stand above it: labels and values, in words."""

from collections.abc import Callable

from recollect.display import one_line
from recollect.label import plural
from recollect.library_answers import Cost, LibrarySession, LibraryTurn, Tokens
from recollect.shown_amounts import cost_text, duration_text, tokens_text

UNTITLED = "Untitled session"


def title_of(session: LibrarySession) -> str:
    return one_line(session.title) or UNTITLED


Clock = Callable[[str], str]  # the date, hour and minute of a time in RFC 3339


def utc_minute(stamp: str) -> str:
    """The date, hour and minute of a time in RFC 3339, in UTC."""
    return f"{stamp[:10]} {stamp[11:16]}"


def facts_of(session: LibrarySession, clock: Clock = utc_minute) -> list[tuple[str, str]]:
    """Labels and values, without those that are unknown. Each is one line."""
    facts = [
        ("Agent", session.agent),
        ("Project", session.project),
        ("Folder", session.folder),
        ("Branch", session.branch),
        ("Model" if len(session.models) == 1 else "Models", ", ".join(session.models)),
        ("Time", times_of(session, clock)),
        ("Turns", counts_of(session)),
        ("Files", f"{session.files_changed:,} changed" if session.files_changed else None),
        ("Tokens", kinds_text(session.tokens)),
        ("Cost", price_text(session.cost)),
        ("State", session.state),
        ("Labels", ", ".join(session.labels)),
        ("Note", session.note),
        ("Part of", session.parent),
        ("ID", session.id),
        ("Agent's ID", session.native_id),
    ]
    return [(name, line) for name, value in facts if value and (line := one_line(value))]


def times_of(session: LibrarySession, clock: Clock) -> str:
    """When a session ran. `~` marks a date that the log does not have."""
    start, end = clock(session.started_at), clock(session.updated_at)
    if session.estimated_time:
        return f"~{start[:10]}"
    until = "" if start == end else f" to {end[11:] if start[:10] == end[:10] else end}"
    active = f", {duration_text(session.active_s)} at work" if session.active_s >= 1 else ""
    return f"{start}{until}{' UTC' if clock is utc_minute else ''}{active}"


def counts_of(session: LibrarySession) -> str:
    """How much happened in a session."""
    counts = f"{plural(session.turns, 'turn')}, {plural(session.events, 'event')}, {plural(session.tool_calls, 'tool call')}"
    return f"{counts}, {session.errors:,} failed" if session.errors else counts


def kinds_text(tokens: Tokens) -> str | None:
    """Tokens by kind; None if the log does not tell them."""
    if not tokens.total:
        return None
    kinds = (
        ("input", tokens.input),
        ("output", tokens.output),
        ("from cache", tokens.cache_read),
        ("to cache", tokens.cache_write),
    )
    parts = ", ".join(f"{tokens_text(count)} {name}" for name, count in kinds if count)
    return f"{tokens_text(tokens.total)}: {parts}"


def price_text(cost: Cost) -> str | None:
    """A cost in dollars, and how it is known; None if it is unknown."""
    if cost.usd is None:
        return None
    unpriced = f", without {tokens_text(cost.unpriced_tokens)} tokens of unknown price" if cost.unpriced_tokens else ""
    return f"{cost_text(cost.usd)} {cost.source}{unpriced}"


def turn_facts(turn: LibraryTurn | None, session: LibrarySession, clock: Clock = utc_minute) -> list[str]:
    """When a turn began, and what it took: time and tokens."""
    if turn is None:
        return []
    facts = [] if session.estimated_time else [clock(turn.started_at)]
    if turn.duration_s >= 1:
        facts.append(duration_text(turn.duration_s))
    if turn.tokens.total:
        facts.append(f"{tokens_text(turn.tokens.total)} tokens")
    if turn.context_tokens:
        facts.append(f"context {tokens_text(turn.context_tokens)}")
    if turn.stop and turn.stop != "answer":
        facts.append(f"ended by {turn.stop}")
    return facts
