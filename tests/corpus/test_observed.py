"""Fifty real turns still give the observations that a person judged true and useful."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recollect.distil.texts import event_for_rules
from recollect.ingest import sync
from recollect.observe import observe
from recollect.settings import Settings
from recollect.sources import all_sources
from recollect.store import Reader, archive_path
from tests.observed import digest

pytestmark = pytest.mark.corpus

JUDGED = Path(__file__).parents[1] / "observed" / "real.jsonl"
ROWS: list[dict[str, Any]] = [msgspec.json.decode(line) for line in JUDGED.read_bytes().splitlines()]


@pytest.fixture(scope="module")
def archive(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    folder = tmp_path_factory.mktemp("observed")
    paths = sorted(path for path in corpus.iterdir() if not path.name.startswith("_"))
    sync(folder / "realm", Settings(home=folder), all_sources(), {"HOME": str(folder)}, paths)
    reader = Reader(archive_path(folder / "realm"))
    yield reader
    reader.close()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["turn"][5:15] + "-" + row["turn"].rpartition("-")[2])
def test_a_turn_gives_the_observations_that_were_judged_right(archive: Reader, row: dict[str, Any]) -> None:
    session_hex, _, ordinal = row["turn"].removeprefix("turn:").rpartition("-")
    session = archive.session(bytes.fromhex(session_hex))
    assert session is not None
    observations = observe(
        [event_for_rules(event) for event in archive.events_of_turn(session.key, int(ordinal))], session.cwd
    )
    assert observations[0].type == row["type"]
    assert digest(observations) == row["digest"], observations


def test_fifty_turns_of_many_agents_were_judged(archive: Reader) -> None:
    sessions = [archive.session(bytes.fromhex(row["turn"].removeprefix("turn:").rpartition("-")[0])) for row in ROWS]
    assert len({row["turn"] for row in ROWS}) == 50
    assert len({session.source for session in sessions if session}) >= 8


def test_no_real_turn_raises_and_every_observation_has_evidence(archive: Reader) -> None:
    for session in archive.all_sessions():
        for turn in archive.turns(session.key):
            events = [event_for_rules(event) for event in archive.events_of_turn(session.key, turn.ordinal)]
            for observation in observe(events, session.cwd):
                assert observation.title.strip()
                assert {*observation.evidence} <= {event.id for event in events}
