"""recollect stats"""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from itertools import pairwise
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.text import Text

from recollect.display import one_line
from recollect.label import plural
from recollect.operations.library.requests import GetUsage
from recollect.shown_amounts import UNKNOWN, cost_text, tokens_text
from recollect.surfaces.cli.filter_options import FilteredCommand, filter_options
from recollect.surfaces.cli.heatmap import first_day, heatmap, weeks_that_fit
from recollect.surfaces.cli.output import library_answer, print_warnings
from recollect.surfaces.cli.realm_options import json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import console, print_json
from recollect.surfaces.cli.render_usage import bar
from recollect.surfaces.cli.session_rows import cut

MEASURES = ("turns", "sessions", "tokens", "cost")
GROUPS = ("agent", "project", "model")
ROWS = 5  # of each table
ALL_ROWS = 10_000  # the most that the operation gives
NAME = 24  # columns of a name
NAMELESS = {"project": "(no project)", "model": "(unknown model)"}

Row = Mapping[str, Any]


@click.command("stats", cls=FilteredCommand)
@filter_options(GetUsage, leave_out=("limit", "cursor", "format", "by"))
@click.option("--by", "measure", type=click.Choice(MEASURES), default="turns", show_default=True, help="What to count.")
@json_option
@realm_options
def command(arguments: dict[str, Any], measure: str, as_json: bool, **realm: Any) -> None:
    """Draw a heatmap of your days, with totals.

    \b
    recollect stats
    recollect stats --by cost --project webapp
    recollect stats agent:codex --by tokens

    With --json: the rows of `usage` by day, agent, project and model.
    """
    opened = realm_to_read(**realm)
    answers = {
        by: library_answer(opened, "usage", {**arguments, "by": by, "limit": ALL_ROWS}, as_json=as_json)
        for by in ("day", *GROUPS)
    }
    warnings = answers["day"]["warnings"]
    tables = {by: answer["data"]["rows"] for by, answer in answers.items()}
    if as_json:
        data = {**tables, "total": answers["day"]["data"]["total"]}
        print_json(msgspec.json.encode({"data": data, "warnings": warnings}).decode())
        return
    print_warnings(answers["day"])
    _draw(console(), tables, answers["day"]["data"]["total"], measure)


def _draw(out: Console, tables: Mapping[str, Sequence[Row]], total: Row, measure: str) -> None:
    days = {date.fromisoformat(row["key"]): row for row in tables["day"] if row["key"]}
    if not days:
        out.print("No sessions yet. `recollect sync` reads your agents' logs.")
        return
    values = {day: _value(row, measure) for day, row in days.items()}
    last = max(*days, min(date.today(), max(days) + timedelta(weeks=8)))
    weeks = weeks_that_fit(out.width)
    for line in heatmap(values, last, weeks):
        out.print(line, soft_wrap=True)
    out.print()
    _draw_facts(out, days, values, total, measure, first_day(last, weeks))
    for by in GROUPS:
        _draw_table(out, by, tables[by], measure)


def _draw_facts(
    out: Console, days: Mapping[date, Row], values: Mapping[date, float], total: Row, measure: str, shown: date
) -> None:
    """Print the totals, the busiest day and the longest run of days."""
    busiest = max(values, key=lambda day: values[day])
    first = min(days)
    parts = [plural(total["sessions"], "session"), plural(total["turns"], "turn")]
    parts += [f"{tokens_text(total['tokens']['total'])} tokens"] if total["tokens"]["total"] else []
    cost = cost_text(total["cost"]["usd"], total["cost"]["source"])
    parts += [cost] if cost != UNKNOWN else []
    earlier = "" if first >= shown else f" (the heatmap begins {_named(shown)})"
    out.print(Text.assemble((", ".join(parts), "bold"), (f" since {_named(first)}{earlier}", "dim")))
    run, end = _longest_run(sorted(days))
    out.print(f"{plural(len(days), 'active day')}, the busiest {_named(busiest)} ({_shown(days[busiest], measure)})")
    if run > 1:
        out.print(f"longest run: {plural(run, 'day')}, until {_named(end)}")


def _draw_table(out: Console, by: str, rows: Sequence[Row], measure: str) -> None:
    rows = sorted((row for row in rows if _value(row, measure)), key=lambda row: -_value(row, measure))
    if not rows:
        return
    out.print()
    out.print(Text(f"{by}s", "bold"))
    most = _value(rows[0], measure)
    for row in rows[:ROWS]:
        name = cut(one_line(row["key"] or NAMELESS.get(by, "(none)")), NAME)
        line = Text.assemble(f"  {name:<{NAME}} {_shown(row, measure):>16}  ", (bar(_value(row, measure), most), "green"))
        line.rstrip()
        out.print(line, soft_wrap=True)
    if len(rows) > ROWS:
        out.print(Text(f"  and {len(rows) - ROWS:,} more: recollect usage --by {by}", "dim"))


def _value(row: Row, measure: str) -> float:
    if measure == "cost":
        return row["cost"]["usd"] or 0.0
    return float(row["tokens"]["total"] if measure == "tokens" else row[measure])


def _shown(row: Row, measure: str) -> str:
    match measure:
        case "cost":
            return cost_text(row["cost"]["usd"], row["cost"]["source"])
        case "tokens":
            return f"{tokens_text(row['tokens']['total'])} tokens"
        case _:
            return plural(row[measure], measure.removesuffix("s"))


def _named(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def _longest_run(days: Sequence[date]) -> tuple[int, date]:
    """The most consecutive days, and the last of them."""
    best, run, end = 1, 1, days[0]
    for earlier, later in pairwise(days):
        run = run + 1 if later - earlier == timedelta(days=1) else 1
        if run > best:
            best, end = run, later
    return best, end
