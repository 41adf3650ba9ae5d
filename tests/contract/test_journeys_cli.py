"""`recollect journey` on the command line: the same answers as JSON for programs, and formatted for people."""

import json
import re
from collections.abc import Iterator

import pytest

from tests.conftest import Person
from tests.contract.journeys_client import (
    DECK,
    NOBODY,
    ROPE,
    USER,
    WINCH,
    Journeys,
    as_reference,
    connect_voyage,
    run_operation,
    write_session,
)

pytestmark = pytest.mark.process

COMMANDS = ("create", "link", "history", "timeline", "add", "documents", "delete")
OARS = "Stow the spare oars"  # tests may link it elsewhere, but must link it back
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Home:
    """A person with a journey, and its session ids by title."""

    def __init__(self, person: Person, journeys: Journeys, journey: str, ids: dict[str, str]) -> None:
        self.person, self.journeys, self.journey, self.ids = person, journeys, journey, ids

    def output(self, *arguments: str) -> str:
        return self.person.run("journey", *arguments).stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    person = Person(tmp_path_factory.mktemp("home"))
    write_session(person, 9, "2026-01-01T00:00:00Z", OARS, "Stowed.")
    with connect_voyage(person) as (journeys, journey, ids):
        yield Home(person, journeys, journey, ids)


# ---- for programs


def test_with_json_every_command_prints_the_response_body(home: Home) -> None:
    person, journey = home.person, home.journey
    created = person.json("journey", "create", "--user", USER)
    assert (created["is_new"], created["user_id"]) == (True, USER)
    assert person.json("journey", "create", "--user", USER) == {**created, "is_new": False}
    mine = created["journey_id"]
    added = person.json(
        "journey", "add", mine, "--type", "artifact", "--title", "T", "--content", "C", "--metadata", '{"z": 1, "a": [2]}'
    )  # fmt: skip
    document = added["document_id"]
    bodies = {
        ("documents", mine): run_operation(person, "list_documents", journey_id=mine),
        ("documents", mine, document): run_operation(person, "get_document", journey_id=mine, document_id=document),
        ("history", journey): run_operation(person, "query_journey_history", journey_id=journey),
        ("timeline", journey, "-n", "2"): run_operation(person, "journey_timeline", journey_id=journey, limit=2),
    }
    assert {command: person.json("journey", *command) for command in bodies} == bodies
    assert bodies["documents", mine, document]["metadata"] == {"z": 1, "a": [2]}
    assert person.json("journey", "delete", mine, document)["document_id"] == document
    assert person.json("journey", "delete", mine) == {"journey_id": mine, "session_count": 0, "document_count": 0}


def test_history_takes_words_dates_and_a_limit(home: Home) -> None:
    def titles_in_history(*options: str) -> list[str]:
        rows = home.person.json("journey", "history", home.journey, *options)["sessions"]
        titles = {session: title for title, session in home.ids.items()}
        return [titles[row["session_id"]] for row in rows]

    assert titles_in_history("anchor", "chain") == [ROPE, WINCH]
    assert titles_in_history("-n", "1") == [DECK]
    assert titles_in_history("--from", "2026-01-19T23:59:59.999Z", "--to", "2026-01-20T00:00:00.000Z") == [DECK, ROPE]
    assert titles_in_history("--from", "7d") == []
    assert "documents" not in home.person.json("journey", "history", home.journey)
    assert home.person.json("journey", "history", home.journey, "--documents")["documents"] == []


def test_a_session_is_linked_by_either_name(home: Home) -> None:
    journey, session = home.journeys.create_journey(), home.ids[OARS]
    for name in (session, as_reference(session)):
        body = home.person.json("journey", "link", journey, name, "--summary", "Dry", "--diagnosis", "Tar")
        assert body == {"journey_id": journey, "session_id": session}
    (row,) = home.journeys.session_rows(journey)
    assert (row["summary"], row["has_diagnosis"]) == ("Dry", True)
    home.person.run("journey", "link", journey, session, "--no-diagnosis")
    assert home.journeys.session_rows(journey)[0]["has_diagnosis"] is False
    home.journeys.link(home.journey, session)


@pytest.mark.parametrize(
    ("command", "code", "exit_code"),
    [
        (f"timeline {NOBODY}", 404, 1),
        (f"documents {NOBODY} {NOBODY}", 404, 1),
        (f"delete {NOBODY}", 404, 1),
        (f"history {NOBODY} -n 0", 400, 2),
        (f"add {NOBODY} --metadata []", 400, 2),
        (f"link {NOBODY} session:00", 400, 2),
        ("create --user me", 400, 2),
    ],
)
def test_a_failure_has_the_exit_code_of_its_error(home: Home, command: str, code: int, exit_code: int) -> None:
    done = home.person.run("journey", *command.split(), "--json", check=False)
    assert (done.returncode, json.loads(done.stdout)["code"]) == (exit_code, code)


def test_a_failure_is_described_in_one_sentence(home: Home) -> None:
    done = home.person.run("journey", "timeline", NOBODY, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"recollect: Journey {NOBODY} not found\n")


@pytest.mark.parametrize(
    "command",
    [
        "add JOURNEY --metadata {",
        "history JOURNEY --from nonsense",
        "link JOURNEY SESSION --diagnosis x --no-diagnosis",
        "timeline",
    ],
)
def test_invalid_options_are_a_usage_error(home: Home, command: str) -> None:
    done = home.person.run("journey", *command.replace("JOURNEY", home.journey).split(), check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


# ---- for people


def test_the_output_for_people_shows_a_journey(home: Home) -> None:
    history, timeline = home.output("history", home.journey), home.output("timeline", home.journey)
    assert [title for title in (WINCH, ROPE, DECK) if title not in history] == []
    assert UUID.findall(timeline) == UUID.findall(history)[::-1]
    assert set(home.ids.values()) == set(UUID.findall(history)), "ids are not wrapped"
    assert "1 of 5 sessions (more with -n 5)" in home.output("history", home.journey, "-n", "1")
    assert re.search(r"session  0\.\d\d, ", home.output("history", home.journey, "mainsail"))
    assert home.output("history", home.journey, "hovercraft") == "No sessions found.\n"


def test_the_output_for_people_confirms_a_change(home: Home) -> None:
    mine = UUID.findall(home.output("create"))[0]
    assert home.output("timeline", mine) == "This journey is empty.\n"
    assert home.output("documents", mine) == "This journey has no documents.\n"
    document = UUID.findall(home.output("add", mine, "--title", "Chart", "--content", "Here be\ndragons"))[0]
    assert "Chart  note, " in home.output("documents", mine)
    assert "Here be\ndragons\n" in home.output("documents", mine, document)
    assert home.output("delete", mine, document) == f"Deleted {document}.\n"
    home.output("link", mine, home.ids[OARS])
    assert home.output("delete", mine) == "Deleted the journey and 0 documents. Its 1 session can be linked again.\n"
    home.journeys.link(home.journey, home.ids[OARS])


def test_terminal_control_sequences_are_not_printed(home: Home) -> None:
    mine, evil = home.journeys.create_journey(), "a\x1b[31m\x1b]0;b\x07[bold]c[/]\x9b"
    document = home.journeys.add(mine, title=evil, content=evil, metadata={evil: evil})
    home.journeys.link(mine, home.ids[OARS], summary=evil)
    for command in (("timeline", mine), ("history", mine), ("documents", mine), ("documents", mine, document)):
        shown = home.output(*command)
        assert "a[bold]c[/]" in shown
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown)
    home.journeys.link(home.journey, home.ids[OARS])


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_and_the_options_of_a_realm(person: Person, name: str) -> None:
    help_text = person.run("journey", name, "--help").stdout
    assert re.search(rf"^ +recollect journey {name}\b", help_text, re.MULTILINE)
    for flag in ("--json", "--realm ID", "--isolated", "--instance ID", "--realm-backend [sqlite|jsonl|memory]"):
        assert flag in help_text


def test_help_names_every_command(person: Person) -> None:
    shown = person.run("journey", "--help").stdout
    assert [name for name in COMMANDS if not re.search(rf"^  {name} +\S+", shown, re.MULTILINE)] == []
    assert "recollect journey link JOURNEY SESSION" in shown
