"""For any sessions and any query: a scope never leaks, and paging shows every session exactly once."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.ingest import sync
from recollect.live import LiveRealm
from recollect.model import SEARCHABLE
from recollect.operations import OPERATIONS, RequestContext
from recollect.settings import Settings
from recollect.sources import all_sources
from tests.logs import Claude, write

few = settings(max_examples=30, deadline=None)
EVER = {"start_datetime": "2025-01-01T00:00:00Z", "end_datetime": "2027-01-01T00:00:00Z"}

words = st.lists(st.sampled_from(["oven", "flour", "getOven", "oven_door", "烤箱"]), min_size=1, max_size=4).map(" ".join)
turns = st.tuples(words, words, words)  # prompt, tool output, answer
sessions = st.lists(st.lists(turns, min_size=1, max_size=3), min_size=2, max_size=4)


class Asker:
    """A realm with some sessions, whose operations are called directly instead of by a client."""

    def __init__(self, folder: Path) -> None:
        self.realm = LiveRealm(Settings(home=folder))

    def data(self, tool: str, **arguments: Any) -> Any:
        answer = json.loads(OPERATIONS[tool].run(self.realm, arguments, RequestContext.now()).text)
        assert "error" not in answer, answer
        return answer["data"]

    def sessions(self) -> list[str]:
        return [found["id"] for found in self.data("list_sessions", **EVER, limit=50)["sessions"]]

    def turns(self) -> list[str]:
        return [turn["id"] for session in self.sessions() for turn in self.data("open", id=session)["turns"]]


@contextmanager
def asker(logs: list[list[dict[str, Any]]]) -> Iterator[Asker]:
    with TemporaryDirectory() as folder:
        home, state = Path(folder, "home"), Path(folder, "state")
        for number, records in enumerate(logs, 1):
            write(home / f".claude/projects/-work-app/{_name(number)}.jsonl", records)
        sync(state / "realms" / "main", Settings(home=state), all_sources(), {"HOME": str(home)})
        yield Asker(state)


def _name(number: int) -> str:
    return f"{number:08x}-1111-4111-8111-111111111111"


def _lines(number: int, exchanges: list[tuple[str, str, str]]) -> list[dict[str, Any]]:
    claude = Claude(_name(number), start=number * 100)
    return [
        record
        for place, (prompt, output, answer) in enumerate(exchanges)
        for record in (
            claude.prompt(prompt),
            claude.calls("Bash", f"call_{place}", command=prompt),
            claude.result(f"call_{place}", output),
            claude.says(answer),
        )
    ]


@few
@given(exchanges=sessions, query=words, kinds=st.none() | st.lists(st.sampled_from(SEARCHABLE), min_size=1))
def test_a_scope_never_leaks(exchanges: Any, query: str, kinds: Any) -> None:
    with asker([_lines(number, session) for number, session in enumerate(exchanges, 1)]) as ask:
        for within in (*ask.sessions(), *ask.turns()):
            answer = ask.data("search_sessions", query=query, within_id=within, event_types=kinds, n_hits=50)
            scope = within.partition(":")[0]
            assert {hit["open"][f"{scope}_id"] for hit in answer["results"]} <= {within}
            assert {hit["event"]["type"] for hit in answer["results"]} <= set(kinds or SEARCHABLE)


@few
@given(said=sessions, query=words)
def test_the_hits_of_a_scope_are_those_of_its_parts(said: Any, query: str) -> None:
    with asker([_lines(number, told) for number, told in enumerate(said, 1)]) as ask:

        def hits(within: str | None) -> set[str]:
            found = ask.data("search_sessions", query=query, within_id=within, event_types=list(SEARCHABLE), n_hits=50)
            assert not found["truncated"]
            return {hit["id"] for hit in found["results"]}

        everywhere = hits(None)
        assert everywhere == set().union(*map(hits, ask.sessions()))
        assert everywhere == set().union(*map(hits, ask.turns()))


@few
@given(
    starts=st.lists(st.integers(0, 5), min_size=1, max_size=12),  # few, so that many sessions share a moment
    limit=st.integers(1, 5),
    sort=st.sampled_from(["asc", "desc"]),
)
def test_paging_shows_every_session_exactly_once_and_in_order(starts: list[int], limit: int, sort: str) -> None:
    logs = [[Claude(_name(number), start=start).prompt("bake")] for number, start in enumerate(starts, 1)]
    with asker(logs) as ask:
        pages: list[Any] = []
        cursor = None
        while not pages or cursor:
            page = ask.data("list_sessions", **EVER, limit=limit, sort=sort, cursor=cursor)
            assert page["truncated"] is (page["next_cursor"] is not None)
            pages, cursor = [*pages, page["sessions"]], page["next_cursor"]
        listed = [row["session"] for page in pages for row in page]
        assert len({session["id"] for session in listed}) == len(listed) == len(starts)
        assert all(len(page) == limit for page in pages[:-1])
        updated = [session["updated_at"] for session in listed]
        assert updated == sorted(updated, reverse=sort == "desc")
