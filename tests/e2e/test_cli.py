"""The command line: names and options that scripts use, output for people and for programs, exit codes."""

import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import __version__
from recollect.errors import BadSettings
from recollect.settings import MAX_DEADLINE_MS, read_settings
from tests.conftest import Person
from tests.e2e.archives import events, found, sessions
from tests.e2e.terminals import on_a_terminal, plain
from tests.logs import Claude, write

COMMANDS = ("search", "open", "list", "sync", "watch", "mcp", "status", "sources", "doctor", "rebuild")
FOR_PROGRAMS = ("search", "open", "list", "sync", "status", "sources", "doctor")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
ABSENT = f"session:{'0' * 32}"


def paint(person: Person) -> Person:
    """Two synced sessions, in two projects."""
    for number, (word, folder) in enumerate([("lighthouse", "/work/harbour"), ("windmill", "/work/mill")], 1):
        said = Claude(f"{number:08d}-0000-4000-8000-000000000000", cwd=folder, start=number * 100)
        write(person.claude_log(said.session, folder.replace("/", "-")), [
            said.prompt(f"paint the {word}"), said.thinks(f"which colour has a {word}"),
            said.calls("Bash", "c1", command=f"paint --red {word}"), said.result("c1", f"{word} is wet"),
            said.says(f"the {word} is red now"),
        ])  # fmt: skip
    person.run("sync")
    return person


@pytest.fixture(scope="module")
def synced(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """A person with two synced sessions, for tests that only read."""
    return paint(Person(tmp_path_factory.mktemp("synced")))


def without_time(envelope: dict[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in envelope.items() if name != "performance"}


def first_hit(person: Person, query: str) -> dict[str, Any]:
    hit: dict[str, Any] = person.json("search", query)["data"]["results"][0]
    return hit


# ---- every command does its work


def test_sync_prints_one_line_with_its_result(person: Person) -> None:
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("hello"), claude.says("hello")])
    first, second = person.run("sync"), person.run("sync")
    assert re.fullmatch(r"Read .+ in 1 of 1 logs: 2 events, 1 new session.*\n", first.stdout)
    assert re.fullmatch(r"Nothing new in 1 log .*\n", second.stdout)
    assert first.stderr == second.stderr == ""


def test_sync_prints_its_result_as_json(person: Person) -> None:
    claude = Claude()
    log = write(person.claude_log(claude.session), [claude.prompt("hello"), claude.says("hello")])
    report = person.json("sync")
    assert (report["files"], report["files_read"], report["lines"], report["events"], report["sessions"]) == (1, 1, 2, 2, 1)
    assert (report["bytes"], report["problems"], report["unreadable"]) == (log.stat().st_size, 0, [])


def test_search_shows_where_something_was_said(synced: Person) -> None:
    shown = synced.run("search", "lighthouse", "wet").stdout
    assert "paint the lighthouse" in shown
    assert "tool_response" in shown
    assert "lighthouse is wet" in shown
    assert re.search(r"^  [0-9a-f]{8}:1\.4\ttool_response\t", shown, re.MULTILINE)


def test_an_id_from_search_can_be_opened(synced: Person) -> None:
    (identity, *_) = re.findall(r"[0-9a-f]{8}:1\.\d+", synced.run("search", '"is wet"', "-n", "1").stdout)
    shown = synced.run("open", identity).stdout
    assert "is wet" in shown
    (turn,) = re.findall(r"turn ([0-9a-f]{8}:1)\b", shown)
    shown = synced.run("open", turn).stdout
    assert re.findall(r"user_input|reasoning|tool_call Bash|tool_response Bash|assistant_response", shown) == [
        "user_input", "reasoning", "tool_call Bash", "tool_response Bash", "assistant_response",
    ]  # fmt: skip
    (session, *_) = re.findall(r"^[0-9a-f]{8}\b", shown, re.MULTILINE)
    assert "1 turn, 5 events" in synced.run("open", session).stdout


def test_list_shows_sessions_newest_first(synced: Person) -> None:
    rows = [line.split("\t") for line in synced.run("list").stdout.splitlines()]
    assert [row[2:5] for row in rows] == [
        ["claude-code", "mill", "paint the windmill"],
        ["claude-code", "harbour", "paint the lighthouse"],
    ]
    assert all(re.fullmatch(r"[0-9a-f]{8}", row[0]) and row[8] == "ended" for row in rows)
    assert "No sessions in this period" in synced.run("list", "--since", "2027-01-01", "--until", "2027-01-02").stdout


def test_a_list_that_is_cut_tells_how_to_get_all(synced: Person) -> None:
    done = synced.run("list", "-n", "1")
    assert ("windmill" in done.stdout, "lighthouse" in done.stdout) == (True, False)
    assert done.stderr == "1 of 2 sessions. All of them: -n 2\n"


def test_the_pages_of_a_list_are_consecutive(synced: Person) -> None:
    first = synced.json("list", "-n", "1")["data"]
    second = synced.json("list", "-n", "1", "--cursor", first["next_cursor"])["data"]
    titles = [page["sessions"][0]["session"]["title"] for page in (first, second)]
    assert (titles, second["next_cursor"]) == (["paint the windmill", "paint the lighthouse"], None)


def test_status_shows_what_is_indexed_how_fresh_and_how_large(synced: Person) -> None:
    shown = synced.run("status").stdout
    assert "2 sessions, 10 events" in shown
    assert re.search(r"claude-code +2 +2 +10 +2 +100.0%", shown)
    assert re.search(r"archive \d.* KB, index \d.* KB, writer none", shown)
    status = synced.json("status")
    assert (status["sessions"], status["events"], status["realm"], status["warnings"]) == (2, 10, "main", [])
    assert status["index"]["documents"] == 10
    assert status["sources"]["claude-code"]["bytes"] == status["sources"]["claude-code"]["bytes_read"] > 0


def test_doctor_prints_that_a_sound_realm_is_sound(synced: Person) -> None:
    shown = synced.run("doctor").stdout
    assert "claude-code: 10 lines: 10 events, 0 ignored, 0 not recognised, 0 unreadable" in shown
    assert synced.json("doctor")["hints"] == []


def test_sources_shows_which_agents_are_read(synced: Person) -> None:
    shown = synced.run("sources").stdout
    assert re.search(r"claude-code +yes +2 +2", shown)
    assert re.search(r"codex +no +0 +0 +never", shown)
    rows = {row["source"]: row for row in synced.json("sources")}
    assert rows["claude-code"]["homes"] == [str(synced.home / ".claude" / "projects")]
    assert (rows["claude-code"]["installed"], rows["codex"]["installed"]) == (True, False)


def test_the_agents_own_variables_set_the_folders_of_their_logs(person: Person, tmp_path: Path) -> None:
    claude = Claude()
    write(tmp_path / "elsewhere" / "projects" / "-work" / f"{claude.session}.jsonl", [claude.prompt("found elsewhere")])
    person.env["CLAUDE_CONFIG_DIR"] = str(tmp_path / "elsewhere")
    person.env["CODEX_HOME"] = str(tmp_path / "codex")
    person.run("sync")
    assert len(found(person, "elsewhere")) == 1
    homes = {row["source"]: row["homes"] for row in person.json("sources")}
    assert homes["claude-code"] == [str(tmp_path / "elsewhere" / "projects")]
    assert all(Path(home).is_relative_to(tmp_path / "codex") for home in homes["codex"])


def test_rebuild_builds_the_index_again(person: Person) -> None:
    paint(person)
    assert "10 events" in person.run("rebuild").stdout
    assert person.run("rebuild", "--quiet").stdout == ""
    assert "in 2 of 2 logs: 0 events" in person.run("rebuild", "--logs").stdout, (
        "a log that is read again is not stored again"
    )
    assert len(found(person, "windmill")) == 5


def test_search_accepts_filters(synced: Person) -> None:
    def count(*options: str) -> int:
        found = synced.json("search", "windmill lighthouse", "--mode", "text", *options)["data"]
        return int(found["result_count"])

    assert count() == 6
    assert count("--project", "mill") == 3
    assert count("--agent", "-claude-code") == 0
    assert count("-t", "tool_call", "-t", "reasoning") == 4
    assert count("--since", "2026-02-01T00:03:00Z") == 3
    assert count("--until", "2026-02-01T00:03:00Z") == 3
    assert count("--since", "1d") == 0
    within = first_hit(synced, "windmill")["session"]["id"]
    assert synced.json("search", "windmill lighthouse", "--within", within)["data"]["result_count"] == 3


# ---- the very envelope of the tool


def test_search_with_json_prints_the_tools_envelope(synced: Person) -> None:
    ours = synced.json("search", "lighthouse", "-n", "2", "-t", "tool_response", "-t", "user_input")
    with synced.mcp() as client:
        theirs = client.call("search_sessions", query="lighthouse", n_hits=2, event_types=["tool_response", "user_input"])
    assert without_time(ours) == without_time(theirs)
    assert list(ours) == list(theirs)
    assert ours["data"]["result_count"] == 2


def test_open_with_json_prints_the_tools_envelope(synced: Person) -> None:
    hit = first_hit(synced, "lighthouse")
    with synced.mcp() as client:
        for identity in hit["open"].values():
            ours, theirs = synced.json("open", identity), client.call("open", id=identity)
            assert without_time(ours) == without_time(theirs)
            assert list(ours) == list(theirs)


def test_list_with_json_prints_the_tools_envelope(synced: Person) -> None:
    ours = synced.json("list", "--since", "2026-01-01", "--until", "2026-03-01", "--sort", "asc", "-n", "1")
    with synced.mcp() as client:
        theirs = client.call("list_sessions", **ours["request"])
    assert without_time(ours) == without_time(theirs)
    assert list(ours) == list(theirs)
    assert ours["data"]["next_cursor"]


def test_an_error_with_json_prints_the_tools_envelope(synced: Person) -> None:
    with synced.mcp() as client:
        for command, tool, arguments in (
            (("search", "x", "-n", "99"), "search_sessions", {"query": "x", "n_hits": 99}),
            (("search", "   "), "search_sessions", {"query": "   "}),
            (("open", ABSENT), "open", {"id": ABSENT}),
        ):
            ours, theirs = synced.json(*command), client.call(tool, **arguments)
            assert without_time(ours) == without_time(theirs)
            assert "error" in ours


# ---- exit codes

MISUSES: dict[tuple[str, ...], int] = {
    ("search", ""): 2,
    ("search", "x", "-n", "0"): 2,
    ("search", "x", "--within", f"event:{'0' * 32}"): 2,
    ("search", "x", "--within", ABSENT): 1,
    ("open", "nonsense"): 2,
    ("list", "--mode", "nonsense"): 2,
    ("list", "--cursor", "nonsense"): 2,
    ("list", "--since", "2026-05-01", "--until", "2026-04-01"): 2,
    ("sync", "/nowhere"): 1,
    ("status", "--realm", "../elsewhere"): 2,
    ("status", "--realm-backend", "papyrus"): 2,
}
MISUSES_BY_PROGRAMS: dict[tuple[str, ...], int] = {
    ("search",): 2,
    ("search", "x", "-n", "many"): 2,
    ("search", "x", "--since", "yesteryear"): 2,
    ("search", "x", "-t", "nonsense"): 2,
    ("open", ABSENT): 1,
    ("status", "--realm", "one", "--isolated"): 2,
    ("sync", "--nonsense"): 2,
}


@pytest.mark.parametrize(("command", "code"), MISUSES.items(), ids=map(" ".join, MISUSES))
def test_the_exit_code_distinguishes_kinds_of_errors(synced: Person, command: tuple[str, ...], code: int) -> None:
    done = synced.run(*command, check=False)
    assert done.returncode == code, done.stderr
    assert done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("command", "code"), MISUSES_BY_PROGRAMS.items(), ids=map(" ".join, MISUSES_BY_PROGRAMS))
def test_a_failure_with_json_is_an_object_on_standard_output(synced: Person, command: tuple[str, ...], code: int) -> None:
    done = synced.run(*command, "--json", check=False)
    assert done.returncode == code
    error = json.loads(done.stdout)["error"]
    assert error["code"]
    assert error["message"]


def test_a_sync_with_json_reports_named_files_that_it_could_not_read(person: Person) -> None:
    done = person.run("sync", "/nowhere", "--json", check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["unreadable"] == ["/nowhere: no such file or folder"]


@pytest.mark.parametrize(
    "command",
    [
        "search x --since 0001-01-01",
        "list --until 9999-12-31T23:59:59-23:59",
        "list --since 99999999999d",
        f"search x --until {'9' * 400}w",
    ],
)
def test_a_time_outside_the_calendar_does_not_crash(synced: Person, command: str) -> None:
    done = synced.run(*command.split(), check=False)
    assert done.returncode in {0, 2}, done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_command_is_a_usage_error(person: Person) -> None:
    done = person.run("nonsense", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "No such command 'nonsense'" in done.stderr


def test_an_unknown_toolset_is_a_usage_error(person: Person) -> None:
    done = person.run("mcp", "--toolsets", "history,nonsense", check=False)
    assert done.returncode == 2
    assert "nonsense" in done.stderr
    assert "history" in done.stderr


def test_a_passed_deadline_is_a_separate_error(person: Person) -> None:
    person.env["RECOLLECT_DEADLINE_MS"] = "0"
    done = person.run("search", "lighthouse", "--json", check=False)
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (1, "deadline_exceeded")


# ---- realms


def test_realms_are_separate_stores(person: Person) -> None:
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("only in one")])
    person.run("sync", "--realm", "one")
    assert person.json("search", "one", "--realm", "one")["data"]["result_count"] == 1
    for realm in ((), ("--realm", "two")):
        assert person.json("list", *realm)["data"]["sessions"] == []
    assert person.json("status", "--realm", "one")["folder"] == str(person.state / "realms" / "one")
    with person.mcp("--no-sync", "--realm", "one") as client:
        assert client.call("search_sessions", query="one")["data"]["result_count"] == 1


def test_an_isolated_realm_is_new_every_time(synced: Person) -> None:
    first, second = synced.json("status", "--isolated"), synced.json("status", "--isolated")
    assert first["realm"] != second["realm"]
    assert (first["sessions"], second["sessions"]) == (0, 0)


def test_a_realm_and_isolation_exclude_each_other(person: Person) -> None:
    for command in ("sync", "search x", "watch", "mcp"):
        done = person.run(*command.split(), "--realm", "one", "--isolated", check=False, stdin=subprocess.DEVNULL)
        assert done.returncode == 2, command
        assert "Use either --realm or --isolated, not both" in done.stderr
    assert not (person.state / "realms").exists()


def test_an_instance_can_be_named(synced: Person) -> None:
    assert synced.run("status", "--instance", "laptop", "--realm-backend", "sqlite").returncode == 0


# ---- help


def test_help_lists_every_command_with_one_line(person: Person) -> None:
    shown = person.run("--help").stdout
    for name in COMMANDS:
        assert re.search(rf"^  {name} +\S+", shown, re.MULTILINE), name
    assert person.run("-h").stdout == shown


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_has_an_example_and_its_options(person: Person, name: str) -> None:
    shown = person.run(name, "--help").stdout
    _, *lines = shown.splitlines()
    examples = [line for line in lines if re.match(rf"\s+(.+ -- )?recollect {name}\b", line)]
    assert examples
    for flag in ("--realm ID", "--isolated", "--instance ID", "--realm-backend [sqlite|jsonl|memory]"):
        assert flag in shown
    assert ("--json" in shown) is (name in FOR_PROGRAMS)


def test_all_options_of_the_specification_exist(person: Person) -> None:
    flags = {
        "list": ("--since", "--until"),
        "mcp": ("--toolsets", "--no-sync"),
        "doctor": ("--repair",),
        "sync": ("[PATHS]...",),
    }
    for name, wanted in flags.items():
        shown = person.run(name, "--help").stdout
        assert [flag for flag in wanted if flag not in shown] == []


def test_the_version_is_printed(person: Person) -> None:
    assert __version__ in person.run("--version").stdout


# ---- for people


@pytest.mark.parametrize("command", ["search lighthouse", "list", "status"])
def test_only_terminals_get_colours(synced: Person, command: str) -> None:
    piped = synced.run(*command.split())
    assert "\x1b" not in piped.stdout + piped.stderr
    assert COLOUR.search(on_a_terminal(synced, *command.split()))


def test_matches_are_highlighted(synced: Person) -> None:
    shown = on_a_terminal(synced, "search", "lighthouses")
    assert re.search(r"\x1b\[1;33mlighthouse\x1b\[0m", shown)


def test_no_color_turns_colours_off(synced: Person) -> None:
    shown = on_a_terminal(synced, "search", "lighthouse", NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*(?:3[0-7]|38;|9[0-7])[0-9;]*m", shown)


@pytest.mark.parametrize("command", ["list", "search lighthouse"])
@pytest.mark.parametrize("columns", [80, 120])
def test_ids_can_be_pasted_from_a_terminal_of_any_width(synced: Person, command: str, columns: int) -> None:
    shown = plain(on_a_terminal(synced, *command.split(), columns=columns))
    assert all(len(line) <= columns for line in shown.splitlines())
    ids = re.findall(r"^ *([0-9a-f]{8}(?::\d+\.\d+)?) ", shown, re.MULTILINE)
    assert len(ids) == (2 if command == "list" else 4)
    assert synced.run("open", ids[-1]).stdout


def test_recent_times_are_relative(person: Person) -> None:
    claude = Claude()
    now = datetime.now(UTC).isoformat()
    write(person.claude_log(claude.session), [{**claude.prompt("just now"), "timestamp": now}])
    person.sync()
    assert re.search(r"\b\d+ s\b", plain(on_a_terminal(person, "search", "just")))
    assert plain(on_a_terminal(person, "list")).startswith("Today, ")


def test_a_terminal_shows_progress_in_files_megabytes_and_speed(person: Person) -> None:
    for number in range(3):
        said = Claude(f"{number:08d}-0000-4000-8000-000000000000")
        write(person.claude_log(said.session), [said.says("a long story " * 5_000) for _ in range(40)])
    shown = plain(on_a_terminal(person, "sync", columns=160))
    assert re.search(r"\d+(?:\.\d+)?/\d+(?:\.\d+)? MB", shown)
    assert re.search(r"\d files", shown)
    assert re.search(r"\d events/s", shown)
    assert re.search(r"\d:\d\d:\d\d|-:--:--", shown)
    assert "120 events" in shown.splitlines()[-1]


def test_without_a_terminal_sync_prints_one_plain_line(person: Person) -> None:
    claude = Claude()
    write(person.claude_log(claude.session), [claude.says("a long story " * 5_000) for _ in range(40)])
    done = person.run("sync")
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""


def test_json_output_contains_no_progress(person: Person) -> None:
    claude = Claude()
    write(person.claude_log(claude.session), [claude.says("a long story " * 5_000) for _ in range(40)])
    assert json.loads(on_a_terminal(person, "sync", "--json"))["events"] == 40


def test_markup_in_a_transcript_is_shown_literally(person: Person) -> None:
    claude = Claude()
    odd = "[/red] fix [bold]the[/bold] [link=x] :smile: parser"
    write(person.claude_log(claude.session), [
        claude.prompt(odd), claude.calls("[red]Bash[/red]", "c1", command=odd), claude.result("c1", odd), claude.says(odd),
    ])  # fmt: skip
    person.sync()
    (session,) = sessions(person)
    session_id, turn_id = f"session:{session.id.hex()}", f"turn:{session.id.hex()}-1"
    for command in (("search", "parser"), ("list",), ("open", session_id), ("open", turn_id)):
        assert odd in person.run(*command).stdout, command


def test_control_sequences_in_a_transcript_do_not_reach_the_terminal(person: Person) -> None:
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("ring \x1b]0;owned\x07 the \x1b[2J bell")])
    person.sync()
    (event,) = events(person)
    for command in (("search", "bell"), ("list",), ("open", f"event:{event.id.hex()}")):
        shown = on_a_terminal(person, *command)
        assert "bell" in shown
        assert "\x1b]0;" not in shown, command
        assert "\x1b[2J" not in shown, command


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_reader_that_closes_the_pipe_causes_no_error(person: Person, form: tuple[str, ...]) -> None:
    """As in `recollect open ID | head -1`."""
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("line\n" * 200_000)])
    person.sync()
    (event,) = events(person)
    command = [sys.executable, "-m", "recollect", "open", f"event:{event.id.hex()}", *form]
    with subprocess.Popen(command, env=person.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""


# ---- settings

BAD_SETTINGS = {
    "not TOML": ("exclude = [", "settings.toml"),
    "unknown name": ("exclude_folders = []", "exclude_folders"),
    "wrong type": ('redact = "sometimes"', "redact"),
    "not UTF-8": (b"\xff\xfe", "settings.toml"),
    "unknown source": ('sources = ["nonsense"]', "nonsense"),
}


@pytest.mark.parametrize(("content", "named"), BAD_SETTINGS.values(), ids=BAD_SETTINGS)
def test_an_error_names_the_invalid_setting(person: Person, content: str | bytes, named: str) -> None:
    person.state.mkdir()
    path = person.state / "settings.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = person.run("sync", check=False)
    assert done.returncode == 2
    assert named in done.stderr
    assert "Traceback" not in done.stderr


def test_an_error_names_the_invalid_variable(person: Person) -> None:
    person.env["RECOLLECT_DEADLINE_MS"] = "soon"
    done = person.run("status", "--json", check=False)
    assert done.returncode == 2
    assert "RECOLLECT_DEADLINE_MS" in json.loads(done.stdout)["error"]["message"]


@pytest.mark.parametrize("number", [str(MAX_DEADLINE_MS + 1), "1" + "0" * 400, "9" * 5_000, "\N{SUPERSCRIPT TWO}", "-1"])
def test_a_deadline_above_the_maximum_is_refused(tmp_path: Path, number: str) -> None:
    with pytest.raises(BadSettings, match="RECOLLECT_"):
        read_settings({"RECOLLECT_HOME": str(tmp_path), "RECOLLECT_DEADLINE_MS": number})
    (tmp_path / "settings.toml").write_text(f"deadline_ms = {number}")
    with pytest.raises(BadSettings, match=r"settings\.toml"):
        read_settings({"RECOLLECT_HOME": str(tmp_path)})


def test_the_maximum_deadline_is_accepted(tmp_path: Path) -> None:
    env = {"RECOLLECT_HOME": str(tmp_path), "RECOLLECT_DEADLINE_MS": str(MAX_DEADLINE_MS)}
    assert read_settings(env).deadline_ms == MAX_DEADLINE_MS


def test_the_settings_choose_the_sources(person: Person) -> None:
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("not of interest")])
    person.state.mkdir()
    (person.state / "settings.toml").write_text('sources = ["codex"]\n')
    assert person.json("sync")["files"] == 0


def test_an_invalid_id_is_quoted_in_its_error(synced: Person) -> None:
    for command in (("open", "xyz"), ("search", "lighthouse", "--within", "xyz")):
        done = synced.run(*command, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("recollect: Not an ID: 'xyz'. Copy one from `recollect list`")
        assert json.loads(synced.run(*command, "--json", check=False).stdout)["error"]["code"] == "invalid_id"


def test_a_session_opens_by_the_first_characters_of_its_id(synced: Person) -> None:
    for item in synced.json("list")["data"]["sessions"]:
        prefix = item["id"].removeprefix("session:")[:12]
        assert synced.json("open", prefix)["data"]["session"]["title"] == item["session"]["title"]
    unknown = synced.run("open", "e1133", check=False)
    assert (unknown.returncode, "There is no session 'e1133'" in unknown.stderr) == (1, True)


@pytest.mark.parametrize("word", ["today", "yesterday", "Yesterday"])
def test_times_can_be_named_days(synced: Person, word: str) -> None:
    assert synced.json("list", "--since", word)["data"]["sessions"] == []
    assert synced.json("list", "--until", word)["data"]["sessions"] != []


def test_a_time_that_cannot_be_read_is_explained(synced: Person) -> None:
    done = synced.run("list", "--since", "next tuesday", check=False)
    assert "Cannot read 'next tuesday' as a date. Use today, yesterday, 2026-04-30" in done.stderr
