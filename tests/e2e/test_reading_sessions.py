"""`show`, `export` and `tail`: on a terminal, in a pipe, to files, and when something is in the way."""

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Person
from tests.e2e.hostile_text import ACTING, HOSTILE, write_hostile_log
from tests.e2e.terminals import on_a_terminal, plain
from tests.http_server import HttpServer
from tests.logs import Claude, append, write

SECOND = "22222222-2222-4222-8222-222222222222"
JOINER = "\u200d"  # JSON keeps it: it is part of emoji and of scripts
ANSWER = "# Result\n\nThe test **passes** now.\n\n```py\nx = 1\n```\n"


def fill(person: Person) -> Path:
    log = Claude()
    path = person.claude_log(log.session)
    write(path, [
        log.prompt("Fix the flaky test"),
        log.calls("Bash", "b1", command="pytest -q --a-long-option " + "x" * 100),
        log.result("b1", "1 failed\nAssertionError", failed=True),
        log.calls("Edit", "e1", file_path="/work/app/a.py", old_string="sleep(1)", new_string="clock.wait()"),
        log.result("e1", "edited"),
        log.says(ANSWER),
    ])  # fmt: skip
    other = Claude(SECOND, "/work/web", start=60)
    write(person.claude_log(SECOND, "-work-web"), [other.prompt("Style the page"), other.says("Styled.")])
    person.sync()
    return path


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Person:
    person = Person(tmp_path_factory.mktemp("reader"))
    fill(person)
    return person


# ---- show


def test_a_session_reads_like_a_document_on_a_terminal(reader: Person) -> None:
    shown = on_a_terminal(reader, "show", "11111111", columns=80, PAGER="cat")
    lines = plain(shown).splitlines()
    assert lines[0] == "Fix the flaky test"
    assert max(map(len, lines)) <= 80
    assert "▌ Fix the flaky test" in lines
    assert any(re.fullmatch(r"● Bash pytest -q --a-long-option x+… · failed · 1\.0 s", line) for line in lines)
    assert "● Edit a.py · +1 −1 · 1.0 s" in lines
    assert "    -sleep(1)" in lines and "    +clock.wait()" in lines
    assert any(line.strip() == "The test passes now." for line in lines)  # Markdown is formatted
    assert "AssertionError" not in plain(shown)
    assert "\x1b[" in shown


def test_a_pipe_gets_plain_text_with_whole_lines(reader: Person) -> None:
    shown = reader.run("show", "11111111").stdout
    assert "\x1b" not in shown
    assert "> Fix the flaky test\n" in shown
    assert ANSWER in shown
    assert f"● Bash pytest -q --a-long-option {'x' * 100} · failed · 1.0 s\n" in shown


def test_full_unfolds_arguments_and_outputs(reader: Person) -> None:
    assert "    AssertionError" in reader.run("show", "11111111", "--full").stdout


def test_show_prints_the_answer_of_rest_as_json(reader: Person) -> None:
    answer = reader.json("show", "11111111")
    assert answer["data"]["session"]["title"] == "Fix the flaky test"
    assert [turn["number"] for turn in answer["data"]["turns"]] == [1]


def test_an_unknown_session_is_a_clear_error(reader: Person) -> None:
    for command in ("show", "export", "tail"):
        failed = reader.run(command, "ffffffff", check=False)
        assert failed.returncode == 1
        assert failed.stderr == "recollect: There is no session 'ffffffff'. `recollect list` shows the newest ones.\n"


def test_no_text_controls_the_terminal(tmp_path: Path) -> None:
    person = Person(tmp_path / "hostile")
    write_hostile_log(person)
    for arguments in (("show", "last"), ("show", "last", "--full"), ("export", "last"), ("export", "last", "--format", "markdown"),
                      ("export", "last", "--format", "jsonl")):  # fmt: skip
        printed = person.run(*arguments).stdout
        assert "deploy failed" in printed, arguments
        assert not (set(ACTING) - {JOINER}) & set(printed), arguments
    shown = on_a_terminal(person, "show", "last", columns=80, PAGER="cat")
    assert not set(plain(shown)) & set(ACTING)
    assert HOSTILE not in shown


# ---- export


def test_a_file_is_written_whole_and_the_receipt_is_said(reader: Person, tmp_path: Path) -> None:
    for name, begin in (("a.html", "<!doctype html>"), ("a.md", "# Fix the flaky test"), ("a.jsonl", '{"type":"session"')):
        done = reader.run("export", "11111111", "-o", str(tmp_path / name))
        assert done.stdout == ""
        assert done.stderr == f"Written: {tmp_path / name}\n1 session, 6 events. No secret was found.\n"
        assert (tmp_path / name).read_text().startswith(begin)
        assert (tmp_path / name).stat().st_mode & 0o077 == 0  # transcripts are private
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.jsonl", "a.md"]


def test_the_receipt_as_json(reader: Person, tmp_path: Path) -> None:
    answer = reader.json("export", "11111111", "-o", str(tmp_path / "a.md"))
    assert answer["data"]["receipt"]["events"] == 6
    assert answer["data"]["format"] == "markdown"
    assert reader.json("export", "11111111", "--format", "jsonl")["data"]["content"].count("\n") == 7


def test_several_sessions_go_to_a_folder_or_to_one_file(reader: Person, tmp_path: Path) -> None:
    reader.run("export", "--agent", "claude-code", "--format", "markdown", "-o", f"{tmp_path}/all/")
    names = sorted(path.name for path in (tmp_path / "all").iterdir())
    assert names == ["2026-02-01-fix-the-flaky-test.md", "2026-02-01-style-the-page.md"]
    reader.run("export", "--project", "web", "-o", str(tmp_path / "web.jsonl"))
    assert len((tmp_path / "web.jsonl").read_text().splitlines()) == 3
    found = reader.run("export", "--query", "flaky", "--format", "markdown").stdout
    assert found.startswith("# Sessions: flaky\n")
    assert "Style the page" not in found


def test_what_cannot_be_written_is_said_and_nothing_is_left(reader: Person, tmp_path: Path) -> None:
    failures = {
        str(tmp_path): f"{tmp_path} is a folder. Name a file in it, such as {tmp_path}/session.html.",
        str(tmp_path / "no" / "a.html"): f"{tmp_path}/no/a.html cannot be written: No such file or directory.",
        "/proc/a.html": "/proc/a.html cannot be written: No such file or directory.",
        "/dev/full": "/dev/full cannot be written: No space left on device.",
    }
    for file, message in failures.items():
        failed = reader.run("export", "11111111", "-o", file, check=False)
        assert (failed.returncode != 0, failed.stderr) == (True, f"recollect: {message}\n")
    assert list(tmp_path.iterdir()) == []
    neither = reader.run("export", check=False)
    assert neither.returncode == 2
    assert "Give the ID of a session, or --query or filters that choose sessions." in neither.stderr


def test_a_file_stays_as_it_was_if_the_new_one_fails(reader: Person, tmp_path: Path) -> None:
    kept = tmp_path / "kept.html"
    kept.write_text("old")
    reader.run("export", "ffffffff", "-o", str(kept), check=False)
    assert kept.read_text() == "old"
    link = tmp_path / "link.html"
    link.symlink_to(kept)
    reader.run("export", "11111111", "-o", str(link))
    assert link.is_symlink() and kept.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("words", ["export 11111111 --full", "show 11111111 --full"])
def test_a_reader_that_leaves_ends_the_program_quietly(reader: Person, words: str) -> None:
    command = f"{sys.executable} -m recollect {words} | head -c 10"
    done = subprocess.run(["bash", "-c", command], env=reader.env, capture_output=True, timeout=60, check=False)
    assert (len(done.stdout), done.stderr) == (10, b"")


# ---- tail


class Tail:
    """`recollect tail` in another process; its lines as they come."""

    def __init__(self, person: Person, *arguments: str) -> None:
        command = [sys.executable, "-m", "recollect", "tail", *arguments]
        self.process = subprocess.Popen(command, env=person.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._timer = threading.Timer(60, self.process.kill)  # a test must not wait for ever

    def __enter__(self) -> "Tail":
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self.process.kill()
        self.process.communicate()

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().rstrip("\n")

    def lines_until(self, part: str) -> list[str]:
        """The lines up to the one with this text."""
        lines = [self.line()]
        while part not in lines[-1]:
            assert lines[-1], lines
            lines.append(self.line())
        return lines

    def interrupt(self) -> tuple[int, str]:
        self.process.send_signal(signal.SIGINT)
        stderr = self.process.communicate(timeout=30)[1]
        return self.process.returncode, stderr


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    yield Person(tmp_path / "person")


def test_tail_prints_what_agents_write_as_they_write_it(person: Person) -> None:
    path = fill(person)
    log = Claude(start=100)
    with Tail(person, "11111111", "-n", "2") as tail:
        assert tail.line() == "00:00:05   ↳ 1.0 s · edited"
        assert tail.line().startswith("00:00:06 # Result The test **passes** now.")
        append(path, log.prompt("Now the other one"), log.calls("Bash", "b9", command="make test"))
        assert tail.line() == "00:01:41 > Now the other one"
        assert tail.line() == "00:01:42 ● Bash make test"
        append(path, log.result("b9", "ok"))
        assert tail.line() == "00:01:43   ↳ 1.0 s · ok"
        code, stderr = tail.interrupt()
    assert code == 0
    assert "Traceback" not in stderr


def test_tail_of_everything_says_which_session_it_is(person: Person) -> None:
    path = fill(person)
    log = Claude(start=100)
    with Tail(person, "-n", "1") as tail:
        first = tail.lines_until("Styled.")
        assert re.fullmatch(r"── Style the page \([0-9a-f]{8}, claude-code, web\)", first[0])
        assert first[1:] == ["00:01:02 Styled."]
        append(path, log.prompt("Once more"))
        assert re.match(r"── Fix the flaky test \([0-9a-f]{8}, claude-code, app\)", tail.line())
        assert tail.line() == "00:01:41 > Once more"


def test_tail_prints_events_as_json_lines(person: Person) -> None:
    path = fill(person)
    with Tail(person, "last", "--json", "-n", "1") as tail:
        first = json.loads(tail.line())
        assert (first["text"], first["type"], first["sequence"]) == ("Styled.", "assistant_response", 1)
        append(person.claude_log(SECOND, "-work-web"), Claude(SECOND, "/work/web", start=200).prompt("And now"))
        assert json.loads(tail.line())["text"] == "And now"
    assert path.exists()


def test_tail_ends_when_its_session_is_forgotten(person: Person) -> None:
    fill(person)
    with Tail(person, "11111111", "-n", "1", "--no-sync") as tail:
        tail.line()
        person.run("forget", "11111111", "--yes")
        assert tail.process.wait(timeout=60) == 0
        assert tail.process.stderr is not None
        assert "The session was removed from the archive.\n" in tail.process.stderr.read()


# ---- over HTTP


def test_a_server_sends_documents(reader: Person) -> None:
    with HttpServer(reader) as server:
        for name, kind in (("html", "text/html"), ("markdown", "text/markdown"), ("jsonl", "application/jsonl")):
            with server.response("GET", f"/v1/library/sessions/11111111/export?format={name}") as response:
                assert (response.status, response.headers["content-type"]) == (200, f"{kind}; charset=utf-8")
                assert json.loads(response.headers["recollect-receipt"])["events"] == 6
                assert b"Fix the flaky test" in response.read()
        assert server.ask("GET", "/v1/library/sessions/ffffffff/export")[0] == 404
        assert server.ask("GET", "/v1/library/sessions/11111111/export?format=pdf")[0] == 400
