"""Labels, notes, and people's decisions about observations."""

from pathlib import Path
from typing import Any

import pytest

from recollect.store.memory import Memory
from recollect.store.memory_journal import create_journal
from recollect.store.reviews import Review, Verdict
from tests.conftest import Person
from tests.contract.library_archive import ANCHOR, BEACON, CUTTER, Library, distil, fill
from tests.logs import Claude, write


@pytest.fixture
def library(tmp_path: Path) -> Library:
    person = Person(tmp_path)
    fill(person)
    return Library(person)


# ---- labels and notes


def test_a_label_is_put_found_and_removed(library: Library) -> None:
    anchor = library.session(ANCHOR)["id"]
    assert library.data("put_label", id=anchor, name="to review") == {"session": anchor, "labels": ["to review"]}
    assert library.data("put_label", id=anchor, name="to review")["labels"] == ["to review"], "twice changes nothing"
    library.data("put_label", id=library.session(BEACON)["id"], name="done")
    assert library.session(ANCHOR)["labels"] == ["to review"]
    assert library.names(label=["to review"]) == {ANCHOR}
    assert library.names(query='label:"to review"') == {ANCHOR}
    assert library.names(label=["-to review"]) == {BEACON, CUTTER, "dinghy", "estuary", "fathom"}
    assert library.data("labels")["labels"] == [{"name": "done", "sessions": 1}, {"name": "to review", "sessions": 1}]
    facet = library.data("sessions", facets=["label"])["facets"]["label"]
    assert [(value["value"], value["count"]) for value in facet] == [("done", 1), ("to review", 1)]
    assert library.data("remove_label", id=anchor, name="to review")["labels"] == []
    assert library.refusal("remove_label", id=anchor, name="to review")["code"] == "not_found"
    assert library.refusal("sessions", label=["to reviev"])["code"] == "invalid_filter"


@pytest.mark.parametrize("name", ["", " x", "x ", "x" * 65, "a\nb"])
def test_a_label_that_nobody_could_type_again_is_refused(library: Library, name: str) -> None:
    assert library.refusal("put_label", id="last", name=name)["code"] == "invalid_request"


def test_notes_are_on_sessions_and_events(library: Library) -> None:
    anchor = library.session(ANCHOR)["id"]
    library.data("write_note", id=anchor, note="Ask the captain.")
    event = library.data("events", id=anchor)["events"][0]
    library.data("write_event_note", id=event["id"], note="Here it began.")
    assert library.session(ANCHOR)["note"] == "Ask the captain."
    assert library.data("events", id=anchor)["events"][0]["note"] == "Here it began."
    library.data("write_note", id=anchor, note="")
    assert library.session(ANCHOR)["note"] is None
    assert library.refusal("write_event_note", id=anchor, note="x")["code"] == "invalid_request"
    assert library.refusal("write_event_note", id="event:" + "0" * 32, note="x")["code"] == "not_found"


def test_secrets_in_labels_and_notes_are_replaced(library: Library) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    library.data("write_note", id="last", note=f"token {secret}")
    note = library.data("session", id="last")["session"]["note"]
    assert secret not in note and note.startswith("token ")


def test_labels_notes_and_reviews_survive_the_loss_of_the_database_of_a_jsonl_realm(tmp_path: Path) -> None:
    """The files are the truth of such a realm."""
    create_journal(tmp_path)
    session, event, observation = b"s" * 16, b"e" * 16, b"o" * 8
    with Memory(tmp_path, writable=True) as memory:
        with memory.transaction():
            memory.put_label(session, "kept", 1)
            memory.put_label(session, "removed", 1)
            memory.put_note(session, session, "a note", 2)
            memory.put_note(session, event, "on an event", 2)
            memory.put_review(Review(observation, session, Verdict.RETIRED, "sam", 3, "{}"))
        with memory.transaction():
            memory.remove_label(session, "removed")
    for path in tmp_path.glob("memory.db*"):
        path.unlink()
    with Memory(tmp_path, writable=True) as memory:
        assert memory.labels_of([session]) == {session: ["kept"]}
        assert memory.event_notes(session) == {session: "a note", event: "on an event"}
        assert memory.reviews_of([observation])[observation].reviewer == "sam"


# ---- observations


class Observed(Library):
    """An archive with one observation of a decision, by the rules."""

    def __init__(self, folder: Path) -> None:
        self.person = Person(folder)
        log = Claude()
        lines = [
            log.prompt("Which database should the harbour use?"),
            log.says("We decided to use SQLite instead of PostgreSQL, because nobody has to run a server."),
        ]
        write(self.person.claude_log(log.session), lines)
        self.person.sync()
        distil(self.person)
        super().__init__(self.person)
        (observation,) = self.data("observations")["observations"]
        self.id = observation["id"]

    def titles(self, **filters: Any) -> list[str]:
        return [row["title"] for row in self.data("observations", **filters)["observations"]]


@pytest.fixture
def observed(tmp_path: Path) -> Observed:
    return Observed(tmp_path)


def test_observations_are_listed_by_filters(observed: Observed) -> None:
    (title,) = observed.titles()
    assert observed.titles(type=["decision"]) == [title]
    assert observed.titles(type=["bug-fix"]) == []
    assert observed.titles(agent=["codex"]) == []
    assert observed.titles(query="SQLite server") == [title]
    assert observed.titles(query="submarine") == []
    assert observed.titles(until=["2026-01-01"]) == []


def test_an_edited_observation_says_who_changed_it_and_is_found_by_its_new_words(observed: Observed) -> None:
    edited = observed.data("edit_observation", id=observed.id, title="Use a lighthouse", facts=["It glows."], reviewer="sam")
    assert edited["observation"]["title"] == "Use a lighthouse"
    assert (edited["observation"]["verdict"], edited["observation"]["reviewer"]) == ("edited", "sam")
    assert observed.titles(query="lighthouse glows") == ["Use a lighthouse"]
    distil(observed.person)
    assert observed.titles() == ["Use a lighthouse"], "the rules leave it alone"


def test_a_retired_observation_is_kept_but_not_found_until_it_is_confirmed(observed: Observed) -> None:
    (title,) = observed.titles()
    observed.data("retire_observation", id=observed.id)
    distil(observed.person)
    assert observed.titles() == [] and observed.titles(query="SQLite") == []
    assert observed.titles(state=["retired"]) == [title]
    confirmed = observed.data("confirm_observation", id=observed.id, reviewer="sam")["observation"]
    assert (confirmed["title"], confirmed["verdict"]) == (title, "confirmed")
    assert observed.titles(query="SQLite") == [title] and observed.titles(state=["retired"]) == []
    distil(observed.person)
    assert observed.titles() == [title]


def test_a_deleted_observation_does_not_come_back(observed: Observed) -> None:
    assert observed.data("delete_observation", id=observed.id) == {"id": observed.id, "deleted": True}
    distil(observed.person)
    assert observed.titles() == [] and observed.titles(state=["retired"]) == []
    assert observed.refusal("confirm_observation", id=observed.id)["code"] == "not_found"


@pytest.mark.parametrize(
    ("operation", "arguments", "code"),
    [
        ("confirm_observation", {"id": "obs-0000000000000000"}, "not_found"),
        ("retire_observation", {"id": "event:1"}, "invalid_request"),
        ("edit_observation", {"id": "obs-0000000000000000"}, "invalid_request"),
        ("edit_observation", {"id": "obs-0000000000000000", "title": " "}, "invalid_request"),
        ("edit_observation", {"id": "obs-0000000000000000", "type": "?!"}, "invalid_request"),
    ],
)
def test_a_bad_review_is_refused(observed: Observed, operation: str, arguments: dict[str, Any], code: str) -> None:
    assert observed.refusal(operation, **arguments)["code"] == code
