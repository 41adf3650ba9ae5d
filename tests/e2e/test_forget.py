"""Forgetting beside other processes: killed ones, watchers, servers, and running turns."""

import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Generator

import pytest

from recollect.errors import SessionBusy
from recollect.live.runners import AnswerText, Assignment, Output
from recollect.live.turn_runner import TurnRequest
from recollect.realms.forget import forget_sessions
from recollect.realms.manifest import Backend
from recollect.store.forgetting import is_forgetting_unfinished
from recollect.store.lock import WRITING, is_held
from tests.conftest import Person
from tests.e2e.processes import until
from tests.forgotten_home import KEEPER, MARKER, VICTIM, ForgottenHome
from tests.logs import Claude, append
from tests.state_search import places_of

KILLED_AT = """
import os, signal, sys
from recollect.live import LiveRealm
from recollect.realms.forget import forget_sessions
from recollect.settings import read_settings

def step(what, done, total):
    if what == sys.argv[1]:
        os.kill(os.getpid(), signal.SIGKILL)

sessions = [bytes.fromhex(session) for session in sys.argv[2:]]
forget_sessions(LiveRealm(read_settings(os.environ)), sessions, step)
"""
STEPS = ("Erasing the sessions", "Writing the index again", "Writing the index of strings again", "Cleaning the databases")


@pytest.fixture
def home(person: Person) -> ForgottenHome:
    return ForgottenHome(person, Backend.SQLITE)


def family(home: ForgottenHome) -> list[bytes]:
    with home.realm.open_archive() as reader:
        return reader.with_sub_agents([home.victim, home.live])


@pytest.mark.parametrize("step", STEPS)
def test_the_next_sync_finishes_what_a_killed_process_began(home: ForgottenHome, step: str) -> None:
    before = home.answers_about_others()
    sessions = [session.hex() for session in family(home)]
    killed = subprocess.run([sys.executable, "-c", KILLED_AT, step, *sessions], env=home.person.env, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert is_forgetting_unfinished(home.folder)
    home.person.run("sync")
    assert places_of(MARKER, home.person.state) == []
    home.realm.reopen()
    assert home.answers_about_others() == before


def test_a_server_finishes_it_too(home: ForgottenHome) -> None:
    sessions = [session.hex() for session in family(home)]
    subprocess.run([sys.executable, "-c", KILLED_AT, STEPS[1], *sessions], env=home.person.env, check=False)
    with home.person.mcp("--no-sync") as server:
        assert server.call("search_sessions", query=f"{MARKER}prompt")["data"]["results"] == []
        until(lambda: not is_forgetting_unfinished(home.folder))
    assert places_of(MARKER, home.person.state) == []


def test_a_watcher_waits_and_a_server_shows_nothing_stale(home: ForgottenHome) -> None:
    person = home.person
    with person.mcp("--no-sync") as server:
        assert server.call("search_sessions", query=f"{MARKER}second")["data"]["results"]
        watcher = subprocess.Popen([sys.executable, "-m", "recollect", "watch", "--quiet"], env=person.env)
        try:
            until(lambda: is_held(home.folder, WRITING))
            person.run("forget", VICTIM, str(uuid.UUID(bytes=home.live)), "--yes")
            assert server.call("search_sessions", query=f"{MARKER}second")["data"]["results"] == []
            assert server.call("open", id=f"session:{home.victim.hex()}")["error"]["code"] == "not_found"
            until(lambda: is_held(home.folder, WRITING))  # the watcher reads on
            log, other = Claude(VICTIM, start=7_000), Claude(KEEPER, start=7_000)
            append(home.log, log.prompt(f"{MARKER}late"))
            append(person.claude_log(KEEPER, "-work-orchard"), other.prompt("Are there plums?"))
            until(lambda: bool(server.call("search_sessions", query="plums")["data"]["results"]))
        finally:
            watcher.terminate()
            watcher.wait(timeout=30)
    assert places_of(MARKER, person.state) == []


def test_a_running_turn_keeps_its_session(home: ForgottenHome) -> None:
    began, end = threading.Event(), threading.Event()

    def wait(assignment: Assignment) -> Generator[Output, None, None]:
        began.set()
        end.wait(60)
        yield AnswerText("done")

    request = TurnRequest(
        prompt="again", runner=wait, runner_name="command", command=None, stored_command=None, options={}, generation=0
    )
    turn = threading.Thread(target=lambda: home.realm.live.run(home.live, request))
    turn.start()
    assert began.wait(30)
    before = places_of(MARKER, home.person.state)
    try:
        with pytest.raises(SessionBusy, match="Nothing was forgotten"):
            forget_sessions(home.realm, family(home))
        assert not is_forgetting_unfinished(home.folder)
        assert home.ask("library_session", id=VICTIM)["data"]
        assert {place.partition(":")[0] for place in before} <= {
            place.partition(":")[0] for place in places_of(MARKER, home.person.state)
        }
    finally:
        end.set()
        turn.join(30)
    home.ask("library_forget", ids=[home.live.hex(), VICTIM])
    assert places_of(MARKER, home.person.state) == []
    home.realm.close()


def test_forgetting_asks_first(home: ForgottenHome) -> None:
    refused = home.person.run("forget", VICTIM, check=False)
    assert refused.returncode == 2
    assert "Add --yes" in refused.stderr
    plan = home.person.json("forget", VICTIM, "--dry-run")["data"]
    assert (plan["dry_run"], plan["counts"]["sessions"], plan["bytes_freed"]) == (True, 2, None)
    assert home.ask("library_session", id=VICTIM)["data"]
    done = home.person.json("forget", VICTIM, "--yes")["data"]
    assert (done["dry_run"], done["counts"]) == (False, plan["counts"])
    assert home.person.json("forget", VICTIM, "--yes")["error"]["code"] == "not_found"
