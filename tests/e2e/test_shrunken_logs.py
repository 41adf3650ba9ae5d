"""A log that was emptied, cut, rotated or damaged removes no stored event; a rewritten log replaces events."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Person
from tests.e2e.archives import archived, found, sessions, texts, undisturbed
from tests.e2e.codex_rollout import THREAD, codex_session
from tests.logs import Claude, append, write

TEXTS = ["where does the heron nest", "by the estuary", "and the egret", "in the reeds"]


@pytest.fixture
def claude() -> Claude:
    return Claude()


@pytest.fixture
def log(person: Person, claude: Claude) -> Path:
    path = person.claude_log(claude.session)
    write(path, [claude.says(text) if place % 2 else claude.prompt(text) for place, text in enumerate(TEXTS)])
    person.sync()
    return path


def lines(log: Path) -> list[bytes]:
    return log.read_bytes().splitlines(keepends=True)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda whole: b"",
    "cut to a line": lambda whole: whole[: whole.index(b"\n") + 1],
    "cut in the middle of a line": lambda whole: whole[: len(whole) * 2 // 3],
    "all NUL": lambda whole: b"\0" * len(whole),
    "NUL from the middle on": lambda whole: whole[: len(whole) // 2] + b"\0" * (len(whole) - len(whole) // 2),
    "not JSON": lambda whole: b"<html>\n" * 20,
    "empty objects": lambda whole: b"{}\n" * 3,
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("again", ["sync", "rebuild"])
def test_a_shrunken_log_removes_no_stored_event(person: Person, log: Path, damage: str, again: str) -> None:
    log.write_bytes(DAMAGE[damage](log.read_bytes()))
    person.run("sync")
    if again == "rebuild":
        person.run("rebuild", "--logs")
    assert [text for text in texts(person) if text != "{}"] == TEXTS
    assert len(found(person, "heron")) == 1
    assert len(found(person, "egret")) == 1


@pytest.mark.parametrize("seen", [True, False], ids=["seen empty", "not seen empty"])
def test_an_emptied_log_that_grows_adds_events(person: Person, claude: Claude, log: Path, seen: bool) -> None:
    log.write_bytes(b"")
    if seen:
        person.sync()
    append(log, claude.prompt("and the stork"))
    person.sync()
    append(log, claude.says("on the chimney"))
    person.sync()
    assert texts(person) == [*TEXTS, "and the stork", "on the chimney"]
    before = archived(person)
    person.run("rebuild", "--logs")
    assert archived(person) == before
    assert [session.turn_count for session in sessions(person)] == [3]


def test_an_emptied_codex_log_without_ids_adds_events(person: Person) -> None:
    log = person.codex_log(THREAD)
    first, rest = codex_session("count the cormorants"), codex_session("count the cormorants", "and the shags")
    log.write_bytes(first)
    person.sync()
    before = texts(person)
    log.write_bytes(b"")
    person.sync()
    log.write_bytes(rest[len(first) :])
    person.sync()
    assert texts(person)[: len(before)] == before
    assert len(found(person, "cormorants")) == 2
    assert len(found(person, "shags")) == 2


CODEX_DAMAGE = ("emptied, and seen so", "rotated", "cut off in front")


@pytest.mark.parametrize("how", CODEX_DAMAGE)
def test_a_codex_log_that_starts_again_keeps_its_stored_events(person: Person, how: str) -> None:
    """Its records have no ids: a new record has the position of an old one."""
    log = person.codex_log(THREAD)
    first = codex_session("count the cormorants", "and the gannets")
    header, *later = codex_session("", "", "", "and the shags").splitlines(keepends=True)
    log.write_bytes(first)
    person.sync()
    before = texts(person)
    if how == "rotated":
        log.rename(log.with_name(log.name + ".1"))
    log.write_bytes(b"")
    if how == "emptied, and seen so":
        person.sync()
    log.write_bytes(b"".join([*([header] if how != "cut off in front" else []), *later[-4:]]))
    person.sync()
    now = [*before, "and the shags", "echo of and the shags", "turn complete"]
    assert texts(person) == now
    person.run("rebuild", "--logs")
    assert texts(person) == now


@pytest.mark.parametrize("how", ["emptied", "deleted", "renamed", "NUL bytes"])
@pytest.mark.parametrize("seen", [True, False], ids=["seen", "unseen"])
def test_a_rebuild_keeps_the_events_of_a_shrunken_log(
    person: Person, claude: Claude, log: Path, how: str, seen: bool
) -> None:
    match how:
        case "emptied":
            log.write_bytes(b"")
        case "deleted":
            log.unlink()
        case "renamed":
            log.rename(log.with_name(log.name + ".1"))
        case _:
            log.write_bytes(b"\0" * log.stat().st_size)
    if seen:
        person.sync()
    person.run("rebuild", "--logs")
    assert texts(person) == TEXTS
    with log.open("ab") as stream:
        stream.write(b"\n" if how == "NUL bytes" else b"")
    append(log, claude.prompt("and the stork"), claude.says("on the chimney"))
    person.sync()
    assert texts(person) == [*TEXTS, "and the stork", "on the chimney"]


@pytest.mark.parametrize("how", ["renamed", "copied and emptied"])
def test_a_rotated_log_keeps_its_stored_events(person: Person, claude: Claude, log: Path, how: str) -> None:
    rotated = log.with_name(log.name + ".1")
    if how == "renamed":
        log.rename(rotated)
    else:
        rotated.write_bytes(log.read_bytes())
    write(log, [claude.prompt("a new file"), claude.says("of the same session")])
    person.sync()
    assert texts(person) == [*TEXTS, "a new file", "of the same session"]


def test_a_log_that_begins_with_another_session_keeps_the_first_one(person: Person, log: Path) -> None:
    other = Claude("22222222-2222-4222-8222-222222222222", start=50)
    rollout = person.codex_log(THREAD)
    rollout.write_bytes(codex_session("count the cormorants"))
    person.sync()
    rollout.write_bytes(codex_session("count the shags").replace(THREAD.encode(), THREAD.replace("4a", "4b").encode()))
    write(log.with_name(f"{other.session}.jsonl"), [other.prompt("elsewhere")])
    person.sync()
    assert len(found(person, "cormorants")) == 2
    assert len(found(person, "shags")) == 2
    assert len(found(person, "heron")) == 1


def test_lines_after_garbage_are_added(person: Person, claude: Claude, log: Path) -> None:
    first, *rest = lines(log)
    log.write_bytes(first + b"\0" * sum(map(len, rest)) + b"\n")
    person.sync()
    append(log, claude.prompt("after the crash"))
    person.sync()
    assert texts(person) == [*TEXTS, "after the crash"]
    before = texts(person)
    person.run("rebuild", "--logs")
    assert texts(person) == before


def test_a_rewound_log_replaces_what_was_rewound(person: Person, claude: Claude, log: Path) -> None:
    log.write_bytes(b"".join(lines(log)[:2]))
    person.sync()
    assert texts(person) == TEXTS
    append(log, claude.prompt("another way"))
    person.sync()
    assert texts(person) == [*TEXTS[:2], "another way"]
    assert archived(person) == undisturbed(person)
    assert found(person, "egret") == []


def test_a_log_rewritten_after_a_sync_saw_it_empty_replaces_events(person: Person, log: Path) -> None:
    edited = log.read_bytes().replace(b"heron", b"bittern")
    log.write_bytes(b"")
    person.sync()
    log.write_bytes(edited)
    person.sync()
    assert archived(person) == undisturbed(person)
    assert found(person, "heron") == []


def test_a_restored_log_gives_the_same_archive(person: Person, claude: Claude, log: Path) -> None:
    whole = log.read_bytes()
    before = archived(person)
    log.write_bytes(b"")
    person.sync()
    log.write_bytes(whole)
    person.sync()
    assert archived(person) == before
    append(log, claude.prompt("and on"))
    person.sync()
    assert archived(person) == undisturbed(person)


def test_a_log_cut_after_a_slash_command_loses_no_event(person: Person, claude: Claude, log: Path) -> None:
    command = claude.prompt("<command-name>/bake</command-name>\n<command-args></command-args>")
    append(log, command, claude.says("baked"))
    person.sync()
    before, whole = archived(person), log.read_bytes()
    log.write_bytes(b"".join(lines(log)[:-1]))
    person.sync()
    assert [line for line in archived(person) if "tally" not in line] == [line for line in before if "tally" not in line]
    append(log, claude.prompt("something else"))
    person.sync()
    assert archived(person) == undisturbed(person)
    log.write_bytes(whole)
    person.sync()
    assert archived(person) == before
