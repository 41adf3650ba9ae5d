"""`recollect observations` and `recollect distil`, for people and for scripts."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from recollect.store.lock import DISTILLING, exclusive
from recollect.store.memory import Memory as Stored
from tests.conftest import Person
from tests.contract.library_archive import Library
from tests.contract.memory_archive import serve_archive
from tests.contract.memory_client import OBSERVATION, QUOTED, connect_memory, session_writer, write_session
from tests.e2e.processes import running
from tests.logs import append

UNKNOWN = "obs-0123456789abcdef"


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """The home folder of the memory's contract tests, with its recorded observations."""
    with serve_archive(tmp_path_factory.mktemp("memory")) as memory:
        return memory.person


def listed(person: Person, *options: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = person.json("observations", *options)["data"]["observations"]
    return rows


def lanterns(person: Person, *options: str) -> set[str]:
    rows = listed(person, "--limit", "1000", *options)
    return {row["title"].removeprefix("Lantern ") for row in rows if row["title"].startswith("Lantern ")}


# ---- lists


def test_the_newest_observations_come_first(person: Person) -> None:
    rows = listed(person, "--limit", "1000")
    assert [row["at"] for row in rows] == sorted((row["at"] for row in rows), reverse=True)
    assert {row["score"] for row in rows} == {None}
    assert len({row["id"] for row in rows}) == len(rows) > 10
    shown = person.run("observations", "--limit", "1000").stdout
    assert OBSERVATION.findall(shown) == [row["id"] for row in rows]
    assert shown.endswith(f"{len(rows)} observations. In full: recollect observations ID\n")
    assert OBSERVATION.findall(person.run("observations", "-n", "3").stdout) == [row["id"] for row in rows[:3]]


def test_the_ids_of_a_row_can_be_opened(person: Person) -> None:
    row = next(row for row in listed(person) if len(row["evidence"]) > 1)
    for identity in (row["session"], row["turn"], *row["evidence"]):
        assert "error" not in person.json("open", identity)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--type", "decision"], {"hull", "mast"}),
        (["-t", "decision", "-t", "bugfix"], {"hull", "mast", "keel"}),
        (["--project", "api"], {"hull", "keel"}),
        (["--concept", "jwt"], {"hull", "keel"}),
        (["--file", "auth.ts"], {"hull", "sail"}),
        (["--file", "uth.ts"], set()),
        (["--file", "*.ts", "--file", "-auth.ts"], {"keel", "mast", "seed"}),
        (["--file", "j*.ts", "--type", "-decision"], {"keel"}),
        (["--concept", "jwt", "--concept", "-nothing"], {"hull", "keel"}),
        (["--since", "2026-01-20"], {"clock", "seed"}),
        (["--until", "2026-01-20T00:00Z", "--project", "watch"], {"brass"}),
        (["--type", "decision", "--project", "shop"], {"mast"}),
    ],
    ids=lambda given: " ".join(sorted(given) if isinstance(given, set) else given),
)
def test_filters_narrow_a_list(person: Person, options: list[str], expected: set[str]) -> None:
    assert lanterns(person, *options) == expected


# ---- questions


def test_a_question_finds_the_best_observations_first(person: Person) -> None:
    rows = listed(person, "lantern", "hull")
    assert rows[0]["title"] == "Lantern hull"
    scores = [row["score"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert OBSERVATION.findall(person.run("observations", "lantern hull").stdout) == [row["id"] for row in rows]
    assert lanterns(person, "lantern", "--type", "pattern") == {"sail"}


# ---- in full


def test_ids_open_observations_in_full_and_in_their_order(person: Person) -> None:
    ids = [row["id"] for row in listed(person, "--limit", "4")][::-1]
    shown = person.run("observations", *ids).stdout
    assert shown.startswith(f"Retrieved 4 observations:\n{QUOTED}\n\n## [")
    assert OBSERVATION.findall(shown) == ids
    assert [row["id"] for row in listed(person, *ids)] == ids


def test_an_error_names_the_unknown_id(person: Person) -> None:
    done = person.run("observations", UNKNOWN, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"recollect: There is no observation {UNKNOWN!r}.\n")
    done = person.run("observations", UNKNOWN, "--json", check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["message"] == f"There is no observation {UNKNOWN!r}."
    assert person.run("observations", "obs-nonsense", check=False).returncode == 2


@pytest.mark.parametrize(
    "options",
    [["--limit", "0"], ["--limit", "many"], ["--project", "nowhere"], ["--since", "nonsense"], ["--nonsense"]],
    ids=str,
)
def test_a_bad_option_is_a_usage_error(person: Person, options: list[str]) -> None:
    assert person.run("observations", *options, check=False).returncode == 2


def test_no_match_is_a_success_with_a_sentence(person: Person) -> None:
    assert person.run("observations", "xyzzyquux").stdout == "No observations found.\n"
    assert person.run("observations", "--type", "weather").stdout == "No observations found.\n"
    assert listed(person, "xyzzyquux") == []


def test_without_observations_the_command_says_how_to_get_them(tmp_path: Path) -> None:
    nobody = Person(tmp_path)
    hint = "No observations found yet. `recollect sync` extracts them from your agents' logs.\n"
    assert nobody.run("observations").stdout == hint
    assert listed(nobody) == []


# ---- distilling


def state(person: Person) -> list[Any]:
    """All observations, and when the files of the memory were last written."""
    with closing(Stored(person.realm)) as stored:
        return [stored.observations_above(0, 10_000), stored.last_key()]


def written(person: Person) -> dict[str, int]:
    """The time of the last write of each file of the memory."""
    files = [*person.realm.glob("vectors-*/*"), person.realm / "memory.db"]
    return {str(path): path.stat().st_mtime_ns for path in files}


def test_a_second_run_does_nothing(person: Person) -> None:
    person.run("distil")
    before = state(person), written(person)
    assert person.run("distil").stdout == f"{len(before[0][0])} observations.\n"
    person.run("sync")
    assert (state(person), written(person)) == before


def test_extracting_all_observations_again_gives_the_same_ones(person: Person) -> None:
    before = state(person)
    assert person.run("distil", "--again").stdout == f"{len(before[0])} observations.\n"
    assert state(person) == before, "ids and keys are the same, so that references stay valid"


def test_only_new_turns_are_distilled(person: Person) -> None:
    before = {row.id: row.key for row in state(person)[0]}
    log = person.claude_log(session_writer(4, "garden").session, "-work-garden")
    claude = session_writer(4, "garden")
    claude.clock = 600
    append(
        log,
        claude.prompt("How deep do we plant the garlic cloves?"),
        claude.says("Five centimetres, because frost heaves them."),
    )
    person.run("sync")
    after = {row.id: row.key for row in state(person)[0]}
    assert before.items() <= after.items(), "earlier observations have the same keys"
    assert len(after) > len(before)


def test_a_second_distil_reports_the_first_and_changes_nothing(person: Person) -> None:
    before = state(person)
    with exclusive(person.realm, DISTILLING):
        done = person.run("distil", "--again")
        assert done.stdout == "Another process is already doing this.\n"
        assert person.run("distil", "--quiet").stdout == ""
        assert state(person) == before
        assert person.run("observations", "lantern").stdout
    assert person.run("distil").stdout == f"{len(before[0])} observations.\n"
    assert state(person) == before


def test_two_concurrent_distils_cause_no_error(person: Person) -> None:
    before = state(person)
    command = [sys.executable, "-m", "recollect", "distil", "--again"]
    with running(person, "distil", "--again"), running(person, "distil", "--again", "--quiet"):
        done = subprocess.run(command, env=person.env, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    person.run("distil")
    assert state(person) == before
    with connect_memory(person) as client:
        assert client.search_rows("authentication of people signing in", mode="vector")


def test_a_sync_without_logs_creates_an_empty_memory(tmp_path: Path) -> None:
    nobody = Person(tmp_path)
    assert nobody.run("distil").stdout == "0 observations.\n"
    nobody.run("sync")
    assert nobody.run("distil", "--again").stdout == "0 observations.\n"


def test_a_growing_session_keeps_its_observations_and_adds_new_ones(tmp_path: Path) -> None:
    """A running turn is not distilled until it ends."""
    person = Person(tmp_path)
    claude = session_writer(1, "api")
    log = write_session(person, 1, "api", "2026-02-01", [claude.prompt("Why do the gulls circle the quay?")])
    person.run("sync")
    assert listed(person) == []
    append(log, claude.says("They circle because the trawlers gut their catch there."))
    person.run("sync")
    first = [row["id"] for row in listed(person)]
    assert first
    append(log, claude.prompt("And when do they leave?"), claude.says("At dusk, since the trawlers are in by then."))
    person.run("sync")
    assert {*first} < {row["id"] for row in listed(person)}


# ---- reviews


def test_people_confirm_edit_retire_and_delete_observations(tmp_path: Path) -> None:
    with serve_archive(tmp_path) as memory:
        person = memory.person
    first, second = (row["id"] for row in listed(person, "lantern", "--limit", "2"))
    assert person.run("review", "confirm", first, second, "--reviewer", "ann").stdout.count("Confirmed by ann: ") == 2
    edited = person.json("review", "edit", first, "--title", "Lantern oil", "--fact", "It burns.", "--fact", "It smells.")
    assert edited["data"]["observation"]["facts"] == ["It burns.", "It smells."]
    assert "Lantern oil" in person.run("observations", "oil").stdout
    person.run("review", "retire", first)
    assert first not in {row["id"] for row in listed(person, "--limit", "200")}
    assert [row["id"] for row in listed(person, "--state", "retired")] == [first]
    assert [row["id"] for row in listed(person, "--state", "retired", "--file", "no-such-file")] == []
    assert "Lantern oil" in person.run("observations", first).stdout
    assert person.run("review", "delete", first, "--json", check=False).returncode == 2
    assert person.run("review", "delete", first, input="n\n", check=False).returncode == 130
    assert person.run("review", "delete", first, "--yes").stdout == f"Deleted {first}\n"
    assert person.run("observations", first, check=False).returncode == 1
    assert listed(person, "--state", "retired") == []
    assert person.run("review", "edit", second, check=False).returncode == 2


def test_a_retired_observation_fits_the_filters_that_it_fitted_before(tmp_path: Path) -> None:
    with serve_archive(tmp_path) as memory:
        library = Library(memory.person)
    filters: list[dict[str, Any]] = [
        {"type": ["decision"]}, {"type": ["-decision"]}, {"concept": ["jwt"]}, {"concept": ["-jwt"]}, {"file": ["auth.ts"]},
        {"file": ["-auth.ts"]}, {"file": ["*.ts"]}, {"file": ["-*.ts"]}, {"since": ["2026-01-20"]}, {"project": ["api"]},
        {"project": ["-api"]},
    ]  # fmt: skip

    def found(**more: Any) -> list[set[str]]:
        answers = [library.data("observations", limit=200, **chosen, **more) for chosen in filters]
        return [{row["id"] for row in answer["observations"]} for answer in answers]

    before = found()
    assert len({frozenset(one) for one in before}) == len(filters)
    for row in library.data("observations", limit=200)["observations"]:
        library.data("retire_observation", id=row["id"])
    assert found(state=["retired"]) == before
