"""Forgetting sessions: nothing of them is left in any file, no log brings them back, and nothing else changes."""

from collections.abc import Iterator

import pytest

from recollect.ingest import Ingester
from recollect.realms.manifest import Backend
from recollect.sources import all_sources
from tests.conftest import Person
from tests.forgotten_home import MARKER, VICTIM, ForgottenHome
from tests.logs import Claude, append
from tests.state_search import places_of

OTHER_NAME = "5d5d5d5d-4444-4111-8111-0123456789ab"


@pytest.fixture(scope="module", params=Backend)
def forgotten(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForgottenHome]:
    """A home whose marked sessions were forgotten."""
    home = ForgottenHome(Person(tmp_path_factory.mktemp("forget")), request.param)
    places = places_of(MARKER, home.folder)
    for expected in (
        "archive.db: a row of",
        "archive.db: a compressed",
        "memory.db: a word of",
        "live.db: a row",
        "text-2: a term",
        "pieces-1: a term",
    ):
        assert any(expected in place for place in places), (expected, places)
    home.before = home.answers_about_others()  # type: ignore[attr-defined]
    home.receipt = home.ask("library_forget", ids=[VICTIM, home.live.hex()])["data"]  # type: ignore[attr-defined]
    yield home
    home.realm.close()


def places(home: ForgottenHome) -> list[str]:
    folders = {home.folder, home.person.state}
    return [
        place
        for folder in folders
        for text in (MARKER, VICTIM, VICTIM.replace("-", ""))
        for place in places_of(text, folder)
    ]


def test_no_byte_is_left_in_any_file(forgotten: ForgottenHome) -> None:
    assert places(forgotten) == []


def test_the_receipt_says_what_went(forgotten: ForgottenHome) -> None:
    receipt = forgotten.receipt  # type: ignore[attr-defined]
    counts = receipt["counts"]
    assert (counts["sessions"], counts["sub_agents"], counts["labels"], counts["notes"]) == (3, 1, 1, 2)
    assert (counts["events"], counts["recorded"]) == (8 + 2 + 3, 1)
    logs = [*forgotten.log.parent.iterdir(), forgotten.fork_log]
    assert receipt["logs"] == sorted(str(path) for path in logs)


def test_other_sessions_answer_as_before(forgotten: ForgottenHome) -> None:
    assert forgotten.answers_about_others() == forgotten.before  # type: ignore[attr-defined]


def test_no_log_brings_it_back(forgotten: ForgottenHome) -> None:
    """Not one that grows, nor a copy, nor one that is read again from its start."""
    forgotten.copy_log(OTHER_NAME)
    forgotten.sync()
    assert places(forgotten) == []
    log = Claude(VICTIM, start=5_000)
    append(forgotten.log, log.prompt(f"{MARKER}more"), log.says(f"{MARKER}yet more"))
    forgotten.sync()
    assert places(forgotten) == []
    forgotten.copy_log(VICTIM)
    forgotten.sync()
    assert places(forgotten) == []
    with Ingester(forgotten.folder, forgotten.realm.settings, all_sources(), forgotten.person.env) as ingester:
        ingester.reread_all()
        ingester.indexer.rebuild()
    assert places(forgotten) == []
    assert forgotten.answers_about_others() == forgotten.before  # type: ignore[attr-defined]
