"""A heatmap of days: a column per week, a row per weekday, darker where more happened."""

from collections.abc import Mapping
from datetime import date, timedelta

from rich.text import Text

SHADES = "·░▒▓█"  # none, then a quarter each of the days with something
STYLES = ("dim", "green", "green", "bold green", "bold green")
WEEKDAYS = ("Mon", "", "Wed", "", "Fri", "", "Sun")
MARGIN = 4  # columns before the first week
CELL = 2  # columns of a week: a cell of a terminal is half as wide as it is high
YEAR = 53  # weeks


def weeks_that_fit(width: int) -> int:
    """How many weeks a heatmap of this width has, a year at most."""
    return max(4, min(YEAR, (width - MARGIN) // CELL))


def first_day(last: date, weeks: int) -> date:
    """The Monday with which a heatmap begins that ends with the week of `last`."""
    return last - timedelta(days=last.weekday(), weeks=weeks - 1)


def heatmap(values: Mapping[date, float], last: date, weeks: int) -> list[Text]:
    """The lines: the months, a line per weekday, and the legend."""
    begin = first_day(last, weeks)
    levels = _levels([value for day, value in values.items() if begin <= day <= last and value > 0])
    lines = [Text(_months(begin, weeks), "dim")]
    for weekday, name in enumerate(WEEKDAYS):
        line = Text(f"{name:<{MARGIN}}", "dim")
        for week in range(weeks):
            day = begin + timedelta(weeks=week, days=weekday)
            if day <= last:
                level = sum(values.get(day, 0) >= bound for bound in levels) if values.get(day, 0) > 0 else 0
                line.append(SHADES[level] * CELL if level else f"{SHADES[0]} ", STYLES[level])
        line.rstrip()
        lines.append(line)
    legend = Text(f"{'':{MARGIN}}less ", "dim")
    for level, shade in enumerate(SHADES):
        legend.append(f"{shade * CELL if level else SHADES[0]} ", STYLES[level])
    lines.append(legend.append("more", "dim"))
    return lines


def _levels(values: list[float]) -> list[float]:
    """The least values of the four levels: each has about a quarter of the days."""
    ordered = sorted(values)
    return [ordered[len(ordered) * quarter // 4] for quarter in range(4)] if ordered else []


def _months(begin: date, weeks: int) -> str:
    """The names of the months above their first full weeks, as far as they fit."""
    line = [" "] * (MARGIN + weeks * CELL + 2)
    free = 0
    for week in range(weeks):
        monday = begin + timedelta(weeks=week)
        place = MARGIN + week * CELL
        if (week == 0 or monday.day <= 7) and place >= free:
            name = f"{monday:%b}"
            line[place : place + len(name)] = name
            free = place + len(name) + 1
    return "".join(line).rstrip()
