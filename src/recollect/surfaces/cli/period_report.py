"""What agents did in a period: sessions with their outcomes, grouped by project, with files, tokens and cost."""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from recollect.display import one_line
from recollect.label import plural
from recollect.live import LiveRealm
from recollect.shown_amounts import UNKNOWN, cost_text, tokens_text
from recollect.surfaces.cli.library_pages import library_pages
from recollect.surfaces.cli.local_times import clock, weekday_clock
from recollect.surfaces.cli.output import library_answer
from recollect.surfaces.cli.pager import paged
from recollect.surfaces.cli.render import print_json, say
from recollect.surfaces.cli.session_rows import STATE_STYLES, WIDE, Session, cut
from recollect.surfaces.cli.short_forms import Shorten, short_forms

CHANGES = ["changed", "created", "deleted"]  # operations on files that are work
MAX_FILES = 1_000  # accesses to files that are counted: more than a week of work
NAMED_FILES = 4  # files of a project that are named
NO_PROJECT = "(no project)"
INDENT = "  "
OUTCOME = "→ "
LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*\)?")  # in Markdown; its text is enough for a report


class ProjectReport(Struct):
    """The sessions of one project, newest first, and what they add up to."""

    name: str | None
    sessions: list[Session]
    sub_agents: dict[str, int]  # of the sessions that have some, by id
    usage: Mapping[str, Any] | None = None  # a row of library/usage
    files: dict[str, tuple[int, int]] = {}  # lines added and removed, by path


class Period(Struct, frozen=True):
    """The time that a report is about, unless a filter says another one."""

    since: str
    name: str  # in a sentence


def print_report(realm: LiveRealm, filters: dict[str, Any], period: Period, *, has_pager: bool, as_json: bool) -> None:
    """Print what agents did in a period."""
    arguments = {"since": [period.since]} | filters
    if as_json:
        _print_json(realm, arguments)
        return
    sessions = [
        session
        for answer in library_pages(realm, "sessions", arguments, "sessions", None)
        for session in answer["data"]["sessions"]
    ]
    if not sessions:
        say(
            f"No sessions {'in this period' if 'since' in filters else period.name}. `recollect list` shows the newest ones."
        )
        return
    usage = library_answer(realm, "usage", {**arguments, "by": "project"})["data"]
    projects = _projects(sessions, usage, _files(realm, arguments))
    with short_forms(realm) as shorten, paged(has_pager=has_pager) as out:
        report = _Report(out, shorten, is_one_day=arguments["since"] == ["today"])
        report.print_title(sessions, usage["total"])
        for project in projects:
            report.print_project(project)


def _print_json(realm: LiveRealm, arguments: dict[str, Any]) -> None:
    """Print the answer of `library/sessions` with all pages as one."""
    answers = list(library_pages(realm, "sessions", arguments, "sessions", None, as_json=True))
    first = answers[0]
    first["data"]["sessions"] = [session for answer in answers for session in answer["data"]["sessions"]]
    print_json(msgspec.json.encode({**first, "page": {**first["page"], "next": None}}).decode())


def _files(realm: LiveRealm, arguments: dict[str, Any]) -> list[Any]:
    answers = library_pages(realm, "files", {**arguments, "operation": CHANGES}, "files", MAX_FILES)
    return [file for answer in answers for file in answer["data"]["files"]]


def _projects(sessions: Sequence[Session], usage: Mapping[str, Any], files: Sequence[Any]) -> list[ProjectReport]:
    """The projects in the order of their newest sessions. Sub-agents are counted at the session that started them."""
    by_name: dict[str | None, ProjectReport] = {}
    ids = {session["id"] for session in sessions}
    rows = {row["key"] or None: row for row in usage["rows"]}
    for session in sessions:
        project = by_name.setdefault(session["project"], ProjectReport(session["project"], [], {}))
        if session["parent"] in ids:
            project.sub_agents[session["parent"]] = project.sub_agents.get(session["parent"], 0) + 1
        else:
            project.sessions.append(session)
    for name, project in by_name.items():
        project.usage = rows.get(name)
    for file in files:
        if (changed := by_name.get(file["project"])) is not None:
            added, removed = changed.files.get(file["path"], (0, 0))
            changed.files[file["path"]] = (added + (file["lines_added"] or 0), removed + (file["lines_removed"] or 0))
    return list(by_name.values())


class _Report:
    """Prints a report: in columns on a terminal, in whole lines for a pipe."""

    def __init__(self, out: Console, shorten: Shorten, *, is_one_day: bool) -> None:
        self._out, self._shorten = out, shorten
        self._clock = clock if is_one_day else weekday_clock

    def print_title(self, sessions: Sequence[Session], total: Mapping[str, Any]) -> None:
        agents = list(dict.fromkeys(session["agent"] for session in sessions))
        parts = [plural(len(sessions), "session"), f"{plural(total['turns'], 'turn')}", *_spent(total)]
        self._print(Text.assemble((", ".join(parts), "bold"), (f"  {', '.join(agents)}", "dim")))

    def print_project(self, project: ProjectReport) -> None:
        self._print(Text())
        usage = project.usage
        parts = [plural(len(project.sessions), "session")] if project.sessions else []
        parts += _spent(usage) if usage is not None else []
        heading = Text.assemble((one_line(project.name or NO_PROJECT), "bold magenta"), (f"  {', '.join(parts)}", "dim"))
        self._print(heading)
        agents = {len(session["agent"]) for session in project.sessions}
        for session in project.sessions:
            self._print_session(session, project.sub_agents.get(session["id"], 0), max(agents))
        if project.files:
            self._print(Text.assemble(INDENT, (_files_line(project.files), "dim")))

    def _print_session(self, session: Session, sub_agents: int, agent_width: int) -> None:
        line = Text.assemble(
            INDENT,
            (self._shorten(session["id"]), "blue"),
            (f" {self._clock(session['updated_at'])}", "dim"),
            (f" {session['agent']:<{agent_width}} ", "cyan"),
        )
        end = self._end(session)
        others = f" (+{plural(sub_agents, 'sub-agent')})" if sub_agents else ""
        title = one_line(session["title"])
        if self._out.is_terminal:
            room = max(8, self._out.width - cell_len(line.plain) - cell_len(end.plain) - len(others))
            title = cut(title, room)
            others += " " * (room - cell_len(title))
        line.append(title).append(others, "dim").append_text(end)
        self._print(line)
        if outcome := session["note"] or session["outcome"]:
            self._print(Text(f"{INDENT * 2}{OUTCOME}{LINK.sub(_link_text, one_line(outcome))}", "green"))

    def _end(self, session: Session) -> Text:
        """Tokens, cost if there is room for it, and state: what every row ends with."""
        tokens, cost = session["tokens"]["total"], session["cost"]
        end = Text(f" {tokens_text(tokens) if tokens else UNKNOWN:>5}")
        if self._out.width >= WIDE:
            end.append(f"  {cost_text(cost['usd'], cost['source']):>8}", "dim")
        return end.append(f"  {session['state']:<5}", STATE_STYLES.get(session["state"], ""))

    def _print(self, line: Text) -> None:
        """Print a line, cut to the width of a terminal."""
        if self._out.is_terminal:
            line.truncate(self._out.width, overflow="ellipsis")
        self._out.print(line, soft_wrap=True)


def _link_text(link: re.Match[str]) -> str:
    return str(link[1])


def _spent(row: Mapping[str, Any]) -> list[str]:
    """The tokens and the cost of a row, as far as they are known."""
    tokens, cost = row["tokens"]["total"], cost_text(row["cost"]["usd"], row["cost"]["source"])
    return [*([f"{tokens_text(tokens)} tokens"] if tokens else []), *([cost] if cost != UNKNOWN else [])]


def _files_line(files: Mapping[str, tuple[int, int]]) -> str:
    """How many files changed by how many lines, and the ones that changed most."""
    added, removed = (sum(lines) for lines in zip(*files.values(), strict=True))
    largest = islice(sorted(files, key=lambda path: -sum(files[path])), NAMED_FILES)
    more = f" and {len(files) - NAMED_FILES:,} more" if len(files) > NAMED_FILES else ""
    lines = f" +{added:,} −{removed:,}" if added or removed else ""
    return f"{plural(len(files), 'changed file')}{lines}: {one_line(', '.join(largest))}{more}"
