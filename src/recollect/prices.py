"""Prices of tokens: what a call to a model costs, by the day of the call."""

from msgspec import Struct

from recollect.model import Usage


class Price(Struct, frozen=True):
    """Micro-dollars for a million tokens of each kind."""

    input: int
    output: int
    cache_read: int
    cache_write: int


class PriceTable:
    """The prices of models."""

    def price_of(self, model: str, at: int) -> Price | None:
        """The price of a model's tokens at a time; None if it is not known."""
        return None


def load_prices(extension: str | None) -> PriceTable:
    return PriceTable()


def cost_of(usage: Usage, price: Price) -> int:
    """What tokens cost, in micro-dollars."""
    million = 1_000_000
    return (
        usage.input * price.input
        + usage.output * price.output
        + usage.cache_read * price.cache_read
        + usage.cache_write * price.cache_write
    ) // million
