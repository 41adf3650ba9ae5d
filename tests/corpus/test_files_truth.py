"""The files of real sessions equal those that independent readers find in the raw logs (L1).

`tests/raw_files` reads the logs with plain `json` and shares no code with the package. Rows are compared by log, tool and path:

- Edits count by the arguments of calls that succeeded. Their lines are also compared with what the agent recorded of the
  result, if it did. Both differ where the agent changed more than it was asked to, such as the indentation, or where a text
  begins or ends inside a line.
- A written file is new or changed. Where the log does not tell, a file that occurred earlier in the session is changed.
- Scripts count as far as the independent reader understands them without doubt; those are most.
- A call without a response counts only in a session without responses to such tools.

The same rows come from logs that grow, and from an archive of an earlier version.
"""

import shutil
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from recollect.ingest import Ingester
from recollect.settings import Settings
from recollect.sources import all_sources
from recollect.store.sqlite.body import decode_arguments
from tests.old_schemas import ARCHIVE_8
from tests.raw_files import claude_code, codex, opencode, others, pi, shells
from tests.raw_files.changes import Change, Counts, relative
from tests.raw_files.scripts import effects
from tests.raw_files.shells import Run

pytestmark = pytest.mark.corpus

CALL, RESPONSE = 3, 4  # kinds of events
PLACEHOLDER = b"[trimmed for fixture]"  # stands for values in some samples
UNREADABLE = ("No such file or directory", "Permission denied", "Is a directory")
NOTHING: Counts = (None, None)
Row = tuple[str, str, int | None, int | None]  # path, operation, lines added and removed
Rows = dict[tuple[str, str], Counter[Row]]  # by log, and by tool or script


class Agent(NamedTuple):
    """How the logs of an agent are read, and how many rows there must be, so that the comparison is not empty."""

    folder: str
    logs: str
    read: Callable[[Iterable[Path]], Iterable[Change]]
    rows: int
    read_runs: Callable[[Iterable[Path]], Iterable[Run]] | None = None
    script_rows: int = 0


def each(read: Callable[[Path], Iterable[Any]]) -> Callable[[Iterable[Path]], Iterable[Any]]:
    return lambda logs: chain.from_iterable(map(read, logs))


def by_tools(calls: Callable[[Path], Iterator[others.Call]]) -> Callable[[Iterable[Path]], Iterable[Change]]:
    return each(lambda log: others.changes_of(log, calls(log)))


AGENTS = {
    "claude-code": Agent("claude", "*.jsonl", claude_code.changes, 2_000, shells.claude_code_runs, 80),
    "codex": Agent("codex", "*.jsonl", each(codex.changes), 300, each(shells.codex_runs), 700),
    "opencode": Agent("opencode", "ses_*.json", each(opencode.changes), 600, each(shells.opencode_runs), 30),
    "pi": Agent("pi", "*.jsonl", each(pi.changes), 400, each(shells.pi_runs), 70),
    "mini-swe-agent": Agent("mini-swe-agent", "*.traj.json", lambda _: (), 0, each(shells.mini_swe_agent_runs), 700),
    "gemini-cli": Agent("gemini", "*.json*", by_tools(others.gemini_cli), 8),
    "copilot-cli": Agent("copilot", "*.jsonl", by_tools(others.copilot_cli), 40),
    "cursor": Agent("cursor", "*.jsonl", by_tools(others.cursor), 3),
    "qwen-code": Agent("qwen", "*.jsonl", by_tools(others.qwen_code), 2),
    "kimi": Agent("kimi", "*.jsonl", by_tools(others.kimi), 35),
    "crush": Agent("crush", "crush.db", by_tools(others.crush), 25),
}
EDITING = [agent for agent in AGENTS if AGENTS[agent].rows]
SHELLS = [agent for agent in AGENTS if AGENTS[agent].read_runs]


@pytest.fixture(scope="module")
def state(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder with the sessions of these agents."""
    state = tmp_path_factory.mktemp("state")
    sync(state, [corpus / agent.folder for agent in AGENTS.values()])
    return state


@pytest.fixture(scope="module")
def archive(state: Path) -> Iterator[sqlite3.Connection]:
    with closing(opened(state)) as db:
        yield db


def sync(state: Path, paths: list[Path]) -> None:
    with Ingester(state / "realms" / "main", Settings(home=state), all_sources(), {"HOME": str(state)}) as ingester:
        ingester.sync(paths)


def opened(state: Path) -> sqlite3.Connection:
    return sqlite3.connect(state / "realms" / "main" / "archive.db")


def logs_of(corpus: Path, agent: Agent) -> list[Path]:
    logs = sorted((corpus / agent.folder).rglob(agent.logs))
    return [log for log in logs if PLACEHOLDER not in log.read_bytes()]


# ---- what the archive has


STORED = """
    SELECT session.path, word.text, event.session, event.seq, file_path.path, operation, added, removed
      FROM file_change
      JOIN event ON event.key = file_change.event
      JOIN session ON session.key = file_change.session
      JOIN file_path ON file_path.key = file_change.path
      LEFT JOIN word ON word.key = event.tool
     WHERE session.source = ?"""


def answered_calls(db: sqlite3.Connection) -> set[tuple[int, int]]:
    return {*db.execute("SELECT session, answers FROM event WHERE kind = ? AND answers IS NOT NULL", (RESPONSE,))}


def stored(db: sqlite3.Connection, source: str) -> tuple[Rows, Rows]:
    """The rows of calls with a response, and those of calls without one."""
    answered = answered_calls(db)
    with_response: Rows = defaultdict(Counter)
    without: Rows = defaultdict(Counter)
    for log, tool, session, seq, *row in db.execute(STORED, (source,)):
        rows = with_response if (session, seq) in answered else without
        rows[log, tool or ""][tuple(row)] += 1
    return with_response, without


def stored_by_script(db: sqlite3.Connection, source: str) -> dict[tuple[str, str], Counter[Row]]:
    """The rows of each script that ran, also of those without any."""
    scripts: dict[int, tuple[str, str]] = {}
    query = (
        "SELECT event.key, session.path, body FROM event JOIN session ON session.key = session WHERE kind = ? AND source = ?"
    )
    for key, log, body in db.execute(query, (CALL, source)):
        arguments = decode_arguments(body)
        script = arguments.get("command") or arguments.get("cmd")
        if isinstance(script, str | list) and script:
            scripts[key] = log, script if isinstance(script, str) else script[-1]
    rows: dict[tuple[str, str], Counter[Row]] = {place: Counter() for place in scripts.values()}
    query = (
        "SELECT event, file_path.path, operation, added, removed FROM file_change JOIN file_path ON key = file_change.path"
    )
    for event, *row in db.execute(query):
        if event in scripts:
            rows[scripts[event]][tuple(row)] += 1
    return rows


# ---- comparisons


def unmatched(expected: Counter[Row], found: Counter[Row]) -> tuple[list[Row], list[Row]]:
    """(missing, surplus) rows. A written file is created with these lines, or changed in lines that nothing tells."""
    left, missing = Counter(found), list[Row]()
    for row in expected.elements():
        path, operation, *counts = row
        forms = [row]
        if operation == "written":
            forms = [(path, "created", *counts), (path, "changed", None, None)]  # type: ignore[list-item]
        match = next((form for form in forms if left[form] > 0), None)
        if match is None:
            missing.append(row)
        else:
            left[match] -= 1
    return missing, list((+left).elements())


@pytest.mark.parametrize("source", EDITING)
def test_edits_and_reads_are_those_of_the_raw_log(archive: sqlite3.Connection, corpus: Path, source: str) -> None:
    agent = AGENTS[source]
    logs = logs_of(corpus, agent)
    expected: Rows = defaultdict(Counter)
    for change in agent.read(logs):
        expected[change.log, change.tool][change.path, change.operation, *change.asked] += 1
    found, without_response = stored(archive, source)
    known, tools = {*map(str, logs)}, {tool for _, tool in expected}
    different = {}
    for place in {*expected, *(place for place in found if place[0] in known and place[1] in tools)}:
        missing, surplus = unmatched(expected[place], found[place] + without_response[place])
        if missing or Counter(surplus) - without_response[place]:
            different[place] = missing, surplus
    assert different == {}
    assert sum(map(Counter.total, expected.values())) >= agent.rows


@pytest.mark.parametrize(("source", "share"), [("claude-code", 0.99), ("codex", 0.97), ("opencode", 0.8), ("pi", 0.97)])
def test_the_lines_are_mostly_those_that_the_agent_recorded(corpus: Path, source: str, share: float) -> None:
    """Of edits whose arguments tell their lines. With the test before, this holds for the archive too."""
    agent = AGENTS[source]
    changes = [*agent.read(logs_of(corpus, agent))]
    recorded = [change for change in changes if NOTHING not in (change.asked, change.recorded)]
    equal = [change for change in recorded if change.asked == change.recorded]
    assert len(recorded) > 100
    assert len(equal) >= share * len(recorded)


@pytest.mark.parametrize("source", SHELLS)
def test_scripts_did_what_an_independent_reader_finds(archive: sqlite3.Connection, corpus: Path, source: str) -> None:
    agent = AGENTS[source]
    assert agent.read_runs is not None
    found = stored_by_script(archive, source)
    expected, doubtful = expected_of_scripts(agent.read_runs(logs_of(corpus, agent)))
    redacted = {place for place in expected if place not in found}
    different = {}
    for place in expected.keys() - doubtful - redacted:
        missing, surplus = unmatched(expected[place], found[place])
        if missing or surplus:
            different[place] = missing, surplus
    assert different == {}
    assert len(redacted) <= len(expected) / 100
    assert sum(expected[place].total() for place in expected.keys() - doubtful - redacted) >= agent.script_rows
    assert len(doubtful) < 0.4 * len(expected)


def expected_of_scripts(runs: Iterable[Run]) -> tuple[dict[tuple[str, str], Counter[Row]], set[tuple[str, str]]]:
    """What each script did, and the scripts in doubt. A script that failed did nothing for certain."""
    expected: dict[tuple[str, str], Counter[Row]] = defaultdict(Counter)
    doubtful = set()
    for run in runs:
        place = run.log, run.script
        expected[place].update()
        if not run.succeeded:
            continue
        found = effects(run.script, run.place)
        if found is None or any(text in run.output for text in UNREADABLE):
            doubtful.add(place)
            continue
        rows = {(relative(path, run.folder), operation): counts for path, operation, counts in found}
        expected[place].update((*key, *counts) for key, counts in rows.items())
    return expected, doubtful


def test_a_file_is_new_only_if_it_did_not_occur_before(archive: sqlite3.Connection) -> None:
    """Where only the order of calls tells: files that scripts write, and tools that do not say whether a file is new."""
    told = {"apply_patch"}  # a patch says it
    created = deleted = 0
    for source in ("pi", "mini-swe-agent", "codex", "kimi"):
        last: dict[tuple[int, str], set[str]] = {}  # what the last call that touched a file did to it
        for (session, _, tool), rows in groupby(
            sorted(archive.execute(STORED, (source,)), key=place_of_call), place_of_call
        ):
            operations: dict[str, set[str]] = defaultdict(set)
            for *_, path, operation, _, _ in rows:
                operations[path].add(operation)
            for path, done in operations.items():
                before = last.get((session, path), set())
                if "created" in done and tool not in told:
                    assert before == set() or "deleted" in before
                    created, deleted = created + 1, deleted + ("deleted" in before)
                last[session, path] = done
    assert created > 300
    assert deleted > 0


def place_of_call(row: tuple[Any, ...]) -> tuple[int, int, str]:
    _, tool, session, seq, *_ = row
    return session, seq, tool or ""


def test_a_call_without_a_response_counts_only_if_the_session_has_no_such_response(archive: sqlite3.Connection) -> None:
    answered = answered_calls(archive)
    tools: dict[int, set[str]] = defaultdict(set)
    responded = "SELECT session, text FROM event JOIN word ON word.key = tool WHERE kind = ? AND answers IS NOT NULL"
    for session, tool in archive.execute(responded, (RESPONSE,)):
        tools[session].add(tool)
    pending = {}
    for session, seq, tool in archive.execute(
        "SELECT session, seq, text FROM event JOIN word ON word.key = tool WHERE kind = 3"
    ):
        if (session, seq) not in answered:
            pending[session, seq] = tool
    counted = {*archive.execute("SELECT event.session, seq FROM event JOIN file_change ON file_change.event = event.key")}
    assert not [call for call in pending.keys() & counted if pending[call] in tools[call[0]]]
    edits = {"edit", "write", "Edit", "Write", "apply_patch"}
    assert [call for call in pending.keys() - counted if pending[call] in edits]


# ---- the same rows in other ways


ROWS = """
    SELECT session.id, event.id, file_path.path, operation, added, removed, file_change.at
      FROM file_change
      JOIN event ON event.key = file_change.event
      JOIN session ON session.key = file_change.session
      JOIN file_path ON file_path.key = file_change.path"""


def rows_of(state: Path) -> set[tuple[Any, ...]]:
    with closing(opened(state)) as db:
        return {*db.execute(ROWS)}


def test_an_archive_of_an_earlier_version_gets_the_same_rows(state: Path, tmp_path: Path) -> None:
    """From the archive: the logs are not read again."""
    older = shutil.copytree(state, tmp_path / "older")
    with closing(opened(older)) as db:
        db.executescript(ARCHIVE_8)
    sync(older, [])
    assert rows_of(older) == rows_of(state) != set()


@pytest.mark.parametrize("source", ["claude-code", "codex", "pi"])
def test_logs_that_grow_give_the_same_rows(state: Path, corpus: Path, tmp_path: Path, source: str) -> None:
    """Each log in many parts: calls and their responses come apart."""
    agent = AGENTS[source]
    logs = sorted(logs_of(corpus, agent), key=lambda log: sum(1 for _ in agent.read([log])))[-4:]
    folder = tmp_path / agent.folder
    folder.mkdir()
    for part in range(1, PARTS + 1):
        for log in logs:
            (folder / log.name).write_bytes(part_of(log, part))
        sync(tmp_path / "grown", [folder])
    for log in logs:
        shutil.copy(log, folder / log.name)
    sync(tmp_path / "whole", [folder])
    assert rows_of(tmp_path / "grown") == rows_of(tmp_path / "whole")
    assert len(rows_of(tmp_path / "whole")) > 100


PARTS = 9


def part_of(log: Path, part: int) -> bytes:
    """The first lines of a log. The last part is all of it, with its last line."""
    lines = log.read_bytes().splitlines(keepends=True)
    return b"".join(lines[: len(lines) * part // PARTS])
