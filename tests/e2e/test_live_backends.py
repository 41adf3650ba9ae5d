"""Backends of realms: JSONL files as the source of truth, realms in memory, and disks that fail."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from recollect.store.lock import exclusive
from tests.conftest import Person
from tests.e2e.processes import rests, until
from tests.live_processes import REALM, Agent, create_deferred, messages, start_turn
from tests.rpc_server import RawRpc

SQLITE = ("*.db", "*.db-wal", "*.db-shm")
PAGE = 16_384  # bytes of the database that are written at once
MANY_CHARACTERS = ["sh", "-c", "head -c 600000 /dev/zero | tr '\\0' x"]
NOT_FOUND, NOT_KEPT, INTERNAL = -32001, -32020, -32603


@pytest.fixture
def folder(person: Person) -> Path:
    return person.state / "realms" / REALM


@pytest.fixture
def lines(person: Person) -> Iterator[RawRpc]:
    """A server in a `jsonl` realm."""
    with RawRpc(person, "--realm", REALM, "--realm-backend", "jsonl") as server:
        server.request("ping")
        yield server


@pytest.fixture
def other(person: Person, lines: RawRpc) -> Iterator[RawRpc]:
    """Another process in the same realm."""
    with RawRpc(person, "--realm", REALM) as server:
        server.request("ping")
        yield server


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


def file_of(folder: Path, session: str) -> Path:
    return folder / f"{session}.jsonl"


def message_texts(rpc: RawRpc, session: str) -> list[str]:
    return [message["content"] for message in messages(rpc, session)]


def found(rpc: RawRpc, word: str) -> list[str]:
    """The sessions in which a word is found."""
    answer = rpc.result("tools/call", name="search_sessions", arguments={"query": word})["structuredContent"]
    return [hit["session"]["id"].removeprefix("session:") for hit in answer["data"]["results"]]


def is_found(rpc: RawRpc, word: str, session: str) -> bool:
    return session.replace("-", "") in found(rpc, word)


def delete_databases(folder: Path, *servers: RawRpc) -> None:
    """Delete all SQLite databases, once no process is at work."""
    for server in servers:
        until(partial(rests, server.process))
    gone = [path for pattern in SQLITE for path in folder.rglob(pattern)]
    assert folder / "live" / "live.db" in gone
    for path in gone:
        path.unlink()


def echo(rpc: RawRpc, session: str, prompt: str) -> Any:
    return rpc.result("turn/start", session_id=session, prompt=prompt, command=["cat"])


# ---- files of lines


def test_a_session_is_stored_as_readable_lines(lines: RawRpc, folder: Path) -> None:
    """M35."""
    session = create_deferred(lines, labels={"task": "review"})
    echo(lines, session, "Grüße")
    stored_lines = [json.loads(line) for line in file_of(folder, session).read_text("utf-8").splitlines()]
    assert [line["type"] for line in stored_lines] == ["session", "message", "message", "turn"]
    assert [line.get("content") for line in stored_lines] == [None, "Grüße", "Grüße", None]
    assert stored_lines[0]["labels"] == {"task": "review"}
    assert (stored_lines[-1]["turns"], stored_lines[-1]["messages"]) == (1, 2)
    assert "Grüße" in file_of(folder, session).read_text("utf-8")


def test_all_databases_can_be_rebuilt_from_the_files(person: Person, lines: RawRpc, folder: Path) -> None:
    """M35: under a running server and for a new one, whichever request is first."""
    kept, gone = create_deferred(lines, labels={"a": "1"}), create_deferred(lines)
    for session in (kept, gone):
        echo(lines, session, f"the wombat of {session}")
    lines.result("session/archive", session_id=gone)
    before = lines.result("session/list")["sessions"]
    assert is_found(lines, "wombat", kept)
    for ask_first in ("session/list", "search", "by the command line"):
        delete_databases(folder, lines)
        if ask_first == "by the command line":
            assert kept.replace("-", "") in person.run("search", "wombat", "--realm", REALM, "--json").stdout
        with RawRpc(person, "--realm", REALM) as later:
            if ask_first == "search":
                assert is_found(later, "wombat", kept) and is_found(later, "wombat", gone)
            for server in (later, lines):
                assert server.result("session/list")["sessions"] == before
                assert server.result("session/list", labels={"a": "1"})["sessions"] == before
                assert message_texts(server, kept) == [f"the wombat of {kept}"] * 2
                assert message_texts(server, gone) == [f"the wombat of {gone}"] * 2
                assert server.error("session/read", session_id=gone)["code"] == NOT_FOUND
                assert is_found(server, "wombat", kept) and is_found(server, "wombat", gone)


def test_turns_after_a_loss_are_found_too(lines: RawRpc, folder: Path) -> None:
    session = create_deferred(lines)
    for number in range(3):
        echo(lines, session, f"before {number}")
        assert is_found(lines, "before", session)
    delete_databases(folder, lines)
    for word in ("numbat", "quokka", "bilby"):
        echo(lines, session, word)
        assert is_found(lines, word, session)
    assert is_found(lines, "before", session)


def test_no_commit_is_missed_when_a_new_database_passes_the_old_count(lines: RawRpc, folder: Path) -> None:
    """While another process writes the archive, the number of new commits exceeds the number before the loss."""
    words = [f"animal{number}" for number in range(8)]
    for word in words[:2]:
        assert is_found(lines, word, lines.result("session/create", prompt=word, command=["cat"])["session_id"])
    until(lambda: rests(lines.process))
    for path in (folder / "live").glob("live.db*"):
        path.unlink()
    with exclusive(folder):
        sessions = [lines.result("session/create", prompt=word, command=["cat"])["session_id"] for word in words[2:]]
    assert [word for word, session in zip(words[2:], sessions, strict=True) if not is_found(lines, word, session)] == []


def test_a_server_whose_database_was_deleted_keeps_its_turns(
    lines: RawRpc, other: RawRpc, folder: Path, agent: Agent
) -> None:
    """A turn that is longer than several polls of its lease is not cancelled, by this process or another."""
    session = create_deferred(lines)
    slow = ["sh", "-c", 'echo begun; sleep 1; cat "$0"', agent.command[-1]]
    losses: list[Callable[[], None]] = [lambda: delete_databases(folder), lambda: shutil.rmtree(folder / "live")]
    for lost in losses:
        for server in (lines, other):
            until(partial(rests, server.process))
        lost()
        first = start_turn(lines, session, command=slow)
        assert other.result("session/read", session_id=session)["is_active"] is True
        agent.answer("done")
        assert lines.answer(first)["result"]["text"] == "begun\ndone"
        assert other.result("session/read", session_id=session)["is_active"] is False


def test_a_commit_of_one_process_is_visible_to_others_at_once(lines: RawRpc, other: RawRpc) -> None:
    """Also while the committing process still adds the turn to the index."""
    session = create_deferred(lines)
    for number in range(25):
        echo(lines, session, f"animal{number}")
        assert is_found(other, f"animal{number}", session)


def test_a_deleted_archive_is_rebuilt(lines: RawRpc, folder: Path) -> None:
    session = create_deferred(lines)
    echo(lines, session, "the wombat")
    assert is_found(lines, "wombat", session)
    until(lambda: rests(lines.process))
    for path in folder.glob("archive.db*"):
        path.unlink()
    assert is_found(lines, "wombat", session)


SECOND = b'{"type":"message","role":"user","content":"second"'
DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "half a message at its end": lambda content: content + b'{"type":"message","role":"us',
    "a turn without its end": lambda content: content + b'{"type":"message","role":"user","content":"no"}\n',
    "garbage at its end": lambda content: content + b"\x00\xff rubbish\n[1]\n\n",
    "garbage at its beginning": lambda content: b"\x00\xff rubbish\n" + content,
    "garbage between two turns": lambda content: content.replace(SECOND, b"rubbish\n" + SECOND),
}


@pytest.mark.parametrize("is_lost", [False, True], ids=["with its database", "without"])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_garbage_in_a_file_loses_no_committed_message(
    person: Person, lines: RawRpc, folder: Path, damage: Callable[[bytes], bytes], is_lost: bool
) -> None:
    session = create_deferred(lines)
    echo(lines, session, "first")
    echo(lines, session, "second")
    path = file_of(folder, session)
    path.write_bytes(damage(path.read_bytes()))
    if is_lost:
        delete_databases(folder, lines)
    with RawRpc(person, "--realm", REALM) as later:
        assert message_texts(later, session) == ["first", "first", "second", "second"]
        assert echo(later, session, "third")["turns"] == 3
        assert message_texts(later, session) == ["first", "first", "second", "second", "third", "third"]
        delete_databases(folder, lines, later)
        assert message_texts(later, session) == ["first", "first", "second", "second", "third", "third"]
        assert is_found(later, "third", session)


def test_a_truncated_file_keeps_its_complete_turns(person: Person, lines: RawRpc, folder: Path) -> None:
    """The lines are the source of truth: later messages are found, and removed ones are not."""
    session = create_deferred(lines)
    for word in ("wombat", "numbat", "quokka"):
        echo(lines, session, word)
        assert is_found(lines, word, session)
    path = file_of(folder, session)
    content = path.read_bytes()
    path.write_bytes(content[: content.index(b"quokka") + 3])
    with RawRpc(person, "--realm", REALM) as later:
        assert echo(later, session, "bilby")["turns"] == 3
        assert message_texts(later, session) == ["wombat", "wombat", "numbat", "numbat", "bilby", "bilby"]
        assert [is_found(later, word, session) for word in ("wombat", "numbat", "quokka", "bilby")] == [
            True,
            True,
            False,
            True,
        ]


def test_a_damaged_message_affects_only_itself(person: Person, lines: RawRpc, folder: Path) -> None:
    session = create_deferred(lines)
    for word in ("wombat", "numbat"):
        echo(lines, session, word)
        assert is_found(lines, word, session)
    path = file_of(folder, session)
    rows = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([rows[0], b"rubbish\n", *rows[2:]]))
    delete_databases(folder, lines)
    with RawRpc(person, "--realm", REALM) as later:
        assert message_texts(later, session) == ["wombat", "numbat", "numbat"]
        echo(later, session, "quokka")
        assert message_texts(later, session) == ["wombat", "numbat", "numbat", "quokka", "quokka"]
        assert all(is_found(later, word, session) for word in ("wombat", "numbat", "quokka"))


@pytest.mark.parametrize("content", [b"", b"\x00" * 4096, b"rubbish\n"], ids=["empty", "zeros", "garbage"])
def test_a_file_without_content_is_written_again(lines: RawRpc, folder: Path, content: bytes) -> None:
    """As after a power cut: messages that the database has are not dropped."""
    session = create_deferred(lines)
    echo(lines, session, "first")
    file_of(folder, session).write_bytes(content)
    assert echo(lines, session, "second")["turns"] == 2
    delete_databases(folder, lines)
    assert message_texts(lines, session) == ["first", "first", "second", "second"]


def test_a_file_that_cannot_be_read_affects_only_its_session(person: Person, lines: RawRpc, folder: Path) -> None:
    session, odd = create_deferred(lines), create_deferred(lines)
    echo(lines, session, "first")
    file_of(folder, odd).unlink()
    file_of(folder, odd).mkdir()
    (folder / "notes.jsonl").write_text("of no session\n")
    (folder / f"{odd.upper()}.jsonl").write_text("nor this one\n")
    with RawRpc(person, "--realm", REALM) as later:
        assert session in [row["session_id"] for row in later.result("session/list")["sessions"]]
        assert echo(later, session, "second")["turns"] == 2
        refused = later.error("turn/start", session_id=odd, prompt="x", command=["cat"])
        assert refused["code"] == INTERNAL
        assert str(file_of(folder, odd)) in refused["message"]


def test_a_session_whose_file_was_deleted_is_gone(person: Person, lines: RawRpc, folder: Path) -> None:
    session = create_deferred(lines)
    file_of(folder, session).unlink()
    assert lines.error("turn/start", session_id=session, prompt="x", command=["cat"])["code"] == NOT_FOUND
    with RawRpc(person, "--realm", REALM) as later:
        assert later.result("session/list")["sessions"] == []


# ---- disks that refuse


def refused_by_a_small_disk(person: Person, session: str, prompt: str, most: int) -> Any:
    """Run a turn in a process with a limit on the size of its files."""
    code = (
        "import resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))\n"
        "sys.argv[0] = 'recollect'\n"
        "from recollect.surfaces.cli import main\nmain()\n"
    )
    options = ["run", "-", "--resume", session, "--command", "cat", "--realm", REALM, "--json"]
    command = [sys.executable, "-c", code, *options]
    ran = subprocess.run(command, env=person.env, input=prompt, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 1, ran
    return json.loads(ran.stdout)


@pytest.mark.parametrize("backend", ["sqlite", "jsonl"])
def test_a_full_disk_only_fails_the_turn(person: Person, folder: Path, backend: str) -> None:
    with RawRpc(person, "--realm", REALM, "--realm-backend", backend) as rpc:
        session = create_deferred(rpc)
        echo(rpc, session, "first")
        refused = refused_by_a_small_disk(person, session, "x" * 300_000, 100_000)
        assert refused["code"] == "INTERNAL_ERROR"
        assert str(folder) in refused["message"]
        assert rpc.result("session/read", session_id=session)["is_active"] is False
        assert message_texts(rpc, session)[:2] == ["first", "first"]
        assert echo(rpc, session, "second")["text"] == "second"
        assert message_texts(rpc, session)[-2:] == ["second", "second"]


@pytest.mark.parametrize("backend", ["sqlite", "jsonl"])
def test_a_server_on_a_full_disk_continues_once_there_is_space(person: Person, folder: Path, backend: str) -> None:
    """The disk can be full at any point of a turn: at its start, at its commit, or when it is given up."""
    codes = set()
    with RawRpc(person, "--realm", REALM, "--realm-backend", backend) as rpc:
        session, pid = create_deferred(rpc), rpc.process.pid
        echo(rpc, session, "first")
        for pages in range(8):
            before = message_texts(rpc, session)
            room = max(path.stat().st_size for path in folder.rglob("live.db*")) + pages * PAGE
            unlimited = resource.prlimit(pid, resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
            answer = rpc.request("turn/start", session_id=session, prompt="go", command=MANY_CHARACTERS)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)
            codes.add(answer["error"]["code"])
            assert str(folder) in answer["error"]["message"]
            until(lambda: not rpc.result("session/read", session_id=session)["is_active"])
            assert message_texts(rpc, session)[: len(before)] == before
            assert echo(rpc, session, "again")["text"] == "again"
            assert message_texts(rpc, session)[-2:] == ["again", "again"]
    assert codes == {INTERNAL}


@pytest.mark.parametrize("backend", ["sqlite", "jsonl"])
def test_an_error_names_a_file_in_place_of_a_folder(person: Person, folder: Path, backend: str) -> None:
    person.run("realm", "create", REALM, "--realm-backend", backend)
    (folder / "live").write_text("in the way")
    refused = person.run("run", "x", "--command", "cat", "--realm", REALM, "--json", check=False)
    assert refused.returncode == 1
    assert str(folder / "live") in json.loads(refused.stdout)["message"]
    (folder / "live").unlink()
    assert person.json("run", "x", "--command", "cat", "--realm", REALM)["text"] == "x"


@contextmanager
def unwritable(folder: Path) -> Iterator[list[str]]:
    """The prefix of a command that prevents it from writing here. For root, it is a read-only mount."""
    if os.geteuid() == 0:
        mount = f"mount --bind '{folder}' '{folder}' && mount -o remount,ro,bind '{folder}'"
        prefix = ["unshare", "-m", "sh", "-c", f'{mount} && exec "$0" "$@"']
        if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
            pytest.skip("root ignores permissions and cannot mount anything here")
        yield prefix
        return
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(0o500 if path.is_dir() else 0o400)
    yield []
    for path in paths:
        path.chmod(0o700 if path.is_dir() else 0o600)


@pytest.mark.parametrize("backend", ["sqlite", "jsonl"])
def test_an_error_names_a_realm_that_cannot_be_written(person: Person, folder: Path, backend: str) -> None:
    session = person.json("run", "first", "--command", "cat", "--realm", REALM, "--realm-backend", backend)["session_id"]
    with unwritable(folder) as prefix:
        command = [*prefix, sys.executable, "-m", "recollect", "run", "x", "--resume", session, "--realm", REALM, "--json"]
        ran = subprocess.run(command, env=person.env, capture_output=True, text=True, check=False, timeout=60)
        assert ran.returncode == 1, ran
        assert str(folder) in json.loads(ran.stdout)["message"]
    assert person.json("run", "second", "--resume", session, "--realm", REALM)["text"] == "second"


# ---- in memory


def test_a_realm_in_memory_leaves_only_its_manifest(person: Person, folder: Path, tmp_path: Path) -> None:
    """M36, M28: a session in memory ends with its process, in whatever way that ends."""
    passing = tmp_path / "tmp"
    passing.mkdir()
    person.env["TMPDIR"] = str(passing)
    for end in (signal.SIGTERM, signal.SIGKILL):
        rpc = RawRpc(person, "--realm", REALM, "--realm-backend", "memory")
        session = create_deferred(rpc)
        echo(rpc, session, "the wombat")
        assert is_found(rpc, "wombat", session)
        rpc.result("config/set", config={"note": 1})
        assert {path.name for path in folder.iterdir()} <= {"realm_manifest.json", "config.json", "config.lock"}
        rpc.process.send_signal(end)
        rpc.end()
        with RawRpc(person, "--realm", REALM) as later:
            assert later.error("session/read", session_id=session)["code"] == NOT_FOUND
            assert later.result("session/list")["sessions"] == []
            assert not is_found(later, "wombat", session)
        assert list(passing.iterdir()) == []
    assert b"wombat" not in b"".join(path.read_bytes() for path in person.state.rglob("*") if path.is_file())


def test_an_archived_session_in_memory_keeps_its_state_but_not_its_history(person: Person, agent: Agent) -> None:
    """M26."""
    with RawRpc(person, "--realm", REALM, "--realm-backend", "memory") as rpc:
        session = create_deferred(rpc, labels={"a": "1"})
        echo(rpc, session, "first")
        first = start_turn(rpc, session, command=agent.command)
        rpc.result("session/archive", session_id=session)
        view = rpc.result("session/read", session_id=session)
        assert (view["is_active"], view["turns"], view["message_count"], view["labels"]) == (False, 2, 5, {"a": "1"})
        refused = rpc.error("session/history", session_id=session)
        assert (refused["code"], refused["data"]["code"]) == (NOT_KEPT, "SESSION_PERSISTENCE_DISABLED")
        assert rpc.error("turn/start", session_id=session, prompt="x", command=["cat"])["code"] == NOT_FOUND
        assert rpc.error("session/archive", session_id=session)["code"] == NOT_FOUND
        assert rpc.result("session/list")["sessions"] == []
        assert "error" in (next((one for one in rpc.earlier_messages if one.get("id") == first), None) or rpc.answer(first))
        assert rpc.result("session/read", session_id=session) == view
