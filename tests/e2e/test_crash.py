"""Killing the writer at any moment loses and duplicates nothing; there is one writer at a time."""

import random
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from recollect.store.lock import exclusive, is_held
from tests.conftest import Person
from tests.e2e.archives import answer, archived, sessions, texts, undisturbed
from tests.e2e.processes import inside, is_writer, running, until, watching
from tests.logs import Claude, append

FILLER = "the build failed because a lock file was older than its manifest and nobody had noticed " * 4
SESSIONS = 6


class Agents:
    """Sessions that can be continued at any time. Each event contains a unique word."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.sessions = [Claude(f"{number:08d}-0000-4000-8000-000000000000") for number in range(SESSIONS)]
        self.words: list[str] = []

    def write(self, events: int) -> None:
        """Write this number of events of 1 KB, spread over all sessions, eight per turn."""
        for number, session in enumerate(self.sessions):
            words = [f"mark{number}x{session.clock + place}" for place in range(events // SESSIONS)]
            says = [session.says if place % 8 else session.prompt for place in range(len(words))]
            append(self._log(number), *(say(f"{word} {FILLER}") for say, word in zip(says, words, strict=True)))
            self.words += words

    def _log(self, number: int) -> Path:
        return self.person.claude_log(self.sessions[number].session, f"-work-{number % 3}")


@pytest.fixture(scope="module")
def survivor(tmp_path_factory: pytest.TempPathFactory) -> Agents:
    """A person whose sync was killed 25 times while agents continued to write, and then ran once more.

    First during a long sync, once right after its first commit, then during many short ones.
    """
    agents = Agents(Person(tmp_path_factory.mktemp("survivor")))
    agents.person.run("sync")
    chance = random.Random(20)
    agents.write(24_000)
    killed = [kill_during_sync(agents.person, chance.uniform(0.2, 1.5)) for _ in range(2)]
    with running(agents.person, "sync") as process:
        until(lambda: sessions(agents.person))  # its first commit of several; here it is killed
        killed.append(process.poll() is None)
    agents.person.run("sync")
    while len(killed) < 25:
        agents.write(300)
        killed.append(kill_during_sync(agents.person, chance.uniform(0, 0.12)))
    assert sum(killed) >= 4, "the kills must happen while the writer works"
    agents.person.run("sync")
    return agents


def kill_during_sync(person: Person, seconds: float) -> bool:
    """Kill a sync some time after it became the writer. Returns whether it had not ended before."""
    with running(person, "sync") as process:
        until(lambda: is_writer(process, person) or process.poll() is not None)
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    return process.returncode == -signal.SIGKILL


def test_kill_9_at_any_moment_loses_and_duplicates_no_event(survivor: Agents) -> None:
    assert archived(survivor.person) == undisturbed(survivor.person)


def test_after_the_kills_every_event_is_found_exactly_once(survivor: Agents) -> None:
    count = sum(session.event_count for session in sessions(survivor.person))
    assert count == len(survivor.words)
    assert survivor.person.json("status")["index"]["documents"] == count
    for word in random.Random(20).sample(survivor.words, 60):
        (hit,) = answer(survivor.person, word)["data"]["results"]
        assert word in hit["snippet"]["text"]


def test_after_the_kills_a_sync_has_nothing_left_to_do(survivor: Agents) -> None:
    report = survivor.person.sync()
    assert (report.files, report.files_read, report.bytes) == (SESSIONS, 0, 0)


def test_killing_watch_in_the_middle_of_appends_loses_nothing(person: Person) -> None:
    agents = Agents(person)
    agents.write(60)
    chance = random.Random(7)
    for _ in range(5):
        with watching(person) as process:
            agents.write(600)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(chance.uniform(0.05, 0.5))
            process.send_signal(signal.SIGKILL)
    person.run("sync")
    assert archived(person) == undisturbed(person)
    for word in chance.sample(agents.words, 20):
        assert len(answer(person, word)["data"]["results"]) == 1


def test_the_lock_is_released_when_its_process_dies(person: Person) -> None:
    agents = Agents(person)
    agents.write(60)
    with watching(person) as process:
        process.kill()
        process.wait()
        assert person.run("sync").returncode == 0
    assert len(texts(person)) == 60


def test_checking_for_a_writer_never_blocks_a_writer(tmp_path: Path) -> None:
    asked_enough = threading.Event()

    def ask() -> None:
        while not asked_enough.is_set():
            is_held(tmp_path)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        for _ in range(500):
            with exclusive(tmp_path):
                pass
    finally:
        asked_enough.set()
        asking.join()


@pytest.fixture
def syncing(person: Person) -> Iterator[tuple[Person, "subprocess.Popen[bytes]"]]:
    """A person whose first long sync is running."""
    Agents(person).write(12_000)
    with running(person, "sync") as process:
        until(lambda: is_writer(process, person))
        yield person, process
        assert process.wait() == 0


def test_readers_can_read_while_a_sync_writes(syncing: tuple[Person, "subprocess.Popen[bytes]"]) -> None:
    person, process = syncing
    window = {"start_datetime": "2026-01-01T00:00Z", "end_datetime": "2027-01-01T00:00Z"}
    answered = 0
    with person.mcp() as client:
        while process.poll() is None:
            assert "data" in client.call("search_sessions", query="manifest")
            assert "data" in client.call("list_sessions", **window)
            answered += 1
    assert answered > 5


# A disk so slow that each log takes 0.1 s to open and each line as long to read. At `fatal` of them the process is killed.
SLOW_DISK = """
import os, time
import recollect.ingest.transaction as transaction, recollect.ingest.lines as reading
passed, commits, read, crc32 = [0.0], [0], [0], reading.crc32
transaction.time = type(sys)("time")
transaction.time.monotonic = lambda: passed[0]
def slowly(*given):
    passed[0] += 0.1
    read[0] += 1
    if read[0] == {fatal}:
        os.kill(os.getpid(), 9)
    return crc32(*given)
reading.crc32 = slowly
reading.BATCH_LINES = 4
"""


@pytest.mark.parametrize("logs", [1, 60], ids=["one big log", "many small logs"])
def test_a_killed_first_sync_keeps_what_it_had_read(person: Person, logs: int) -> None:
    """Of 60 lines, 100 ms and two checksums each, the first 30 are read in six seconds."""
    for number in range(logs):
        said = Claude(f"{number:08d}-0000-4000-8000-000000000000")
        append(person.claude_log(said.session), *(said.prompt(f"prompt {number} {place}") for place in range(60 // logs)))
    killed = inside(person, SLOW_DISK.format(fatal=61), "sync", check=False)
    assert killed.returncode == -signal.SIGKILL
    stored_before = len(texts(person))
    assert 20 <= stored_before <= 30
    person.run("sync")
    assert archived(person) == undisturbed(person)
    assert len(texts(person)) == 60
