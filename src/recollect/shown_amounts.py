"""Formats amounts for people: tokens, money, durations, names of models."""

import re

UNKNOWN = "–"  # in place of an amount that nobody knows
ESTIMATE = "~"  # before an estimated amount, as before an estimated time
CENT = 0.01
UNITS = ((1_000, "k"), (1_000_000, "M"), (1_000_000_000, "G"))
MAKER = re.compile(r"^(?:.*/)?(?:(?:anthropic|openai|google|us|eu)\.)*(?:claude-)?(?=.)")  # before a model's own name
RELEASE = re.compile(r"(?:[-@:]v?\d{8}(?:-v\d+:\d+)?|-\d{4}-\d{2}-\d{2}|-latest)$")  # the date after it


def tokens_text(count: int) -> str:
    """A number of tokens in at most four characters and a unit: 950, 9.5k, 950k, 1.2M."""
    if count < 1_000:
        return str(count)
    size, unit = next(((size, unit) for size, unit in reversed(UNITS) if count >= size * 0.9995), UNITS[0])
    amount = count / size
    return f"{amount:.1f}{unit}" if amount < 9.95 else f"{amount:,.0f}{unit}"


def cost_text(usd: float | None, source: str = "recorded") -> str:
    """An amount of dollars: $0.42, ~$12.10 if it is estimated, <$0.01, or a dash if it is unknown."""
    if usd is None:
        return UNKNOWN
    mark = ESTIMATE if source == "estimated" else ""
    if 0 < usd < CENT:
        return f"<${CENT}"
    return f"{mark}${usd:,.2f}" if usd < 1_000 else f"{mark}${usd:,.0f}"


def duration_text(seconds: float) -> str:
    """A duration in its two largest units: 45 s, 12 min, 3 h 20 min, 2 d 4 h."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min"
    hours, minutes = whole // 3_600, whole % 3_600 // 60
    if hours < 24:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{hours // 24} d {hours % 24} h" if hours % 24 else f"{hours // 24} d"


def model_text(model: str) -> str:
    """A model's own name, without its maker and the date of its release: claude-opus-4-5-20251101 is opus-4-5."""
    return RELEASE.sub("", MAKER.sub("", model)) or model
