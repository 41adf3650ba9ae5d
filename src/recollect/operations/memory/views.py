"""Observations and conversations in the memory family's shapes: Markdown for models, rows for programs."""

from collections.abc import Sequence
from typing import Any

import msgspec

from recollect.display import DATA, MARK, bold, code_span, escape_json, in_brackets, list_item, one_line, quote
from recollect.search import parse, shown_text
from recollect.search.conversations import ConversationHit
from recollect.search.observations import ObservationHit
from recollect.shown_time import FIELD, day, estimate_field, marked, minute
from recollect.snippet import snippet
from recollect.store import Reader, SessionRow
from recollect.store.memory import Memory, ObservationRow

FACTS, FACT = 3, 160  # facts of an observation in a list, and characters of each: an observation has about 200 tokens
SUMMARY = 240  # characters of a conversation's summary
TITLES = 3  # titles of observations in it
NO_PROJECT = "no project"
# Below the heading of every answer with quotations.
QUOTED = f"Titles, summaries, names, facts and lines that begin with `>` are {DATA}"


def observation_ref(identity: bytes) -> str:
    return f"obs-{identity.hex()}"


def results(noun: str, rows: Sequence[Any], text: str, *, as_json: bool, notes: Sequence[str]) -> str:
    """The answer of a search, also without results. Notes come last."""
    if as_json:
        warnings = {"warnings": list(notes)} if notes else {}
        return escape_json(msgspec.json.encode({"results": rows, "total": len(rows), **warnings}).decode())
    note_lines = "".join(f"\n\nNote: {note}" for note in notes)
    if not rows:
        return f"No {noun}s found{note_lines}"
    return f"## Search Results ({len(rows)} {noun}{'s' if len(rows) != 1 else ''})\n{QUOTED}\n\n{text}{note_lines}"


# ---- observations in a list


def observation_row(hit: ObservationHit) -> dict[str, Any]:
    row = hit.observation
    return {
        "id": observation_ref(row.id),
        "type": row.type,
        "title": row.title,
        "facts": row.facts,
        "project": row.project,
        "date": day(row.at),
        **estimate_field(row.estimated),
        "score": hit.score,
        "path": row.path,
        "startLine": row.first_line,
        "endLine": row.last_line,
    }


def observation_hit(rank: int, hit: ObservationHit) -> str:
    row = hit.observation
    lines = [
        f"### {rank}. [{in_brackets(row.project or NO_PROJECT)}] - {day(row.at, estimated=row.estimated)}",
        f"**ID:** {observation_ref(row.id)}",
        f"**Type:** {one_line(row.type)}",
        f"**Score:** {hit.score:.2f}",
        _path_and_lines(row),
        "",
        f"**Title:** {one_line(row.title)}",
    ]
    if row.facts:
        lines += ["**Facts:**", *(list_item(fact, FACT) for fact in row.facts[:FACTS])]
    return "\n".join(lines)


def _path_and_lines(row: ObservationRow) -> str:
    return f"**Path:** {code_span(row.path)} (lines {row.first_line}-{row.last_line})"


# ---- observations in full


def observations(rows: Sequence[ObservationRow]) -> str:
    head = f"Retrieved {len(rows)} observation{'s' if len(rows) != 1 else ''}:"
    return f"{head}\n{QUOTED}\n\n" + "\n\n---\n\n".join(observation(row) for row in rows)


def observation(row: ObservationRow) -> str:
    """An observation in full, without its empty parts."""
    evidence = ", ".join(f"`event:{event.hex()}`" for event in row.evidence)
    when = minute(row.at, estimated=row.estimated)
    parts = [
        f"## [{in_brackets(row.project or NO_PROJECT)}, {when}] - {one_line(row.type)}: {one_line(row.title)}",
        bold(row.subtitle) if row.subtitle else "",
        quote(row.narrative) if row.narrative else "",
        "\n".join(["**Facts:**", *map(list_item, row.facts)]) if row.facts else "",
        _name_list("Concepts", row.concepts),
        _name_list("Files", row.files_modified),
        _name_list("Files read", row.files_read),
        f"**ID:** {observation_ref(row.id)} (by {one_line(row.made_by)})\n{_path_and_lines(row)}\n**Evidence:** {evidence}",
    ]
    return "\n\n".join(part for part in parts if part)


def _name_list(label: str, values: Sequence[str]) -> str:
    return f"**{label}:** " + ", ".join(map(code_span, values)) if values else ""


# ---- conversations


def conversation_rows(
    reader: Reader, memory: Memory, hits: Sequence[ConversationHit], concepts: Sequence[str]
) -> list[dict[str, Any]]:
    sessions = reader.sessions(hit.session for hit in hits)
    events = reader.events(hit.event for hit in hits)
    word_groups = [group for concept in concepts for group in parse(concept).word_groups()]
    return [
        {
            "path": reader.address(session),
            "project": session.project or NO_PROJECT,
            "date": day(session.started_at),
            **estimate_field(session.estimated),
            "score": hit.score,
            "summary": _summary(memory, session),
            "snippet": snippet(shown_text(event), word_groups)[0],
        }
        for hit in hits
        if (session := sessions.get(hit.session)) is not None and (event := events.get(hit.event)) is not None
    ]


def _summary(memory: Memory, session: SessionRow) -> str:
    """The title of a conversation, and titles of its observations."""
    titles = [title for title in memory.titles(session.id, TITLES) if title != session.title]
    return one_line(". ".join([session.title, *titles]), SUMMARY)


def conversation_hit(rank: int, row: dict[str, Any]) -> str:
    date = marked(row["date"], estimated=FIELD in row)
    return "\n".join(
        [
            f"### {rank}. [{in_brackets(row['project'])}] - {date}",
            f"**Path:** {code_span(row['path'])}",
            f"**Score:** {row['score']:.2f}",
            "",
            f"Summary: {one_line(row['summary'])}",
            "",
            f"{MARK}{one_line(row['snippet'])}",
        ]
    )
