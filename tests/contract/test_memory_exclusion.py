"""Private sessions are in no index of any family, whenever and however they were made private."""

import json
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from recollect.distil import distil
from recollect.store import Reader, archive_path
from recollect.store.memory import Memory as Stored
from tests.conftest import Person
from tests.contract.memory_archive import EXPORT, conversation, export
from tests.contract.memory_client import Memory, Record, connect_memory, session_writer, write_session
from tests.logs import Claude, append, write

pytestmark = pytest.mark.process

MARKER = "DO NOT INDEX THIS CHAT"
WORD = "quicksilver"  # only the private session contains it


def private(log: Claude) -> list[Record]:
    return [
        log.prompt(f"Where is the {WORD} stored, and why did we decide against glass?"),
        log.calls("Bash", "b1", command=f"grep -r {WORD} ."),
        log.result("b1", f"cellar/notes.md: the {WORD} is in iron flasks"),
        log.says(f"The {WORD} is in iron flasks, because glass breaks. I decided to keep it that way."),
    ]


def public(log: Claude) -> list[Record]:
    return [log.prompt("Which flasks do we have in iron?"), log.says("Twelve, because iron does not break.")]


def write_both(person: Person) -> Path:
    """A session that will be private and one that is not; the log of the first."""
    write_session(person, 2, "loft", "2026-02-01", public(session_writer(2, "loft")))
    return write_private(person, 1)


def traces(memory: Memory, log: Path, *ids: str) -> list[str]:
    """The ways by which something of the private session can still be found."""
    path = str(log)
    ways: dict[str, Callable[[], bool]] = {
        "search_sessions": lambda: WORD in json.dumps(memory.hits(WORD, n_hits=50)),
        "list_sessions": lambda: len(memory.sessions()) != 1,
        "read": lambda: not memory.text_and_error("read", {"path": path})[1],
        "conversations": lambda: bool(memory.search_rows([WORD, "iron"], mode="text")),
        "conversations by meaning": lambda: path in json.dumps(memory.search_rows(["iron flasks", "glass"], mode="vector")),
        **{f"search by {mode}": partial(_is_found, memory, path, mode) for mode in ("text", "vector", "both")},
        **{f"get_observations {one}": partial(_has_details, memory, one) for one in ids},
    }
    return [name for name, works in ways.items() if works()]


def _has_details(memory: Memory, observation: str) -> bool:
    return not memory.text_and_error("get_observations", {"ids": [observation]})[1]


def _is_found(memory: Memory, path: str, mode: str) -> bool:
    questions = (WORD, "iron flasks", "why was glass decided against")
    return any(path == row["path"] for words in questions for row in memory.search_rows(words, mode=mode, limit=50))


def leftovers(person: Person) -> list[str]:
    """Files of the state folder that contain the word."""
    return [str(path) for path in person.state.rglob("*") if path.is_file() and WORD.encode() in path.read_bytes()]


def test_without_private_sessions_every_trace_is_found(person: Person) -> None:
    """Otherwise the tests below could not fail."""
    log = write_both(person)
    person.run("sync")
    with connect_memory(person) as memory:
        identity = memory.search_rows(WORD)[0]["id"]
        assert len(traces(memory, log, identity)) == 9
        assert leftovers(person)


# ---- private before the first sync


def test_a_session_that_contains_the_marker_is_in_no_index(person: Person) -> None:
    """C30: in any case, anywhere in a prompt."""
    logs = [write_private(person, number) for number in range(3, 7)]
    for log, marker in zip(logs, [MARKER, MARKER.lower(), "Do not Index this Chat", f"please:{MARKER}!"], strict=True):
        append(log, Claude(log.stem, cwd="/work/cellar", start=50).prompt(marker))
    assert_private(person, *logs)


def test_a_session_that_is_excluded_is_in_no_index(person: Person, tmp_path: Path) -> None:
    """C30: by a file in its folder, above it, or beside its log; by a setting for its folder or its log."""
    folders = [tmp_path / name / "cellar" for name in ("in", "above", "beside", "setting", "log")]
    for folder in folders:
        folder.mkdir(parents=True)
    logs = [write_private(person, number, str(folder), folder.parent.name) for number, folder in enumerate(folders, 3)]
    (folders[0] / ".no-recollect").touch()
    (folders[1].parent / ".no-recollect").touch()
    (logs[2].parent / ".no-recollect").touch()
    person.state.mkdir(mode=0o700)
    (person.state / "settings.toml").write_text(f'exclude = ["{folders[3].parent}/*", "*/-work-log/*"]\n')
    assert_private(person, *logs)


def write_private(person: Person, number: int, cwd: str = "/work/cellar", place: str = "cellar") -> Path:
    secret = Claude(session_writer(number, "cellar").session, cwd=cwd)
    return write(person.claude_log(secret.session, f"-work-{place}"), private(secret))


def assert_private(person: Person, *logs: Path) -> None:
    """In a home with these logs and one public log, only the public one is found."""
    write_session(person, 2, "loft", "2026-02-01", public(session_writer(2, "loft")))
    person.run("sync")
    with connect_memory(person) as memory:
        assert {str(log): traces(memory, log) for log in logs} == {str(log): [] for log in logs}
        assert memory.search_rows("iron flasks"), "the other session is found"
    assert leftovers(person) == []


# ---- private after a sync


def sync_and_distil(person: Person, *paths: Path) -> None:
    """Do what `recollect sync` does, in this process."""
    person.sync(*paths)
    assert distil(person.realm, person.settings(), person.env, lambda: False)


def test_a_later_marker_removes_the_whole_session(person: Person) -> None:
    """C30: everything that was read, distilled and recorded before; also for a server that was already running."""
    log = write_both(person)
    sync_and_distil(person)
    with connect_memory(person) as memory:
        event = memory.evidence(f"Where is the {WORD}")
        recorded = memory.record(type="decision", title=f"Keep {WORD} in iron", evidence_ids=[event])
        ids = [row["id"] for row in memory.search_rows(WORD, limit=50)]
        assert len(ids) > 1
        assert recorded in ids
        append(log, Claude(log.stem, cwd="/work/cellar", start=50).prompt("Oh, and do not index this chat"))
        person.run("sync")
        assert traces(memory, log, *ids) == []
        assert memory.refusal("record_observation", type="test", title="Late", evidence_ids=[event]).startswith(
            "evidence not"
        )
        assert memory.search_rows("iron flasks")
        with connect_memory(person) as other:
            assert traces(other, log, *ids) == []
        with closing(Stored(person.realm)) as stored:
            assert [row.title for row in stored.observations_above(0, 1_000) if row.path == str(log)] == []
        again = Claude(log.stem, cwd="/work/cellar", start=90)
        append(log, again.prompt(f"More of the {WORD}"), again.says("No more."))
        person.run("sync")
        assert traces(memory, log, *ids) == []


def test_a_marker_removes_the_whole_session_before_it_is_distilled(person: Person) -> None:
    """C30: distilling may run later; a private session is removed by the sync that reads the marker."""
    log = write_both(person)
    sync_and_distil(person)
    with connect_memory(person) as memory:
        ids = [row["id"] for row in memory.search_rows(WORD, limit=50)]
        append(log, Claude(log.stem, cwd="/work/cellar", start=50).prompt(MARKER))
        person.sync()
        assert traces(memory, log, *ids) == []


@pytest.mark.parametrize(
    ("way", "grows"),
    [("beside the log", True), ("beside the log", False), ("setting", False)],
    ids=["beside a log that grows", "beside a log that stays", "setting, for a log that stays"],
)
def test_a_later_exclusion_removes_the_whole_session(person: Person, way: str, grows: bool) -> None:
    """C30: also if the log has not changed since it was read."""
    log = write_both(person)
    sync_and_distil(person)
    if way == "setting":
        (person.state / "settings.toml").write_text('exclude = ["/work/cellar"]\n')
    else:
        (log.parent / ".no-recollect").touch()
    if grows:
        append(log, Claude(log.stem, cwd="/work/cellar", start=50).prompt("One more thing"))
    person.run("sync")
    with connect_memory(person) as memory:
        assert traces(memory, log) == []
        assert memory.search_rows("iron flasks")


def test_the_sub_agents_of_a_private_session_are_private(person: Person) -> None:
    """C30: the prompts and answers of a sub-agent are part of the session."""
    log = write_both(person)
    aside: dict[str, Any] = {"isSidechain": True, "agentId": "a1"}
    agent = Claude(log.stem, cwd="/work/cellar", start=500)
    errand = [agent.prompt(f"Weigh the {WORD}", **aside), agent.says(f"The {WORD} weighs a ton.", **aside)]
    write(log.with_suffix("") / "subagents" / "agent-a1.jsonl", errand)
    sync_and_distil(person)
    append(log, Claude(log.stem, cwd="/work/cellar", start=50).prompt(MARKER))
    person.run("sync")
    with connect_memory(person) as memory:
        assert traces(memory, log) == []


def test_nothing_of_a_session_that_became_private_stays_on_disk(person: Person) -> None:
    log = write_both(person)
    sync_and_distil(person)
    append(log, Claude(log.stem, cwd="/work/cellar", start=50).prompt(MARKER))
    person.sync()
    with closing(Reader(archive_path(person.realm))) as reader:
        assert WORD not in " ".join(session.title for session in reader.all_sessions())


def test_one_private_conversation_of_an_export_leaves_the_others(person: Person, tmp_path: Path) -> None:
    """C30: a session is excluded, not the log that it shares with others."""
    hidden = conversation(4, "Cellar", f"Where is the {WORD}? {MARKER}", f"The {WORD} is in iron flasks.")
    path = export(tmp_path, [*EXPORT, hidden])
    sync_and_distil(person, path)
    with connect_memory(person) as memory:
        assert [row["title"] for row in memory.search_rows(WORD, mode="text")] == []
        assert memory.hits(WORD) == []
        assert len(memory.sessions()) == 3
        assert WORD not in memory.text("read", path=str(path))
        assert memory.refusal("read", path=f"{path}#{hidden['uuid']}") == "File not found"
        assert memory.search_rows("rye sourdough")
