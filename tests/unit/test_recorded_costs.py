"""What agents recorded as the cost of calls and sessions is counted once, in micro-dollars."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model import Kind, Record, Usage
from recollect.sources.formats.usage import micro_dollars, with_cost, with_session_cost
from recollect.store import Reader
from tests.conftest import Person
from tests.e2e.crush_database import TABLES
from tests.logs import Claude, write


def stored(person: Person) -> list[Usage]:
    """The usage of each session that has any, as it is stored."""
    with Reader(person.realm / "archive.db") as reader:
        rows = reader.spent_by_session()
    sums: dict[int, Usage] = {}
    for row in rows:
        sums[row.key] = sums.get(row.key, Usage()) + row.usage
    return [sums[key] for key in sorted(sums)]


# ---- amounts


@pytest.mark.parametrize(
    ("amount", "micro"),
    [
        (0.01, 10_000),
        (1, 1_000_000),
        (0.000_000_4, 1),  # a cost is not nothing
        ({"input": 0.1, "total": 0.5}, 500_000),
        ({"usd": 0.001}, 1_000),
    ],
)
def test_an_amount_is_read_in_micro_dollars(amount: Any, micro: int) -> None:
    assert micro_dollars(amount) == micro


@pytest.mark.parametrize(
    "amount", [0, 0.0, -1, None, True, "0.5", [], {}, float("nan"), float("inf"), 1e12, {"total": "x"}], ids=repr
)
def test_anything_else_is_no_cost(amount: Any) -> None:
    assert micro_dollars(amount) == 0


def test_a_cost_without_tokens_is_kept() -> None:
    assert with_cost(None, 0.5) == Usage(cost=500_000)
    assert with_cost(None, 0) is None
    assert with_cost(Usage(input=3), 0) == Usage(input=3)


def record(usage: Usage | None, kind: Kind = Kind.ASSISTANT_RESPONSE) -> Record:
    return Record(session="s", key="k", kind=kind, usage=usage)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=20), st.integers(1, 10**9))
def test_a_sessions_cost_is_spread_over_its_calls_without_rest(tokens: list[int], cost: int) -> None:
    entries = with_session_cost([record(Usage(input=count)) for count in tokens], cost / 1_000_000)
    costs = [entry.usage.cost for entry in entries if isinstance(entry, Record) and entry.usage]
    assert sum(costs) == cost
    assert min(costs) >= 0


def test_costs_of_calls_are_part_of_the_sessions_cost() -> None:
    entries = with_session_cost([record(Usage(input=5, cost=700)), record(Usage(input=5)), record(None)], 0.001)
    assert [entry.usage and entry.usage.cost for entry in entries if isinstance(entry, Record)] == [700, 300, None]
    whole = with_session_cost([record(Usage(input=5, cost=1_001))], 0.001)
    assert [entry.usage for entry in whole if isinstance(entry, Record)] == [Usage(input=5, cost=1_001)]


def test_a_session_without_counted_calls_has_its_cost_at_its_end() -> None:
    first, last, prompt = record(None), record(None), record(None, Kind.USER_INPUT)
    with_session_cost([first, last, prompt], 0.25)
    assert (first.usage, last.usage, prompt.usage) == (None, Usage(cost=250_000), None)


# ---- agents


def test_claude_code_repeats_the_cost_of_a_message_on_each_of_its_lines(person: Person) -> None:
    log = Claude()
    prompt = log.prompt("Go on")
    lines = [log.thinks("Well."), log.says("First.", stop=None), log.says("Done.")]
    for line in lines:
        line["costUSD"] = 0.25
        line["message"]["id"] = "msg_1"
    del lines[1]["costUSD"]  # not every line has it
    write(person.claude_log(log.session), [prompt, *lines])
    person.sync()
    assert stored(person) == [Usage(input=10, output=5, cache_read=100, cost=250_000)]


def test_claude_code_counts_the_tokens_of_blank_and_repeated_blocks(person: Person) -> None:
    log = Claude()
    prompt, empty, said = log.prompt("Go on"), log.says(""), log.says("Done.")
    for line in (empty, said):
        line["message"]["id"] = "msg_1"
    blank = log.says("\n\n")  # a message of its own
    write(person.claude_log(log.session), [prompt, empty, said, blank])
    person.sync()
    assert stored(person) == [Usage(input=20, output=10, cache_read=200)]


def test_crush_adds_the_cost_of_sub_agents_to_their_parent(person: Person, tmp_path: Path) -> None:
    path = tmp_path / "project" / ".crush" / "crush.db"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as database:
        for statement in TABLES:
            database.execute(statement)
        for session, parent, cost in (("parent", None, 1.0), ("child", "parent", 0.25)):
            database.execute(
                "INSERT INTO sessions VALUES (?, ?, 'Title', 0, 0, 0, ?, 1755600000, 1755600000, NULL)",
                (session, parent, cost),
            )
            for role in ("user", "assistant"):
                parts = json.dumps([{"type": "text", "data": {"text": f"{role} of {session}"}}])
                values = (f"{session}-{role}", session, role, parts)
                database.execute(
                    "INSERT INTO messages VALUES (?, ?, ?, ?, 'gpt-5', 1755600000, 1755600000, NULL, 'openai')", values
                )
        database.commit()
    person.sync(path)
    assert sorted(usage.cost for usage in stored(person)) == [250_000, 750_000]


def test_openhands_records_what_a_session_cost_so_far(person: Person, tmp_path: Path) -> None:
    events = [
        {"id": 0, "timestamp": "2026-02-01T10:00:00", "source": "user", "action": "message", "args": {"content": "Go"}}
    ]
    for number, total in enumerate((0.1, 0.1, 0.4), 1):
        events.append({
            "id": number, "timestamp": f"2026-02-01T10:00:0{number}", "source": "agent", "action": "run",
            "args": {"command": "ls"}, "llm_metrics": {"accumulated_cost": total},
        })  # fmt: skip
    path = tmp_path / "conversation-1.json"
    path.write_text(json.dumps(events))
    person.sync(path)
    assert [usage.cost for usage in stored(person)] == [400_000]


def test_mini_swe_agent_records_the_cost_of_calls_or_of_the_run(person: Person, tmp_path: Path) -> None:
    for name, costs in (("calls", (0.01, 0.02)), ("run", (None, None))):
        answers = [
            {"role": "assistant", "content": f"Step {place}", "extra": {"cost": cost} if cost else {}}
            for place, cost in enumerate(costs)
        ]
        run = {
            "messages": [{"role": "user", "content": f"Mend it {name}"}, *answers],
            "info": {"mini_version": "2.0", "model_stats": {"instance_cost": 0.03}},
        }
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.traj.json").write_text(json.dumps(run))
    person.sync(tmp_path)
    assert [usage.cost for usage in stored(person)] == [30_000, 30_000]
