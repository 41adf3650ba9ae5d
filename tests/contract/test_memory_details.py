"""Layer 2 of the memory: `get_observations` gives complete observations in the requested order."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.memory_archive import serve_archive
from tests.contract.memory_client import OBSERVATION, QUOTED, TOKEN, Memory

pytestmark = pytest.mark.process

UNKNOWN = "obs-0123456789abcdef"
BAD_IDS = "ids must be an array of 1 to 20 observation IDs"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with serve_archive(tmp_path_factory.mktemp("memory")) as client:
        yield client


@pytest.fixture(scope="module")
def many(memory: Memory) -> list[str]:
    """Twenty-one observations."""
    evidence = [memory.evidence("Which seeds need stratification")]
    return [memory.record(type="general", title=f"Bead {number}", evidence_ids=evidence) for number in range(21)]


def log_of(memory: Memory, number: int, project: str) -> str:
    return str(memory.person.claude_log(f"{number:08d}-0000-4000-8000-000000000000", f"-work-{project}"))


# ---- C15: layer 1 leads to layer 2


@pytest.mark.parametrize("query", ["JWT authentication", "lantern", "basket checkout", "seeds"])
def test_every_id_that_a_search_gives_opens(memory: Memory, query: str) -> None:
    """C15."""
    rows = memory.search_rows(query, limit=20)
    assert rows
    text = memory.text("get_observations", ids=[row["id"] for row in rows])
    assert text.startswith(f"Retrieved {len(rows)} observation")
    parts = text.partition("\n\n")[2].split("\n\n---\n\n")
    assert len(parts) == len(rows)
    for row, part in zip(rows, parts, strict=True):
        assert part.startswith(f"## [{row['project']}, {row['date']} ")
        assert f"] - {row['type']}: {row['title']}\n" in part
        assert f"**Path:** `{row['path']}` (lines {row['startLine']}-{row['endLine']})" in part
        assert all(f"- {fact}" in part for fact in row["facts"])


def test_the_evidence_in_the_details_opens_in_the_history(memory: Memory) -> None:
    rows = memory.search_rows("JWT authentication", limit=5)
    text = memory.text("get_observations", ids=[row["id"] for row in rows])
    events = {word.strip("`,") for word in text.split() if word.startswith("`event:")}
    assert events
    for event in events:
        assert memory.open(event)["event"]["id"] == event


# ---- C16: every known field, and no empty one


def test_every_field_is_shown_in_the_form_of_the_contract(memory: Memory) -> None:
    """C16."""
    event = memory.evidence("And what about refresh tokens")
    identity = memory.record(
        type="decision",
        title="Rotate refresh tokens",
        subtitle="Each is good for one use",
        narrative="We looked at both.\n\n- Rotation shows theft\n- Long lives do not",
        facts=["Reuse ends the family", "Stored as a hash"],
        concepts=["JWT", "refresh-token"],
        files_read=["docs/auth.md"],
        files_modified=["auth.ts", "middleware/jwt.ts"],
        evidence_ids=[event],
    )
    assert memory.text("get_observations", ids=[identity]) == (
        f"Retrieved 1 observation:\n{QUOTED}\n\n"
        "## [api, 2026-01-10 00:00] - decision: Rotate refresh tokens\n\n"
        "**Each is good for one use**\n\n"
        "> We looked at both.\n>\n> - Rotation shows theft\n> - Long lives do not\n\n"
        "**Facts:**\n- Reuse ends the family\n- Stored as a hash\n\n"
        "**Concepts:** `JWT`, `refresh-token`\n\n"
        "**Files:** `auth.ts`, `middleware/jwt.ts`\n\n"
        "**Files read:** `docs/auth.md`\n\n"
        f"**ID:** {identity} (by agent)\n"
        f"**Path:** `{log_of(memory, 1, 'api')}` (lines 14-14)\n"
        f"**Evidence:** `{event}`"
    )


def test_empty_fields_are_left_out(memory: Memory) -> None:
    """C16."""
    text = memory.text("get_observations", ids=[memory.ids["clock"]])
    event = memory.evidence("After the bell")
    assert text == (
        f"Retrieved 1 observation:\n{QUOTED}\n\n"
        "## [watch, 2026-01-20 00:00] - diagnosis: Lantern clock\n\n"
        f"**ID:** {memory.ids['clock']} (by agent)\n"
        f"**Path:** `{log_of(memory, 3, 'watch')}` (lines 3-3)\n"
        f"**Evidence:** `{event}`"
    )


FIELDS = {
    "subtitle": ("A line more", "**A line more**"),
    "narrative": ("A story", "> A story"),
    "facts": (["A fact"], "**Facts:**\n- A fact"),
    "concepts": (["A tag"], "**Concepts:** `A tag`"),
    "files_modified": (["a.ts"], "**Files:** `a.ts`"),
    "files_read": (["b.ts"], "**Files read:** `b.ts`"),
}


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_is_shown_even_if_it_is_the_only_one(memory: Memory, field: str) -> None:
    """C16."""
    value, section = FIELDS[field]
    evidence = [memory.evidence("Which seeds need stratification")]
    arguments: dict[str, Any] = {field: value}
    identity = memory.record(type="test", title=f"Only {field}", evidence_ids=evidence, **arguments)
    parts = memory.text("get_observations", ids=[identity]).split("\n\n")
    assert parts[1:3] == [f"## [garden, 2026-02-01 00:00] - test: Only {field}", section]
    assert len(parts) == 4


# ---- C17, C18, C19: which ids


def test_twenty_observations_can_be_opened_at_once(memory: Memory, many: list[str]) -> None:
    """C17."""
    text = memory.text("get_observations", ids=many[:20])
    assert text.startswith(f"Retrieved 20 observations:\n{QUOTED}\n\n")
    assert text.count("\n\n---\n\n## [") == 19


def test_the_answer_has_the_order_of_the_ids(memory: Memory, many: list[str]) -> None:
    """C19."""
    order = [*many[10:20], *reversed(many[:10])]
    assert OBSERVATION.findall(memory.text("get_observations", ids=order)) == order
    mixed = [memory.ids["seed"], many[3], memory.ids["hull"], many[1]]
    assert OBSERVATION.findall(memory.text("get_observations", ids=mixed)) == mixed


def test_a_repeated_id_is_answered_twice(memory: Memory) -> None:
    twice = [memory.ids["seed"], memory.ids["hull"], memory.ids["seed"]]
    assert OBSERVATION.findall(memory.text("get_observations", ids=twice)) == twice


def test_twenty_one_are_too_many(memory: Memory, many: list[str]) -> None:
    """C17."""
    assert memory.refusal("get_observations", ids=many) == BAD_IDS


@pytest.mark.parametrize("ids", [[], None, "obs-0123456789abcdef", 5, {"0": UNKNOWN}], ids=str)
def test_ids_are_a_list_of_at_least_one(memory: Memory, ids: Any) -> None:
    """C17."""
    assert memory.refusal("get_observations", ids=ids) == BAD_IDS
    assert memory.refusal("get_observations") == BAD_IDS


@pytest.mark.parametrize(
    "bad",
    [
        UNKNOWN,
        "obs-",
        "obs-xyz",
        "0123456789abcdef",
        f"{UNKNOWN}0",
        f" {UNKNOWN}",
        f"{UNKNOWN}\n",
        UNKNOWN.upper(),
        "",
        5,
        None,
    ],
    ids=ascii,
)
def test_the_error_names_an_unknown_or_invalid_id(memory: Memory, bad: Any) -> None:
    """C18: also among known ids."""
    for ids in ([bad], [memory.ids["hull"], bad, memory.ids["keel"]]):
        assert memory.refusal("get_observations", ids=ids) == f"Invalid observation ID: {bad}"


def test_an_id_of_the_history_is_not_an_observation(memory: Memory) -> None:
    event = memory.evidence("After the bell")
    assert memory.refusal("get_observations", ids=[event]) == f"Invalid observation ID: {event}"


# ---- the cost of layer 2


def test_an_observation_in_full_costs_200_to_500_tokens(memory: Memory) -> None:
    """For an ordinary session: on average, and no observation much more."""
    rows = memory.search_rows("JWT authentication ERR_AUTH_FAILED", projects=["api"], limit=50)
    ids = [row["id"] for row in rows if not row["title"].startswith(("Lantern", "Rotate"))]
    text = memory.text("get_observations", ids=ids)
    costs = [len(part) / TOKEN for part in text.partition("\n\n")[2].split("\n\n---\n\n")]
    assert 150 <= sum(costs) / len(costs) <= 500
    assert max(costs) <= 600
