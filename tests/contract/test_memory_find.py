"""`search` finds observations by words and by meaning, filtered by day, project, type and file."""

from collections.abc import Iterator
from typing import Any

import pytest

from recollect.index.words import STOP, words
from tests.contract.memory_archive import serve_archive
from tests.contract.memory_client import Memory

pytestmark = pytest.mark.process

ALL = {"hull", "keel", "mast", "sail", "brass", "clock", "seed"}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with serve_archive(tmp_path_factory.mktemp("memory")) as client:
        yield client


def lanterns(memory: Memory, mode: str = "text", **filters: Any) -> set[str]:
    """The names of the recorded observations that a search with these filters finds."""
    rows = memory.search_rows("lantern", mode=mode, limit=50, **filters)
    found = [row["title"].removeprefix("Lantern ") for row in rows if row["title"].startswith("Lantern ")]
    assert len(found) == len({*found})
    return {*found}


# ---- C8, C9: filters, alone and together

FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, ALL),
    # days: from the first on, before the second
    ({"after": "2026-01-20"}, {"clock", "seed"}),
    ({"before": "2026-01-20"}, {"hull", "keel", "mast", "sail", "brass"}),
    ({"after": "2026-01-19", "before": "2026-01-20"}, {"brass"}),
    ({"after": "2026-01-20", "before": "2026-01-21"}, {"clock"}),
    ({"after": "2026-01-20", "before": "2026-01-20"}, set()),
    ({"after": "2026-02-02"}, set()),
    ({"after": "0001-01-01", "before": "9999-12-31"}, ALL),
    ({"after": "2024-02-29"}, ALL),
    # projects, by name and in any case
    ({"projects": ["api"]}, {"hull", "keel"}),
    ({"projects": ["API", "garden"]}, {"hull", "keel", "seed"}),
    ({"projects": ["ap"]}, set()),
    ({"projects": []}, ALL),
    # types: two spellings of one are one
    ({"types": ["decision"]}, {"hull", "mast"}),
    ({"types": ["Decision", "pattern"]}, {"hull", "mast", "sail"}),
    ({"types": ["bug-fix"]}, {"keel"}),
    ({"types": ["bugfix"]}, {"keel"}),
    ({"types": ["Bug Fix"]}, {"keel"}),
    ({"types": ["bug_fix"]}, {"keel"}),
    ({"types": ["diagnosis"]}, {"clock"}),
    ({"types": ["weather"]}, set()),
    # concepts, whole and in any case
    ({"concepts": ["JWT"]}, {"hull", "keel"}),
    ({"concepts": ["jwt", "route LOADERS"]}, {"hull", "keel", "mast"}),
    ({"concepts": ["middleware"]}, {"hull", "seed"}),
    ({"concepts": ["loaders"]}, set()),
    # files: by base name or by the tail of a path, changed or read; never by the end of a name
    ({"files": ["auth.ts"]}, {"hull", "sail"}),
    ({"files": ["AUTH.ts"]}, {"hull", "sail"}),
    ({"files": ["src/auth.ts"]}, {"hull"}),
    ({"files": ["./src/auth.ts"]}, {"hull"}),
    ({"files": ["lib/auth.ts"]}, {"sail"}),
    ({"files": ["shop/lib/auth.ts"]}, {"sail"}),
    ({"files": ["/work/shop/lib/auth.ts"]}, {"sail"}),
    ({"files": ["jwt.ts"]}, {"keel"}),
    ({"files": ["middleware/jwt.ts", "preauth.ts"]}, {"keel", "mast"}),
    ({"files": ["uth.ts"]}, set()),
    ({"files": ["ib/auth.ts"]}, set()),
    ({"files": ["auth"]}, set()),
    ({"files": ["lib"]}, set()),
    ({"files": ["%"]}, set()),
    ({"files": ["a_b/50%.ts"]}, {"sail"}),
    ({"files": ["50%.ts"]}, {"sail", "seed"}),
    ({"files": ["x/auth.ts"]}, set()),
    # all filters together
    ({"types": ["decision"], "projects": ["api"]}, {"hull"}),
    ({"types": ["decision"], "concepts": ["jwt"], "files": ["auth.ts"], "projects": ["api"]}, {"hull"}),
    ({"types": ["decision", "bug-fix"], "concepts": ["JWT", "middleware"], "before": "2026-01-15"}, {"hull", "keel"}),
    ({"types": ["pattern"], "concepts": ["jwt"]}, set()),
    ({"files": ["auth.ts"], "after": "2026-01-15", "before": "2026-01-16"}, {"sail"}),
    ({"concepts": ["middleware"], "after": "2026-01-11"}, {"seed"}),
]


@pytest.mark.parametrize("mode", ["text", "vector", "both"])
@pytest.mark.parametrize(("filters", "expected"), FILTERS, ids=[str(filters) for filters, _ in FILTERS])
def test_a_filter_gives_exactly_the_matching_observations(
    memory: Memory, filters: dict[str, Any], expected: set[str], mode: str
) -> None:
    """C8 and C9, in every mode."""
    assert lanterns(memory, mode, **filters) == expected


def test_filters_apply_to_rule_based_observations_too(memory: Memory) -> None:
    rows = memory.search_rows("JWT authentication", types=["bug-fix", "decision"], projects=["api"], limit=50)
    assert {row["type"] for row in rows} <= {"bug-fix", "decision"}
    assert {row["project"] for row in rows} == {"api"}
    assert any(not row["title"].startswith("Lantern ") for row in rows)


@pytest.mark.parametrize("path", ["C:\\work\\till\\cash.py", "till\\cash.py"])
def test_a_file_of_another_system_is_found_by_its_name(memory: Memory, path: str) -> None:
    """C9: a path may have the separators of another system."""
    identity = memory.record(
        type="config", title=f"Cash in {path}", files_modified=[path], evidence_ids=[memory.evidence("After the bell")]
    )
    for name in ("cash.py", "till/cash.py", "till\\cash.py"):
        assert identity in [row["id"] for row in memory.search_rows("cash", files=[name], limit=50)], name


# ---- C4: exact words


@pytest.mark.parametrize("query", ["ERR_AUTH_FAILED", "err_auth_failed", "Err_Auth_Failed", '"ERR_AUTH_FAILED"'])
def test_an_error_code_is_found_in_any_case(memory: Memory, query: str) -> None:
    """C4: in a rule-based observation of a session."""
    best = memory.search_rows(query, mode="text")[0]
    assert best["project"] == "api"
    assert "ERR_AUTH_FAILED" in memory.text("get_observations", ids=[best["id"]])


@pytest.mark.parametrize("place", ["title", "subtitle", "narrative", "facts", "concepts", "files_read", "files_modified"])
def test_a_word_is_found_in_every_field_of_an_observation(memory: Memory, place: str) -> None:
    """C4."""
    word = f"ERR_{place.upper()}_E77"
    value = [f"see {word}"] if place in {"facts", "concepts", "files_read", "files_modified"} else f"see {word}"
    arguments = {"title": f"Somewhere in {place[:4]}", place: value}
    evidence = memory.evidence("Which seeds need stratification")
    identity = memory.record(type="general", evidence_ids=[evidence], **arguments)
    for query in (word, word.lower()):
        assert [row["id"] for row in memory.search_rows(query, mode="text")][:1] == [identity]


def test_text_mode_finds_only_observations_that_share_a_word(memory: Memory) -> None:
    assert memory.search_rows("horticulture propagation", mode="text") == []


def test_quoted_words_must_stand_next_to_each_other(memory: Memory) -> None:
    evidence = [memory.evidence("Which seeds need stratification")]
    for title in ("Ochre paint dries", "Paint of ochre dries"):
        memory.record(type="general", title=title, evidence_ids=evidence)
    assert memory.titles('"ochre paint"') == ["Ochre paint dries"]
    assert {*memory.titles("ochre paint", mode="text")} == {"Ochre paint dries", "Paint of ochre dries"}


# ---- C5: meaning

PARAPHRASES = {
    "Passwords are hashed with argon2 before they are stored": "encrypting credentials with a digest",
    "Dates were shown in the wrong timezone for customers abroad": "clock hour offset for foreign clients",
    "Users were logged out because the session cookie expired too early": "authentication timed out for signed-in people",
    "The container image shrank after build tools were removed": "making docker smaller",
    "The nightly backup failed since the disk was full": "archive copy did not work, storage space ran out",
    "Prefer small functions over big classes": "write short methods rather than large objects",
}


def content_words(text: str) -> set[str]:
    return {word for word in words(text) if word not in STOP}


@pytest.fixture(scope="module")
def insights(memory: Memory) -> dict[str, str]:
    evidence = [memory.evidence("Which seeds need stratification")]
    return {title: memory.record(type="general", title=title, evidence_ids=evidence) for title in PARAPHRASES}


@pytest.mark.parametrize(("title", "question"), PARAPHRASES.items(), ids=PARAPHRASES.values())
def test_a_paraphrase_that_shares_no_word_is_found_by_meaning(
    memory: Memory, insights: dict[str, str], title: str, question: str
) -> None:
    """C5."""
    assert content_words(title).isdisjoint(content_words(question)), "otherwise this is not a paraphrase"
    assert insights[title] not in [row["id"] for row in memory.search_rows(question, mode="text", limit=50)]
    assert insights[title] in [row["id"] for row in memory.search_rows(question, mode="vector", limit=3)]


def test_words_that_the_model_does_not_know_find_nothing_by_meaning(memory: Memory) -> None:
    assert memory.text("search", query="xqzzt wvvkjq", mode="vector") == "No observations found"


# ---- C6: hybrid


@pytest.mark.parametrize("query", ["lantern", "JWT authentication", "refresh tokens rotate"])
@pytest.mark.usefixtures("insights")
def test_hybrid_search_shows_nothing_twice(memory: Memory, query: str) -> None:
    """C6: neither an id, nor the same title of the same project and type."""
    rows = memory.search_rows(query, mode="both", limit=50)
    assert len({row["id"] for row in rows}) == len(rows) > 1
    assert len({(row["project"], row["type"], row["title"].lower()) for row in rows}) == len(rows)


@pytest.mark.parametrize("query", ["lantern", "JWT authentication", "passwords hashed"])
@pytest.mark.usefixtures("insights")
def test_hybrid_search_finds_everything_that_text_search_finds(memory: Memory, query: str) -> None:
    by_words = {row["id"] for row in memory.search_rows(query, mode="text", limit=50)}
    assert by_words
    assert by_words <= {row["id"] for row in memory.search_rows(query, mode="both", limit=50)}


@pytest.mark.usefixtures("insights")
def test_a_match_by_words_and_meaning_comes_before_one_of_either(memory: Memory) -> None:
    assert memory.titles("how are passwords hashed and stored", mode="both")[0].startswith("Passwords are hashed")


def test_identical_observations_of_a_project_are_shown_once(memory: Memory) -> None:
    events = [memory.evidence(words) for words in ("Before the bell", "After the bell")]
    for event in events:
        memory.record(type="pattern", title="Sextants drift in the cold", evidence_ids=[event])
    memory.record(
        type="pattern", title="Sextants drift in the cold", evidence_ids=[memory.evidence("Which seeds need stratification")]
    )
    rows = memory.search_rows("sextants drift", limit=50)
    assert sorted(row["project"] for row in rows) == ["garden", "watch"]
