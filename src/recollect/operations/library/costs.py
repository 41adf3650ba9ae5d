"""What tokens cost: what the logs recorded, and for other calls an estimate by the prices of the day."""

from collections.abc import Iterable

from recollect.library_answers import Cost
from recollect.prices import PriceTable, cost_of
from recollect.store.sqlite.library_queries import SpentRow
from recollect.store.sqlite.tallies import QUARTER_MS

MICRO = 1_000_000  # micro-dollars in a dollar


class CostSum:
    """The sum of costs, in micro-dollars."""

    def __init__(self) -> None:
        self.recorded = self.estimated = self.unpriced = self.priced = 0

    def add(self, other: "CostSum") -> None:
        self.recorded += other.recorded
        self.estimated += other.estimated
        self.unpriced += other.unpriced
        self.priced += other.priced

    def total(self) -> int | None:
        """All known costs; None if there is none."""
        return self.recorded + self.estimated if self.recorded or self.priced else None

    def view(self) -> Cost:
        total = self.total()
        if total is None:
            return Cost(unpriced_tokens=self.unpriced)
        return Cost(usd=total / MICRO, source="estimated" if self.priced else "recorded", unpriced_tokens=self.unpriced)


class Costs:
    """Prices tokens by a table."""

    def __init__(self, prices: PriceTable) -> None:
        self._prices = prices

    @property
    def problem(self) -> str:
        """Why the owner's prices could not be used; empty if they could."""
        return self._prices.problem

    def sum(self, spent: Iterable[SpentRow]) -> CostSum:
        total = CostSum()
        for row in spent:
            if row.usage.cost:
                total.recorded += row.usage.cost
                continue
            price = self._prices.price_of(row.model, row.quarter * QUARTER_MS)
            if price is None:
                total.unpriced += row.usage.total()
            else:
                total.estimated += cost_of(row.usage, price)
                total.priced += row.usage.total()
        return total

    def of(self, spent: Iterable[SpentRow]) -> Cost:
        return self.sum(spent).view()
