"""Layer 1 of the memory: the requests that `search` accepts and refuses, and the shape of its answers."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Person
from tests.contract.memory_archive import PROMPTS, serve_archive
from tests.contract.memory_client import OBSERVATION, QUOTED, TOKEN, Memory
from tests.logs import Claude, write

pytestmark = pytest.mark.process

NOT_A_QUERY = "Query must be string or array"
WRONG_NUMBER = "Query array must have 2-5 items"
TOO_SHORT = "Query must be at least 2 characters"
TOO_LONG = "Query must be at most 4096 characters"
BAD_DATE = "Invalid date format"
BAD_LIMIT = "limit must be an integer from 1 to 50"
ROW = ["id", "type", "title", "facts", "project", "date", "score", "path", "startLine", "endLine"]
CONVERSATION = ["path", "project", "date", "score", "summary", "snippet"]
HIT = re.compile(r"### (\d+)\. \[(.+)\] - (\d{4}-\d\d-\d\d)\n")


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with serve_archive(tmp_path_factory.mktemp("memory")) as client:
        yield client


def only_with_a_string(*names: str) -> str:
    return f"{', '.join(names)} can only be used with a single string query; an array finds conversations"


def must_be_strings(name: str) -> str:
    return f"{name} must be an array of non-empty strings"


# ---- refusals and their texts

REFUSED: list[tuple[dict[str, Any], str]] = [
    # C3: queries
    ({}, NOT_A_QUERY),
    *(({"query": bad}, NOT_A_QUERY) for bad in (None, 7, True, {"text": "jwt"}, ["jwt", 7], ["jwt", None], [["a", "b"]])),
    *(({"query": bad}, WRONG_NUMBER) for bad in ([], ["jwt"], ["aa", "bb", "cc", "dd", "ee", "ff"])),
    *(({"query": bad}, TOO_SHORT) for bad in ("", "j", "  j\n", "\u3000", "🛟", "語", ["jwt", "j"], ["jwt", "  "])),
    ({"query": "q" * 4_097}, TOO_LONG),
    ({"query": "🛟" * 4_097}, TOO_LONG),
    ({"query": ["jwt", "q" * 4_097]}, TOO_LONG),
    # C7: limits
    *(({"query": "jwt", "limit": bad}, BAD_LIMIT) for bad in (0, -1, 51, 10**30, 10.5, True, "10", [10])),
    # C8: dates
    *(
        ({"query": "jwt", name: bad}, BAD_DATE)
        for name in ("after", "before")
        for bad in ("2026-02-30", "2025-02-29", "2026-13-01", "0000-01-01", "2026-1-5", "20260105", "2026-01-05T00:00:00Z",
                    " 2026-01-05", "yesterday", "", "２０２６-01-05", 20260105, ["2026-01-05"])
    ),
    ({"query": ["jwt", "basket"], "after": "2026-02-30"}, BAD_DATE),
    # C9: filters are lists of words
    *(
        ({"query": "jwt", name: bad}, must_be_strings(name))
        for name in ("projects", "types", "concepts", "files")
        for bad in ("api", [""], ["api", 5], [None], {"api": True})
    ),
    ({"query": ["jwt", "basket"], "projects": "api"}, must_be_strings("projects")),
    # C10: arguments of observations only
    ({"query": ["jwt", "basket"], "types": ["decision"]}, only_with_a_string("types")),
    ({"query": ["jwt", "basket"], "concepts": ["JWT"]}, only_with_a_string("concepts")),
    ({"query": ["jwt", "basket"], "files": ["auth.ts"]}, only_with_a_string("files")),
    ({"query": ["jwt", "ab"], "files": ["a"], "types": ["b"]}, only_with_a_string("types", "files")),
    # words from a list
    *(({"query": "jwt", "mode": bad}, "mode must be one of vector, text, both") for bad in ("Text", "semantic", "", 1, ["text"])),
    *(({"query": "jwt", "response_format": bad}, "response_format must be one of markdown, json") for bad in ("JSON", "text", 1)),
    # names
    ({"query": "jwt", "n_hits": 5}, "unknown argument: n_hits"),
    ({"query": "jwt", "Mode": None}, "unknown argument: Mode"),
    ({"query": "jwt", "project": ["api"]}, "unknown argument: project"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=[str(arguments)[:60] for arguments, _ in REFUSED])
def test_a_bad_request_is_refused_with_the_text_of_the_contract(
    memory: Memory, arguments: dict[str, Any], message: str
) -> None:
    """C3, C7, C8, C9, C10."""
    assert memory.refusal("search", **arguments) == message


def test_a_call_without_arguments_is_a_request_without_a_query(memory: Memory) -> None:
    assert memory.text_and_error("search", None) == (NOT_A_QUERY, True)


# ---- accepted requests


def test_null_means_the_default(memory: Memory) -> None:
    names = ("mode", "limit", "after", "before", "projects", "types", "concepts", "files", "response_format")
    assert memory.text("search", query="lantern", **dict.fromkeys(names)) == memory.text("search", query="lantern")
    pair = ["jwt", "basket"]
    assert memory.text("search", query=pair, **dict.fromkeys(names)) == memory.text("search", query=pair)
    same = memory.text("search", query="lantern", mode="both", limit=10, response_format="markdown")
    assert same == memory.text("search", query="lantern")


@pytest.mark.parametrize("mode", ["text", "vector", "both"])
@pytest.mark.parametrize(
    "query",
    [
        "q" * 4_096,
        "🛟" * 4_096,
        "語" * 4_096,
        "lantern " + " ".join(f"w{number}" for number in range(800))[:4_080],
        "lantern" + ' "a b"' * 600,
        "lantern-" * 500,
        'NEAR("lantern" , 2) AND title:* OR (x NOT y) ^ {a b}: -"',
        "lantern\0hull",
        "é" * 2,
        '""',
        "!!",
    ],
    ids=lambda query: f"{len(query)} {query[:12]!a}",
)
def test_any_query_within_the_limits_is_valid(memory: Memory, query: str, mode: str) -> None:
    """C3: 4,096 characters pass, and none of them is an operator."""
    assert len(query) <= 4_096
    text = memory.text("search", query=query, mode=mode)
    assert text.startswith(("## Search Results (", "No observations found"))
    assert memory.text("search", query=[query, "lantern"], mode=mode)


def test_words_are_found_by_a_query_of_a_thousand_words(memory: Memory) -> None:
    query = "lantern hull " + " ".join(f"w{number}" for number in range(800))[:4_000]
    assert "Lantern hull" in memory.titles(query, mode="text")


def test_one_emoji_is_too_short_for_the_memory_and_valid_for_the_history(memory: Memory) -> None:
    assert memory.refusal("search", query="🛟") == TOO_SHORT
    assert memory.data("search_sessions", query="🛟")["results"] == []


def test_two_characters_after_trimming_are_enough(memory: Memory) -> None:
    assert memory.text("search", query="  zq\n") == "No observations found"


# ---- C1: observations in Markdown


def test_a_string_finds_observations_under_the_headings_of_the_contract(memory: Memory) -> None:
    """C1."""
    identity = memory.record(
        type="decision",
        title="Velvet tokens live an hour",
        facts=["Velvet was measured", "It is short"],
        evidence_ids=[memory.evidence("And what about refresh tokens")],
    )
    text = memory.text("search", query='"velvet tokens"')
    (row,) = memory.search_rows('"velvet tokens"')
    log = memory.person.claude_log("00000001-0000-4000-8000-000000000000", "-work-api")
    assert text == (
        f"## Search Results (1 observation)\n{QUOTED}\n\n"
        "### 1. [api] - 2026-01-10\n"
        f"**ID:** {identity}\n"
        "**Type:** decision\n"
        f"**Score:** {row['score']:.2f}\n"
        f"**Path:** `{log}` (lines 14-14)\n\n"
        "**Title:** Velvet tokens live an hour\n"
        "**Facts:**\n"
        "- Velvet was measured\n"
        "- It is short"
    )


def test_several_observations_are_numbered_counted_and_divided(memory: Memory) -> None:
    text = memory.text("search", query="lantern", limit=5)
    head, *parts = text.split("\n\n---\n\n")
    assert head.startswith(f"## Search Results (5 observations)\n{QUOTED}\n\n### 1. [")
    assert [number for number, _, _ in HIT.findall(text)] == ["1", "2", "3", "4", "5"]
    assert len(parts) == 4
    assert len(OBSERVATION.findall(text)) == len({*OBSERVATION.findall(text)}) == 5


def test_an_observation_without_facts_has_no_heading_for_them(memory: Memory) -> None:
    text = memory.text("search", query='"lantern sail"')
    assert text.endswith("**Title:** Lantern sail")
    assert "Facts" not in text


def test_nothing_found_is_a_success_in_words(memory: Memory) -> None:
    assert memory.text("search", query="xyzzyquux") == "No observations found"
    assert memory.text("search", query=["xyzzyquux", "plughplover"]) == "No conversations found"
    assert json.loads(memory.text("search", query="xyzzyquux", response_format="json")) == {"results": [], "total": 0}


def test_facts_in_a_list_are_few_and_short_and_complete_in_the_details(memory: Memory) -> None:
    facts = [f"Damask {number} " + "is a fabric " * 30 for number in range(6)]
    evidence = [memory.evidence("Customers lose their basket")]
    identity = memory.record(type="general", title="Damask", facts=facts, evidence_ids=evidence)
    text = memory.text("search", query="damask", mode="text")
    listed = [line for line in text.splitlines() if line.startswith("- ")]
    assert [line[:10] for line in listed] == ["- Damask 0", "- Damask 1", "- Damask 2"]
    assert all(len(line) < 170 and line.endswith("…") for line in listed)
    assert all(fact.strip() in memory.text("get_observations", ids=[identity]) for fact in facts)


# ---- C12, C13: JSON and scores


def test_json_has_exactly_the_keys_of_the_contract(memory: Memory) -> None:
    """C12."""
    answer = json.loads(memory.text("search", query="lantern hull", response_format="json"))
    assert list(answer) == ["results", "total"]
    assert answer["total"] == len(answer["results"]) > 1
    assert [list(row) for row in answer["results"]] == [ROW] * answer["total"]
    row = answer["results"][0]
    assert (row["id"], row["type"], row["title"]) == (memory.ids["hull"], "decision", "Lantern hull")
    assert (row["facts"], row["project"], row["date"]) == ([], "api", "2026-01-10")
    assert (row["startLine"], row["endLine"]) == (14, 14)


def test_json_and_markdown_have_the_same_results(memory: Memory) -> None:
    rows = memory.search_rows("lantern tokens", limit=50)
    text = memory.text("search", query="lantern tokens", limit=50)
    assert OBSERVATION.findall(text) == [row["id"] for row in rows]
    assert re.findall(r"\*\*Score:\*\* (.+)", text) == [f"{row['score']:.2f}" for row in rows]
    assert [found[1:] for found in HIT.findall(text)] == [(row["project"], row["date"]) for row in rows]
    assert re.findall(r"\*\*Path:\*\* `(.+)` \(lines (\d+)-(\d+)\)", text) == [
        (row["path"], str(row["startLine"]), str(row["endLine"])) for row in rows
    ]


@pytest.mark.parametrize("mode", ["text", "vector", "both"])
@pytest.mark.parametrize("query", ["lantern tokens", "JWT authentication", "how long do access tokens live", "basket"])
def test_scores_are_between_0_and_1_and_in_order(memory: Memory, query: str, mode: str) -> None:
    """C13."""
    scores = [row["score"] for row in memory.search_rows(query, mode=mode, limit=50)]
    assert scores
    assert all(0 < score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)


def test_equal_shown_scores_are_in_the_order_of_their_dates(memory: Memory) -> None:
    rows = memory.search_rows("lantern", mode="text", limit=50)
    assert len({row["score"] for row in rows}) < len(rows), "otherwise nothing is tested"
    assert [(row["score"], row["date"]) for row in rows] == sorted(
        [(row["score"], row["date"]) for row in rows], reverse=True
    )


def test_text_mode_finds_an_identifier_whole_where_it_occurs_whole(memory: Memory) -> None:
    """Another observation has `failed` and `auth`, but not the identifier."""
    identity = memory.record(
        type="discovery", title="The auth proxy failed its err check", evidence_ids=[memory.evidence(PROMPTS["garden"])]
    )
    assert identity in {row["id"] for row in memory.search_rows("auth failed", mode="text", limit=50)}
    assert identity in {row["id"] for row in memory.search_rows("ERR_AUTH_BROKEN", mode="text", limit=50)}, (
        "no observation has it whole"
    )
    rows = memory.search_rows("ERR_AUTH_FAILED", mode="text", limit=50)
    assert rows
    assert identity not in {row["id"] for row in rows}
    for row in rows:
        (first, last), log = (row["startLine"], row["endLine"]), row["path"]
        assert "ERR_AUTH_FAILED" in memory.text("read", path=log, startLine=first, endLine=last)


@pytest.mark.parametrize("mode", ["text", "vector", "both"])
def test_the_same_query_has_the_same_answer(memory: Memory, mode: str) -> None:
    first = memory.text("search", query="lantern", mode=mode, limit=50)
    assert first == memory.text("search", query="lantern", mode=mode, limit=50)
    few = memory.search_rows("lantern", mode=mode, limit=3)
    assert few == memory.search_rows("lantern", mode=mode, limit=50)[:3], "a limit only cuts off"


@pytest.mark.parametrize("limit", [1, 2, 50])
def test_no_more_than_the_limit_is_shown(memory: Memory, limit: int) -> None:
    """C7."""
    assert len(memory.search_rows("lantern", limit=limit)) == min(limit, len(memory.search_rows("lantern", limit=50)))
    assert len(memory.search_rows(["jwt", "token"], limit=limit)) <= limit


# ---- C14: the cost of layer 1


def test_an_observation_in_a_list_costs_about_60_tokens_and_200_with_everything(memory: Memory) -> None:
    """C14, on the rule-based observations of an ordinary session."""
    text = memory.text("search", query="JWT authentication access tokens ERR_AUTH_FAILED", projects=["api"], limit=50)
    parts = text.partition("\n\n")[2].split("\n\n---\n\n")
    rule_based = [part for part in parts if "Lantern" not in part and "Velvet" not in part]
    assert len(rule_based) >= 2
    assert max(len(part) for part in rule_based) / TOKEN <= 200
    bare = [re.sub(r"\*\*Path:.*\n", "", part).partition("\n**Facts:**")[0] for part in rule_based]
    assert max(len(part) for part in bare) / TOKEN <= 60


# ---- C2: conversations


def test_an_array_finds_the_conversations_that_contain_all_concepts(memory: Memory) -> None:
    """C2."""
    logs = {row["path"]: row["project"] for row in memory.search_rows(["React Router", "checkout", "JWT"], mode="text")}
    shop = memory.person.claude_log("00000002-0000-4000-8000-000000000000", "-work-shop")
    assert logs == {str(shop): "shop"}
    both = {row["project"] for row in memory.search_rows(["jwt", "expiry"], mode="text")}
    assert both == {"shop"}
    assert {row["project"] for row in memory.search_rows(["jwt", "token"], mode="text")} == {"api"}
    assert memory.search_rows(["React Router", "stratification"], mode="text") == []


@pytest.mark.parametrize("mode", ["text", "vector", "both"])
def test_a_conversation_without_one_of_the_concepts_is_not_found(memory: Memory, mode: str) -> None:
    found = {row["project"] for row in memory.search_rows(["lavender seeds", "access tokens"], mode=mode)}
    assert found == set()


def test_conversations_come_under_the_headings_of_the_contract(memory: Memory) -> None:
    """C2 and C12."""
    text = memory.text("search", query=["React Router", "checkout"], mode="text")
    (row,) = memory.search_rows(["React Router", "checkout"], mode="text")
    assert list(row) == CONVERSATION
    assert text == (
        f"## Search Results (1 conversation)\n{QUOTED}\n\n"
        "### 1. [shop] - 2026-01-15\n"
        f"**Path:** `{row['path']}`\n"
        f"**Score:** {row['score']:.2f}\n\n"
        f"Summary: {row['summary']}\n\n"
        f"> {row['snippet']}"
    )
    assert "React Router" in row["snippet"]
    assert row["summary"]
    assert 0 < row["score"] <= 1


def test_conversations_are_narrowed_by_project_and_date(memory: Memory) -> None:
    """C8 and C9, for the filters that an array accepts."""
    pair = ["jwt", "had nothing to do"]
    assert [row["date"] for row in memory.search_rows(pair, mode="text")] == ["2026-01-15"]
    assert memory.search_rows(pair, mode="text", projects=["API", "garden"]) == []
    assert len(memory.search_rows(pair, mode="text", projects=["Shop"])) == 1
    assert len(memory.search_rows(pair, mode="text", after="2026-01-15", before="2026-01-16")) == 1
    assert memory.search_rows(pair, mode="text", before="2026-01-15") == []
    assert memory.search_rows(pair, mode="text", after="2026-01-16") == []


def test_the_path_of_every_conversation_can_be_read(memory: Memory) -> None:
    rows = memory.search_rows(["jwt", "token"], limit=50)
    assert rows
    for row in rows:
        assert f"# Project: {row['project']}\n" in memory.text("read", path=row["path"])


def test_text_mode_distinguishes_an_identifier_from_a_sentence_with_the_same_words(tmp_path: Path) -> None:
    """`err, kite. Lost` has the words of `ERR_KITE_LOST` side by side, but is not that identifier."""
    person = Person(tmp_path)
    exchanges = {
        "the kite fails": "It failed with ERR_KITE_LOST because the line broke, so I fixed the reel.",
        "the kite flies": "Fixed: err, kite. Lost line was the cause, because it broke. We decided to use a new one.",
    }
    for number, (prompt, answer) in enumerate(exchanges.items()):
        log = Claude(f"{number:08x}-5e55-4a1c-8b0d-00000000000b", start=60 * number)
        write(person.claude_log(log.session), [log.prompt(prompt), log.says(answer)])
    person.run("sync")
    person.run("distil")
    with person.mcp() as server:
        arguments = {"query": "ERR_KITE_LOST", "mode": "text", "response_format": "json"}
        answer = server.request("tools/call", {"name": "search", "arguments": arguments})
        sessions = {row["path"] for row in json.loads(answer["result"]["content"][0]["text"])["results"]}
    assert len(sessions) == 1
    assert "00000000-" in sessions.pop()
