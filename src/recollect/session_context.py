"""The context for an agent at the start of a session: the most useful observations of its project, within a budget.

An agent waits for it, so the imports are few: sqlite3, pathlib and re take 10 ms, the complete store would take 60 ms.
"""

from pathlib import Path

from recollect.display import DATA, MARK, escape_tags, one_line
from recollect.light_json import parse
from recollect.project import project_of
from recollect.shown_time import day
from recollect.store_module import store_module

CANDIDATES = 500  # the newest of a project: months of work, read in a millisecond or two
MAX_SHOWN = 20  # observations: more than an agent will read in detail; facts fill the remaining budget
MAX_TITLE = 140  # characters
MAX_FACT = 160  # characters
TOKEN = 4  # characters per token, on average

DAY_MS = 86_400_000
BONUS_DAYS = {
    "decision": 60,
    "pattern": 45,
    "bug-fix": 40,
    "config": 40,
    "diagnosis": 25,
    "discovery": 20,
    "feature": 15,
    "refactor": 10,
    "test": 5,
    "general": 0,
}
"""Days that an observation may be older than a general remark and still have the same rank. Reasons stay useful for a long
time, the work of a day does not."""
OTHER_BONUS_DAYS = 10  # for a type that an agent invented
AGENT_BONUS_DAYS = 90  # more than any type has, because an agent recorded it for later sessions

Row = tuple[bytes, str, str, int, str, str, int]
"""id, author, type, milliseconds since 1970, title, facts as JSON, whether the time is estimated"""

HEADING = "# What Recollect remembers of {project}"
QUOTED = DATA.capitalize()
MORE = "More: `get_observations` with these ids, or `search`; in a shell `recollect observations`."


def session_context(realm: str, cwd: str, budget: int, caller: tuple[str, str] = ("", "")) -> str:
    """The context for an agent that starts to work in a folder; empty if the project has no observations.

    `caller`: the id and the log of its session. Its own observations are left out, because a resumed session knows them.
    """
    project = project_of(cwd)
    rows = store_module("injection").newest(Path(realm), project, CANDIDATES, caller, _open_without_lock)
    return format_context(rows, project, budget)


def _open_without_lock(path: Path) -> object:
    """Open a database in a read-only folder."""
    return store_module("sqlite/lockless").open_without_lock(path)


def format_context(rows: list[Row], project: str, budget: int) -> str:
    """The most useful observations as Markdown, in at most `budget` tokens. The first ones also show a fact."""
    heading = f"{HEADING.format(project=_line(project, MAX_TITLE))}\n{QUOTED}"
    room = budget * TOKEN - len(heading) - len(MORE) - 2
    lines: list[str] = []
    facts: list[str] = []
    for identity, _, kind, at, title, facts_json, estimated in rank(rows)[:MAX_SHOWN]:
        date = day(at, estimated=bool(estimated))
        line = f"- obs-{identity.hex()} ({_line(kind, MAX_TITLE)}, {date})\n  {MARK}{_line(title, MAX_TITLE)}"
        if len(line) + 1 > room:
            break
        room -= len(line) + 1
        lines.append(line)
        facts.append(best_fact(title, facts_json))
    for index, fact in enumerate(facts):
        if fact and len(fact) + 3 <= room:
            room -= len(fact) + 3
            lines[index] += f" — {fact}"
    return "\n".join([heading, *lines, MORE, ""]) if lines else ""


def rank(rows: list[Row]) -> list[Row]:
    """The rows, the most useful first. Near-duplicates are left out: titles that share three quarters of their words."""
    ranked: list[Row] = []
    seen: list[frozenset[str]] = []
    for row in sorted(rows, key=score, reverse=True):
        words = _words(row[4])
        if not any(len(words & other) * 4 >= len(words | other) * 3 for other in seen):
            ranked.append(row)
            seen.append(words)
        if len(ranked) == MAX_SHOWN:
            break
    return ranked


def score(row: Row) -> float:
    """How useful an observation is, in days: its date, plus a bonus for its type and its author."""
    _, made_by, kind, at, *_ = row
    return at / DAY_MS + BONUS_DAYS.get(kind, OTHER_BONUS_DAYS) + (AGENT_BONUS_DAYS if made_by == "agent" else 0)


def best_fact(title: str, facts_json: str) -> str:
    """The first fact with a word that the title does not have."""
    facts = parse(facts_json)
    known = _words(title)
    texts = [fact for fact in facts if isinstance(fact, str)] if isinstance(facts, list) else []
    return _line(next((fact for fact in texts if not _words(fact) <= known), ""), MAX_FACT)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.casefold().split())


def _line(text: str, length: int) -> str:
    """A text on one line, without tags. The start of a very long text is enough to fill the line."""
    return escape_tags(one_line(text[: 4 * length], length))
