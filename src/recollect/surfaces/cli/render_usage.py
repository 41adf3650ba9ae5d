"""Tokens and cost as a table: fits 80 columns, and has exact numbers and bars where there is room for them."""

from collections.abc import Callable
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from recollect.label import plural
from recollect.surfaces.cli.render import console, plain

WIDE = 110  # columns from which numbers are exact and rows have a bar
BAR = 12  # cells of the longest bar
EIGHTHS = " ▏▎▍▌▋▊▉█"
COST = "cost"
NARROW, ESSENTIAL = 76, ("turns", "tokens", COST)  # below so many columns, only these numbers are shown
GAP, EDGES = 3, 2  # columns between cells (one is the table's divider), and of the table's edges
MIN_NAME = 12  # columns that a name gets in any case
NAMELESS = {"project": "(no project)", "model": "(no model)"}
ESTIMATED = "~"  # before an amount that is estimated, in whole or in part


def draw_usage(answer: dict[str, Any], shorten: Callable[[str], str]) -> None:
    """The rows with their total. `shorten` makes the short form of a session's id."""
    out = console()
    by, rows, total = answer["data"]["by"], answer["data"]["rows"], answer["data"]["total"]
    if not rows:
        out.print(
            "No tokens in these sessions. `recollect sync` reads the logs of your agents; --since 30d looks further back."
        )
        return
    wide = out.width >= WIDE
    count = _exact if wide else short_count
    shown = [column for column in _columns(count) if out.width >= NARROW or column[0] in ESSENTIAL]
    columns = [[head, *(value(row) for row in (*rows, total))] for head, value in shown]
    bars = _bars(rows) if wide else []
    numbers = sum(max(map(len, column)) + GAP for column in columns)
    table = Table(box=box.SIMPLE_HEAD, show_footer=True, pad_edge=False, padding=(0, GAP - 1, 0, 0), header_style="dim")
    name_width = max(MIN_NAME, out.width - numbers - GAP - EDGES - (BAR + GAP if wide else 0))
    table.add_column(by, "total", no_wrap=True, overflow="ellipsis", footer_style="bold", max_width=name_width)
    for head, *_, last in columns:
        style = "green" if head == COST else ""
        table.add_column(head, last, justify="right", no_wrap=True, style=style, footer_style=f"bold {style}".strip())
    if wide:
        table.add_column("", no_wrap=True, style="cyan")
    for place, row in enumerate(rows):
        cells: list[str | Text] = [column[place + 1] for column in columns]
        table.add_row(_name(by, row, shorten), *cells, *bars[place : place + 1])
    out.print(table)
    _draw_notes(answer)


def _name(by: str, row: dict[str, Any], shorten: Callable[[str], str]) -> Text:
    if by == "session":
        return Text.assemble((f"{shorten(row['key'])}  ", "blue"), plain(row.get("title") or ""))
    return Text(plain(row["key"] or NAMELESS.get(by, "(none)")))


def _columns(count: Callable[[int], str]) -> tuple[tuple[str, Callable[[dict[str, Any]], str]], ...]:
    """The columns beside the name: a head, and the text of a row."""
    return (
        ("turns", lambda row: f"{row['turns']:,}"),
        ("input", lambda row: count(row["tokens"]["input"])),
        ("output", lambda row: count(row["tokens"]["output"])),
        ("cached", lambda row: count(row["tokens"]["cache_read"] + row["tokens"]["cache_write"])),
        ("tokens", lambda row: count(row["tokens"]["total"])),
        (COST, lambda row: dollars(row["cost"])),
    )


def _bars(rows: list[dict[str, Any]]) -> list[str]:
    """A bar for each row's cost, or for its tokens if no row has a cost."""
    values = [row["cost"]["usd"] or 0.0 for row in rows]
    if not any(values):
        values = [float(row["tokens"]["total"]) for row in rows]
    return [bar(value, max(values)) for value in values]


def _draw_notes(answer: dict[str, Any]) -> None:
    out, data, page = console(), answer["data"], answer["page"]
    notes: list[str] = []
    if page["next"]:
        notes.append(f"{len(data['rows'])} of {plural(page['total'], data['by'])}; all with -n {page['total']}")
    if data["total"]["cost"]["source"] == "estimated":
        notes.append(f"{ESTIMATED} is estimated by list prices")
    if notes:
        out.print(Text(f"{'. '.join(notes)}.", "dim"))


def _exact(number: int) -> str:
    return f"{number:,}"


def short_count(number: int) -> str:
    """A number in at most 5 characters: 999, 12.3k, 4.56M, 12.3G."""
    value, units = float(number), ("", "k", "M", "G", "T")
    place = 0
    while value >= 999.5 and place < len(units) - 1:
        value, place = value / 1000, place + 1
    if not place:
        return str(number)
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}{units[place]}"


def dollars(cost: dict[str, Any]) -> str:
    """An amount: $12.34, ~$12.34 if it is estimated, $0.004 if it is small, – if it is not known."""
    usd = cost["usd"]
    if usd is None:
        return "–"
    amount = f"{usd:,.2f}" if usd >= 0.1 or usd == 0 else f"{usd:.3f}" if usd >= 0.001 else "0.001"
    less = "<" if 0 < usd < 0.001 else ""
    return f"{ESTIMATED if cost['source'] == 'estimated' else ''}{less}${amount}"


def bar(value: float, most: float) -> str:
    """A bar as long as a value's part of the largest one."""
    eighths = round(value / most * BAR * 8) if most else 0
    return EIGHTHS[-1] * (eighths // 8) + EIGHTHS[eighths % 8].strip()
