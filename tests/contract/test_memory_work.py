"""C33, measured in SQL statements: the cost of a search does not grow with the number of observations."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from recollect.distil import distil
from recollect.distil.texts import observation_words
from recollect.live import LiveRealm
from recollect.model import Observation
from recollect.operations import OPERATIONS, RequestContext
from recollect.store.memory import AGENT, Memory, ObservedPlace
from tests.conftest import Person
from tests.contract.memory_client import OBSERVATION, session_writer, write_session

FEW, MANY = 60, 1_200
MOST_STATEMENTS = 40  # SQL statements for any search: some for the query, one for each of ten results


def settle(person: Person, observations: int) -> LiveRealm:
    """A realm with one session and this many observations of it."""
    said = session_writer(1, "mill")
    path = write_session(person, 1, "mill", "2026-01-10", [said.prompt("Grind the barley"), said.says("Ground.")])
    person.sync()
    with closing(Memory(person.realm, writable=True)) as memory, memory.transaction():
        realm = LiveRealm(person.settings())
        with realm.open_archive() as reader:
            (session,) = reader.all_sessions()
        for number in range(observations):
            place = ObservedPlace(
                session=session.id, turn=number, project=f"mill-{number % 3}", path=str(path), first_line=1, last_line=2
            )
            observation = Observation(
                type="decision" if number % 2 else "pattern", title=f"Barley sack {number} weighs what it weighs",
                evidence=(number.to_bytes(16, "big"),), at=1_768_000_000_000 + number, concepts=("barley",),
                files_modified=(f"sacks/{number % 50}.txt",),
            )  # fmt: skip
            memory.record(place, AGENT, observation, observation_words(observation, ""))
    assert distil(person.realm, person.settings(), person.env, lambda: False)
    return LiveRealm(person.settings())


@pytest.fixture(scope="module")
def realms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, LiveRealm]]:
    yield {count: settle(Person(tmp_path_factory.mktemp("mill")), count) for count in (FEW, MANY)}


def count_statements(realm: LiveRealm, tool: str, **arguments: Any) -> tuple[str, int]:
    """An answer, and the number of SQL statements that it took once everything was open."""
    OPERATIONS[tool].run(realm, arguments, RequestContext.now())
    statements: list[str] = []
    with realm.open_archive() as reader, realm.open_memory() as memory:
        for connection in (reader.db, memory.db):
            connection.set_trace_callback(statements.append)
        reply = OPERATIONS[tool].run(realm, arguments, RequestContext.now())
        for connection in (reader.db, memory.db):
            connection.set_trace_callback(None)
    assert not reply.is_error, reply.text
    return reply.text, sum(
        not statement.startswith("-- ") for statement in statements
    )  # statements of the engine itself begin like this


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "barley"},
        {"query": "what does a sack of barley weigh", "mode": "vector"},
        {"query": "barley", "mode": "text", "types": ["decision"], "files": ["7.txt"], "concepts": ["Barley"]},
        {"query": "barley", "projects": ["mill-1"], "after": "2026-01-01", "before": "2026-02-01"},
    ],
    ids=str,
)
def test_the_number_of_statements_of_a_search_does_not_grow_with_the_memory(
    realms: dict[int, LiveRealm], arguments: dict[str, Any]
) -> None:
    cost = {}
    for count, realm in realms.items():
        text, cost[count] = count_statements(realm, "search", **arguments)
        assert OBSERVATION.search(text), "otherwise nothing was measured"
    assert 0 < cost[MANY] <= MOST_STATEMENTS
    assert abs(cost[MANY] - cost[FEW]) <= 10, "one result more or less"


def test_details_are_looked_up_only_by_id(realms: dict[int, LiveRealm]) -> None:
    realm = realms[MANY]
    ids = OBSERVATION.findall(count_statements(realm, "search", query="barley", limit=20)[0])
    assert len(ids) == 20
    text, cost = count_statements(realm, "get_observations", ids=ids)
    assert text.startswith("Retrieved 20 observations:")
    assert cost <= 1 + len(ids)
    with realm.open_memory() as memory:
        plan = memory.db.execute("EXPLAIN QUERY PLAN SELECT * FROM observation WHERE id IN (?, ?)", (b"", b"")).fetchall()
    assert all("USING INDEX" in step[-1] for step in plan)
