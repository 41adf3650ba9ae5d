"""Output for people: journeys and their documents."""

from typing import Any

import msgspec
from rich.text import Text

from recollect.surfaces.cli.render import ago, console, plain, time_of

Answer = dict[str, Any]


def journey(answer: Answer) -> None:
    state = "new" if answer["is_new"] else f"created {ago(answer['created_at'])}"
    out = console()
    out.print(f"[blue]{answer['journey_id']}[/]")
    out.print(f"[dim]{state}, {_counted(answer['session_count'], 'session')}[/]")


def link(answer: Answer) -> None:
    console().print(f"[blue]{answer['session_id']}[/] is in journey [blue]{answer['journey_id']}[/].", soft_wrap=True)


def history(answer: Answer) -> None:
    out = console()
    for row in answer["sessions"]:
        score = f"  {row['relevance_score']:.2f}" if row["relevance_score"] else ""
        _session(time_of(row, "created_at"), row["session_id"], row["summary"], score, is_diagnosed=row["has_diagnosis"])
    for row in answer.get("documents", ()):
        _document(time_of(row, "created_at"), row["document_id"], row["document_type"], row["title"])
    shown, total = len(answer["sessions"]), answer["total_results"]
    if not total:
        out.print("No sessions found.")
    elif shown < total:
        out.print(f"[dim]{shown} of {total} sessions (more with -n {min(total, 100)})[/]")


def timeline(answer: Answer) -> None:
    for entry in answer["entries"]:
        if entry["entry_type"] == "session":
            _session(time_of(entry, "created_at"), entry["entry_id"], entry["summary"], is_diagnosed=entry["has_diagnosis"])
        else:
            _document(time_of(entry, "created_at"), entry["entry_id"], entry["document_type"], entry["title"])
    if not answer["entries"]:
        console().print("This journey is empty.")


def added(answer: Answer) -> None:
    console().print(f"Added [blue]{answer['document_id']}[/].", soft_wrap=True)


def documents(answer: Answer) -> None:
    for row in answer["documents"]:
        _document(time_of(row, "created_at"), row["document_id"], row["document_type"], row["title"])
    if not answer["documents"]:
        console().print("This journey has no documents.")


def document(answer: Answer) -> None:
    _document(time_of(answer, "created_at"), answer["document_id"], answer["document_type"], answer["title"])
    out = console()
    if answer["content"] is not None:
        out.print(Text(plain(answer["content"])), soft_wrap=True)
    if answer["metadata"] is not None:
        out.print(Text(plain(msgspec.json.encode(answer["metadata"]).decode()), "dim"), soft_wrap=True)


def deleted(answer: Answer) -> None:
    documents, sessions = _counted(answer["document_count"], "document"), _counted(answer["session_count"], "session")
    console().print(f"Deleted the journey and {documents}. Its {sessions} can be linked again.")


def document_deleted(answer: Answer) -> None:
    console().print(f"Deleted [blue]{answer['document_id']}[/].", soft_wrap=True)


def _session(at: str, identity: str, summary: str, score: str = "", *, is_diagnosed: bool) -> None:
    diagnosis = ", diagnosed" if is_diagnosed else ""
    _entry(at, identity, f"session{diagnosis}{score}", summary)


def _document(at: str, identity: str, kind: str, title: str) -> None:
    _entry(at, identity, kind, title or "without a title")


def _entry(at: str, identity: str, kind: str, title: str) -> None:
    out = console()
    out.print(Text.assemble((plain(" ".join(title.split())), "bold"), (f"  {kind}, {at}", "dim")))
    out.print(f"   [blue]{identity}[/]")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"
