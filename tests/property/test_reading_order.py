"""Logs with the same history, grown and read in any order, give the same archive as one clean read."""

import os
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.ingest import Ingester, sync
from recollect.sources import all_sources
from tests.conftest import Person
from tests.e2e.archives import archived
from tests.logs import Claude, append, write

OTHER = "22222222-2222-4222-8222-222222222222"
THIRD = "33333333-3333-4333-8333-333333333333"
AGE = 1_770_000_000  # seconds: the clock of the files, which the test advances
KINDS = ("one session in two folders", "the same records in two folders", "a fork", "a fork that keeps the old id")
STEP = st.one_of(
    st.tuples(st.just("grow"), st.integers(0, 2)),
    st.tuples(st.just("sync"), st.sampled_from([(), (0,), (1,), (2,), (1, 0), (2, 1)])),
)


class Logs:
    """Three logs in the home of a person; two or all have the same history."""

    def __init__(self, folder: Path, kinds: tuple[str, str]) -> None:
        self.person = Person(folder)
        self.clock = AGE
        first = Claude()
        aside = first.says("a word aside", isSidechain=True)  # a session of its own in the same log
        history = [
            aside,
            first.prompt("where does the heron nest"),
            first.says("by the estuary"),
            first.prompt("and the egret"),
        ]
        self.agents = [first]
        self.paths = [write(self.person.claude_log(first.session), history)]
        for number, kind in enumerate(kinds, 1):
            self._add(kind, number, history)
        for path in self.paths:
            self._touch(path)

    def _add(self, kind: str, number: int, history: list[dict[str, object]]) -> None:
        is_fork = kind.startswith("a fork")
        session = (OTHER, THIRD)[number - 1] if is_fork else self.agents[0].session
        agent = Claude(session, start=100 * number if kind != KINDS[1] else 0)
        begin = [agent.prompt(f"log {number}"), agent.says("indeed")]
        if is_fork:
            agent.last = str(history[-1]["uuid"])
            begin = [{**record, "sessionId": session} if kind == KINDS[2] else record for record in history]
        self.agents.append(agent)
        self.paths.append(write(self.person.claude_log(session, f"-work-{number}"), begin))

    def _touch(self, path: Path) -> None:
        self.clock += 1
        os.utime(path, (self.clock, self.clock))

    def grow(self, place: int) -> None:
        append(self.paths[place], self.agents[place].prompt(f"more {self.clock}"))
        self._touch(self.paths[place])

    def sync(self, places: tuple[int, ...]) -> None:
        self.person.sync(*(self.paths[place] for place in places))

    def clean(self) -> list[str]:
        realm = self.person.state.parent / "clean"
        sync(realm, self.person.settings(), all_sources(), self.person.env)
        return archived(self.person, realm)

    def rebuilt(self) -> list[str]:
        """As `recollect rebuild --logs` does."""
        with Ingester(self.person.realm, self.person.settings(), all_sources(), self.person.env) as intake:
            intake.reread_all()
        return archived(self.person)


@settings(max_examples=40, deadline=None)
@given(st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)), st.lists(STEP, max_size=8))
def test_the_archive_does_not_depend_on_the_order_of_reading(
    kinds: tuple[str, str], steps: list[tuple[str, object]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        logs = Logs(Path(folder), kinds)
        for what, which in steps:
            getattr(logs, what)(which)
        logs.sync(())
        clean = logs.clean()
        assert archived(logs.person) == clean
        assert logs.rebuilt() == clean


def test_a_copy_that_grows_is_read_from_its_new_lines_on(tmp_path: Path) -> None:
    logs = Logs(tmp_path, ("a fork", "a fork"))
    logs.sync(())
    logs.grow(2)
    logs.sync(())
    size = logs.paths[2].stat().st_size
    logs.grow(2)
    report = logs.person.sync()
    assert report.files_read == 1
    assert report.bytes == logs.paths[2].stat().st_size - size


def test_history_that_one_of_two_logs_no_longer_contains_stays(tmp_path: Path) -> None:
    logs = Logs(tmp_path, ("a fork", "a fork"))
    logs.sync(())
    logs.paths[0].write_bytes(b"")
    logs.grow(1)
    logs.sync(())
    logs.rebuilt()
    said = "".join(archived(logs.person))
    assert "where does the heron nest" in said
    assert "and the egret" in said


def test_a_longer_copy_takes_over_all_sessions_of_a_log(tmp_path: Path) -> None:
    logs = Logs(tmp_path, ("a fork", "a fork"))
    copy = logs.person.claude_log(logs.agents[0].session, "-work-copy")
    copy.write_bytes(logs.paths[0].read_bytes())
    append(copy, Claude(start=500).says("more in the copy"))
    logs.sync(())
    logs.grow(0)
    os.utime(copy, (logs.clock, logs.clock))
    logs.sync(())
    assert archived(logs.person) == logs.clean()


def test_a_log_that_became_a_copy_has_no_problems_any_more(tmp_path: Path) -> None:
    person, log = Person(tmp_path), Claude()
    history = [log.prompt("first"), log.prompt("second")]
    write(person.claude_log(log.session), history)
    other = [{**record, "sessionId": OTHER, "message": {"role": "user", "content": "else"}} for record in history]
    short, long = person.claude_log(OTHER, "-work-1"), person.claude_log(OTHER, "-work-2")
    write(short, other)
    person.sync()
    write(long, [*other, Claude(OTHER, start=50).prompt("third")])
    for path, age in ((long, AGE), (short, AGE + 1)):
        os.utime(path, (age, age))
    person.sync()
    clean = tmp_path / "clean"
    sync(clean, person.settings(), all_sources(), person.env)
    assert archived(person) == archived(person, clean)
