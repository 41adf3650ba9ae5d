"""library/usage: tokens and cost by day, week, project, agent, model and session (L5)."""

import csv
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from recollect.library_answers import Cost, Tokens, UsageRow
from recollect.operations import OPERATIONS, RequestContext
from recollect.operations.library.usage import as_csv
from recollect.prices import load_prices
from tests.conftest import Person
from tests.contract.library_archive import Library
from tests.contract.usage_sessions import OPUS, PARENT, SONNET, UNKNOWN, answer, ask, fill
from tests.logs import Claude, write

KINDS = ("input", "output", "cache_read", "cache_write", "reasoning", "total")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    person = Person(tmp_path_factory.mktemp("usage"))
    fill(person)
    return Library(person)


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def rows(library: Library, **arguments: Any) -> list[Any]:
    found: list[Any] = library.data("usage", **arguments)["rows"]
    return found


def tokens(library: Library, **arguments: Any) -> dict[str, int]:
    return {row["key"]: row["tokens"]["total"] for row in rows(library, **arguments)}


# ---- sums


def test_usage_by_day_is_newest_first_with_tokens_by_kind(library: Library) -> None:
    found = rows(library)
    assert [row["key"] for row in found] == ["2026-03-29", "2026-02-03", "2026-02-01"]
    first = found[-1]
    assert first["tokens"] == {
        "input": 310, "output": 40, "cache_read": 1_000, "cache_write": 50, "reasoning": 0, "total": 1_400
    }  # fmt: skip
    assert (first["sessions"], first["turns"]) == (3, 4)


def test_a_day_is_a_local_day(library: Library, berlin: None) -> None:
    assert tokens(library) == {"2026-03-29": 10, "2026-02-03": 1_001, "2026-02-02": 220, "2026-02-01": 1_180}


def test_usage_by_week_names_the_week(library: Library) -> None:
    assert tokens(library, by="week") == {"2026-W13": 10, "2026-W06": 1_001, "2026-W05": 1_400}


def test_usage_by_project_agent_and_model(library: Library) -> None:
    assert tokens(library, by="project") == {"app": 1_400, "=cmd": 10, "yard": 1_001}
    assert tokens(library, by="agent") == {"claude-code": 2_411}
    assert tokens(library, by="model") == {SONNET: 1_190, OPUS: 220, UNKNOWN: 1_001}


def test_rows_but_those_of_times_are_most_expensive_first(library: Library) -> None:
    for by in ("project", "agent", "model", "session"):
        costs = [(row["cost"]["usd"] or 0, row["tokens"]["total"]) for row in rows(library, by=by)]
        assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("by", ["day", "week", "project", "agent", "model", "session"])
def test_rows_add_up_to_the_total(library: Library, by: str) -> None:
    data = library.data("usage", by=by)
    total = data["total"]
    assert total["key"] == "total"
    for kind in KINDS:
        assert sum(row["tokens"][kind] for row in data["rows"]) == total["tokens"][kind]
    assert sum(row["cost"]["usd"] or 0 for row in data["rows"]) == pytest.approx(total["cost"]["usd"])
    assert (total["sessions"], total["turns"]) == (5, 6)
    assert total["tokens"]["total"] == 2_411


def test_a_session_includes_its_sub_agents_once(library: Library) -> None:
    found = {row["key"]: row for row in rows(library, by="session")}
    assert len(found) == 3
    uuids = {session["id"]: session["native_id"] for session in library.data("sessions")["sessions"]}
    parent = next(row for key, row in found.items() if uuids[key] == PARENT)
    assert (parent["tokens"]["total"], parent["sessions"], parent["turns"]) == (1_400, 3, 4)
    assert parent["title"] == "Go on with it"


# ---- cost


def test_the_cost_is_estimated_by_the_prices_of_the_day(library: Library) -> None:
    table = load_prices(None)
    costs = {row["key"]: row["cost"] for row in rows(library, by="model")}
    price = table.price_of(SONNET, 1_770_000_000_000)
    assert price is not None
    expected = (100 + 7 + 3 + 5) * 3 + (10 + 7 + 3 + 5) * 15 + 1_000 * 0.3 + 50 * 3.75
    assert costs[SONNET] == {
        "usd": pytest.approx(expected / 1_000_000, abs=2e-6),
        "source": "estimated",
        "unpriced_tokens": 0,
    }
    assert costs[UNKNOWN] == {"usd": None, "source": "unknown", "unpriced_tokens": 1_001}


def test_tokens_without_a_price_are_told(library: Library) -> None:
    whole = library.ask("usage")
    assert whole["data"]["total"]["cost"]["unpriced_tokens"] == 1_001
    assert whole["warnings"] == ["The cost leaves out 1,001 tokens without a known price: polly-1. See docs/prices.md."]
    assert library.ask("usage", project=["app"])["warnings"] == []


def test_the_owners_prices_count(tmp_path: Path) -> None:
    person = Person(tmp_path)
    fill(person)
    own = tmp_path / "prices.toml"
    own.write_text(f'[[price]]\nmodel = "{UNKNOWN}"\ninput = 2\noutput = 3\n')
    (row,) = (row for row in rows(Library(person, prices=str(own)), by="model") if row["key"] == UNKNOWN)
    assert row["cost"] == {"usd": (1_000 * 2 + 3) / 1_000_000, "source": "estimated", "unpriced_tokens": 0}
    own.write_text('[[price]]\nmodel = "a"\ninput = "x"\noutput = 3\n')
    broken = Library(person, prices=str(own))
    error = broken.refusal("usage")
    assert error["code"] == "invalid_settings"
    assert f"{own}, price 1 (a): Expected `float`" in error["message"]
    assert broken.data("sessions")["sessions"][0]["cost"]["source"] in ("estimated", "unknown")


def test_cached_tokens_of_an_hour_cost_more(tmp_path: Path) -> None:
    person = Person(tmp_path)
    log = Claude(PARENT)
    line = answer(log, "2026-02-01T10:01:00Z", cache_creation_input=1_000_000)
    line["message"]["usage"]["cache_creation"] = {"ephemeral_1h_input_tokens": 400_000, "ephemeral_5m_input_tokens": 600_000}
    write(person.claude_log(PARENT), [ask(log, "2026-02-01T10:00:00Z"), line])
    person.sync()
    (row,) = rows(Library(person))
    assert row["tokens"]["cache_write"] == 1_000_000
    assert row["cost"]["usd"] == 0.6 * 3.75 + 0.4 * 6


# ---- filters


def test_filters_limit_tokens_turns_and_sessions(library: Library) -> None:
    assert tokens(library, project=["yard"]) == {"2026-02-03": 1_001}
    assert tokens(library, query="project:app") == {"2026-02-01": 1_400}
    assert tokens(library, model=["opus*"]) == {"2026-02-01": 220}  # not the other model's tokens of that session
    assert tokens(library, by="model", model=["-claude-opus-4-6", "-polly-1"]) == {SONNET: 30}


def test_bounds_limit_the_tokens_of_a_session_that_goes_on(library: Library) -> None:
    data = library.data("usage", since=["2026-02-01T12:00:00Z"], until=["2026-02-02"])
    assert [(row["key"], row["tokens"]["total"], row["turns"]) for row in data["rows"]] == [("2026-02-01", 220, 1)]
    assert data["total"]["sessions"] == 1


def test_nothing_gives_no_rows_and_a_total_of_zero(library: Library) -> None:
    data = library.data("usage", since=["2027-01-01"])
    assert data["rows"] == []
    assert data["total"]["tokens"]["total"] == data["total"]["sessions"] == 0
    assert data["total"]["cost"] == {"usd": None, "source": "unknown", "unpriced_tokens": 0}


def test_an_unknown_key_is_refused(library: Library) -> None:
    assert library.refusal("usage", by="colour")["code"] == "invalid_request"


# ---- pages and CSV


@pytest.mark.parametrize("by", ["day", "project", "model", "session"])
def test_pages_visit_each_row_once(library: Library, by: str) -> None:
    whole = [row["key"] for row in rows(library, by=by)]
    seen: list[str] = []
    cursor = None
    while True:
        page = library.ask("usage", by=by, limit=1, **({"cursor": cursor} if cursor else {}))
        seen += [row["key"] for row in page["data"]["rows"]]
        assert page["data"]["total"]["tokens"]["total"] == 2_411
        assert page["page"]["total"] == len(whole)
        cursor = page["page"]["next"]
        if cursor is None:
            break
    assert seen == whole


def csv_of(library: Library, **arguments: Any) -> list[dict[str, str]]:
    request = {**arguments, "format": "csv"}
    reply = OPERATIONS["library_usage"].run(library.realm, request, RequestContext.now())
    assert reply.file is not None, reply.text
    assert reply.file.media_type == "text/csv"
    return list(csv.DictReader(StringIO(reply.file.text(), newline="")))


def test_csv_has_the_same_rows(library: Library) -> None:
    for by in ("day", "model", "session"):
        plain, table = rows(library, by=by), csv_of(library, by=by)
        assert [row["key"] for row in table] == [row["key"] for row in plain]
        assert [int(row["total"]) for row in table] == [row["tokens"]["total"] for row in plain]
        assert [row["usd"] for row in table] == [
            "" if row["cost"]["usd"] is None else f"{row['cost']['usd']:.6f}" for row in plain
        ]


def test_no_cell_of_a_csv_is_a_formula(library: Library) -> None:
    assert {row["key"] for row in csv_of(library, by="project")} == {"app", "'=cmd", "yard"}
    for text in ("=1+1", "+1", "-1", "@x", "\tx", "\rx"):
        row = UsageRow(key=text, title=text, sessions=1, turns=1, tokens=Tokens(), cost=Cost())
        (cells,) = csv.DictReader(StringIO(as_csv([row]), newline=""))
        assert cells["key"] == cells["title"] == f"'{text}"
