"""Commands of the library in a pipe: rows, filters, ids, and the JSON that programs get."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from recollect.errors import RecollectError
from recollect.surfaces.cli import recollect
from tests.conftest import Person
from tests.contract.library_archive import (
    ANCHOR,
    BEACON,
    CUTTER,
    DINGHY,
    ESTUARY,
    FATHOM,
    NAMES,
    SHARED_WORD,
    Library,
    fill,
)
from tests.logs import Claude, write

SHORT = re.compile(r"[0-9a-f]{8}")


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    person = Person(tmp_path_factory.mktemp("library_cli"))
    fill(person)
    return person


@pytest.fixture(scope="module")
def library(person: Person) -> Library:
    return Library(person)


def run(person: Person, *arguments: str) -> Result:
    """Run a command in this process, its output in a pipe."""
    return CliRunner().invoke(recollect, arguments, env={**person.env, "COLUMNS": "200"})


def shown(person: Person, *arguments: str) -> str:
    done = run(person, *arguments)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


def in_json(person: Person, *arguments: str) -> Any:
    return json.loads(run(person, *arguments, "--json").stdout)


def refusal(person: Person, *arguments: str) -> str:
    """Why a command is refused, in its own words."""
    done = run(person, *arguments)
    assert done.exit_code != 0
    return str(done.exception) if isinstance(done.exception, RecollectError) else done.stderr


def names_in(text: str) -> set[str]:
    return {name for name in NAMES if name in text}


# ---- list

FILTERS: list[tuple[tuple[str, ...], set[str]]] = [
    (("--agent", "codex"), {DINGHY, ESTUARY, FATHOM}),
    (("--agent", "-codex"), {ANCHOR, BEACON, CUTTER}),
    (("--project", "app", "--project", "reef"), {ANCHOR, BEACON, DINGHY, FATHOM}),
    (("--branch", "signals"), {BEACON, ESTUARY}),
    (("--model", "opus*"), {BEACON}),
    (("--tool", "Bash"), {ANCHOR}),
    (("--file", "*.go"), {DINGHY}),
    (("--type", "reasoning"), {CUTTER}),
    (("--failed",), {ANCHOR, ESTUARY}),
    (("--no-failed", "--agent", "codex"), {DINGHY, FATHOM}),
    (("--mode", "-chat", "--agent", "claude-code"), {ANCHOR, CUTTER}),
    (("--state", "working"), set()),
    (("--since", "2026-02-02", "--until", "2026-02-04"), {DINGHY, ESTUARY}),
    (("agent:codex", "-branch:main"), {ESTUARY}),
    ((DINGHY,), {DINGHY}),
]


@pytest.mark.parametrize(("options", "expected"), FILTERS, ids=[" ".join(options) for options, _ in FILTERS])
def test_a_filter_selects_the_same_sessions_for_people_and_programs(
    person: Person, options: tuple[str, ...], expected: set[str]
) -> None:
    assert names_in(shown(person, "list", *options)) == expected
    listed = in_json(person, "list", *options)["data"]["sessions"]
    assert {name for session in listed for name in names_in(str(session))} == expected


def test_a_row_has_whole_texts_and_plain_numbers(person: Person, library: Library) -> None:
    rows = {next(iter(names_in(line))): line.split("\t") for line in shown(person, "list").splitlines()}
    session = library.session(BEACON)
    assert rows[BEACON] == [
        session["uuid"][:8], "2026-02-01 01:00", "claude-code", "app", f"Light the {BEACON} of the {SHARED_WORD}",
        "claude-opus-4-6", rows[BEACON][6], rows[BEACON][7], "ended",
    ]  # fmt: skip
    for name, row in rows.items():
        total, usd = library.session(name)["tokens"]["total"], library.session(name)["cost"]["usd"]
        assert row[6] == (str(total) if total else "")
        assert row[7] == ("" if usd is None else f"{usd:.4f}")


def test_sessions_are_sorted_as_asked(person: Person) -> None:
    by_time = [next(iter(names_in(line))) for line in shown(person, "list", "--sort", "started").splitlines()]
    assert by_time == [ANCHOR, BEACON, CUTTER, DINGHY, ESTUARY, FATHOM]
    assert shown(person, "list", "--sort", "asc").splitlines()[0].count(ANCHOR) == 1
    assert "sort must be one of updated, started" in refusal(person, "list", "--sort", "colour")


def test_pages_are_read_without_a_cursor(person: Person) -> None:
    done = run(person, "list", "-n", "4")
    assert (len(done.stdout.splitlines()), done.stderr) == (4, "4 of 6 sessions. All of them: -n 6\n")
    assert len(shown(person, "list", "-n", "500").splitlines()) == 6


def test_an_empty_list_tells_why(person: Person, tmp_path: Path) -> None:
    assert shown(person, "list", "--until", "2026-01-01") == "No sessions in this period.\n"
    assert shown(person, "list", "--state", "working") == "No sessions fit these filters.\n"
    assert shown(Person(tmp_path), "list") == "No sessions yet. `recollect sync` reads your agents' logs.\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--agent", "claude"), "There is no agent 'claude'; did you mean claude-code"),
        (("--state", "working hard"), "did you mean working"),
        (("--since", "31 February 2026"), "since: "),
        (("--since", "2026-03-01", "--until", "2026-02-01"), "until must be later than since"),
        (("-n", "0"), "-n must be an integer from 1 to 200"),
        (("--agnt", "codex"), "--agent"),
    ],
)
def test_a_wrong_value_is_explained(person: Person, options: tuple[str, ...], message: str) -> None:
    assert message in refusal(person, "list", *options)
    assert run(person, "list", *options).exit_code == 2


# ---- the JSON of list and search


@pytest.mark.parametrize(
    "options", [(), ("--since", "2026-02-02"), ("--mode", "chat", "-n", "2"), ("--sort", "asc"), ("--until", "today")]
)
def test_what_the_tool_can_list_is_printed_in_its_envelope(person: Person, options: tuple[str, ...]) -> None:
    assert in_json(person, "list", *options)["schema_version"] == "moraine.mcp.list_sessions.v1"


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (("--agent", "codex"), {"agent": ["codex"]}),
        ((SHARED_WORD,), {"query": SHARED_WORD}),
        (("--sort", "-tokens", "-n", "2"), {"sort": "-tokens", "limit": 2}),
        (("--facets", "agent,project"), {"facets": "agent,project"}),
        (("-n", "100", "--since", "2026-02-02"), {"limit": 100, "since": "2026-02-02"}),
    ],
)
def test_what_only_the_library_can_list_is_its_answer(
    person: Person, library: Library, options: tuple[str, ...], arguments: dict[str, Any]
) -> None:
    assert in_json(person, "list", *options) == library.ask("sessions", **arguments)


def test_a_refused_filter_is_an_error_object(person: Person) -> None:
    error = in_json(person, "list", "--agent", "claude")["error"]
    assert (error["code"], error["details"]["did_you_mean"][0]) == ("invalid_filter", "claude-code")


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ([], {}),
        (["--agent", "codex"], {"agent": ["codex"]}),
        (["--agent", "-codex", "--project", "app"], {"agent": ["-codex"], "project": ["app"]}),
        (["--type", "-user_input"], {"type": ["-user_input"]}),
        (["--type", "user_input", "--since", "2026-02-02"], {"type": ["user_input"], "since": ["2026-02-02"]}),
        (["--failed"], {"failed": True}),
        (["--mode", "text", "--tool", "Bash"], {"mode": ["text"], "tool": ["Bash"]}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_search_prints_the_tools_envelope(
    options: list[str], arguments: dict[str, Any], person: Person, library: Library
) -> None:
    words = f"{SHARED_WORD} rail deck voyage tide"
    answer = in_json(person, "search", words, "-n", "50", *options)
    assert answer["schema_version"] == "moraine.mcp.search_sessions.v1"
    found = library.data("search", query=words, limit=200, matches=50, **arguments)["hits"]
    events = {match["event"] for hit in found for match in hit["matches"]}
    assert set() != {hit["id"] for hit in answer["data"]["results"]} <= events


# ---- search


def test_hits_are_below_the_row_of_their_session(person: Person) -> None:
    lines = shown(person, "search", "rail", "--agent", "claude-code").splitlines()
    session, *matches = lines
    assert ANCHOR in session and session.split("\t")[2:4] == ["claude-code", "app"]
    assert [match.split("\t")[1] for match in matches if "\t" in match][:1] != []
    assert all(match.startswith(f"  {session[:8]}:1.") for match in matches if "\t" in match)


def test_further_hits_of_a_session_are_found_by_the_command_that_is_printed(person: Person) -> None:
    shown_lines = shown(person, "search", "deck").splitlines()
    more = next(line for line in shown_lines if "more match" in line)
    assert re.fullmatch(r"  \d+ more match(?:es)?: recollect search deck --within [0-9a-f]{8}", more)
    within = more.split()[-1]
    assert len(in_json(person, "search", "deck", "--within", within)["data"]["results"]) > 0


def test_search_looks_into_one_session_or_turn(person: Person, library: Library) -> None:
    cutter = library.session(CUTTER)["uuid"][:8]
    assert names_in(shown(person, "search", SHARED_WORD, "--within", cutter)) == {CUTTER}
    assert "And back again" in shown(person, "search", "back", "--within", f"{cutter}:2")
    assert shown(person, "search", "wind", "--within", f"{cutter}:2") == "Nothing found for 'wind'.\n"
    assert "And back again" in shown(person, "search", "back", "--within", f"{cutter}:2", "--agent", "claude-code")
    assert "Nothing found" in shown(person, "search", "back", "--within", f"{cutter}:2", "--agent", "-claude-code")
    assert "a session or a turn" in refusal(person, "search", "back", "--within", f"{cutter}:2.1")
    assert "Not an ID: 'nowhere'" in refusal(person, "search", "back", "--within", "nowhere")


# ---- open


def test_every_form_of_an_id_opens(person: Person, library: Library) -> None:
    session = library.session(CUTTER)
    for form in (session["id"], session["uuid"], session["native_id"], session["uuid"][:5], session["native_id"][:6]):
        assert f"Sail the {CUTTER}" in shown(person, "open", form).splitlines()[0]
        assert "turn 2 of 2" in shown(person, "open", f"{form}:2")
    assert FATHOM in shown(person, "open", "last").splitlines()[0]
    assert in_json(person, "open", "last")["data"]["session"]["title"] == library.session(FATHOM)["title"]


def test_what_is_opened_has_a_row_with_its_session(person: Person, library: Library) -> None:
    session = library.session(ANCHOR)
    for place in ("", ":1", ":1.2"):
        row = shown(person, "open", f"{session['uuid'][:8]}{place}").splitlines()[1]
        assert row.split("  ")[:4] == [session["uuid"][:8], "2026-02-01 00:00", "claude-code", "app"]
        assert row.endswith("ended")


def test_opened_ids_can_be_opened_again(person: Person) -> None:
    """From the session down to every event, by the ids that are printed."""
    session = shown(person, "list", "--agent", "claude-code", CUTTER)[:8]
    turns = re.findall(rf"^{session}:\d+\b", shown(person, "open", session), re.MULTILINE)
    assert turns == [f"{session}:1", f"{session}:2"]
    events = re.findall(rf"^{session}:1\.\d+", shown(person, "open", turns[0]), re.MULTILINE)
    assert events == [f"{session}:1.{place}" for place in range(1, len(events) + 1)]
    assert "one\\ntwo\\nthree" in shown(person, "open", events[2])


def test_an_unknown_or_ambiguous_id_is_explained(person: Person) -> None:
    assert "There is no session 'deadbeef'" in refusal(person, "open", "deadbeef")
    assert "Not an ID: 'nonsense'" in refusal(person, "open", "nonsense")
    assert "aaaaaaaa-000" in refusal(person, "open", "aaaaaaaa-000")
    assert in_json(person, "open", "nonsense")["error"]["code"] == "invalid_id"


# ---- labels and notes


def test_labels_are_put_listed_and_removed(tmp_path: Path) -> None:
    person = Person(tmp_path)
    fill(person)
    assert shown(person, "labels") == "No labels yet. Put one: recollect labels ID NAME\n"
    assert shown(person, "labels", "last", "shipped", "code review") == "Labels: code review, shipped\n"
    assert shown(person, "labels") == "code review  1 session\nshipped      1 session\n"
    assert shown(person, "labels", "last") == "code review\nshipped\n"
    assert names_in(shown(person, "list", "--label", "shipped")) == {FATHOM}
    assert in_json(person, "labels")["data"]["labels"] == [
        {"name": "code review", "sessions": 1},
        {"name": "shipped", "sessions": 1},
    ]
    assert shown(person, "labels", "last", "shipped", "--remove") == "Labels: code review\n"
    assert "no label 'shipped'" in refusal(person, "labels", "last", "shipped", "--remove")
    assert "name must be at most 64 characters" in refusal(person, "labels", "last", "fine", "x" * 80)
    assert shown(person, "labels", "last") == "code review\n", "all labels are put, or none"


def test_notes_are_written_read_and_removed(tmp_path: Path) -> None:
    person = Person(tmp_path)
    fill(person)
    for place in ("last", "last:1.1"):
        assert shown(person, "note", place) == "There is no note.\n"
        assert shown(person, "note", place, "ask", "Ana") == "Noted.\n"
        assert shown(person, "note", place) == "ask Ana\n"
        assert in_json(person, "note", place)["data"]["note"] == "ask Ana"
    assert "note: ask Ana" in shown(person, "open", "last")
    assert shown(person, "note", "last", "--remove") == "Removed the note.\n"
    assert shown(person, "note", "last") == "There is no note.\n"
    assert "A turn has no note" in refusal(person, "note", "last:1", "x")


# ---- what agents do


@pytest.fixture
def busy(tmp_path: Path) -> Person:
    """A person whose agents worked in two projects today: a turn runs, and another session is complete."""
    person = Person(tmp_path)
    now = datetime.now(UTC)

    def at(minutes: float) -> dict[str, str]:
        return {"timestamp": (now - timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")}

    running = Claude("11111111-0001-4000-8000-000000000001", "/work/app")
    done = Claude("22222222-0002-4000-8000-000000000002", "/work/yard")
    write(person.claude_log(running.session, "-work-app"), [
        running.prompt("Mend the pump") | at(0.4),
        running.calls("Edit", "t1", file_path="/work/app/pump.py", old_string="a", new_string="a\nb") | at(0.3),
        running.result("t1", "edited") | at(0.2), running.calls("Bash", "t2", command="pytest -q") | at(0.1),
    ])  # fmt: skip
    write(person.claude_log(done.session, "-work-yard"), [
        done.prompt("Tar the hull") | at(3), done.says("The hull is tarred: [see](http://x)") | at(2),
    ])  # fmt: skip
    person.sync()
    return person


def test_now_shows_what_runs_and_what_it_does(busy: Person) -> None:
    rows = [line.split("\t") for line in shown(busy, "now", "--no-sync", "--all").splitlines()]
    assert (rows[0][4], rows[0][8]) == ("Mend the pump", "working")
    assert "pytest -q" in rows[0][9]
    answer = in_json(busy, "now", "--no-sync")
    assert [session["title"] for session in answer["data"]["sessions"]][:1] == ["Mend the pump"]


def test_now_reads_new_lines_first(busy: Person) -> None:
    log = Claude("33333333-0003-4000-8000-000000000003", "/work/app")
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    write(busy.claude_log(log.session, "-work-app"), [log.prompt("Sand the mast") | {"timestamp": now}])
    assert "Sand the mast" not in shown(busy, "now", "--no-sync")
    assert "Sand the mast" in shown(busy, "now")


def test_now_says_that_nothing_runs(person: Person) -> None:
    assert shown(person, "now", "--no-sync").startswith("No agent is running.")


@pytest.mark.parametrize("command", [("today", "--since", "2h"), ("week",)], ids=" ".join)
def test_a_report_has_projects_with_outcomes_and_files(busy: Person, command: tuple[str, ...]) -> None:
    lines = shown(busy, *command, "--no-sync").splitlines()
    assert lines[0].startswith("2 sessions, 2 turns")
    assert [line.split("  ")[0] for line in lines if line and not line.startswith(" ")][1:] == ["app", "yard"]
    assert any(line.strip() == "→ The hull is tarred: see" for line in lines)
    assert any(line.strip() == "1 changed file +1 −0: pump.py" for line in lines)
    assert "Mend the pump" not in shown(busy, *command, "--no-sync", "--project", "yard")
    listed = in_json(busy, *command, "--no-sync")
    assert {session["project"] for session in listed["data"]["sessions"]} == {"app", "yard"}
    assert (listed["page"]["next"], listed["page"]["total"]) == (None, 2)


def test_a_report_of_another_period(person: Person) -> None:
    assert shown(person, "today", "--no-sync").startswith("No sessions today.")
    report = shown(person, "week", "--no-sync", "--since", "2026-02-01", "--until", "2026-02-02")
    assert names_in(report) == {ANCHOR, BEACON, CUTTER}
    assert "1 changed file +2 −1: src/deck.py" in report and "1 changed file +3 −0: log/voyage.md" in report


def test_stats_count_days_agents_projects_and_models(person: Person, library: Library) -> None:
    output = shown(person, "stats")
    assert re.search(r"^6 sessions, 7 turns", output, re.MULTILINE)
    assert re.search(r"^4 active days, the busiest 1 February 2026 \(4 turns\)$", output, re.MULTILINE)
    assert "longest run: 4 days, until 4 February 2026" in output
    assert re.search(r"^  claude-code +4 turns +█+$", output, re.MULTILINE)
    assert re.search(r"^Mon ", output, re.MULTILINE) and "less · " in output
    data = in_json(person, "stats")["data"]
    assert data["agent"] == library.data("usage", by="agent", limit=1_000)["rows"]
    assert {"day", "project", "model", "total"} < data.keys()
    assert re.search(r"^  app +3 sessions ", shown(person, "stats", "--by", "sessions"), re.MULTILINE)
