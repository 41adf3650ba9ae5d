"""A snippet shows in few characters why its event was found, and marks every cut."""

import pytest

from recollect.search import parse
from recollect.snippet import CHUNK, MAX_SNIPPET, snippet

FILL = "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor " * 20


def cut_snippet(text: str, query: str) -> tuple[str, bool]:
    return snippet(text, parse(query).word_groups())


def snippet_text(text: str, query: str) -> str:
    return cut_snippet(text, query)[0]


def test_a_short_text_is_shown_whole() -> None:
    assert cut_snippet("the oven door is open", "oven") == ("the oven door is open", False)


def test_white_space_is_folded() -> None:
    assert snippet_text("the\n\n  oven\tdoor\u2028 is\r\nopen ", "oven") == "the oven door is open"


@pytest.mark.parametrize("query", ["oven", "nothing that occurs", "?!", "lorem amet"])
@pytest.mark.parametrize("size", [MAX_SNIPPET - 1, MAX_SNIPPET, MAX_SNIPPET + 1, 1_000, 100_000])
def test_a_snippet_is_within_its_limit_and_marks_every_cut(query: str, size: int) -> None:
    text = (FILL * (size // len(FILL) + 1))[: size - 5] + " oven"
    part, truncated = cut_snippet(text, query)
    assert 0 < len(part) <= MAX_SNIPPET
    assert truncated is (size > MAX_SNIPPET)


@pytest.mark.parametrize("text", ["x" * 5_000, "界" * 5_000, "🥐" * 5_000, "e\u0301" * 5_000])
def test_a_text_without_spaces_is_cut_too(text: str) -> None:
    part, truncated = cut_snippet(text, "oven")
    assert len(part) <= MAX_SNIPPET
    assert truncated


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("oven", "oven"),
        ("OVEN", "oven"),
        ("retry", "retry"),
        ("memory", "memory"),
        ("queries", "query"),
        ("migration", "migrations"),
        ("getUserName", "getUserName"),
        ("auth_token", "auth_token"),
        ("src/auth.ts", "src/auth.ts"),
        ("ERR_AUTH_FAILED", "ERR_AUTH_FAILED"),
        ("cafe", "café"),
        ("Größe", "Größe"),
        ("烤箱", "烤箱"),
        ('"oven route"', "oven route"),
    ],
)
@pytest.mark.parametrize("before", [0, 1, 5])
@pytest.mark.parametrize("after", [0, 1, 5])
def test_a_snippet_shows_the_match_at_any_place(query: str, word: str, before: int, after: int) -> None:
    assert word in snippet_text(f"{FILL * before} {word} {FILL * after}", query)


def test_the_match_has_words_before_and_after_it() -> None:
    start = snippet_text(f"{FILL}oven {FILL}", "oven").index("oven")
    assert 20 < start < MAX_SNIPPET - 100


def test_the_place_with_the_most_query_words_wins() -> None:
    text = f"oven {FILL} route {FILL} the oven route is open {FILL} open"
    assert "oven route is open" in snippet_text(text, "oven route open")


def test_a_cut_is_marked_and_falls_between_words() -> None:
    part = snippet_text(f"{FILL}oven {FILL}", "oven")
    assert part.startswith("…") and part.endswith("…")
    assert set(part.strip("…").split()) <= {*FILL.split(), "oven"}


def test_the_ends_of_a_text_are_not_marked_as_cuts() -> None:
    assert not snippet_text(f"oven {FILL}", "oven").startswith("…")
    assert not snippet_text(f"{FILL} oven", "oven").endswith("…")


@pytest.mark.parametrize("before", [CHUNK - 2, CHUNK, 5 * CHUNK])
def test_a_match_far_into_a_very_long_text_is_snippet_text(before: int) -> None:
    part, truncated = cut_snippet("word " * (before // 5) + "oven" + " word" * 1_000, "oven")
    assert "oven" in part
    assert len(part) <= MAX_SNIPPET
    assert truncated


def test_a_text_of_much_white_space_is_shown_from_its_first_word() -> None:
    assert snippet_text(" " * 5_000 + "oven", "oven").strip("…") == "oven"
    assert snippet_text("oven" + " " * 5_000 + "more", "oven").startswith("oven")


def test_a_word_inside_another_word_is_not_the_match() -> None:
    assert "the oven is" in snippet_text(f"woven {FILL} the oven is hot {FILL}", "oven")
