"""Amounts for people."""

import pytest

from recollect.shown_amounts import cost_text, duration_text, model_text, tokens_text


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (9_949, "9.9k"),
        (9_950, "10k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (1_234_567, "1.2M"),
        (45_600_000, "46M"),
        (7_890_000_000, "7.9G"),
        (1_234_000_000_000, "1,234G"),
    ],
)
def test_tokens_are_short(count: int, shown: str) -> None:
    assert tokens_text(count) == shown


@pytest.mark.parametrize(
    ("usd", "source", "shown"),
    [
        (None, "unknown", "–"),
        (0.0, "recorded", "$0.00"),
        (0.004, "estimated", "<$0.01"),
        (0.42, "recorded", "$0.42"),
        (12.1, "estimated", "~$12.10"),
        (1234.5, "estimated", "~$1,234"),
    ],
)
def test_an_estimated_cost_is_marked(usd: float | None, source: str, shown: str) -> None:
    assert cost_text(usd, source) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.2, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (3_599, "59 min"),
        (3_600, "1 h"),
        (12_000, "3 h 20 min"),
        (187_200, "2 d 4 h"),
    ],
)
def test_a_duration_has_two_units_at_most(seconds: float, shown: str) -> None:
    assert duration_text(seconds) == shown


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        ("claude-opus-4-5-20251101", "opus-4-5"),
        ("anthropic/claude-sonnet-4.5", "sonnet-4.5"),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", "sonnet-4"),
        ("gpt-5.3-codex", "gpt-5.3-codex"),
        ("openai/gpt-5", "gpt-5"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gemini-2.5-pro", "gemini-2.5-pro"),
        ("models/gemini-2.5-flash-latest", "gemini-2.5-flash"),
        ("claude-", "claude-"),
        ("<synthetic>", "<synthetic>"),
    ],
)
def test_a_model_is_shown_by_its_own_name(model: str, shown: str) -> None:
    assert model_text(model) == shown
