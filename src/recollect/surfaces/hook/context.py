"""What an agent is told when a session starts: the most useful observations of its project, within a budget."""

from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

from recollect.display import DATA, MARK, escape_tags, one_line
from recollect.project import project_of
from recollect.shown_time import day
from recollect.surfaces.hook.json import parsed, quoted

CANDIDATES = 500  # the latest of a project: months of work, read in a millisecond or two
SHOWN = 20  # more lines than an agent will look into; what is left of the budget goes to facts
TITLE = 140  # characters
FACT = 160
TOKEN = 4  # characters

DAY_MS = 86_400_000
WORTH_DAYS = {
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
"""How many days younger a general remark has to be to be as useful: why something is as it is stays true for long, what was
done on a day does not."""
OTHER_DAYS = 10  # a type that an agent made up
AGENT_DAYS = 90  # more than any type: what an agent chose to write down, somebody meant to be read again

Row = tuple[bytes, str, str, int, str, str, int]

HEADING = "# What Recollect remembers of {project}"
QUOTED = DATA.capitalize()
MORE = "More: `get_observations` with these ids, or `search`; in a shell `recollect observations`."


def context_for(realm: str, cwd: str, budget: int, asking: tuple[str, str] = ("", "")) -> str:
    """The context for an agent that starts to work in a folder; nothing where nothing is known.

    `asking`: the id and the log of its session, which may be resumed or compacted. It knows its own words.
    """
    project = project_of(cwd)
    rows = _store_module("injection").newest(Path(realm), project, CANDIDATES, asking, _open_without_lock)
    return context(rows, project, budget)


def _open_without_lock(path: Path) -> object:
    """A database in a folder that cannot be written."""
    return _store_module("sqlite/lockless").open_without_lock(path)


def _store_module(name: str) -> ModuleType:
    """A module of `recollect.store`, without the package around it, which imports all that an archive needs."""
    path = Path(__file__).parents[2] / "store" / f"{name}.py"
    module = ModuleType(f"recollect.store.{name.replace('/', '.')}")
    SourceFileLoader(module.__name__, str(path)).exec_module(module)
    return module


def context(rows: list[Row], project: str, budget: int) -> str:
    """The most useful observations as Markdown, in no more than `budget` tokens. The best come first and get their facts."""
    heading = f"{HEADING.format(project=_line(project, TITLE))}\n{QUOTED}"
    room = budget * TOKEN - len(heading) - len(MORE) - 2
    lines: list[str] = []
    facts: list[str] = []
    for identity, _, kind, at, title, listed, estimated in ranked(rows)[:SHOWN]:
        date = day(at, estimated=bool(estimated))
        line = f"- obs-{identity.hex()} ({_line(kind, TITLE)}, {date})\n  {MARK}{_line(title, TITLE)}"
        if len(line) + 1 > room:
            break
        room -= len(line) + 1
        lines.append(line)
        facts.append(best_fact(title, listed))
    for place, fact in enumerate(facts):
        if fact and len(fact) + 3 <= room:
            room -= len(fact) + 3
            lines[place] += f" — {fact}"
    return "\n".join([heading, *lines, MORE, ""]) if lines else ""


def ranked(rows: list[Row]) -> list[Row]:
    """The most useful first, and of those that say nearly the same only one."""
    kept: list[Row] = []
    said: list[frozenset[str]] = []
    for row in sorted(rows, key=worth, reverse=True):
        words = _words(row[4])
        if not any(len(words & other) * 4 >= len(words | other) * 3 for other in said):
            kept.append(row)
            said.append(words)
        if len(kept) == SHOWN:
            break
    return kept


def worth(row: Row) -> float:
    """How useful an observation is, in days: its own day, and what its kind and its author add."""
    _, made_by, kind, at, *_ = row
    return at / DAY_MS + WORTH_DAYS.get(kind, OTHER_DAYS) + (AGENT_DAYS if made_by == "agent" else 0)


def best_fact(title: str, listed: str) -> str:
    """The first fact that says something which the title does not."""
    facts = parsed(listed)
    known = _words(title)
    texts = [fact for fact in facts if isinstance(fact, str)] if isinstance(facts, list) else []
    return _line(next((fact for fact in texts if not _words(fact) <= known), ""), FACT)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.casefold().split())


def _line(text: str, length: int) -> str:
    """A text on one line, without tags. Of a very long one, no more is looked at than can be shown."""
    return escape_tags(one_line(text[: 4 * length], length))


def in_form(form: str, context: str) -> str:
    """The context as a host reads it: as text, or in the JSON object that it knows."""
    if form == "cursor":
        return f'{{"additional_context": {quoted(context)}}}\n'
    if form == "json":
        return f'{{"hookSpecificOutput": {{"hookEventName": "SessionStart", "additionalContext": {quoted(context)}}}}}\n'
    return context
