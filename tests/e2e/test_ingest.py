"""Every line of a log is read once, whatever its agent, its owner or its disk does to the file."""

import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard

from recollect.sources.formats.jsonl import MAX_LINE
from recollect.store import Reader, archive_path
from tests.conftest import Person
from tests.e2e.archives import archived, events, found, sessions, texts, undisturbed
from tests.e2e.codex_rollout import THREAD, codex_session, encoded
from tests.e2e.processes import inside
from tests.golden import FIXTURES, lay_out
from tests.logs import Claude, append, write

MB = 1 << 20


@pytest.fixture
def claude() -> Claude:
    return Claude()


@pytest.fixture
def log(person: Person, claude: Claude) -> Path:
    """A log with five events, synced."""
    path = person.claude_log(claude.session)
    write(path, [
        claude.prompt("where does the heron nest"), claude.says("by the estuary"), claude.calls("Bash", "c1", command="ls nests"),
        claude.result("c1", "reeds willow"), claude.says("in the reeds"),
    ])  # fmt: skip
    assert person.sync().events == 5
    return path


def test_a_second_sync_parses_nothing_and_opens_no_log(person: Person, log: Path) -> None:
    before = archived(person)
    report = person.sync()
    assert (report.files, report.files_read, report.bytes, report.lines, report.events) == (1, 0, 0, 0, 0)
    assert archived(person) == before
    assert opened_logs(person) == []
    log.touch()
    assert set(opened_logs(person)) == {str(log)}, "the count above must be able to fail"


def opened_logs(person: Person) -> list[str]:
    """The files in the person's home that a sync opens, as reported by the interpreter's audit hook."""
    hook = (
        "def note(event, detail):\n"
        "    if event == 'open' and isinstance(detail[0], str) and detail[0].endswith('.jsonl'):\n"
        "        sys.stderr.write(detail[0] + '\\n')\n"
        "sys.addaudithook(note)"
    )
    return inside(person, hook, "sync").stderr.splitlines()


def test_work_is_proportional_to_new_bytes(person: Person, claude: Claude) -> None:
    log = person.claude_log(claude.session)
    write(log, (claude.prompt(f"{number} " + "lorem ipsum " * 8_000) for number in range(220)))
    assert log.stat().st_size > 20 * MB
    person.sync()
    idle = bytes_read(person)
    line = claude.says("one line more")
    append(log, line)
    grown = bytes_read(person)
    assert grown - idle < MB, f"{grown - idle} bytes were read from disk for a line of {len(encoded(line))}"
    append(log, again := claude.prompt("and another"))
    report = person.sync()
    assert (report.files_read, report.lines, report.bytes) == (1, 1, len(encoded(again)))


def bytes_read(person: Person) -> int:
    """The bytes that a sync reads from all files, as counted by the kernel."""
    if not Path("/proc/self/io").exists():
        pytest.skip("this system does not count the bytes that a process reads")
    count = (
        "import atexit, pathlib\n"
        "atexit.register(lambda: sys.stderr.write(pathlib.Path('/proc/self/io').read_text().split()[1]))"
    )
    return int(inside(person, count, "sync").stderr)


# ---- a line that is still being written


@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
def test_an_incomplete_last_line_waits_and_is_read_once(person: Person, claude: Claude, log: Path, share: float) -> None:
    line = encoded(claude.prompt("the Größe of the 鷺 heron " * 20))
    cut = int(len(line) * share)
    with log.open("ab") as agent:
        agent.write(line[:cut])
        agent.flush()
        assert (person.sync().events, person.sync().bytes) == (0, 0)
        agent.write(line[cut:])
    report = person.sync()
    assert (report.events, report.bytes, report.problems) == (1, len(line), 0)
    assert archived(person) == undisturbed(person)


def test_a_line_cut_inside_a_character_is_read_completely(person: Person, claude: Claude, log: Path) -> None:
    line = encoded(claude.prompt("鷺"))
    cut = line.index("鷺".encode()) + 1
    with log.open("ab") as agent:
        agent.write(line[:cut])
        agent.flush()
        assert person.sync().events == 0
        agent.write(line[cut:])
    person.sync()
    assert texts(person)[-1] == "鷺"


def test_a_complete_line_without_newline_is_read_at_once_and_only_once(person: Person, claude: Claude, log: Path) -> None:
    line = encoded(claude.prompt("no newline yet"))
    with log.open("ab") as agent:
        agent.write(line[:-1])
        agent.flush()
        assert person.sync().events == 1
        agent.write(b"\n" + encoded(claude.says("now there is")))
    assert person.sync().events == 1
    assert archived(person) == undisturbed(person)


def test_an_incomplete_line_before_another_is_a_problem_and_reading_continues(
    person: Person, claude: Claude, log: Path
) -> None:
    torn, whole = encoded(claude.prompt("lost in a crash")), encoded(claude.prompt("after the crash"))
    with log.open("ab") as agent:
        agent.write(torn[:40] + b"\n" + whole)
    report = person.sync()
    assert (report.problems, report.events) == (1, 1)
    assert texts(person)[-1] == "after the crash"
    (problem,) = person.json("doctor")["problems"]
    assert (problem["source"], problem["path"], problem["line"], problem["count"]) == ("claude-code", str(log), 6, 1)
    assert problem["reason"] == "not JSON"
    assert problem["excerpt"] == torn[:40].decode()


# ---- a log that is no longer the one we knew


def test_a_truncated_log_is_read_from_its_start(person: Person, claude: Claude, log: Path) -> None:
    first, second, *_ = log.read_bytes().splitlines(keepends=True)
    with log.open("r+b") as agent:
        agent.truncate(len(first + second))
    person.sync()
    append(log, claude.prompt("a new beginning"))
    person.sync()
    assert texts(person) == ["where does the heron nest", "by the estuary", "a new beginning"]
    assert archived(person) == undisturbed(person)
    assert found(person, "willow") == []


def test_a_replaced_log_is_read_from_its_start(person: Person, log: Path) -> None:
    log.unlink()
    other = Claude(start=100)
    write(log, [other.prompt("where does the bittern nest"), other.says("nobody knows " * 500)])
    person.sync()
    assert [text[:27] for text in texts(person)] == ["where does the bittern nest", "nobody knows nobody knows n"]
    assert archived(person) == undisturbed(person)
    assert (found(person, "heron"), len(found(person, "bittern"))) == ([], 1)


def test_an_in_place_rewrite_of_the_same_size_is_noticed(person: Person, log: Path) -> None:
    node, size = log.stat().st_ino, log.stat().st_size
    with log.open("r+b") as agent:
        agent.seek(log.read_bytes().index(b"heron"))
        agent.write(b"egret")
    assert (log.stat().st_ino, log.stat().st_size) == (node, size)
    person.sync()
    assert texts(person)[0] == "where does the egret nest"
    assert archived(person) == undisturbed(person)
    assert (found(person, "heron"), len(found(person, "egret"))) == ([], 1)


def test_a_rewrite_by_rename_is_noticed(person: Person, claude: Claude, log: Path) -> None:
    changed = log.read_bytes().replace(b"heron", b"spoonbill") + encoded(claude.says("and one more"))
    aside = log.with_suffix(".tmp")
    aside.write_bytes(changed)
    aside.replace(log)
    person.sync()
    assert texts(person)[0] == "where does the spoonbill nest"
    assert len(texts(person)) == 6
    assert archived(person) == undisturbed(person)
    assert found(person, "heron") == []


def test_a_log_saved_again_unchanged_adds_nothing(person: Person, log: Path) -> None:
    before = archived(person)
    aside = log.with_suffix(".tmp")
    aside.write_bytes(log.read_bytes())
    aside.replace(log)
    report = person.sync()
    assert (report.events, report.lines) == (0, 0)
    assert archived(person) == before


def test_a_log_saved_again_with_more_lines_is_read_from_the_cursor(person: Person, claude: Claude, log: Path) -> None:
    line = encoded(claude.says("one more"))
    aside = log.with_suffix(".tmp")
    aside.write_bytes(log.read_bytes() + line)
    aside.replace(log)
    report = person.sync()
    assert (report.events, report.bytes) == (1, len(line))
    assert archived(person) == undisturbed(person)


# ---- a log that moves, or is there twice


@pytest.fixture
def rollout(person: Person) -> Path:
    path = person.codex_log(THREAD)
    path.write_bytes(codex_session("count the cormorants", "count them again"))
    person.sync()
    assert len(found(person, "cormorants")) == 2
    return path


def test_a_rollout_moved_to_the_archived_sessions_stays_one_session(person: Person, rollout: Path) -> None:
    before = texts(person)
    there = person.home / ".codex" / "archived_sessions" / rollout.name
    there.parent.mkdir()
    rollout.rename(there)
    person.sync()
    assert [session.path for session in sessions(person)] == [str(there)]
    assert texts(person) == before
    assert archived(person) == undisturbed(person)
    assert len(found(person, "cormorants")) == 2
    assert person.sync().bytes == 0


def test_a_rollout_replaced_by_its_compressed_copy_stays_one_session(person: Person, rollout: Path) -> None:
    before = texts(person)
    packed = rollout.with_name(rollout.name + ".zst")
    packed.write_bytes(zstandard.compress(rollout.read_bytes()))
    rollout.unlink()
    person.sync()
    assert texts(person) == before
    assert archived(person) == undisturbed(person)
    assert len(found(person, "cormorants")) == 2
    assert person.sync().bytes == 0


def test_a_rollout_compressed_before_its_last_lines_were_read_is_read_to_its_end(person: Person, rollout: Path) -> None:
    whole = codex_session("count the cormorants", "count them again", "and the shags")
    assert whole.startswith(rollout.read_bytes())
    rollout.with_name(rollout.name + ".zst").write_bytes(zstandard.compress(whole))
    rollout.unlink()
    person.sync()
    assert len(found(person, "shags")) == 2
    assert len(found(person, "cormorants")) == 2
    assert archived(person) == undisturbed(person)


def test_a_session_copied_to_a_second_path_is_one_session(person: Person, claude: Claude, log: Path) -> None:
    before = texts(person)
    copy = person.claude_log(claude.session, "-backup-app")
    copy.write_bytes(log.read_bytes())
    person.sync()
    assert (texts(person), len(sessions(person))) == (before, 1)
    assert len(found(person, "heron")) == 1


def test_two_copies_of_a_session_are_not_read_alternately(person: Person, claude: Claude, log: Path) -> None:
    person.claude_log(claude.session, "-backup-app").write_bytes(log.read_bytes())
    person.sync()
    assert [person.sync().bytes for _ in range(3)] == [0, 0, 0]


def test_a_rollout_and_its_compressed_copy_are_not_read_alternately(person: Person, rollout: Path) -> None:
    rollout.with_name(rollout.name + ".zst").write_bytes(zstandard.compress(rollout.read_bytes()))
    person.sync()
    assert [person.sync().bytes for _ in range(3)] == [0, 0, 0]
    assert len(found(person, "cormorants")) == 2


@pytest.mark.parametrize("grows", ["original", "copy"])
def test_the_copy_that_grows_becomes_the_session(person: Person, claude: Claude, log: Path, grows: str) -> None:
    copy = person.claude_log(claude.session, "-backup-app")
    copy.write_bytes(log.read_bytes())
    person.sync()
    append(log if grows == "original" else copy, claude.prompt("it goes on over here"))
    person.sync()
    assert len(sessions(person)) == 1
    assert texts(person)[-1] == "it goes on over here"
    assert len(texts(person)) == 6
    assert len(found(person, "heron")) == 1


# ---- what is kept


def test_the_session_of_a_removed_log_stays(person: Person, log: Path) -> None:
    before = texts(person)
    log.unlink()
    report = person.sync()
    assert (report.files, report.unreadable) == (0, [])
    assert texts(person) == before
    (hit,) = person.json("search", "heron")["data"]["results"]
    assert person.json("open", hit["id"])["data"]["content"]["text"] == "where does the heron nest"


def test_the_session_of_a_removed_log_survives_a_rebuild_from_logs(person: Person, log: Path) -> None:
    other = Claude("22222222-2222-4222-8222-222222222222", start=50)
    write(person.claude_log(other.session), [other.prompt("still here")])
    person.sync()
    before = archived(person)
    log.unlink()
    person.run("rebuild", "--logs")
    assert [line for line in archived(person) if "tally" not in line] == [line for line in before if "tally" not in line]
    assert len(found(person, "heron")) == 1


def test_reading_everything_again_changes_no_id_and_no_content(person: Person, log: Path) -> None:
    before = archived(person)
    person.run("rebuild", "--logs")
    assert archived(person) == before
    assert len(found(person, "heron")) == 1


ODD = {
    "white space": "  \t two leading, one trailing \n\n",
    "long white space": "\n \t" + "  a word  \n" * 40 + "\t \n",
    "line ends": "one\r\ntwo\rthree\nfour\u2028five\u2029six\x85seven",
    "control characters": "bell \x07 escape \x1b[31m null \x00 delete \x7f",
    "many scripts": "Größe naïve Ελληνικά עברית 日本語 한국어 🐦‍⬛ e\u0301 \ufeff",
    "JSON inside": '{"type": "user", "text": "\\u0041 \\n"}',
    "large": "0123456789abcdef" * 70_000,
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_the_complete_content_of_an_event_is_returned_byte_for_byte(person: Person, claude: Claude, text: str) -> None:
    arguments: dict[str, Any] = {"text": text, text[:40]: [text, 1, 2.5, None, True, {"deep": {"er": text}}]}
    write(person.claude_log(claude.session), [
        claude.prompt("go"), claude.says(text), claude.calls("Write", "c1", **arguments), claude.result("c1", text),
    ])  # fmt: skip
    person.sync()
    _, said, called, came_back = events(person)
    assert (said.text(), came_back.text(), called.arguments()) == (text, text, arguments)
    with person.mcp() as client:
        for event in (said, came_back):
            opened = client.call("open", id=f"event:{event.id.hex()}")["data"]["content"]
            assert (opened["text"], opened["truncated"]) == (text, False)
        assert client.call("open", id=f"event:{called.id.hex()}")["data"]["content"]["arguments"] == arguments


# ---- size


def test_a_line_of_50_mb_is_read_in_bounded_memory(person: Person, claude: Claude) -> None:
    text = "needle " + "abcdefghij klmno pqrst 0123456789 " * (50 * MB // 34)
    write(person.claude_log(claude.session), [claude.prompt("before"), claude.says(text), claude.prompt("after")])
    alone = write(person.claude_log("33333333-3333-4333-8333-333333333333"), [Claude(start=9).prompt("small")])
    usual = peak_mb(person, "sync", str(alone), "--no-distil")
    assert peak_mb(person, "sync", "--no-distil") < usual + 4 * 50 + 24  # the index itself contains words
    assert sorted(len(text) for text in texts(person)) == [5, 5, 6, len(text)]
    assert text in texts(person)
    assert len(found(person, "needle")) == 1


def test_memory_is_bounded_for_any_size_of_a_log(person: Person) -> None:
    """Events of 100 KB are read faster than they are indexed: the waiting ones must not take as much memory as the log."""
    claude = Claude()
    text = "abcdefghij klmno pqrst 0123456789 " * 3_000
    write(person.claude_log(claude.session), (claude.says(f"{number} {text}") for number in range(4_000)))
    assert peak_mb(person, "sync") < 300 < person.claude_log(claude.session).stat().st_size / MB
    assert [session.event_count for session in sessions(person)] == [4_000]


def peak_mb(person: Person, *arguments: str) -> float:
    """The peak memory of a command, as counted by the kernel."""
    if not sys.platform.startswith("linux"):
        pytest.skip("the peak of a process's memory is read from /proc")
    tell = (
        "import atexit, pathlib\n"
        "status = lambda: pathlib.Path('/proc/self/status').read_text()\n"
        "atexit.register(lambda: sys.stderr.write(status().partition('VmHWM:')[2].split()[0]))"
    )
    return int(inside(person, tell, *arguments).stderr) / 1024


def test_a_line_too_large_for_memory_is_a_problem_and_other_logs_are_read(person: Person, claude: Claude, log: Path) -> None:
    endless = person.claude_log("33333333-3333-4333-8333-333333333333")
    with endless.open("wb") as hole:
        hole.truncate(MAX_LINE + 2 * MB)
    append(log, claude.says("read all the same"))
    assert person.sync().events == 1
    assert texts(person)[-1] == "read all the same"
    (problem,) = person.json("doctor")["problems"]
    assert "longer than 256 MB" in problem["reason"]
    assert problem["path"] == str(endless)


def test_a_line_too_large_for_memory_is_not_read_again_in_every_sync(person: Person) -> None:
    with person.claude_log("33333333-3333-4333-8333-333333333333").open("wb") as hole:
        hole.truncate(MAX_LINE + 2 * MB)
    person.sync()
    assert person.sync().files_read == 0


def test_logs_are_never_written_to(person: Person, log: Path) -> None:
    log.chmod(0o444)
    before = (log.read_bytes(), log.stat().st_mtime_ns)
    person.run("sync")
    person.run("rebuild", "--logs")
    assert (log.read_bytes(), log.stat().st_mtime_ns) == before
    assert [path.name for path in log.parent.iterdir()] == [log.name]


# ---- what is read is what the cursor says


def test_the_cursor_covers_every_byte(person: Person, claude: Claude, log: Path) -> None:
    append(log, claude.prompt("more"))
    person.sync()
    reader = Reader(archive_path(person.realm))
    try:
        covered = reader.coverage()["claude-code"]
    finally:
        reader.close()
    size = log.stat().st_size
    assert (covered["files"], covered["bytes"], covered["read"], covered["lines"]) == (1, size, size, 6)


def test_a_session_that_moves_from_a_database_to_a_file_keeps_its_sub_agents(person: Person) -> None:
    """OpenClaw writes a session that was reset to a separate file; its sub-agents stay in the database."""
    lay_out(FIXTURES / "openclaw/database", person.home)
    person.sync()
    before = {session.native_id: session.event_count for session in sessions(person)}
    parent = "7c1e0000-0000-4000-8000-000000000021"
    log = person.home / f".openclaw/agents/main/sessions/{parent}.jsonl.reset.2026-05-05T04-00-00.000Z"
    write(log, [
        {"type": "session", "version": 4, "id": parent, "timestamp": "2026-05-04T10:00:00.000Z", "cwd": "/home/ida"},
        {"type": "message", "id": "0f0f0001", "timestamp": "2026-05-04T10:00:02.000Z", "message": {"role": "user", "content": "Count"}},
    ])  # fmt: skip
    person.sync()
    assert {session.native_id: session.event_count for session in sessions(person)} == {**before, parent: 1}


def test_named_files_and_folders_are_read_in_any_place(person: Person, tmp_path: Path) -> None:
    backup = tmp_path / "backup" / "2026"
    claude = Claude()
    write(backup / "old.jsonl", [claude.prompt("from a backup")])
    (backup / "rollout.jsonl").write_bytes(codex_session("from a rollout"))
    (backup / "notes.jsonl").write_text('{"nothing": "of ours"}\n')
    done = person.run("sync", str(tmp_path / "backup"))
    assert "notes.jsonl: not a log of a known agent" in done.stderr
    assert sorted(session.source for session in sessions(person)) == ["claude-code", "codex"]
    assert len(found(person, "backup")) == 1


def test_naming_a_missing_file_is_an_error(person: Person) -> None:
    done = person.run("sync", str(person.home / "nowhere.jsonl"), check=False)
    assert done.returncode == 1
    assert done.stderr == f"! {person.home / 'nowhere.jsonl'}: no such file or folder\n"
