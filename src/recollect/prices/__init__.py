"""Prices of tokens: what a call to a model costs, by the day of the call.

`table.toml` has the list prices of vendors, each with its source and the date from which it holds. `model_names` finds the
model that a name in a log means. A model that is not in the table has no price: nothing is guessed. The table has the base
prices. Surcharges for long prompts and fast modes, and discounts for batches and subscriptions, are not in logs.
"""

import tomllib
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from fnmatch import fnmatchcase
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from recollect.errors import BadSettings
from recollect.model import Usage
from recollect.prices.model_names import model_names

TABLE = Path(__file__).with_name("table.toml")
MILLION = 1_000_000
DAY_MS = 86_400_000
FIRST_DAY = date(1970, 1, 1)  # of a row that always holds
MAX_DOLLARS = 1_000_000.0  # for a million tokens: a dollar for each is a mistake

Dollars = Annotated[float, Meta(ge=0, le=MAX_DOLLARS)]


class Price(Struct, frozen=True):
    """Micro-dollars for a million tokens of each kind."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    cache_write_1h: int = 0  # written to a cache that lasts an hour instead of 5 minutes


class PriceRow(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, rename={"since": "from"}):
    """A row of a table, in dollars for a million tokens. Cached tokens cost as much as input unless the row tells."""

    model: str | tuple[str, ...]
    since: date = FIRST_DAY
    until: date | None = None  # the first day on which it is not known to hold
    source: str = ""
    input: Dollars
    output: Dollars
    cache_read: Dollars | None = None
    cache_write: Dollars | None = None
    cache_write_1h: Dollars | None = None

    def models(self) -> tuple[str, ...]:
        return (self.model,) if isinstance(self.model, str) else self.model

    def price(self) -> Price:
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        long_write = write if self.cache_write_1h is None else self.cache_write_1h
        return Price(*(round(dollars * MILLION) for dollars in (self.input, self.output, read, write, long_write)))


class HeldPrice(Struct, frozen=True):
    """A price and the days on which it holds."""

    since: date
    until: date | None
    price: Price


class History:
    """The prices of one model, the latest first."""

    def __init__(self) -> None:
        self._held: list[HeldPrice] = []

    def add(self, row: PriceRow) -> None:
        """Add a price; it replaces one of the same date."""
        others = [held for held in self._held if held.since != row.since]
        self._held = sorted(
            [*others, HeldPrice(row.since, row.until, row.price())], key=lambda held: held.since, reverse=True
        )

    def price_on(self, day: date) -> Price | None:
        for held in self._held:
            if held.since <= day:
                return held.price if held.until is None or day < held.until else None
        return None

    def first_if_before(self, day: date) -> Price | None:
        """The first price, for a day before all."""
        return self._held[-1].price if day < self._held[-1].since else None


class PriceTable:
    """The prices of models. `problem` tells why a file of further prices was not used; empty if it was, or there is none."""

    def __init__(self, built_in: Iterable[PriceRow], own: Iterable[PriceRow] = (), problem: str = "") -> None:
        self.problem = problem
        self._built_in, self._own = _histories(built_in), _histories(own)
        self._found: dict[str, list[History]] = {}
        self._priced: dict[tuple[str, date], Price | None] = {}

    def price_of(self, model: str, at: int) -> Price | None:
        """The price of a model's tokens at a time in milliseconds; None if it is not known.

        The owner's own prices come before the table's. The first known price of a model also holds for earlier calls: a
        clock may be wrong, and a preview may cost the same.
        """
        day = FIRST_DAY + timedelta(days=max(0, at) // DAY_MS)
        if (model, day) not in self._priced:
            histories = self._histories_of(model)
            on_day = next((price for history in histories if (price := history.price_on(day)) is not None), None)
            self._priced[model, day] = on_day or (histories[-1].first_if_before(day) if histories else None)
        return self._priced[model, day]

    def _histories_of(self, model: str) -> list[History]:
        """The histories that a model's name means, the owner's first."""
        if model not in self._found:
            names = model_names(model)
            found = [_history_of((model.strip().lower(), *names), self._own), _history_of(names, self._built_in)]
            self._found[model] = [history for history in found if history is not None]
        return self._found[model]


def _history_of(names: Sequence[str], histories: dict[str, History]) -> History | None:
    """The history of the first of these names that has one, or that fits a pattern."""
    exact = next((histories[name] for name in names if name in histories), None)
    patterns = (pattern for pattern in histories if "*" in pattern and any(fnmatchcase(name, pattern) for name in names))
    return exact or next((histories[pattern] for pattern in patterns), None)


def _histories(rows: Iterable[PriceRow]) -> dict[str, History]:
    """The prices of each model, by its name in the form of the table."""
    histories: dict[str, History] = {}
    for row in rows:
        for written in row.models():
            name = next(iter(model_names(written)), written.strip().lower()) if "*" not in written else written.lower()
            histories.setdefault(name, History()).add(row)
    return histories


def load_prices(extension: str | None) -> PriceTable:
    """The built-in table, extended and overridden by a file. If that cannot be used, the table tells its `problem`."""
    if not extension:
        return _read_table(None, 0, 0)
    path = Path(extension).expanduser()
    try:
        stat = path.stat()
    except OSError as reason:
        return _with_problem(f"The prices in {path} cannot be read: {reason.strerror or reason}")
    return _read_table(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4)
def _read_table(extension: Path | None, _changed_ns: int, _size: int) -> PriceTable:
    """The table with a file in one of its states."""
    built_in = read_rows(TABLE)
    if extension is None:
        return PriceTable(built_in)
    try:
        return PriceTable(built_in, read_rows(extension))
    except BadSettings as error:
        return PriceTable(built_in, problem=str(error))


def _with_problem(problem: str) -> PriceTable:
    return PriceTable(read_rows(TABLE), problem=problem)


def read_rows(path: Path) -> list[PriceRow]:
    """The rows of a table. Raises `BadSettings` with the file, the row and the reason."""
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except OSError as reason:
        raise BadSettings(f"The prices in {path} cannot be read: {reason.strerror or reason}") from reason
    except ValueError as reason:
        raise BadSettings(f"The prices in {path} are not TOML: {reason}") from reason
    rows, unknown = document.pop("price", []), [key for key in document if key != "sources"]
    if unknown or not isinstance(rows, list):
        raise BadSettings(
            f"The prices in {path} must be tables named [[price]]; found {unknown[0] if unknown else 'price'!r}."
        )
    return [_row(path, number, row) for number, row in enumerate(rows, 1)]


def _row(path: Path, number: int, fields: Any) -> PriceRow:
    name = fields.get("model") if isinstance(fields, dict) else None
    place = f"{path}, price {number}" + (f" ({name})" if isinstance(name, str) else "")
    try:
        row = msgspec.convert(fields, PriceRow)
    except msgspec.ValidationError as reason:
        raise BadSettings(f"{place}: {reason}") from reason
    if not all(name.strip() for name in row.models()) or not row.models():
        raise BadSettings(f"{place}: a model has no name")
    if not all(isfinite(value) for value in (row.input, row.output, row.cache_read or 0, row.cache_write or 0)):
        raise BadSettings(f"{place}: a price is not a number")
    return row


def cost_of(usage: Usage, price: Price) -> int:
    """What tokens cost, in micro-dollars. Reasoning is part of the output."""
    long_write = min(usage.cache_write_1h, usage.cache_write)
    total = (
        usage.input * price.input
        + usage.output * price.output
        + usage.cache_read * price.cache_read
        + (usage.cache_write - long_write) * price.cache_write
        + long_write * price.cache_write_1h
    )
    return (total + MILLION // 2) // MILLION
