"""New log lines are found a moment later, whichever process watches; there is always exactly one watcher."""

import json
import os
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from recollect.store import Writer, archive_path
from recollect.store.lock import exclusive
from tests.conftest import Person, RawMcp
from tests.e2e.archives import archived, undisturbed
from tests.e2e.processes import children_of, is_alive, is_writer, rests, running, until, watching
from tests.logs import Claude, append, write

SEARCH = {"name": "search_sessions", "arguments": {"query": "anything"}}
SYNCING = ("--toolsets", "history")  # any option will do: without one, the test client adds --no-sync


@contextmanager
def watch(person: Person) -> Iterator[RawMcp]:
    """`recollect watch`, and a server beside it that only reads."""
    with watching(person), person.mcp() as client:
        yield client


@contextmanager
def mcp(person: Person) -> Iterator[RawMcp]:
    """`recollect mcp`, which watches by itself."""
    with person.mcp(*SYNCING) as client:
        until(lambda: writer(person))
        yield client


@pytest.fixture(scope="module", params=[watch, mcp], ids=["watch", "mcp"])
def watched_person(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Person, RawMcp]]:
    """A person with one session, and a process that watches it."""
    person = Person(tmp_path_factory.mktemp("watched"))
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("an old hoopoe")])
    with request.param(person) as client:
        until(lambda: client.call("search_sessions", query="hoopoe").get("data", {}).get("result_count"))
        until(lambda: notices(client, person))
        yield person, client


def notices(client: RawMcp, person: Person) -> bool:
    """Whether the watcher notices changes, after its first sync."""
    said = Claude("99999999-9999-4999-8999-999999999999")
    write(person.claude_log(said.session), [said.prompt(f"settled {os.urandom(4).hex()}")])
    return finds(client, "settled")


def finds(client: RawMcp, word: str) -> bool:
    return bool(client.call("search_sessions", query=word)["data"]["result_count"] == 1)


def writer(person: Person) -> int:
    """The number of the process that holds the realm's lock, or held it last."""
    lock = person.realm / "write.lock"
    return int(lock.read_text() or 0) if lock.exists() else 0


def test_an_appended_line_becomes_searchable(watched_person: tuple[Person, RawMcp]) -> None:
    person, client = watched_person
    said = Claude(start=10)
    for word in ("jackdaw", "kestrel", "lapwing"):
        append(person.claude_log(said.session), said.says(f"a {word}"))
        until(partial(finds, client, word))


def test_a_line_written_in_pieces_becomes_searchable_once_complete(watched_person: tuple[Person, RawMcp]) -> None:
    person, client = watched_person
    said = Claude("66666666-6666-4666-8666-666666666666")
    whole = write(person.home / "aside", [said.says("a merlin at last"), said.says("a nightjar too")]).read_bytes()
    with person.claude_log(said.session).open("ab", buffering=0) as agent:
        for start in range(0, len(whole), 200):
            agent.write(whole[start : start + 200])
    until(lambda: finds(client, "merlin") and finds(client, "nightjar"))


def test_a_new_session_becomes_searchable(watched_person: tuple[Person, RawMcp]) -> None:
    person, client = watched_person
    said = Claude("22222222-2222-4222-8222-222222222222", start=20)
    write(person.claude_log(said.session), [said.prompt("an osprey")])
    until(lambda: finds(client, "osprey"))


def test_new_project_folders_become_searchable(watched_person: tuple[Person, RawMcp]) -> None:
    person, client = watched_person
    for number in range(8):
        said = Claude(f"{number:08d}-3333-4333-8333-333333333333", start=30)
        write(person.claude_log(said.session, f"-work-other-{number}"), [said.prompt(f"a pintail{number}")])
        until(partial(finds, client, f"pintail{number}"))


def test_a_sub_agents_session_in_a_new_folder_becomes_searchable(watched_person: tuple[Person, RawMcp]) -> None:
    person, client = watched_person
    said = Claude(start=40)
    log = person.claude_log(said.session).with_suffix("") / "subagents" / "agent-a1.jsonl"
    write(log, [said.prompt("look for a quail", isSidechain=True, agentId="a1")])
    until(lambda: finds(client, "quail"))


def test_a_replaced_log_is_noticed(watched_person: tuple[Person, RawMcp]) -> None:
    person, client = watched_person
    said = Claude("55555555-5555-4555-8555-555555555555", start=50)
    log = write(person.claude_log(said.session), [said.prompt("an old rail")])
    until(lambda: finds(client, "rail"))
    again = Claude(said.session, start=50)  # the same record, with another text
    write(log.with_suffix(".tmp"), [again.prompt("a young redshank, after all")]).replace(log)
    until(lambda: finds(client, "redshank"))
    assert not finds(client, "rail")


def test_lines_written_while_the_watcher_starts_become_searchable(person: Person) -> None:
    """No line may be lost between the first sync and the first notification from the kernel."""
    words: list[str] = []

    def write_one() -> None:
        said = Claude(f"{len(words):08d}-4444-4444-8444-444444444444")
        words.append(f"plover{len(words)}")
        write(person.claude_log(said.session), [said.prompt(f"a {words[-1]}")])

    write_one()
    with person.mcp() as client:
        assert not finds(client, "plover0")
        with watching(person):
            while not finds(client, "plover0"):
                write_one()
            for _ in range(30):
                write_one()
            for word in words:
                until(partial(finds, client, word), 10)


def test_a_reader_waits_for_an_archive_that_is_being_created(person: Person) -> None:
    """A server and its watcher start at the same time: the first answer must not be an error about an incomplete archive."""
    with exclusive(person.realm), person.mcp() as client:
        archive = archive_path(person.realm)
        archive.touch(mode=0o600)  # a state that a writer leaves for a moment
        client.request("ping")
        client.say(json.dumps({"jsonrpc": "2.0", "id": "early", "method": "tools/call", "params": SEARCH}))
        assert client.process.stdout
        select.select([client.process.stdout], [], [], 0.5)
        Writer(archive).close()
        assert "data" in client.hear()["result"]["structuredContent"]


def test_watching_gives_the_same_archive_as_one_sync(person: Person) -> None:
    claudes = [Claude(f"{number:08d}-0000-4000-8000-000000000000") for number in range(3)]
    for number, agent in enumerate(claudes):
        write(person.claude_log(agent.session, f"-work-{number}"), [agent.prompt("an old hoopoe")])
    with watch(person) as client:
        until(lambda: client.call("search_sessions", query="hoopoe").get("data", {}).get("result_count") == 3)
        until(lambda: notices(client, person))
        for line in range(30):
            agent = claudes[line % 3]
            append(person.claude_log(agent.session, f"-work-{line % 3}"), agent.prompt(f"line x{line}x"), agent.says("yes"))
            if line % 7 == 0:
                until(partial(finds, client, f"x{line}x"))
        until(lambda: finds(client, "x29x"))
    person.sync()
    assert archived(person) == undisturbed(person)


# ---- who watches


def test_watch_ends_cleanly_on_a_signal(person: Person) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        with watching(person) as process:
            process.send_signal(number)
            assert process.wait(30) == 0


def test_watch_prints_what_it_reads_unless_quiet(person: Person) -> None:
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("an old hoopoe")])
    with running(person, "watch", stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"Read ")
    log = person.claude_log(claude.session)
    with running(person, "watch", "--quiet", stdout=subprocess.PIPE) as process, person.mcp() as client:
        until(lambda: notices_after_takeover(client, log))
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        assert process.stdout.read() == b""


def test_the_watcher_ends_with_its_server(person: Person) -> None:
    with mcp(person):
        watcher = writer(person)
        assert is_alive(watcher)
    until(lambda: not is_alive(watcher))


def test_the_watcher_ends_even_when_its_server_is_killed(person: Person) -> None:
    with mcp(person) as client:
        watcher = writer(person)
        os.kill(client.process.pid, signal.SIGKILL)
        until(lambda: not is_alive(watcher))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="whether a process waits is read from /proc")
def test_a_second_watcher_takes_over_when_the_first_one_ends(person: Person) -> None:
    claude = Claude()
    log = write(person.claude_log(claude.session), [claude.prompt("an old hoopoe")])
    person.run("sync")
    with watching(person) as first, running(person, "watch", "--quiet") as second, person.mcp() as client:
        until(lambda: notices(client, person))
        until(lambda: rests(second))
        assert is_writer(first, person)
        assert second.poll() is None
        first.kill()
        first.wait()
        until(lambda: is_writer(second, person))
        until(lambda: notices_after_takeover(client, log))


def test_a_servers_watcher_takes_over_when_another_ends(person: Person) -> None:
    claude = Claude()
    log = write(person.claude_log(claude.session), [claude.prompt("an old hoopoe")])
    with watching(person) as first, person.mcp(*SYNCING) as client:
        until(lambda: finds(client, "hoopoe"))
        first.kill()
        first.wait()
        until(lambda: writer(person) in children_of(client.process.pid))
        until(lambda: notices_after_takeover(client, log))


def notices_after_takeover(client: RawMcp, log: Path) -> bool:
    """Whether the process that took over notices changes."""
    append(log, Claude(start=int.from_bytes(os.urandom(2))).says("a turnstone"))
    return bool(client.call("search_sessions", query="turnstone")["data"]["result_count"])


def test_a_server_with_no_sync_does_not_sync(person: Person) -> None:
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("an old hoopoe")])
    with person.mcp("--no-sync") as client:
        assert not finds(client, "hoopoe")
        assert children_of(client.process.pid) == []
