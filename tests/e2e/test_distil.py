"""Observations and vectors follow the archive: incrementally, resumably, and without blocking other work."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from recollect import distil as distilling
from recollect.distil import Distiller, distil, is_up_to_date
from recollect.index.vectors import VectorIndex
from recollect.model import Event, Observation
from recollect.observe import observe
from recollect.settings import EmbeddingSettings
from recollect.store.lock import DISTILLING, exclusive
from recollect.store.memory import Memory, ObservationRow
from recollect.store.observation_filters import ObservationFilters
from tests.conftest import Person
from tests.e2e.archives import events, found
from tests.e2e.processes import until, watching
from tests.logs import Claude, append, write

ONE = "11111111-1111-4111-8111-111111111111"
TWO = "22222222-2222-4222-8222-222222222222"


def exchanges(log: Claude, *topics: str) -> list[dict[str, Any]]:
    """A question and an answer about each topic, with a file that is read."""
    lines = []
    for number, topic in enumerate(topics):
        call = f"c{log.clock}{number}"
        lines += [
            log.prompt(f"Why does the {topic} fail?"),
            log.calls("Read", call, file_path=f"/work/app/src/{topic}.py"),
            log.result(call, f"def {topic}(): return None"),
            log.says(f"The {topic} fails because its cache is never filled."),
        ]
    return lines


def all_done(person: Person, **changes: Any) -> None:
    assert distil(person.realm, person.settings(**changes), person.env, lambda: False)


@contextmanager
def memory(person: Person) -> Iterator[Memory]:
    opened = Memory(person.realm)
    try:
        yield opened
    finally:
        opened.close()


def remembered(person: Person) -> list[ObservationRow]:
    with memory(person) as opened:
        return sorted(opened.newest(ObservationFilters(), 1_000), key=lambda row: row.key)


def observation_values(person: Person) -> list[tuple[Any, ...]]:
    """All observations, without their keys."""
    rows = remembered(person)
    return sorted((row.id, row.turn, row.type, row.title, row.narrative, tuple(row.facts)) for row in rows)


def vectors(person: Person, of: str = "events") -> set[int]:
    """The keys of all rows that can be found."""
    index = VectorIndex(person.realm, of)
    if not index.head.rows:
        return set()
    kind, key = index._columns["kind"], index._columns["key"]
    return {int(one) for one, sort in zip(key, kind, strict=True) if sort != 255}


def embedded_event_keys(person: Person) -> set[int]:
    return {event.key for event in events(person) if event.kind in ("user_input", "assistant_response", "tool_response")}


def test_a_small_sync_leaves_nothing_to_distil(person: Person) -> None:
    write(person.claude_log(ONE), exchanges(Claude(ONE), "parser", "uploader"))
    person.run("sync")
    assert is_up_to_date(person.realm, person.settings())
    assert len({row.turn for row in remembered(person)}) == 2
    assert vectors(person) == embedded_event_keys(person)
    assert vectors(person, "observations") == {row.key for row in remembered(person)}


def test_a_second_pass_reads_no_turn_and_writes_nothing(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    write(person.claude_log(ONE), exchanges(Claude(ONE), "parser"))
    person.sync()
    all_done(person)
    before = remembered(person)
    monkeypatch.setattr(Distiller, "steps", lambda self: pytest.fail("there was nothing to distil"))
    all_done(person)
    person.sync()
    all_done(person)
    assert remembered(person) == before


def turns_looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The turns that are distilled from now on."""
    looked: list[int] = []

    def looking(turn: Sequence[Event], cwd: str | None) -> list[Observation]:
        looked.append(turn[0].turn)
        return observe(turn, cwd)

    monkeypatch.setattr(distilling, "observe", looking)
    return looked


def test_only_changed_turns_are_distilled_again(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Claude(ONE)
    path = write(person.claude_log(ONE), exchanges(log, "parser", "uploader"))
    person.sync()
    all_done(person)
    before = {row.turn: row for row in remembered(person)}
    looked = turns_looked_at(monkeypatch)
    append(path, *exchanges(log, "renderer"))
    person.sync()
    all_done(person)
    after = {row.turn: row for row in remembered(person)}
    assert looked == [3]
    assert (after[1], after[2]) == (before[1], before[2])
    assert 3 in after
    assert vectors(person) == embedded_event_keys(person)


def test_a_turn_is_distilled_only_after_it_has_ended(person: Person) -> None:
    log = Claude(ONE)
    path = write(person.claude_log(ONE), [log.prompt("Why does the parser fail?"), log.says("Let me see.", stop=None)])
    person.sync()
    all_done(person)
    assert remembered(person) == []
    append(path, log.says("It fails because its cache is never filled."))
    person.sync()
    all_done(person)
    assert len(remembered(person)) == 1


def test_distilling_in_steps_or_at_once_gives_the_same_memory(person: Person, tmp_path: Path) -> None:
    log = Claude(ONE)
    lines = exchanges(log, "parser", "uploader", "renderer", "scheduler")
    path = write(person.claude_log(ONE), [])
    for line in lines:
        append(path, line)
        person.sync()
        all_done(person)
    whole = Person(tmp_path / "whole")
    write(whole.claude_log(ONE), lines)
    whole.sync()
    all_done(whole)
    assert observation_values(person) == observation_values(whole)
    assert len(vectors(person)) == len(vectors(whole))


def test_observations_of_removed_events_are_deleted(person: Person) -> None:
    path = write(person.claude_log(ONE), exchanges(Claude(ONE), "parser", "uploader"))
    write(person.claude_log(TWO), exchanges(Claude(TWO, start=500), "renderer"))
    person.sync()
    all_done(person)
    write(path, exchanges(Claude(ONE, start=1_000), "compiler"))
    person.sync()
    all_done(person)
    titles = " ".join(row.title + row.narrative for row in remembered(person))
    assert "compiler" in titles and "renderer" in titles
    assert "parser" not in titles and "uploader" not in titles
    assert vectors(person) == embedded_event_keys(person)
    assert vectors(person, "observations") == {row.key for row in remembered(person)}


def test_new_rules_distil_every_turn_again_and_keep_equal_observations(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(person.claude_log(ONE), exchanges(Claude(ONE), "parser", "uploader"))
    person.sync()
    all_done(person)
    before = remembered(person)
    monkeypatch.setattr(distilling, "RULES_VERSION", 99)
    looked = turns_looked_at(monkeypatch)
    assert not is_up_to_date(person.realm, person.settings())
    all_done(person)
    assert sorted(looked) == [1, 2]
    assert remembered(person) == before


def test_another_model_computes_new_vectors_and_none_computes_none(person: Person) -> None:
    write(person.claude_log(ONE), exchanges(Claude(ONE), "parser"))
    person.sync()
    none = EmbeddingSettings(model="none")
    all_done(person, embedding=none)
    assert remembered(person)
    assert not list(person.realm.glob("vectors-*"))
    assert not is_up_to_date(person.realm, person.settings())
    all_done(person)
    assert vectors(person) == embedded_event_keys(person)


@pytest.mark.parametrize("of", ["events", "observations"])
def test_lost_vectors_are_computed_again(person: Person, of: str) -> None:
    write(person.claude_log(ONE), exchanges(Claude(ONE), "parser"))
    person.sync()
    all_done(person)
    before = vectors(person, of)
    for path in person.realm.glob(f"vectors-{of}-*/*"):
        path.write_bytes(b"\0")
    person.run("distil", "--again")
    assert vectors(person, of) == before


def test_distilling_continues_after_a_kill_at_any_moment(person: Person, tmp_path: Path) -> None:
    """A process that is killed with -9 at every tenth step."""
    topics = [f"module{number}" for number in range(120)]
    write(person.claude_log(ONE), exchanges(Claude(ONE), *topics))
    person.sync()
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from recollect import distil as d\n"
        "from recollect.settings import Settings\n"
        "d.TURNS_PER_STEP, d.EVENTS_PER_STEP = 4, 16\n"
        "realm = Path(sys.argv[1])\n"
        "with d.Distiller(realm, Settings(home=realm.parents[1]), os.environ) as distiller:\n"
        "    for number, _ in enumerate(distiller.steps()):\n"
        "        if number == 10: os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ends = []
    for _ in range(40):
        ends.append(subprocess.run([sys.executable, "-c", code, str(person.realm)], env=person.env, check=False).returncode)
        if ends[-1] == 0:
            break
    assert ends[0] == -signal.SIGKILL and ends[-1] == 0
    whole = Person(tmp_path / "whole")
    write(whole.claude_log(ONE), exchanges(Claude(ONE), *topics))
    whole.sync()
    all_done(whole)
    assert observation_values(person) == observation_values(whole)
    assert vectors(person) == embedded_event_keys(person)
    assert vectors(person, "observations") == {row.key for row in remembered(person)}


def test_reading_and_searching_never_wait_for_distilling(person: Person) -> None:
    write(person.claude_log(ONE), exchanges(Claude(ONE), "parser"))
    with exclusive(person.realm, DISTILLING):  # another process distils, and never ends
        person.run("sync")
        assert found(person, "parser")
        answer = person.run("distil")
        assert "Another process" in answer.stdout
    person.run("distil")
    assert remembered(person)


def test_a_watcher_distils_what_it_reads(person: Person) -> None:
    log = Claude(ONE)
    path = write(person.claude_log(ONE), exchanges(log, "parser"))
    with watching(person):
        until(lambda: (person.realm / "memory.db").exists() and is_up_to_date(person.realm, person.settings()))
        until(lambda: len(remembered(person)) == 1)  # an empty archive is up to date too
        append(path, *exchanges(log, "uploader"))
        until(lambda: len(remembered(person)) == 2)
        until(lambda: is_up_to_date(person.realm, person.settings()))
    assert vectors(person) == embedded_event_keys(person)


def test_a_large_sync_is_finished_in_the_background(person: Person) -> None:
    """The command does not wait for a long distil; a background process does it."""
    prelude = "import recollect.realms.background as b; b.SHORT_S = b.SHARE = 0.0"
    write(person.claude_log(ONE), exchanges(Claude(ONE), *(f"module{number}" for number in range(60))))
    code = f"import sys\nsys.argv[0] = 'recollect'\n{prelude}\nfrom recollect.surfaces.cli import main\nmain()\n"
    subprocess.run([sys.executable, "-c", code, "sync"], env=person.env, check=True, capture_output=True)
    until(lambda: (person.realm / "memory.db").exists() and is_up_to_date(person.realm, person.settings()))
    assert vectors(person) == embedded_event_keys(person)


def test_distilling_in_the_background_has_low_priority(person: Person) -> None:
    """In the background it runs with `--quiet`."""
    code = "import os, sys; sys.argv = ['recollect', 'distil', '--quiet']\nfrom recollect.surfaces.cli import main\n"
    code += "try: main()\nexcept SystemExit: print(os.nice(0))"
    done = subprocess.run([sys.executable, "-c", code], env=person.env, check=True, capture_output=True, text=True)
    assert int(done.stdout) >= min(19, os.nice(0) + 10)
