"""A call is priced by the table's price on its day. A model that the table does not have gets no price."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import BadSettings
from recollect.model import Usage
from recollect.prices import TABLE, Price, cost_of, load_prices, read_rows
from recollect.prices.model_names import model_names


def at(day: str) -> int:
    return round(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000)


NOW = at("2026-11-19")


def price(model: str, day: str = "2026-11-19", extension: Path | None = None) -> Price | None:
    return load_prices(str(extension) if extension else None).price_of(model, at(day))


# ---- names

SAME = {
    "claude-opus-4-5": [
        "claude-opus-4-5-20251101",
        "claude-opus-4.5",
        "claude-4.5-opus-thinking",
        "anthropic/claude-opus-4.5",
        "openrouter/anthropic/claude-opus-4-5",
        "us.anthropic.claude-opus-4-5-20251101-v1:0",
        "bedrock/anthropic.claude-opus-4-5-20251101-v1:0",
        "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-5-20251101-v1:0",
        "vertex_ai/claude-opus-4-5@20251101",
        "claude-opus-4-5-latest",
        "Claude-Opus-4-5[1m]",
    ],
    "claude-sonnet-4": ["claude-sonnet-4-0", "claude-4-sonnet", "claude-sonnet-4-20250514"],
    "claude-3-5-haiku": ["claude-3-5-haiku-20241022", "claude-haiku-3.5", "claude-3.5-haiku"],
    "gemini-2.5-pro": ["models/gemini-2.5-pro", "google/gemini-2.5-pro", "gemini/gemini-2.5-pro", "gemini-2-5-pro"],
    "gpt-5.5": ["openai/gpt-5.5", "gpt-5.5-high", "gpt-5.5 ", "azure/gpt-5.5-2026-04-23"],
    "gpt-5.1-codex-max": ["gpt-5.1-codex-max-xhigh"],
    "kimi-k2.7-code": ["moonshot-ai/kimi-k2.7-code"],
    "glm-5.2": ["z-ai/glm-5.2", "GLM-5.2"],
}


@pytest.mark.parametrize(("model", "written"), [(model, name) for model, names in SAME.items() for name in names])
def test_a_model_is_found_by_what_logs_call_it(model: str, written: str) -> None:
    assert price(model) is not None
    assert price(written) == price(model)


@pytest.mark.parametrize(
    "written",
    [
        *("", " ", "<synthetic>", "haiku", "sonnet", "default", "polly", "gpt-99", "claude-opus-9"),
        "claude-opus-4-6-fast",  # costs more than claude-opus-4-6
        "groq/kimi-k2.5",  # another host of an open model has its own prices
        "accounts/fireworks/models/glm-5.2",
        "ollama/deepseek-chat",
        "deepseek/deepseek-chat:free",
    ],
)
def test_a_model_that_is_not_known_has_no_price(written: str) -> None:
    assert price(written) is None


@given(st.text(max_size=60))
def test_any_name_is_read(written: str) -> None:
    assert all(model_names(written))
    load_prices(None).price_of(written, NOW)


# ---- days


def test_a_call_is_priced_by_its_day() -> None:
    days = ("2026-08-20", "2026-08-21", "2026-11-19")
    assert [found.output for day in days if (found := price("gpt-5.6-sol", day))] == [30_000_000, 20_000_000, 20_000_000]
    assert [found.input for day in ("2025-06-09", "2025-06-10") if (found := price("o3", day))] == [10_000_000, 2_000_000]


def test_the_first_price_holds_for_earlier_calls() -> None:
    assert price("claude-opus-4-8", "2026-01-01") == price("claude-opus-4-8")


def test_a_price_may_end() -> None:
    assert price("deepseek-chat", "2026-03-31") is not None
    assert price("deepseek-chat", "2026-04-01") is None


# ---- the table


def test_every_row_names_a_source_and_a_date() -> None:
    text = TABLE.read_text("utf-8")
    for row in read_rows(TABLE):
        assert f"\n{row.source} = " in text.partition("[sources]")[2]
        assert row.since.year >= 2023
        assert row.until is None or row.since < row.until
        assert 0 < row.input < row.output
        assert (row.cache_read or 0) <= row.input


def test_no_model_has_two_prices_from_one_day() -> None:
    rows = [(name, row.since) for row in read_rows(TABLE) for model in row.models() for name in model_names(model)[:1]]
    assert len(rows) == len(set(rows))


# ---- costs


def test_a_cost_is_in_whole_micro_dollars_by_kind_of_token() -> None:
    usage = Usage(input=1_000, output=2_000, cache_read=3_000, cache_write=4_000, reasoning=1_500, cache_write_1h=1_000)
    found = price("claude-opus-4-5")
    assert found == Price(5_000_000, 25_000_000, 500_000, 6_250_000, 10_000_000)
    assert cost_of(usage, found) == 5_000 + 50_000 + 1_500 + 3_000 * 6.25 + 1_000 * 10
    assert cost_of(Usage(input=1), Price(1_500_000, 0, 0, 0)) == 2
    assert cost_of(Usage(), found) == 0


def test_tokens_cost_as_much_together_as_apart() -> None:
    """But for the rounding to a micro-dollar."""
    found = price("gpt-5-nano")
    assert found is not None
    parts = [Usage(input=number, output=number * 2, cache_read=number * 3) for number in range(1, 50)]
    apart = sum(cost_of(part, found) for part in parts)
    assert abs(apart - cost_of(sum(parts, Usage()), found)) <= len(parts)


# ---- the owner's prices

OWN = """
[[price]]
model = ["acme-coder", "Acme/Coder-2"]
input = 0.5
output = 2

[[price]]
model = "claude-opus-4-8"
from = 2026-10-01
input = 1
output = 2

[[price]]
model = "local-*"
input = 0
output = 0
"""


def test_the_owners_prices_extend_and_override_the_table(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text(OWN)
    assert price("acme-coder", extension=own) == Price(500_000, 2_000_000, 500_000, 500_000, 500_000)
    assert price("acme/coder-2", extension=own) == price("ACME-CODER", extension=own)
    assert price("local-llama", extension=own) == Price(0, 0, 0, 0, 0)
    cheap = price("anthropic/claude-opus-4.8", extension=own)
    assert cheap is not None and cheap.input == 1_000_000
    assert price("claude-opus-4-8", "2026-09-30", extension=own) == price("claude-opus-4-8", "2026-09-30")
    assert price("gpt-5.5", extension=own) == price("gpt-5.5")


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text('[[price]]\nmodel = "a"\ninput = 1\noutput = 1\n')
    assert price("a", extension=own) == Price(*[1_000_000] * 5)
    own.write_text('[[price]]\nmodel = "a"\ninput = 22\noutput = 22\n')
    assert price("a", extension=own) == Price(*[22_000_000] * 5)


BROKEN = {
    '[[price]]\nmodel = "a"\noutput = 2\n': "price 1 (a): Object missing required field `input`",
    '[[price]]\nmodel = "a"\ninput = 1\noutput = 1\n[[price]]\nmodel = "b"\ninput = "much"\noutput = 2\n': (
        "price 2 (b): Expected `float`, got `str` - at `$.input`"
    ),
    '[[price]]\nmodel = "a"\ninput = -1\noutput = 2\n': "price 1 (a): Expected `float` >= 0.0 - at `$.input`",
    '[[price]]\nmodel = "a"\ninput = nan\noutput = 2\n': "price 1 (a)",
    '[[price]]\nmodel = ""\ninput = 1\noutput = 2\n': "price 1 (): a model has no name",
    '[[price]]\nmodel = "a"\ninputs = 1\n': "price 1 (a): Object",
    "[price": "are not TOML",
    "prices = 3\n": "must be tables named [[price]]; found 'prices'",
    "price = 3\n": "must be tables named [[price]]",
    "price = [3]\n": "price 1: Expected `object`, got `int`",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_is_named_with_row_and_reason_and_breaks_nothing(tmp_path: Path, text: str) -> None:
    own = tmp_path / "prices.toml"
    own.write_text(text)
    with pytest.raises(BadSettings) as raised:
        read_rows(own)
    assert str(own) in str(raised.value)
    assert BROKEN[text] in str(raised.value)
    table = load_prices(str(own))
    assert table.problem == str(raised.value)
    assert table.price_of("gpt-5.5", NOW) == price("gpt-5.5")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    table = load_prices(str(tmp_path / "none.toml"))
    assert table.problem == f"The prices in {tmp_path / 'none.toml'} cannot be read: No such file or directory"
    assert table.price_of("gpt-5.5", NOW) is not None
