"""Defects of a log, a disk, the archive or the index: a clear sentence, all else continues, nothing is lost."""

import ctypes
import os
import random
import select
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard

from recollect.errors import StoreFault
from recollect.index.engine import ARCHIVE_ID
from recollect.index.text import TEXT, TextWriter
from recollect.ingest import SyncReport, sync
from recollect.sources import all_sources
from recollect.store import archive_path
from recollect.store.lock import is_held
from tests.conftest import Person, RawMcp
from tests.e2e.archives import answer, archived, found, sessions, texts, undisturbed
from tests.e2e.processes import PATIENCE_S, inside, is_writer, running, until, watching
from tests.logs import Claude, append, write

WORDS = ("avocet", "bunting", "curlew", "dunlin", "eider", "fulmar", "gannet", "hobby")
MB = 1 << 20


def fill(person: Person, words: tuple[str, ...] = WORDS) -> None:
    """Write one session per word, with a prompt and an answer that contain it."""
    for number, word in enumerate(words, 1):
        said = Claude(f"{number:08d}-0000-4000-8000-000000000000", start=number * 10)
        write(person.claude_log(said.session), [said.prompt(f"what is a {word}"), said.says(f"a {word} is a bird")])


def finds_everything(person: Person) -> bool:
    return all(len(found(person, word)) == 2 for word in WORDS)


def sentences(done: "subprocess.CompletedProcess[str]") -> str:
    """The error output of a command, which must not be a traceback."""
    assert "Traceback" not in done.stderr, done.stderr
    return done.stderr


# ---- where the logs should be


def test_a_sync_without_log_folders_says_that_it_found_no_logs(person: Person) -> None:
    done = person.run("sync")
    assert done.stdout.startswith("Nothing new in 0 logs")
    assert sentences(done) == ""
    assert person.json("list")["data"]["sessions"] == []


def test_searching_before_the_first_sync_says_what_to_do(person: Person) -> None:
    done = person.run("search", "anything")
    assert "Nothing is indexed yet. Run `recollect sync`" in sentences(done)
    with person.mcp() as client:
        envelope = client.call("search_sessions", query="anything")
    assert envelope["data"]["results"] == []
    assert "Nothing is indexed yet" in envelope["warnings"][0]


CAPBSET_DROP, DAC_OVERRIDE, DAC_READ_SEARCH = 24, 1, 2  # of prctl(2) and capabilities(7)


def obey_permissions() -> None:
    """Drop root's right to read every file. Other users do not have it, so a failure is ignored."""
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None)
    for right in (DAC_OVERRIDE, DAC_READ_SEARCH):
        libc.prctl(CAPBSET_DROP, right)


def test_an_unreadable_log_folder_is_reported_and_all_others_are_read(person: Person) -> None:
    fill(person)
    closed = person.claude_log("99999999-0000-4000-8000-000000000000", "-closed").parent
    closed.chmod(0)
    done = person.run("sync", preexec_fn=obey_permissions)
    closed.chmod(0o700)
    assert sentences(done) == f"! {closed}: folder cannot be read: Permission denied\n"
    assert finds_everything(person)


def test_an_unreadable_log_is_reported_and_read_once_it_is_readable(person: Person) -> None:
    fill(person)
    claude = Claude()
    log = write(person.claude_log(claude.session), [claude.prompt("behind closed routes")])
    log.chmod(0)
    done = person.run("sync", preexec_fn=obey_permissions)
    assert sentences(done) == f"! {log}: cannot be read: Permission denied\n"
    assert finds_everything(person)
    log.chmod(0o600)
    person.run("sync", preexec_fn=obey_permissions)
    assert len(found(person, "routes")) == 1


def test_an_error_names_a_state_folder_that_cannot_be_written(person: Person) -> None:
    person.state.mkdir(mode=0o500)
    done = person.run("sync", check=False, preexec_fn=obey_permissions)
    assert done.returncode == 1
    assert str(person.state) in sentences(done)


def test_an_empty_state_folder_that_cannot_be_written_can_be_searched(person: Person) -> None:
    person.state.mkdir(mode=0o500)
    done = person.run("search", "avocet", preexec_fn=obey_permissions)
    assert "Nothing is indexed yet" in sentences(done)
    assert list(person.state.iterdir()) == []


def test_an_error_names_a_state_folder_that_is_a_file(person: Person) -> None:
    person.state.write_text("not a folder")
    done = person.run("sync", check=False)
    assert done.returncode in {1, 2}
    assert str(person.state) in sentences(done)


def test_a_log_folder_that_links_to_itself_is_reported_and_all_others_are_read(person: Person) -> None:
    loop = person.home / ".codex" / "sessions"
    loop.parent.mkdir()
    loop.symlink_to(loop)
    fill(person)
    done = person.run("sync")
    assert sentences(done).startswith(f"! {loop}: folder cannot be read: Too many levels of symbolic links")
    assert finds_everything(person)


def test_broken_and_circular_links_are_skipped(person: Person) -> None:
    fill(person)
    folder = person.claude_log("x").parent
    (folder / "up").symlink_to(folder.parent)
    (folder / "self.jsonl").symlink_to(folder / "self.jsonl")
    (folder / "gone.jsonl").symlink_to(folder / "nothing-here")
    report = person.sync()
    assert (report.files, report.sessions) == (len(WORDS), len(WORDS))
    assert finds_everything(person)


def test_an_empty_log_becomes_a_session_with_its_first_record(person: Person) -> None:
    claude = Claude()
    log = person.claude_log(claude.session)
    log.touch()
    fill(person)
    report = person.sync()
    assert (report.sessions, report.problems, report.unreadable) == (len(WORDS), 0, [])
    append(log, claude.prompt("no longer empty"))
    assert person.sync().sessions == 1
    assert len(found(person, "empty")) == 1


def test_a_folder_with_the_name_of_a_log_is_not_read_as_a_log(person: Person) -> None:
    fill(person)
    claude = Claude()
    inner = person.claude_log("x").with_name("x.jsonl") / f"{claude.session}.jsonl"
    write(inner, [claude.prompt("inside the odd folder")])
    done = person.run("sync")
    assert sentences(done) == ""
    assert finds_everything(person)
    assert len(found(person, "odd")) == 1


def test_a_pipe_with_the_name_of_a_log_does_not_block_a_sync(person: Person) -> None:
    fill(person)
    os.mkfifo(person.claude_log("pipe"))
    assert person.run("sync").returncode == 0
    assert finds_everything(person)


def test_a_log_whose_name_is_not_utf_8_does_not_stop_a_sync(person: Person) -> None:
    fill(person)
    claude = Claude()
    odd = os.fsencode(person.claude_log("x").parent) + b"/caf\xe9.jsonl"
    Path(os.fsdecode(odd)).write_bytes(write(person.home / "plain.txt", [claude.prompt("oddly named")]).read_bytes())
    sentences(person.run("sync", check=False))
    assert finds_everything(person)
    assert len(found(person, "oddly")) == 1


# ---- a log that changes under the reader


@pytest.fixture
def long_log(person: Person) -> Path:
    """A log of several batches."""
    claude = Claude()
    filler = "so it goes on and on " * 2_000
    return write(person.claude_log(claude.session), [claude.prompt(f"line {number} {filler}") for number in range(140)])


def sync_disturbed(person: Person, log: Path, disturb: Callable[[Path], object]) -> SyncReport:
    """Run a sync during which a log is changed after its first batch was read."""
    happened: list[object] = []

    def at_first_batch(report: SyncReport) -> None:
        if report.bytes and not happened:
            happened.append(disturb(log))

    report = sync(person.realm, person.settings(), all_sources(), person.env, None, at_first_batch)
    assert happened, "the log must be long enough to be disturbed"
    return report


def test_a_log_that_disappears_and_returns_during_a_sync_is_read_completely(person: Person, long_log: Path) -> None:
    aside = person.home / "aside"
    os.utime(long_log, (0, 0))  # the oldest is read first
    fill(person)
    sync_disturbed(person, long_log, lambda log: log.rename(aside))
    assert finds_everything(person)
    aside.rename(long_log)
    append(long_log, Claude(start=900).prompt("the last line"))
    person.sync()
    assert archived(person) == undisturbed(person)
    assert len(found(person, '"the last line"')) == 1


def test_a_log_that_disappears_during_a_sync_keeps_its_read_events(person: Person, long_log: Path) -> None:
    fill(person)
    sync_disturbed(person, long_log, Path.unlink)
    person.sync()
    assert finds_everything(person)
    read = [text for text in texts(person) if text.startswith("line ")]
    assert [text.split()[1] for text in read] == [str(number) for number in range(len(read))]


def test_a_log_that_grows_while_it_is_read_is_read_once(person: Person, long_log: Path) -> None:
    sync_disturbed(person, long_log, lambda log: append(log, Claude(start=900).prompt("meanwhile")))
    person.sync()
    assert archived(person) == undisturbed(person)
    assert person.sync().bytes == 0


def test_a_log_that_is_truncated_during_a_sync_keeps_its_read_events(person: Person, long_log: Path) -> None:
    whole = long_log.read_bytes()
    sync_disturbed(person, long_log, lambda log: os.truncate(log, whole.index(b"\n") + 1))
    person.sync()
    read = [int(text.split()[1]) for text in texts(person)]
    assert len(read) > 1
    assert read == list(range(len(read)))
    append(long_log, Claude(start=900).prompt("another way"))
    person.sync()
    assert len(texts(person)) == 2
    assert archived(person) == undisturbed(person)


# ---- lines that are no lines

NOT_LINES = {
    "invalid UTF-8": b'{"type": "user", \xff\xfe\x80',
    "null bytes": b"\0" * 4096,
    "not JSON": b"hello there",
    "half a record": b'{"type": "user", "message": {"role": ',
    "another value": b'"just a string"',
    "a number": b"12345678901234567890123",
    "nested too deeply": b'{"type": "user", "message": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "unclosed brackets": b'{"type":' * 100_000,
    "a number too large": b'{"type": "user", "timestamp": 1' + b"0" * 5_000 + b"}",
    "a record that is not an object": b"[1, 2, 3]",
    "a byte order mark": b"\xef\xbb\xbf",
}

UNREADABLE = ("invalid UTF-8", "null bytes", "not JSON", "half a record")


@pytest.mark.parametrize("line", NOT_LINES.values(), ids=NOT_LINES)
def test_an_invalid_line_affects_no_other_line(person: Person, line: bytes) -> None:
    claude = Claude()
    log = write(person.claude_log(claude.session), [claude.prompt("the line before")])
    with log.open("ab") as agent:
        agent.write(line + b"\n")
    append(log, claude.says("the line after"))
    fill(person)
    person.sync()
    readable_texts = [text for text in texts(person) if text.startswith("the line")]
    assert readable_texts == ["the line before", "the line after"]
    assert finds_everything(person)


@pytest.mark.parametrize("line", [NOT_LINES[name] for name in UNREADABLE], ids=UNREADABLE)
def test_doctor_reports_a_line_that_cannot_be_read(person: Person, line: bytes) -> None:
    claude = Claude()
    log = write(person.claude_log(claude.session), [claude.prompt("the line before")])
    with log.open("ab") as agent:
        agent.write(line + b"\n")
    done = person.run("sync")
    assert "1 line could not be read" in done.stdout
    shown = person.run("doctor").stdout
    assert "1 × claude-code: " in shown
    assert f"{log}:2" in shown


def test_a_record_behind_null_bytes_is_read(person: Person) -> None:
    """After a power cut some file systems leave null bytes, and the agent continues to write after them."""
    claude = Claude()
    log = write(person.claude_log(claude.session), [claude.prompt("before the power cut")])
    with log.open("ab") as agent:
        agent.write(b"\0" * 700)
    person.sync()
    append(log, claude.prompt("after the power cut"), claude.says("yes"))
    person.sync()
    assert texts(person) == ["before the power cut", "after the power cut", "yes"]


def test_a_text_with_invalid_utf_8_keeps_its_valid_part(person: Person) -> None:
    claude = Claude()
    log = write(person.claude_log(claude.session), [claude.prompt("caf@ au lait")])
    log.write_bytes(log.read_bytes().replace(b"@", b"\xe9"))
    person.sync()
    assert texts(person) == ["caf\ufffd au lait"]
    assert len(found(person, "lait")) == 1


def test_a_text_with_half_of_a_surrogate_pair_keeps_its_valid_part(person: Person) -> None:
    claude = Claude()
    log = write(person.claude_log(claude.session), [claude.prompt("half a bird @ here")])
    log.write_bytes(log.read_bytes().replace(b"@", rb"\ud83d"))
    person.sync()
    (text,) = texts(person)
    assert (text[:11], text[-5:]) == ("half a bird", " here")


def test_a_huge_exit_code_does_not_stop_a_sync(person: Person) -> None:
    claude = Claude()
    said_so = f"Exit code {'9' * 40}\nboom"
    write(person.claude_log(claude.session), [
        claude.prompt("go"), claude.calls("Bash", "c1", command="x"), claude.result("c1", said_so, failed=True), claude.says("done"),
    ])  # fmt: skip
    fill(person)
    person.sync()
    assert finds_everything(person)
    assert said_so in texts(person)


@pytest.mark.parametrize("stamp", ["9999-12-31T23:59:59.999-23:59", "0001-01-01T00:00:00+23:59", "not a time", None])
def test_a_time_outside_the_calendar_does_not_stop_a_sync(person: Person, stamp: object) -> None:
    claude = Claude()
    write(person.claude_log(claude.session), [{**claude.prompt("out of time"), "timestamp": stamp}])
    fill(person)
    person.sync()
    assert len(found(person, "time")) == 1
    window = {"start_datetime": "0001-01-02T00:00:00Z", "end_datetime": "9999-12-30T00:00:00Z"}
    with person.mcp() as client:
        assert len(client.call("list_sessions", **window)["data"]["sessions"]) >= len(WORDS)
        session = sessions(person)[0]
        assert "data" in client.call("open", id=f"session:{session.id.hex()}")


@pytest.mark.parametrize(
    "content",
    [b"this is not zstandard", b"", zstandard.compress(b'{"type":' * 9_000)[:40]],
    ids=["garbage", "empty", "cut short"],
)
def test_a_damaged_compressed_rollout_does_not_stop_a_sync(person: Person, content: bytes) -> None:
    log = person.codex_log("019b7d0a-0001-7001-8a11-00000000004a")
    log.with_name(log.name + ".zst").write_bytes(content)
    fill(person)
    sentences(person.run("sync"))
    assert finds_everything(person)


def test_a_damaged_compressed_rollout_is_reported(person: Person) -> None:
    log = person.codex_log("019b7d0a-0001-7001-8a11-00000000004a")
    named = log.with_name(log.name + ".zst")
    named.write_bytes(b"this is not zstandard")
    done = person.run("sync", check=False)
    assert str(named) in sentences(done) + person.run("doctor", check=False).stdout


# ---- the disk


@pytest.fixture
def small_disk(person: Person) -> Iterator[Person]:
    """A person whose state folder is on a separate disk of two megabytes."""
    person.state.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", str(person.state)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("a small disk can only be mounted by a superuser")
    yield person
    subprocess.run(["umount", "-l", str(person.state)], check=True)


def noise(size: int) -> str:
    """Text that compresses badly. It is always the same, so that archives have the same layout."""
    return random.Random(size).randbytes(size // 2).hex()


def fill_beyond_the_disk(person: Person) -> None:
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt(f"grain {number} {noise(40_000)}") for number in range(100)])


def test_a_full_disk_is_reported_and_loses_no_stored_event(small_disk: Person) -> None:
    fill(small_disk)
    small_disk.run("sync")
    before = archived(small_disk)
    fill_beyond_the_disk(small_disk)
    done = small_disk.run("sync", check=False)
    assert done.returncode == 1
    assert "disk is full" in sentences(done)
    assert set(before) <= set(archived(small_disk)), "events that still fitted on the disk may be there too"
    assert finds_everything(small_disk)


def test_a_sync_completes_once_the_disk_has_space_again(small_disk: Person) -> None:
    fill(small_disk)
    fill_beyond_the_disk(small_disk)
    small_disk.run("sync", check=False)
    subprocess.run(["mount", "-o", "remount,size=100m", str(small_disk.state)], check=True)
    done = small_disk.run("sync")
    assert sentences(done) == ""
    assert archived(small_disk) == undisturbed(small_disk)
    assert finds_everything(small_disk)
    assert len(found(small_disk, "grain")) == 50


def test_a_full_disk_does_not_delete_the_index(small_disk: Person) -> None:
    fill(small_disk)
    small_disk.sync()
    (TEXT.folder(small_disk.realm) / "nobody.knows.del").touch()  # which no writer can read
    (small_disk.state / "large").write_bytes(bytes(shutil.disk_usage(small_disk.state).free - 16_384))
    with pytest.raises(StoreFault, match="disk is full"):
        TextWriter(small_disk.realm, (TEXT.folder(small_disk.realm) / ARCHIVE_ID).read_text())
    (small_disk.state / "large").unlink()
    assert finds_everything(small_disk)


def test_a_watcher_reports_a_full_disk_and_continues_once_there_is_space(small_disk: Person) -> None:
    fill(small_disk)
    small_disk.run("sync")
    with running(small_disk, "watch", "--quiet", stderr=subprocess.PIPE) as process, small_disk.mcp() as client:
        until(lambda: is_writer(process, small_disk))
        fill_beyond_the_disk(small_disk)
        assert process.stderr is not None
        told, _, _ = select.select([process.stderr], [], [], PATIENCE_S)
        assert told
        assert b"disk is full" in process.stderr.readline()
        subprocess.run(["mount", "-o", "remount,size=100m", str(small_disk.state)], check=True)
        append(small_disk.claude_log(Claude().session), Claude(start=900).prompt("room again"))
        until(lambda: client.call("search_sessions", query="room")["data"]["result_count"] == 1)


def test_a_file_size_limit_is_reported_and_loses_no_stored_event(person: Person) -> None:
    fill(person)
    person.run("sync")
    before = archived(person)
    fill_beyond_the_disk(person)
    limit = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({2 * MB}, {2 * MB}))"
    done = inside(person, limit, "sync", check=False)
    assert done.returncode == 1
    assert str(person.realm) in sentences(done)
    assert archived(person) == before
    person.run("sync")
    assert archived(person) == undisturbed(person)
    assert finds_everything(person)


# ---- the archive


@pytest.fixture
def person_with_large_archive(person: Person) -> Person:
    """A person with an archive of many pages."""
    fill(person)
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt(f"grain {number} {noise(3_000)}") for number in range(300)])
    person.sync()
    return person


def overwrite(path: Path, start: int, stop: int) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(random.Random(start).randbytes(stop - start))


DAMAGES = {
    "header overwritten": lambda path: overwrite(path, 0, 4096),
    "schema overwritten": lambda path: overwrite(path, 100, 4096),
    "pages overwritten": lambda path: overwrite(path, 8192, path.stat().st_size - 4096),
    "cut in half": lambda path: os.truncate(path, path.stat().st_size // 2 // 4096 * 4096),
}


@pytest.fixture(params=DAMAGES)
def damaged(request: pytest.FixtureRequest, person_with_large_archive: Person) -> Person:
    DAMAGES[request.param](archive_path(person_with_large_archive.realm))
    return person_with_large_archive


def test_every_reading_command_reports_a_damaged_archive(damaged: Person) -> None:
    append(damaged.claude_log("1" * 8), Claude().prompt("something new"))
    for command in (("sync",), ("search", "avocet")):
        done = damaged.run(*command, check=False)
        assert done.returncode == 1, command
        assert "is damaged" in sentences(done), command
        assert "`recollect doctor --repair`" in sentences(done), command


@pytest.mark.parametrize("damaged", ["header overwritten", "pages overwritten"], indirect=True)
def test_the_mcp_server_reports_a_damaged_archive_and_continues(damaged: Person) -> None:
    with damaged.mcp() as client:
        envelope = client.call("search_sessions", query="avocet")
        assert envelope["error"]["code"] == "internal_error"
        assert "doctor --repair" in envelope["error"]["message"]
        assert client.request("ping")["result"] == {}


def test_doctor_reports_a_damaged_archive_and_repairs_it(damaged: Person) -> None:
    named = damaged.run("doctor", check=False)
    assert named.returncode == 1
    assert "damaged" in named.stdout
    assert "`recollect doctor --repair`" in named.stdout
    sentences(named)
    mended = damaged.run("doctor", "--repair", check=False)
    sentences(mended)
    assert mended.returncode == 0, mended.stdout
    assert finds_everything(damaged)
    assert archived(damaged) == undisturbed(damaged)


def test_a_repair_sets_the_damaged_archive_aside(person_with_large_archive: Person) -> None:
    DAMAGES["header overwritten"](archive_path(person_with_large_archive.realm))
    damage = archive_path(person_with_large_archive.realm).read_bytes()
    person_with_large_archive.run("doctor", "--repair")
    (aside,) = person_with_large_archive.realm.glob("archive.damaged-*.db")
    assert aside.read_bytes() == damage
    assert stat.S_IMODE(aside.stat().st_mode) == 0o600


def test_a_repair_keeps_sessions_whose_logs_are_gone(person_with_large_archive: Person) -> None:
    """The agent deleted the log, and the damage is in another part of the archive: the session must survive."""
    person_with_large_archive.claude_log("00000001-0000-4000-8000-000000000000").unlink()
    size = archive_path(person_with_large_archive.realm).stat().st_size
    overwrite(archive_path(person_with_large_archive.realm), size - 65_536, size - 32_768)
    assert person_with_large_archive.run("doctor", check=False).returncode == 1
    person_with_large_archive.run("doctor", "--repair", check=False)
    assert finds_everything(person_with_large_archive)


def test_a_deleted_archive_is_rebuilt_from_the_logs(person_with_large_archive: Person) -> None:
    for file in person_with_large_archive.realm.glob("archive.db*"):
        file.unlink()
    person_with_large_archive.run("sync")
    assert archived(person_with_large_archive) == undisturbed(person_with_large_archive)
    assert finds_everything(person_with_large_archive)
    assert person_with_large_archive.json("status")["index"]["documents"] == sum(
        session.event_count for session in sessions(person_with_large_archive)
    )


def test_the_index_of_a_deleted_archive_is_not_used(person_with_large_archive: Person) -> None:
    """Some logs are gone, so the new archive uses the old one's keys for other events."""
    for file in person_with_large_archive.realm.glob("archive.db*"):
        file.unlink()
    for word in (1, 2, 3):
        person_with_large_archive.claude_log(f"{word:08d}-0000-4000-8000-000000000000").unlink()
    person_with_large_archive.run("sync")
    assert [len(found(person_with_large_archive, word)) for word in WORDS] == [0, 0, 0, 2, 2, 2, 2, 2]


@pytest.mark.parametrize("how", ["deleted and synced", "damaged and mended"])
def test_a_running_server_opens_a_new_archive(person: Person, how: str) -> None:
    fill(person)
    person.sync()
    window = {"start_datetime": "2026-01-01T00:00Z", "end_datetime": "2027-01-01T00:00Z"}
    with person.mcp() as client:
        assert client.call("list_sessions", **window)["data"]["result_count"] == len(WORDS)
        claude = Claude()
        write(person.claude_log(claude.session), [claude.prompt("something new")])
        if how == "deleted and synced":
            for file in person.realm.glob("archive.db*"):
                file.unlink()
            person.run("sync")
        else:
            DAMAGES["pages overwritten"](archive_path(person.realm))
            person.run("doctor", "--repair")
        for _ in range(10):
            assert client.call("list_sessions", **window)["data"]["result_count"] == len(WORDS) + 1
            assert client.call("search_sessions", query="something")["data"]["result_count"] == 1


# ---- the index


def _only_an_old_version(index: Path) -> None:
    index.rename(index.with_name("text-0"))


def _segments_overwritten(index: Path) -> None:
    for file in index.iterdir():
        if file.suffix in {".term", ".idx", ".pos", ".fast"}:
            overwrite(file, 0, file.stat().st_size)


def _segments_deleted(index: Path) -> None:
    for file in index.iterdir():
        if file.suffix in {".term", ".idx"}:
            file.unlink()


INDEX_DAMAGES: dict[str, Callable[[Path], object]] = {
    "deleted": shutil.rmtree,
    "outdated": _only_an_old_version,
    "meta.json corrupt": lambda index: (index / "meta.json").write_text("{not json"),
    "meta.json deleted": lambda index: (index / "meta.json").unlink(),
    "segments deleted": _segments_deleted,
    "segments overwritten": _segments_overwritten,
}


@pytest.fixture(params=INDEX_DAMAGES)
def index_damaged(request: pytest.FixtureRequest, person: Person) -> Person:
    fill(person)
    person.sync()
    INDEX_DAMAGES[request.param](TEXT.folder(person.realm))
    return person


for_index_damages = pytest.mark.parametrize("index_damaged", ["outdated", "segments overwritten"], indirect=True)


def test_search_says_that_the_index_is_being_rebuilt_and_then_finds_everything(index_damaged: Person) -> None:
    with index_damaged.mcp() as client:
        envelope = client.call("search_sessions", query=WORDS[0])
        assert "rebuilt" in " ".join(envelope["warnings"])
        until(lambda: is_complete(client))
        for word in WORDS:
            assert client.call("search_sessions", query=word)["data"]["result_count"] == 2


def is_complete(client: RawMcp) -> bool:
    """Whether search finds everything. Until then it must warn."""
    envelope = client.call("search_sessions", query=WORDS[0])
    assert envelope["warnings"] or envelope["data"]["result_count"] == 2, "an incomplete answer without a warning"
    return not envelope["warnings"]


@for_index_damages
def test_the_command_line_waits_for_the_index_and_finds_everything(index_damaged: Person) -> None:
    assert index_damaged.json("search", WORDS[0])["data"]["result_count"] == 2


def test_a_sync_repairs_a_damaged_index(index_damaged: Person) -> None:
    claude = Claude()
    write(index_damaged.claude_log(claude.session), [claude.prompt("something new")])
    index_damaged.sync()
    assert finds_everything(index_damaged)
    assert len(found(index_damaged, "something")) == 1


@for_index_damages
def test_doctor_reports_a_damaged_index_and_repairs_it(index_damaged: Person) -> None:
    named = index_damaged.run("doctor", check=False)
    sentences(named)
    assert named.returncode == 1
    assert "`recollect doctor --repair`" in named.stdout
    mended = index_damaged.run("doctor", "--repair", check=False)
    sentences(mended)
    assert mended.returncode == 0, mended.stdout
    assert finds_everything(index_damaged)
    assert [path.name for path in index_damaged.realm.glob("text-*")] == [TEXT.folder(index_damaged.realm).name]


def test_an_index_that_only_readers_can_open_is_rebuilt_completely(person: Person) -> None:
    fill(person)
    person.sync()
    (TEXT.folder(person.realm) / "nobody.knows.del").touch()
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("something new")])
    person.sync()
    assert finds_everything(person)


def test_an_index_deleted_under_a_running_server_is_rebuilt(person: Person) -> None:
    fill(person)
    person.sync()
    with person.mcp() as client:
        assert is_complete(client)
        shutil.rmtree(TEXT.folder(person.realm))
        until(lambda: is_complete(client) and (TEXT.folder(person.realm) / "meta.json").exists())


def test_an_index_deleted_under_a_running_watcher_is_rebuilt(person: Person) -> None:
    fill(person)
    person.sync()
    with watching(person), person.mcp() as client:
        shutil.rmtree(TEXT.folder(person.realm))
        claude = Claude()
        write(person.claude_log(claude.session), [claude.prompt("something new")])
        until(lambda: client.call("search_sessions", query="something")["data"]["result_count"] == 1)
        until(lambda: is_complete(client))


def test_doctor_reports_nothing_about_a_sound_realm(person: Person) -> None:
    fill(person)
    person.sync()
    done = person.run("doctor")
    assert done.stdout.startswith("archive: sound\n")
    assert done.stdout.endswith("Nothing to repair.\n")


def test_doctor_does_not_report_an_empty_realm_as_damaged(person: Person) -> None:
    done = person.run("doctor", check=False)
    assert "--repair" not in done.stdout
    assert answer(person, "anything")["data"]["results"] == []


def test_no_file_of_the_working_folder_is_run(person: Person, tmp_path: Path) -> None:
    """Agents start Recollect in the open project, which may be untrusted."""
    planted = tmp_path / "project" / "recollect.py"
    planted.parent.mkdir()
    planted.write_text("open('was-run', 'w')")
    command = [str(Path(sys.executable).with_name("recollect")), "mcp"]
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, env=person.env, cwd=planted.parent, stdin=pipe, stdout=nowhere) as server:
        assert server.stdin is not None
        try:
            until(lambda: is_held(person.realm))  # the background process that reads logs
        finally:
            server.stdin.close()
    assert not (planted.parent / "was-run").exists()
