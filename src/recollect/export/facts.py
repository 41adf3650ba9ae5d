"""The facts about a session that stand above it: labels and values, in words."""

from collections.abc import Callable

from recollect.display import one_line
from recollect.export.call_summary import short_duration
from recollect.label import plural
from recollect.library_answers import Cost, LibrarySession, LibraryTurn, Tokens

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
        ("Tokens", tokens_text(session.tokens)),
        ("Cost", cost_text(session.cost)),
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
    active = f", {short_duration(session.active_s)} at work" if session.active_s >= 1 else ""
    return f"{start}{until}{' UTC' if clock is utc_minute else ''}{active}"


def counts_of(session: LibrarySession) -> str:
    """How much happened in a session."""
    counts = f"{plural(session.turns, 'turn')}, {plural(session.events, 'event')}, {plural(session.tool_calls, 'tool call')}"
    return f"{counts}, {session.errors:,} failed" if session.errors else counts


def tokens_text(tokens: Tokens) -> str | None:
    """Tokens by kind; None if the log does not tell them."""
    if not tokens.total:
        return None
    kinds = (
        ("input", tokens.input),
        ("output", tokens.output),
        ("from cache", tokens.cache_read),
        ("to cache", tokens.cache_write),
    )
    parts = ", ".join(f"{short_count(count)} {name}" for name, count in kinds if count)
    return f"{short_count(tokens.total)}: {parts}"


def cost_text(cost: Cost) -> str | None:
    """A cost in dollars, and how it is known; None if it is unknown."""
    if cost.usd is None:
        return None
    digits = 2 if cost.usd >= 0.1 or cost.usd == 0 else 4
    left_out = f", without {short_count(cost.unpriced_tokens)} tokens of unknown price" if cost.unpriced_tokens else ""
    return f"${cost.usd:,.{digits}f} {cost.source}{left_out}"


def short_count(count: int) -> str:
    """A number in three digits: 812, 8.1k, 812k, 8.1M."""
    for size, unit in ((1_000_000_000, "B"), (1_000_000, "M"), (1_000, "k")):
        if count >= size:
            value = count / size
            return f"{value:.1f}{unit}" if value < 100 else f"{value:.0f}{unit}"
    return str(count)


def turn_facts(turn: LibraryTurn) -> list[str]:
    """What a turn took: its time, its tools, its tokens."""
    facts = []
    if turn.duration_s >= 1:
        facts.append(short_duration(turn.duration_s))
    if turn.tokens.total:
        facts.append(f"{short_count(turn.tokens.total)} tokens")
    if turn.context_tokens:
        facts.append(f"context {short_count(turn.context_tokens)}")
    if turn.stop and turn.stop != "answer":
        facts.append(f"ended by {turn.stop}")
    return facts
