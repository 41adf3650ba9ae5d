"""A realm with a session that is to be forgotten, and others that must stay as they are.

Every text that only the forgotten session has begins with `MARKER`, wherever Recollect may store it.
"""

import re
import shutil
import uuid
from collections.abc import Generator, Iterable
from functools import partial
from typing import Any

import msgspec

from recollect.distil import Distiller, distil
from recollect.ingest import sync
from recollect.live import LiveRealm
from recollect.live.runners import AnswerText, Assignment, Output
from recollect.live.sessions import NewSession
from recollect.live.turn_runner import TurnRequest
from recollect.model import session_id
from recollect.operations import OPERATIONS, RequestContext
from recollect.realms.manifest import Backend, Origin, read_or_create
from recollect.sources import all_sources
from tests.conftest import Person
from tests.logs import Claude, append, write

MARKER = "zyqx"
VICTIM = "2f2f2f2f-4444-4111-8111-0123456789ab"
KEEPER = "3a3a3a3a-4444-4111-8111-0123456789ab"
FORK = "4b4b4b4b-4444-4111-8111-0123456789ab"
USER = "5d6f3a5e-1c1b-4c7e-9a55-2f6c6b0f3a10"
FOLDER = f"/work/{MARKER}project"
LONG = " ".join(f"{MARKER}output{number} of the tide" for number in range(60))  # long enough to be compressed


def echo(assignment: Assignment) -> Generator[Output, None, None]:
    yield AnswerText(f"echo of {assignment.prompt}")


class ForgottenHome:
    """A person's logs, read into a realm of one backend."""

    def __init__(self, person: Person, backend: Backend) -> None:
        self.person = person
        read_or_create(person.realm, "main", backend, Origin.WORKSPACE)
        self.realm = LiveRealm(person.settings(), "main")
        self.folder = self.realm.folder
        victim = self._victim()
        self.log = write(person.claude_log(VICTIM, f"-work-{MARKER}project"), victim[:4])
        self.fork_log = person.claude_log(FORK, "-work-harvest")
        self._write_sub_agent()
        self._write_keeper()
        self.sync()
        append(self.log, *victim[4:])
        with self.log.open("a") as log:
            log.write(f"{{{MARKER}broken line\n")
        self._write_fork(victim)
        self.sync()
        self.live = self._run_live_turn()
        self._annotate()
        assert distil(self.folder, self.realm.settings, person.env, lambda: False)
        with Distiller(self.folder, self.realm.settings, person.env) as distiller:
            list(distiller._index_ngrams([]))  # distilling waits for more events

    @property
    def victim(self) -> bytes:
        return session_id("claude-code", VICTIM)

    def sync(self) -> None:
        sync(self.folder, self.realm.settings, all_sources(), self.person.env)

    def ask(self, operation: str, **arguments: Any) -> Any:
        return ask_realm(self.realm, operation, **arguments)

    # ---- logs

    def _victim(self) -> list[dict[str, Any]]:
        log = Claude(VICTIM, FOLDER)
        records = [
            log.prompt(f"{MARKER}prompt: mend the apple cart"),
            log.calls(f"mcp__{MARKER}server__{MARKER}tool", "t1", query=f"{MARKER}argument"),
            log.result("t1", LONG),
            log.says(f"We decided to use {MARKER}wheel because the apple cart was slow."),
            log.prompt(f"{MARKER}second"),
            log.calls("Edit", "t2", file_path=f"{FOLDER}/{MARKER}file.py", old_string="a", new_string=f"{MARKER}edit"),
            log.result("t2", "edited"),
            log.says(f"{MARKER}answer"),
        ]
        summary = {"type": "summary", "summary": f"{MARKER}title of it", "leafUuid": records[-1]["uuid"]}
        return [*records, summary]

    def _write_sub_agent(self) -> None:
        log = Claude(VICTIM, FOLDER, start=500)
        path = self.log.with_name("agent-5c5c5c5c.jsonl")
        more = {"isSidechain": True, "agentId": "5c5c5c5c"}
        write(path, [{**log.prompt(f"{MARKER}child task"), **more}, {**log.says(f"{MARKER}child answer"), **more}])

    def _write_keeper(self) -> None:
        log = Claude(KEEPER, "/work/orchard", start=1_000)
        records = [
            log.prompt("How many apples does the orchard have?"),
            log.calls("Edit", "t1", file_path="/work/orchard/apples.py", old_string="1", new_string="2"),
            log.result("t1", "edited"),
            log.says("We decided to use ladders because the orchard is steep. It has nine apples."),
        ]
        write(self.person.claude_log(KEEPER, "-work-orchard"), records)

    def _write_fork(self, victim: list[Any]) -> None:
        """A session that begins with a copy of the history, as Claude Code 1.0 resumed one."""
        own = Claude(FORK, "/work/harvest", start=2_000)
        copies = [{**record, "sessionId": FORK} if "sessionId" in record else record for record in victim[:-1]]
        write(self.fork_log, [*copies, own.prompt("Pick the pears"), own.says("Picked.")])

    def copy_log(self, session: str) -> None:
        """Copy the forgotten log to another folder, under this name."""
        shutil.copy(self.log, self.person.claude_log(session, f"-backup-{MARKER}"))

    # ---- what is not in logs

    def _run_live_turn(self) -> bytes:
        row = self.realm.live.create(
            NewSession(labels={"of": f"{MARKER}label"}, runner="command", command=None, folder=FOLDER, generation=0)
        )
        request = TurnRequest(
            prompt=f"{MARKER}live {LONG}",
            runner=echo,
            runner_name="command",
            command=None,
            stored_command=None,
            options={},
            generation=0,
        )
        self.realm.live.run(row.id, request)
        assert self.realm.publisher.catch_up(10)
        return row.id

    def _annotate(self) -> None:
        event = self.ask("library_events", id=VICTIM)["data"]["events"][0]["id"]
        self.ask("library_put_label", id=VICTIM, name=f"{MARKER}label")
        self.ask("library_write_note", id=VICTIM, note=f"{MARKER}note")
        self.ask("library_write_event_note", id=event, note=f"{MARKER}event note")
        fact = f"{MARKER}fact"
        self.ask("record_observation", type="decision", title=f"{MARKER}observation", facts=[fact], evidence_ids=[event])
        journey = self.ask("get_or_create_journey", user_id=USER)["journey_id"]
        members = {VICTIM: f"{MARKER}summary", KEEPER: "nine apples"}
        for native, summary in members.items():
            name = str(uuid.UUID(bytes=session_id("claude-code", native)))
            self.ask("link_session_to_journey", journey_id=journey, session_id=name, summary=summary)

    # ---- answers

    def answers_about_others(self) -> dict[str, Any]:
        """Answers about the sessions that stay, from every family."""
        searches = ("ladders", "orchard", "pears")
        return comparable(answers(self.realm, (KEEPER, FORK), searches))  # type: ignore[no-any-return]


def answers(realm: LiveRealm, sessions: Iterable[str], searches: Iterable[str]) -> dict[str, Any]:
    """What all families answer about these sessions of Claude Code, and to these searches."""
    ask = partial(ask_realm, realm)
    found: dict[str, Any] = {}
    for native in sessions:
        session = session_id("claude-code", native)
        found[f"session {native}"] = ask("library_session", id=native)["data"]
        found[f"events {native}"] = ask("library_events", id=native)["data"]
        found[f"open {native}"] = ask("open", id=f"session:{session.hex()}")["data"]
        found[f"trace {native}"] = ask("get_session_details", session_id=str(uuid.UUID(bytes=session)))
    for words in searches:
        found[f"search {words}"] = ask("search_sessions", query=words)["data"]
        found[f"library {words}"] = ask("library_search", query=words)["data"]
        found[f"previews {words}"] = ask("search_event_previews", query=words)
        found[f"memory {words}"] = ask("search", query=words)
    found["observations"] = ask("library_observations", project=["orchard"])["data"]
    found["files"] = ask("library_sessions", file=["apples.py"])["data"]
    return found


def ask_realm(realm: LiveRealm, operation: str, **arguments: Any) -> Any:
    """The answer of an operation: its JSON, or its text."""
    reply = OPERATIONS[operation].run(realm, arguments, RequestContext.now(has_deadline=False))
    assert not reply.is_error, reply.text
    try:
        return msgspec.json.decode(reply.structured or reply.text)
    except msgspec.DecodeError:  # the memory's tools answer in text
        return reply.text


LEFT_OUT = {"previous_session_id", "next_session_id", "took_ms", "elapsed_ms"}
SCORE = re.compile(r"\*\*Score:\*\* [0-9.]+")


def comparable(value: Any) -> Any:
    """An answer without scores, which depend on all texts, durations, and the sessions before and after one."""
    if isinstance(value, dict):
        return {name: comparable(one) for name, one in value.items() if "score" not in name and name not in LEFT_OUT}
    if isinstance(value, str):
        return SCORE.sub("", value)
    return [comparable(one) for one in value] if isinstance(value, list) else value
