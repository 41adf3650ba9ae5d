"""Sessions, turns, events and costs in the library's shapes."""

import socket
from collections.abc import Iterable, Sequence
from functools import cache

import msgspec

from recollect.label import label
from recollect.library_answers import FileEntry, LibraryEvent, LibrarySession, LibraryTurn, Tokens
from recollect.model import Kind, Usage, timestamp
from recollect.operations.ids import event_ref, session_ref, turn_ref, uuid_text
from recollect.operations.library.costs import Costs
from recollect.search import shown_text
from recollect.session_state import SessionState
from recollect.store import EventRow, Reader, SessionRow, TurnRow
from recollect.store.sqlite.body import decode_body
from recollect.store.sqlite.library_events import CallEnd
from recollect.store.sqlite.library_files import FileRow

OUTCOME = 240  # characters of the last answer: its first sentences
TELLING = 24  # characters that say something; "Done." does not
PROMPT = 2_000  # characters of a turn's prompt


@cache
def machine() -> str:
    """The name of this machine."""
    return socket.gethostname()


def tokens_of(usage: Usage) -> Tokens:
    return Tokens(
        input=usage.input,
        output=usage.output,
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        reasoning=usage.reasoning,
        total=usage.total(),
    )


def stored_tokens(usage: str) -> Tokens:
    return tokens_of(msgspec.json.decode(usage, type=Usage))


class SessionParts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about sessions outside their rows, by key or id."""

    states: dict[int, SessionState]
    labels: dict[bytes, list[str]]
    notes: dict[bytes, str]
    costs: Costs


def session_views(reader: Reader, sessions: Sequence[SessionRow], parts: SessionParts) -> list[LibrarySession]:
    """Sessions in full. The number of queries does not depend on the number of sessions."""
    keys = [session.key for session in sessions]
    totals, outcomes = reader.session_totals(keys), reader.outcomes(keys)
    children, parents = reader.sub_agents(keys), reader.parents(keys)
    views = []
    for session in sessions:
        total, outcome, parent = totals[session.key], outcomes.get(session.key), parents.get(session.key)
        views.append(
            LibrarySession(
                id=session_ref(session.id),
                uuid=uuid_text(session.id),
                native_id=session.native_id,
                title=session.title,
                agent=session.source,
                project=session.project,
                folder=session.cwd,
                branch=session.branch,
                models=total.models or ([session.model] if session.model else []),
                mode=session.mode,
                started_at=timestamp(session.started_at),
                updated_at=timestamp(session.updated_at),
                estimated_time=bool(session.estimated),
                duration_s=seconds(session.updated_at - session.started_at),
                active_s=seconds(min(total.active_ms, session.updated_at - session.started_at)),
                turns=session.turn_count,
                events=session.event_count,
                tool_calls=total.tool_calls,
                errors=total.errors,
                tokens=stored_tokens(session.usage),
                cost=parts.costs.of(total.spent),
                state=parts.states[session.key],
                parent=session_ref(parent) if parent else None,
                children=[session_ref(child) for child in children.get(session.key, ())],
                files_changed=total.files_changed,
                labels=parts.labels.get(session.id, []),
                note=parts.notes.get(session.id),
                outcome=outcome_of(outcome) if outcome is not None else None,
                path=session.path,
                machine=machine(),
            )
        )
    return views


def outcome_of(body: str | bytes) -> str | None:
    """The first words of an answer that say something, in one line: "Done." and "I changed:" go on with the next line."""
    lines = (line.strip().lstrip("#>*- ").replace("**", "").replace("`", "") for line in decode_body(body).splitlines())
    said = ""
    for line in lines:
        if line and not line.startswith(("|", "---")):
            said = f"{said} {line}".lstrip()
        if len(said) >= TELLING and not said.endswith(":"):
            break
    return label(said, OUTCOME) or None


def seconds(milliseconds: int) -> float:
    return round(max(0, milliseconds) / 1_000, 3)


def file_entry(row: FileRow) -> FileEntry:
    return FileEntry(
        path=row.path,
        project=row.project,
        operation=row.operation,
        lines_added=row.added,
        lines_removed=row.removed,
        session=session_ref(row.session),
        event=event_ref(row.event),
        at=timestamp(row.at),
    )


def turn_view(session: SessionRow, turn: TurnRow, prompt: str, context: int) -> LibraryTurn:
    return LibraryTurn(
        id=turn_ref(session.id, turn.ordinal),
        number=turn.ordinal,
        prompt=prompt[:PROMPT],
        started_at=timestamp(turn.started_at),
        updated_at=timestamp(turn.updated_at),
        duration_s=seconds(turn.updated_at - turn.started_at),
        events=turn.event_count,
        tools=turn.tools,
        stop=turn.stop,
        tokens=stored_tokens(turn.usage),
        context_tokens=context,
    )


def event_views(
    events: Iterable[EventRow], started: dict[int, int], ends: dict[int, CallEnd], notes: dict[bytes, str]
) -> list[LibraryEvent]:
    """Events in full. A tool call and its response both say how the call ended and how long it took.

    `started`: the time of a call, by its sequence number. `ends`: how a call ended, by its sequence number.
    """
    from recollect.observe.diffs import unified_diff  # 8 ms of CPU, only needed for events

    views = []
    for event in events:
        is_call = event.kind is Kind.TOOL_CALL
        arguments = event.arguments() if is_call else None
        usage = event.tokens()
        end = ends.get(event.seq) if is_call else None
        begun = event.at if is_call else started.get(event.answers) if event.answers is not None else None
        ended = event.at if not is_call else end.at if end is not None else None
        views.append(
            LibraryEvent(
                id=event_ref(event.id),
                sequence=event.seq,
                turn=event.turn,
                type=event.kind,
                at=timestamp(event.at),
                text=shown_text(event),
                tool=event.tool,
                arguments=arguments,
                exit_code=end.exit_code if end is not None else event.exit_code,
                failed=end.failed if end is not None else event.has_failed(),
                duration_ms=_duration(begun, ended) if not event.estimated else None,
                usage=tokens_of(usage) if usage else None,
                diff=unified_diff(event.tool, arguments) if arguments else None,
                answers=event.answers,
                note=notes.get(event.id),
            )
        )
    return views


def _duration(begun: int | None, ended: int | None) -> int | None:
    return max(0, ended - begun) if begun is not None and ended is not None else None
