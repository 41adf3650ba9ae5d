"""Strings are found whether the n-gram index is up to date, behind, damaged or deleted; it follows the archive by itself."""

import json
import os
import shutil
import signal
import subprocess
import sys
from functools import partial
from typing import Any

import pytest

from recollect.distil import NGRAM_INDEX_LAG, Distiller, distil, is_up_to_date
from recollect.index.engine import IndexLayout
from recollect.index.ngrams import NGRAMS, read_indexed_up_to
from recollect.index.text import TEXT
from recollect.live import LiveRealm
from recollect.operations import OPERATIONS, RequestContext
from recollect.store import Reader, archive_path
from tests.conftest import Person
from tests.e2e.processes import until
from tests.logs import Claude, append, write

ONE = "11111111-1111-4111-8111-111111111111"
TWO = "22222222-2222-4222-8222-222222222222"
EXCHANGES = NGRAM_INDEX_LAG // 2 + 100


def exchanges(log: Claude, count: int, word: str = "plain") -> list[dict[str, Any]]:
    return [line for number in range(count) for line in (log.prompt(f"{word}Prompt{number}"), log.says(f"{word}-{number}."))]


@pytest.fixture
def large(person: Person) -> Person:
    """Enough events for an n-gram index, and a session that began later."""
    write(person.claude_log(ONE), exchanges(Claude(ONE), EXCHANGES))
    write(person.claude_log(TWO), exchanges(Claude(TWO, start=80_000), 10, "later"))
    person.sync()
    return person


def all_done(person: Person) -> None:
    assert distil(person.realm, person.settings(), person.env, lambda: False)


def mark(person: Person) -> int:
    reader = Reader(archive_path(person.realm))
    try:
        return read_indexed_up_to(person.realm, reader.meta("identity") or "")
    finally:
        reader.close()


def previews(realm: LiveRealm, query: str, **more: Any) -> list[str]:
    reply = OPERATIONS["search_event_previews"].run(realm, {"query": query, "limit": 50, **more}, RequestContext.now())
    assert not reply.is_error, reply.text
    return [match["preview"] for match in json.loads(reply.text)["data"]["matches"]]


def test_a_small_archive_has_no_ngram_index(person: Person) -> None:
    write(person.claude_log(ONE), exchanges(Claude(ONE), 20))
    person.sync()
    all_done(person)
    assert not NGRAMS.folder(person.realm).exists()
    assert previews(LiveRealm(person.settings()), "inPrompt7") == ["plainPrompt7"]


def test_a_large_archive_gets_its_ngram_index_last(large: Person) -> None:
    assert previews(LiveRealm(large.settings()), "NPROMPT2077") == ["plainPrompt2077"], (
        "the string is found before the index exists"
    )
    all_done(large)
    assert mark(large) == 2 * EXCHANGES + 20
    assert previews(LiveRealm(large.settings()), "NPROMPT2077") == ["plainPrompt2077"]
    assert previews(LiveRealm(large.settings()), "erPrompt1") == ["laterPrompt1"]


def test_a_rare_string_reads_few_events(large: Person) -> None:
    all_done(large)
    realm = LiveRealm(large.settings())
    with realm.open_archive() as reader:
        asked: list[str] = []
        reader.db.set_trace_callback(asked.append)
        assert previews(realm, "inPrompt2077") == ["plainPrompt2077"]
        reader.db.set_trace_callback(None)
    assert len(asked) < 20, "one or two queries, not one per session or event"


def test_events_newer_than_the_index_are_found_at_once(large: Person) -> None:
    all_done(large)
    before = mark(large)
    log = Claude(TWO, start=90_000)
    append(large.claude_log(TWO), log.prompt("laterPrompt10 and freshlyAdded"), log.says("yes"))
    large.sync()
    all_done(large)
    assert mark(large) == before, "the index is not written again for a few events"
    assert previews(LiveRealm(large.settings()), "lyAdd") == ["laterPrompt10 and freshlyAdded"]
    assert previews(LiveRealm(large.settings()), "laterPrompt1") == ["laterPrompt1", "laterPrompt10 and freshlyAdded"]


def test_a_running_server_works_without_a_deleted_index(large: Person) -> None:
    all_done(large)
    realm = LiveRealm(large.settings())
    assert previews(realm, "inPrompt2077") == ["plainPrompt2077"]
    shutil.rmtree(NGRAMS.folder(large.realm))
    assert previews(realm, "inPrompt2078") == ["plainPrompt2078"]
    assert not is_up_to_date(large.realm, large.settings()), "the missing index is noticed"
    all_done(large)
    assert mark(large) == 2 * EXCHANGES + 20
    assert previews(realm, "inPrompt2079") == ["plainPrompt2079"]


@pytest.mark.parametrize("name", ["meta.json", "seen", "archive-identity"])
def test_a_damaged_index_is_built_again(large: Person, name: str) -> None:
    all_done(large)
    (NGRAMS.folder(large.realm) / name).write_text("{")
    assert previews(LiveRealm(large.settings()), "inPrompt2077") == ["plainPrompt2077"]
    all_done(large)
    assert previews(LiveRealm(large.settings()), "inPrompt2077") == ["plainPrompt2077"]
    assert mark(large) == 2 * EXCHANGES + 20


@pytest.mark.parametrize("layout", [TEXT, NGRAMS], ids=["text", "pieces"])
def test_an_index_overwritten_under_a_server_does_not_block_requests(large: Person, layout: IndexLayout) -> None:
    """The engine panics over such files, and a panic is not an `Exception`."""
    all_done(large)
    with large.mcp() as client:
        ask = partial(client.request, "tools/call")
        search = {"name": "search_sessions", "arguments": {"query": "plain"}}
        previews = {"name": "search_event_previews", "arguments": {"query": "inPrompt2077"}}
        assert ask(search)["result"] and ask(previews)["result"]
        for path in layout.folder(large.realm).glob("*.*"):
            if path.suffix in {".term", ".idx", ".pos", ".fast"}:
                path.write_bytes(os.urandom(path.stat().st_size))
        for _ in range(3):
            assert ask(search)["result"]["structuredContent"]["tool"] == "search_sessions"
            (match,) = ask(previews)["result"]["structuredContent"]["data"]["matches"]
            assert match["preview"] == "plainPrompt2077"
    if layout is NGRAMS:
        all_done(large)
        assert mark(large) == 2 * EXCHANGES + 20, "the index is built again"


def test_a_writer_with_damaged_files_builds_the_index_again(large: Person) -> None:
    all_done(large)
    folder = NGRAMS.folder(large.realm)
    (folder / "seen").unlink()
    for path in folder.glob("*.term"):
        path.write_bytes(os.urandom(path.stat().st_size))
    for _ in range(2):
        all_done(large)
    assert mark(large) == 2 * EXCHANGES + 20
    assert previews(LiveRealm(large.settings()), "inPrompt2077") == ["plainPrompt2077"]


def test_an_excluded_session_is_removed_from_the_index(large: Person) -> None:
    all_done(large)
    append(large.claude_log(TWO), Claude(TWO, start=95_000).prompt("DO NOT INDEX THIS CHAT"))
    large.sync()
    assert previews(LiveRealm(large.settings()), "laterPrompt") == []
    all_done(large)
    with Distiller(large.realm, large.settings(), large.env) as distiller:
        assert distiller._emptied_in_ngrams({s.id: s for s in distiller.reader.all_sessions()}) == []


def test_an_index_build_killed_at_any_moment_is_finished_later(large: Person) -> None:
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from recollect.distil import Distiller\n"
        "from recollect.settings import Settings\n"
        "realm = Path(sys.argv[1])\n"
        "with Distiller(realm, Settings(home=realm.parents[1]), {}) as distiller:\n"
        "    for number, step in enumerate(one for one in distiller.steps() if one.what == 'n-grams'):\n"
        "        if number == int(sys.argv[2]): os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    for step in (0, 3, 7):
        command = [sys.executable, "-c", code, str(large.realm), str(step)]
        assert subprocess.run(command, env=large.env, check=False).returncode == -signal.SIGKILL
        assert previews(LiveRealm(large.settings()), "inPrompt2077") == ["plainPrompt2077"]
    all_done(large)
    assert previews(LiveRealm(large.settings()), "inPrompt2077") == ["plainPrompt2077"]
    assert mark(large) == 2 * EXCHANGES + 20


def test_a_sync_leaves_the_index_to_a_background_process(person: Person) -> None:
    write(person.claude_log(ONE), exchanges(Claude(ONE), EXCHANGES))
    person.run("sync")
    until(lambda: mark(person) == 2 * EXCHANGES)
    previews_found = person.json("trace", "search", "inPrompt2077")
    assert [match["preview"] for match in previews_found["data"]["matches"]] == ["plainPrompt2077"]
