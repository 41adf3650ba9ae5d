"""`recollect trace` on the command line: the same answers as JSON for programs, and formatted for people."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Person
from tests.contract.trace_archive import (
    CIRCLES,
    DEPTHS,
    EVERYWHERE,
    LEDGER,
    NETS,
    RIGGING,
    SCRIPTS,
    SIXTY,
    STEPPED,
    serve_archive,
)
from tests.contract.trace_client import Trace, connect_trace
from tests.logs import Claude, write

pytestmark = pytest.mark.process

COMMANDS = ("search", "event", "session", "analyze")
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
EVIL = "a\x1b[31mb\x1b]0;title\x07[bold]c[/]\x9b31m\x00\r\x7fd"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    with serve_archive(tmp_path_factory.mktemp("trace")) as client:
        yield client


def stdout_of(trace: Trace, *arguments: str) -> str:
    return trace.person.run("trace", *arguments).stdout


# ---- for programs


def test_with_json_every_command_prints_the_answer_of_its_tool(trace: Trace) -> None:
    """Byte for byte."""
    session, first = trace.ids[NETS], trace.ids[EVERYWHERE]
    cursor = trace.answer("search_event_previews", query="marlinspike", limit=3)["pagination"]["next_cursor"]
    commands = {
        ("search", "marlinspike"): ("search_event_previews", {"query": "marlinspike"}),
        ("search", "a   rope"): ("search_event_previews", {"query": "a   rope"}),
        ("search", "of", "a", "rope", "-n", "51"): ("search_event_previews", {"query": "of a rope", "limit": 51}),
        ("search", "e", "-t", "ToolCall", "--provider", "codex", "--session", trace.ids[DEPTHS][:8], "-n", "2"): (
            "search_event_previews",
            {"query": "e", "event_type": "tool_call", "provider": "codex", "session_id": trace.ids[DEPTHS], "limit": 2},
        ),
        ("search", "marlinspike", "--cursor", cursor): ("search_event_previews", {"query": "marlinspike", "cursor": cursor}),
        ("search", "--", "--fathoms"): ("search_event_previews", {"query": "--fathoms"}),
        ("event", session[:8], "1"): ("get_event_details", {"session_id": session, "event_index": 1}),
        ("event", trace.ids_by_title[NETS], "1"): ("get_event_details", {"session_id": session, "event_index": 1}),
        ("session", session): ("get_session_details", {"session_id": session}),
        ("session", session, "--level", "full"): ("get_session_details", {"session_id": session, "detail_level": "full"}),
        ("session", trace.ids[RIGGING], "--level", "turns", "--reasoning"): (
            "get_session_details",
            {"session_id": trace.ids[RIGGING], "detail_level": "turns", "include_reasoning": True},
        ),
        ("session", trace.ids[SIXTY], "--reasoning"): (
            "get_session_details",
            {"session_id": trace.ids[SIXTY], "include_reasoning": True},
        ),
        ("analyze", session): ("analyze_session", {"session_id": session}),
        ("session", first, "--level", "deep"): ("get_session_details", {"session_id": first, "detail_level": "deep"}),
        ("search", "e", "--cursor", "x"): ("search_event_previews", {"query": "e", "cursor": "x"}),
    }
    for command, (tool, arguments) in commands.items():
        completed = trace.person.run("trace", command[0], "--json", *command[1:], check=False)
        assert completed.stdout == trace.reply(tool, arguments)[1] + "\n", command


TYPED = {
    "session_id": "SESSION",
    "detail_level": "--level",
    "event_index": "INDEX",
    "limit": "-n",
    "event_type": "-t",
    "provider": "--provider",
    "cursor": "--cursor",
}
"""The arguments as a person types them."""


@pytest.mark.parametrize(
    ("command", "code", "exit_code"),
    [
        ("search no-such-words-anywhere", None, 0),
        ("session ffffffff-ffff-ffff-ffff-ffffffffffff", "session_not_found", 1),
        ("event zz 0", "session_not_found", 1),
        ("session *", "invalid_session_id", 2),
        ("session SESSION --level deep", "invalid_detail_level", 2),
        ("event SESSION 28", "invalid_event_index", 2),
        ("event SESSION -- -1", "invalid_event_index", 2),
        ("search e --limit 0", "invalid_parameter", 2),
        ("search e -t nonsense", "invalid_parameter", 2),
        ("search e --provider nobody", "invalid_parameter", 2),
        ("search e --cursor x", "invalid_cursor", 2),
        ("search e --session SHARED", "ambiguous_session_prefix", 2),
        ("analyze SHARED", "ambiguous_session_prefix", 2),
    ],
)
def test_a_failure_has_the_exit_code_of_its_error(trace: Trace, command: str, code: str | None, exit_code: int) -> None:
    firsts = [session[0] for session in trace.ids.values()]
    words = {"SESSION": trace.ids[NETS], "SHARED": next(letter for letter in firsts if firsts.count(letter) > 1)}
    name, *arguments = (words.get(word, word) for word in command.split())
    completed = trace.person.run("trace", name, "--json", *arguments, check=False)
    answer = json.loads(completed.stdout)
    assert (completed.returncode, answer.get("error", {}).get("code")) == (exit_code, code)
    printed = trace.person.run("trace", name, *arguments, check=False)
    assert printed.returncode == exit_code
    if code is not None:
        argument, space, rest = answer["error"]["message"].partition(" ")
        assert (printed.stdout, printed.stderr) == ("", f"recollect: {TYPED.get(argument, argument)}{space}{rest}\n")


def test_a_command_past_its_deadline_fails_with_a_retryable_error(person: Person) -> None:
    log = Claude()
    write(person.claude_log(log.session), [log.prompt("Trim the jib")])
    person.sync()
    person.env["RECOLLECT_DEADLINE_MS"] = "0"
    done = person.run("trace", "search", "jib", "--json", check=False)
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (1, "search_timeout")


@pytest.mark.parametrize(
    "command",
    ["nonsense", "search", "event SESSION", "event SESSION one", "session", "session a b", "search e --limit x"],
)
def test_invalid_options_are_a_usage_error(trace: Trace, command: str) -> None:
    completed = trace.person.run("trace", *command.replace("SESSION", trace.ids[NETS]).split(), check=False)
    assert completed.returncode == 2
    assert "Usage: recollect trace" in completed.stderr + completed.stdout
    assert "Traceback" not in completed.stderr


# ---- for people


def test_the_output_for_people_shows_matches_and_the_next_command(trace: Trace) -> None:
    output = stdout_of(trace, "search", "marlinspike")
    assert UUID.findall(output) == [trace.ids[EVERYWHERE]] * 10, "ids are not wrapped"
    assert "The marlinspike lies in locker 3." in output
    assert "recollect trace event SESSION INDEX" in output
    first = stdout_of(trace, "search", "gull", "-n", "2")
    cursor = re.findall(r"More: --cursor (\S+)", first)[0]
    assert first.splitlines()[:4] != stdout_of(trace, "search", "gull", "-n", "2", "--cursor", cursor).splitlines()[:4]
    assert stdout_of(trace, "search", "no such words") == "No event contains 'no such words'.\n"


def test_the_output_for_people_shows_an_event_complete(trace: Trace) -> None:
    assert "anchorlast" in stdout_of(trace, "event", trace.ids[LEDGER], "4")
    assert 'arguments: {"cmd":"sound --fathoms","workdir":"/home/sam"}' in stdout_of(
        trace, "event", trace.ids[DEPTHS][:8], "2"
    )
    assert "exit_code: 101" in stdout_of(trace, "event", trace.ids[DEPTHS], "3")


def test_the_output_for_people_shows_a_session_and_the_next_command(trace: Trace) -> None:
    session = trace.ids[NETS]
    outlines = {
        level: stdout_of(trace, "session", session[:8], "--level", level) for level in ("summary", "turns", "steps", "full")
    }
    for level, deeper in (("summary", "turns"), ("turns", "steps"), ("steps", "full")):
        assert f"recollect trace session {session} --level {deeper}" in outlines[level]
    assert "recollect trace" not in outlines["full"]
    assert all(prompt in outline for outline in outlines.values() for prompt in (NETS, "half good", "bad and unfinished"))
    assert all("partial" in outlines[level] and "failed" in outlines[level] for level in ("turns", "steps", "full"))
    assert "Read: net (failed); Bash: mend" in outlines["turns"]
    assert "torn" in outlines["steps"]
    assert "D1" in stdout_of(trace, "session", trace.ids[RIGGING], "--level", "turns", "--reasoning")


def test_the_output_for_people_says_what_was_cut(trace: Trace) -> None:
    done = trace.person.run("trace", "session", trace.ids[STEPPED], "--level", "turns")
    assert "! Response truncated to 30 KB" in done.stderr
    assert re.search(r"\d+ steps are not shown", done.stdout)
    assert "! -n 99 is above the maximum" in trace.person.run("trace", "search", "e", "-n", "99").stderr


def test_the_output_for_people_shows_failures_and_their_places(trace: Trace) -> None:
    nets = stdout_of(trace, "analyze", trace.ids[NETS])
    assert "Score 70 of 100" in nets
    assert [line.split()[:3] for line in nets.splitlines()[1:4]] == [["turn", turn, "failure"] for turn in ("2", "3", "5")]
    assert f"recollect trace session {trace.ids[NETS]} --level steps" in nets
    assert "loop" in stdout_of(trace, "analyze", trace.ids[CIRCLES])
    assert "No failures" in stdout_of(trace, "analyze", trace.ids[SCRIPTS])


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    """A person whose every text contains terminal control sequences."""
    person = Person(tmp_path_factory.mktemp("evil"))
    log = Claude()
    lines = [
        log.prompt(EVIL),
        log.thinks(EVIL),
        log.calls(EVIL, "t1", model=EVIL, command=EVIL, **{EVIL: [EVIL]}),
        log.result("t1", f"{EVIL}\r\n{EVIL}", failed=True),
        log.calls("Bash", "t2", command=EVIL),
        log.prompt(f"<system-reminder>{EVIL}</system-reminder>"),
        log.says(f"{EVIL}\t{EVIL}", model=EVIL),
    ]
    write(person.claude_log(log.session), lines)
    person.sync()
    with connect_trace(person) as trace:
        yield trace


def test_terminal_control_sequences_are_not_printed(evil: Trace) -> None:
    (session,) = evil.ids.values()
    commands = [
        ("search", "c"),
        ("search", "\x1b[31m"),
        ("search", f"{EVIL[:4]} not there".replace("\x00", "")),
        *(("event", session, str(index)) for index in range(7)),
        *(("session", session, "--level", level, "--reasoning") for level in ("summary", "turns", "steps", "full")),
        ("analyze", session),
    ]
    for command in commands:
        done = evil.person.run("trace", *command)
        assert not CONTROL.search(done.stdout + done.stderr), command
        assert command[0] == "analyze" or "[bold]" in done.stdout or "No event" in done.stdout, command


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_and_the_options_of_a_realm(person: Person, name: str) -> None:
    help_text = person.run("trace", name, "--help").stdout
    assert re.search(rf"^ +recollect trace {name}\b", help_text, re.MULTILINE)
    for flag in ("--json", "--realm ID", "--isolated", "--instance ID", "--realm-backend [sqlite|jsonl|memory]"):
        assert flag in help_text


def test_help_names_every_command(person: Person) -> None:
    told = person.run("trace", "--help").stdout
    assert [name for name in COMMANDS if not re.search(rf"^  {name} +\S+", told, re.MULTILINE)] == []
    assert "trace" in person.run("--help").stdout


def test_a_command_without_any_home_folder_finds_nothing(tmp_path: Path) -> None:
    """Before the first sync."""
    person = Person(tmp_path / "new")
    assert person.json("trace", "search", "anything")["data"] == {"matches": []}
    assert person.run("trace", "session", "0", check=False).returncode == 1
