# Generated from _async_library_methods.py by `make sdk`: do not edit.
# Generated from the table of operations by `make sdk`: do not edit.
# ruff: noqa: A002 - arguments have the names of the library's requests
"""The methods of the library, one for each operation."""

from collections.abc import Sequence
from typing import Any, Unpack

from recollect.client._blocking import BlockingTransport
from recollect.client._library_filters import By, Facet, Format, LibraryFilters, Sort, Way, Words
from recollect.client._new_file import FilePath
from recollect.client._pages import Page, Pages
from recollect.client.library_results import (
    ActivityPage,
    Continuation,
    DeletedObservation,
    EventNote,
    EventPage,
    ExportedDocument,
    FilePage,
    ForgetReceipt,
    HealthReport,
    LabelList,
    ObservationPage,
    OneObservation,
    QuestionAnswer,
    ReviewedObservation,
    RunningSessions,
    SearchPage,
    SessionDetails,
    SessionFiles,
    SessionLabels,
    SessionNote,
    SessionPage,
    SessionResume,
    UsagePage,
)
from recollect.client.library_values import (
    FileEntry,
    Interval,
    LibraryEvent,
    LibraryHit,
    LibraryObservation,
    LibrarySession,
    UsageRow,
)


class LibraryMethods:
    """The library's operations. A filter is a text or several; lists fetch page after page.

    `id`: A session: `session:…`, a UUID, the agent's own id, the beginning of one of these (4 characters or more), or
    `last`.
    """

    def __init__(self, transport: BlockingTransport) -> None:
        self._transport = transport

    def sessions(
        self,
        query: str | None = None,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Sort | None = None,
        facets: Facet | Sequence[Facet] | None = None,
        **filters: Unpack[LibraryFilters],
    ) -> Pages[LibrarySession, SessionPage]:
        """A page of sessions, with facets on request.

        `limit`: How many, 1 to 200. Default 50.
        `sort`: One of updated, started, duration, tokens, events, cost; a leading `-` sorts descending. Default
        -updated.
        `facets`: Also count sessions by some of agent, project, branch, mode, model, tool, type, state, label.
        """
        return self._pages(
            SessionPage,
            "sessions",
            "library/sessions",
            {"query": query, "limit": limit, "cursor": cursor, "sort": sort, "facets": facets, **filters},
        )

    def session(self, id: str) -> SessionDetails:
        """One session with its turns, files, observations, related sessions and resume command."""
        return self._transport.call_library(SessionDetails, "library/session", {"id": id})

    def resume(self, id: str) -> SessionResume:
        """The agent's own command to go on with a session, with its folder."""
        return self._transport.call_library(SessionResume, "library/resume", {"id": id})

    def continue_session(
        self,
        id: str,
        *,
        prompt: str | None = None,
        runner: str | None = None,
        command: Words | None = None,
        way: Way | None = None,
        budget_tokens: int | None = None,
        preview: bool | None = None,
    ) -> Continuation:
        """Go on with a session, imported or live, in any runner. The agent loads its own session if it can; any other
        agent gets a brief of the session: goal, state, decisions, open ends, files, last exchange. It may change
        files.

        `prompt`: What to do next. Default: go on where it stopped.
        `runner`: A runner of the config, an agent installed on this machine (codex, gemini, …), command or acp.
        `command`: The program and its arguments, for the runners command and acp.
        `way`: native: fail if the agent cannot load the session itself. brief: always send a brief. auto: one if it
        must. Default auto.
        `budget_tokens`: Tokens of the brief at most, 300 to 50000. Default 4000.
        `preview`: Only say which way it would go, and show the brief. Nothing is started.
        """
        return self._transport.call_library(
            Continuation,
            "library/continue",
            {
                "id": id,
                "prompt": prompt,
                "runner": runner,
                "command": command,
                "way": way,
                "budget_tokens": budget_tokens,
                "preview": preview,
            },
        )

    def events(
        self,
        id: str,
        *,
        from_: int | None = None,
        limit: int | None = None,
        type: Words | None = None,
        cursor: str | None = None,
    ) -> Pages[LibraryEvent, EventPage]:
        """A window of a session's events, in full.

        `from_`: The sequence number of the first event, from 0. Default 0.
        `limit`: How many, 1 to 200. Default 50.
        `type`: Only events of this type.
        """
        return self._pages(
            EventPage, "events", "library/events", {"id": id, "from": from_, "limit": limit, "type": type, "cursor": cursor}
        )

    def export(
        self, id: str, to: FilePath | None = None, *, format: Format = "html", full: bool | None = None
    ) -> ExportedDocument:
        """A session as a document: one HTML file, Markdown, or JSON lines. Secrets are redacted.

        `to` is a file or a folder; without it, the answer's `content` has the document.

        `format`: html, markdown or jsonl. Default html.
        `full`: Do not shorten long texts in HTML and Markdown.
        """
        return self._transport.call_document(
            ExportedDocument, "library/export", {"id": id, "format": format, "full": full}, to
        )

    def export_sessions(
        self,
        query: str | None = None,
        to: FilePath | None = None,
        *,
        format: Format = "html",
        full: bool | None = None,
        limit: int | None = None,
        **filters: Unpack[LibraryFilters],
    ) -> ExportedDocument:
        """The sessions that filters select or a search finds, as one document. Secrets are redacted.

        `to` is a file or a folder; without it, the answer's `content` has the document.

        `format`: html, markdown or jsonl. Default html.
        `full`: Do not shorten long texts in HTML and Markdown.
        `limit`: How many sessions, 1 to 10000. Default 50.
        """
        return self._transport.call_document(
            ExportedDocument,
            "library/export/sessions",
            {"query": query, "format": format, "full": full, "limit": limit, **filters},
            to,
        )

    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        why: bool | None = None,
        matches: int | None = None,
        **filters: Unpack[LibraryFilters],
    ) -> Pages[LibraryHit, SearchPage]:
        """Search events. Hits are grouped by session, best first.

        `query`: Words and filters.
        `limit`: How many, 1 to 200. Default 50.
        `why`: Add the parts of its score to each match.
        `matches`: Matches per session, 1 to 50. Default 5.
        `mode`: How to find: text (fast, for search as you type), vector or both. Or only sessions of this kind.
        """
        return self._pages(
            SearchPage,
            "hits",
            "library/search",
            {"query": query, "limit": limit, "cursor": cursor, "why": why, "matches": matches, **filters},
        )

    def usage(
        self,
        query: str | None = None,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        by: By | None = None,
        **filters: Unpack[LibraryFilters],
    ) -> Pages[UsageRow, UsagePage]:
        """Tokens and cost, by day or another key.

        `limit`: How many rows, 1 to 10000. Default 1000.
        `by`: What to sum by. Default day.
        """
        return self._pages(
            UsagePage, "rows", "library/usage", {"query": query, "limit": limit, "cursor": cursor, "by": by, **filters}
        )

    def files(
        self,
        query: str | None = None,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        operation: Words | None = None,
        **filters: Unpack[LibraryFilters],
    ) -> Pages[FileEntry, FilePage]:
        """Files that sessions read, changed, created and deleted, newest first.

        `limit`: How many, 1 to 200. Default 50.
        `operation`: Only this operation: read, changed, created, deleted.
        """
        return self._pages(
            FilePage,
            "files",
            "library/files",
            {"query": query, "limit": limit, "cursor": cursor, "operation": operation, **filters},
        )

    def session_files(
        self, id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Pages[FileEntry, SessionFiles]:
        """The files of one session, in the order of its events.

        `limit`: How many, 1 to 200. Default 200.
        """
        return self._pages(SessionFiles, "files", "library/session/files", {"id": id, "limit": limit, "cursor": cursor})

    def file_history(
        self,
        path: str,
        *,
        query: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        operation: Words | None = None,
        **filters: Unpack[LibraryFilters],
    ) -> Pages[FileEntry, FilePage]:
        """What sessions did to one file, newest first.

        `path`: The file's path, or the end of it.
        `limit`: How many, 1 to 200. Default 50.
        `operation`: Only this operation: read, changed, created, deleted.
        """
        return self._pages(
            FilePage,
            "files",
            "library/files/history",
            {"path": path, "query": query, "limit": limit, "cursor": cursor, "operation": operation, **filters},
        )

    def activity(
        self,
        query: str | None = None,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **filters: Unpack[LibraryFilters],
    ) -> Pages[Interval, ActivityPage]:
        """Sessions as intervals of a time range, oldest first. Default: the last 7 days.

        `limit`: How many, 1 to 200. Default 200.
        """
        return self._pages(
            ActivityPage, "intervals", "library/activity", {"query": query, "limit": limit, "cursor": cursor, **filters}
        )

    def now(
        self, query: str | None = None, *, all: bool | None = None, **filters: Unpack[LibraryFilters]
    ) -> RunningSessions:
        """The sessions that run: working, waiting for the person, or idle; with `all`, also those that ended or died
        today.

        `all`: Also sessions of the last 24 hours that ended or died.
        """
        return self._transport.call_library(RunningSessions, "library/now", {"query": query, "all": all, **filters})

    def observations(
        self,
        query: str | None = None,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        concept: Words | None = None,
        **filters: Unpack[LibraryFilters],
    ) -> Pages[LibraryObservation, ObservationPage]:
        """Observations by filters, newest first; with words, best first.

        `limit`: How many, 1 to 200. Default 50.
        `concept`: Only observations tagged with this concept.
        `file`: Only observations about this file: `*.go`, `src/auth.ts`.
        `type`: Only observations of this type: decision, bug-fix, …
        `state`: Only observations in this state: active (default) or retired. Or the session's state.
        """
        return self._pages(
            ObservationPage,
            "observations",
            "library/observations",
            {"query": query, "limit": limit, "cursor": cursor, "concept": concept, **filters},
        )

    def observation(self, id: str) -> OneObservation:
        """One observation, also a retired one.

        `id`: An observation: `obs-…`.
        """
        return self._transport.call_library(OneObservation, "library/observation", {"id": id})

    def confirm_observation(self, id: str, *, reviewer: str | None = None) -> ReviewedObservation:
        """Confirm an observation. A retired one is found again.

        `id`: An observation: `obs-…`.
        `reviewer`: Who decides. Default: the user that the program runs as.
        """
        return self._transport.call_library(
            ReviewedObservation, "library/observation/confirm", {"id": id, "reviewer": reviewer}
        )

    def edit_observation(
        self,
        id: str,
        *,
        reviewer: str | None = None,
        title: str | None = None,
        type: str | None = None,
        subtitle: str | None = None,
        narrative: str | None = None,
        facts: Sequence[str] | None = None,
    ) -> ReviewedObservation:
        """Change the words of an observation. What it said before is kept, with who changed it and when.

        `id`: An observation: `obs-…`.
        `reviewer`: Who decides. Default: the user that the program runs as.
        `title`: Its title.
        `type`: Its type: decision, bug-fix, …
        `subtitle`: Its subtitle.
        `narrative`: What happened, in sentences.
        `facts`: Its facts, one sentence each.
        """
        return self._transport.call_library(
            ReviewedObservation,
            "library/observation/edit",
            {
                "id": id,
                "reviewer": reviewer,
                "title": title,
                "type": type,
                "subtitle": subtitle,
                "narrative": narrative,
                "facts": facts,
            },
        )

    def retire_observation(self, id: str, *, reviewer: str | None = None) -> ReviewedObservation:
        """Retire an observation: it is no longer found, but kept, with who retired it and when.

        `id`: An observation: `obs-…`.
        `reviewer`: Who decides. Default: the user that the program runs as.
        """
        return self._transport.call_library(
            ReviewedObservation, "library/observation/retire", {"id": id, "reviewer": reviewer}
        )

    def delete_observation(self, id: str, *, reviewer: str | None = None) -> DeletedObservation:
        """Delete an observation for good.

        `id`: An observation: `obs-…`.
        `reviewer`: Who decides. Default: the user that the program runs as.
        """
        return self._transport.call_library(
            DeletedObservation, "library/observation/delete", {"id": id, "reviewer": reviewer}
        )

    def ask(self, question: str | None = None, **filters: Unpack[LibraryFilters]) -> QuestionAnswer:
        """Answer a question from all sessions, with sources.

        `question`: The question; `query` if this is missing.
        """
        return self._transport.call_library(QuestionAnswer, "library/ask", {"question": question, **filters})

    def health(self) -> HealthReport:
        """What is indexed, which agents are read, and what could not be read."""
        return self._transport.call_library(HealthReport, "library/health", {})

    def labels(self) -> LabelList:
        """All labels, with the number of sessions that have each."""
        return self._transport.call_library(LabelList, "library/labels", {})

    def label(self, id: str, name: str) -> SessionLabels:
        """Label a session.

        `name`: A label, at most 64 characters.
        """
        return self._transport.call_library(SessionLabels, "library/label/put", {"id": id, "name": name})

    def unlabel(self, id: str, name: str) -> SessionLabels:
        """Remove a label from a session.

        `name`: A label, at most 64 characters.
        """
        return self._transport.call_library(SessionLabels, "library/label/remove", {"id": id, "name": name})

    def note(self, id: str, note: str) -> SessionNote:
        """Write a note on a session. An empty text removes it.

        `note`: The note, at most 10000 characters.
        """
        return self._transport.call_library(SessionNote, "library/note", {"id": id, "note": note})

    def note_event(self, id: str, note: str) -> EventNote:
        """Write a note on an event. An empty text removes it.

        `id`: An event: `event:…`.
        `note`: The note, at most 10000 characters.
        """
        return self._transport.call_library(EventNote, "library/event/note", {"id": id, "note": note})

    def forget(
        self,
        ids: Words | None = None,
        *,
        project: Words | None = None,
        before: str | None = None,
        dry_run: bool | None = None,
        confirm: int | None = None,
    ) -> ForgetReceipt:
        """Forget sessions for good: nothing of them is left in any file of the store, and no log brings them back. Sub-
        agents are forgotten with their parent. Agents' own logs stay as they are: the answer names those that exist.

        `ids`: Sessions, each by any form of its id.
        `project`: All sessions of this project, by its name or folder.
        `before`: All sessions that ended before this time: 2025-01-01, 90d, last year.
        `dry_run`: Only say what would be forgotten.
        `confirm`: The number of sessions that a dry run named; if it is another one now, nothing is forgotten.
        """
        return self._transport.call_library(
            ForgetReceipt,
            "library/forget",
            {"ids": ids, "project": project, "before": before, "dry_run": dry_run, "confirm": confirm},
        )

    def _pages(self, shape: type[Page], items: str, method: str, params: dict[str, Any]) -> Pages[Any, Page]:
        return Pages(self._transport, method, shape, items, params)
