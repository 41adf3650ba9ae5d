"""`recollect usage` draws a table that fits its width."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

from recollect.surfaces.cli import recollect
from recollect.surfaces.cli.render_usage import bar, dollars, draw_usage, short_count
from tests.conftest import Person
from tests.contract.usage_sessions import fill


def test_counts_are_short() -> None:
    numbers = (0, 999, 1_000, 12_345, 999_499, 999_999, 1_234_567, 45_600_000, 10**12)
    assert [short_count(number) for number in numbers] == [
        "0", "999", "1.00k", "12.3k", "999k", "1.00M", "1.23M", "45.6M", "1.00T"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("usd", "source", "shown"),
    [
        (None, "unknown", "–"),
        (12.345, "recorded", "$12.35"),
        (1_234.5, "estimated", "~$1,234.50"),
        (0.0123, "recorded", "$0.012"),
        (0.000_1, "estimated", "~<$0.001"),
        (0.0, "recorded", "$0.00"),
    ],
)
def test_amounts_say_whether_they_are_estimated(usd: float | None, source: str, shown: str) -> None:
    assert dollars({"usd": usd, "source": source}) == shown


def test_bars_are_parts_of_the_longest() -> None:
    assert [len(bar(value, 8.0)) for value in (8.0, 4.0, 0.0)] == [12, 6, 0]
    assert bar(1.0, 0.0) == ""


def row(key: str, count: int) -> dict[str, Any]:
    kinds = ("input", "output", "cache_read", "cache_write", "reasoning", "total")
    cost = {"usd": count / 1_000, "source": "estimated", "unpriced_tokens": 0}
    return {"key": key, "sessions": 1, "turns": count, "tokens": dict.fromkeys(kinds, count), "cost": cost}


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_a_table_fits_and_cuts_only_names(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    rows = [row("a-very-long-name-of-a-model-that-nobody-would-type", 123_456_789), row("b", 1)]
    answer = {"data": {"by": "model", "rows": rows, "total": row("total", 123_456_790)}, "page": {"next": "x", "total": 9}}
    draw_usage(answer, str)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines).replace("…", "", 1)  # only the long name is cut, if at all
    assert any("$123,456.79" in line for line in lines)
    assert lines[-1].startswith("2 of 9 models; all with -n 9.")


def test_the_command_prints_a_table_json_and_csv(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(person)
    monkeypatch.setenv("RECOLLECT_HOME", str(person.state))
    runner = CliRunner()
    table = runner.invoke(recollect, ["usage", "--by", "project"])
    assert table.exit_code == 0, table.output
    assert [line.split()[0] for line in table.stdout.splitlines() if line.strip()][2:5] == ["app", "=cmd", "yard"]
    assert "! The cost leaves out 1,001 tokens" in table.stderr
    whole = json.loads(runner.invoke(recollect, ["usage", "--json"]).stdout)
    assert whole["data"]["total"]["tokens"]["total"] == 2_411
    csv = runner.invoke(recollect, ["usage", "--by", "model", "--csv"])
    assert csv.stdout.startswith("key,title,sessions,turns,input,")
    assert csv.stdout.count("\n") == 4
    assert runner.invoke(recollect, ["usage", "--csv", "--json"]).exit_code == 2
    assert "1 of 3 days; all with -n 3" in runner.invoke(recollect, ["usage", "-n", "1"]).stdout
    assert "No tokens in these sessions" in runner.invoke(recollect, ["usage", "--since", "2027-01-01"]).stdout
