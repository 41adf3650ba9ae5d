"""Sessions that go on in other runners: what the program gets, what is stored, and what is left if it fails."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from recollect.operations import OPERATIONS, RequestContext
from recollect.realms.manifest import Backend, Origin, read_or_create
from tests.conftest import Person
from tests.contract.library_archive import Library
from tests.e2e.processes import until
from tests.http_server import HttpServer
from tests.logs import Claude, write
from tests.rpc_server import RawRpc

AGENT = Path(__file__).parents[1] / "logging_agent.py"  # it loads sessions of Claude Code's format by their ids
NATIVE = "22222222-2222-4222-8222-222222222222"
ASKED, ANSWERED = "Where does the kingfisher nest?", "In the north bank."
HEADING = "# Brief of an earlier session of Claude Code"


def acp(manner: str = "", **options: Any) -> dict[str, Any]:
    return {"runner": "acp", "command": [sys.executable, str(AGENT), *([manner] if manner else [])], **options}


RUNNERS = {
    "cat": {"command": ["cat"]},
    "claude": acp(agent="claude-code"),
    "forgetful": acp("forgetful", agent="claude-code"),
    "other": acp(agent="codex"),
    "failing": {"command": ["sh", "-c", "exit 3"]},
    "slow": {"command": ["sleep", "100"]},
}


class Kingfisher(Library):
    """A library with one session of Claude Code, whose folder exists."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.work = person.home / "work"
        self.work.mkdir()
        claude = Claude(NATIVE, str(self.work))
        self.log = write(person.claude_log(NATIVE), [claude.prompt(ASKED), claude.says(ANSWERED)])
        person.sync()
        super().__init__(person)
        self.call("meerkat_config", action="set", config={"runners": RUNNERS})
        self.id = self.data("sessions")["sessions"][0]["id"]

    def call(self, name: str, **arguments: Any) -> Any:
        return json.loads(OPERATIONS[name].run(self.realm, arguments, RequestContext.now()).text)

    def go_on(self, prompt: str, runner: str, **arguments: Any) -> Any:
        return self.data("continue", id=arguments.pop("id", self.id), prompt=prompt, runner=runner, **arguments)

    def messages(self, uuid: str) -> Any:
        return self.call("meerkat_history", session_id=uuid)["messages"]

    def turn(self, uuid: str, prompt: str, **arguments: Any) -> Any:
        return self.call("meerkat_start_turn", session_id=uuid, prompt=prompt, **arguments)


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kingfisher:
    person = Person(tmp_path)
    monkeypatch.setenv("HOME", str(person.home))
    return Kingfisher(person)


# ---- with a brief


def test_a_program_gets_the_brief_and_then_the_prompt(library: Kingfisher) -> None:
    answer = library.go_on("And the heron?", "cat")
    assert (answer["way"], answer["runner"], answer["turns"], answer["started"]) == ("brief", "cat", 1, True)
    brief = answer["brief"]["text"]
    assert brief.startswith(HEADING) and f"> {ANSWERED}" in brief
    assert answer["text"] == f"{brief}\n\nNow:\n\nAnd the heron?"
    user, context, assistant = library.messages(answer["uuid"])
    assert (user["content"], context["content"], context["injected"]) == ("And the heron?", brief, True)
    assert assistant["content"] == answer["text"]


def test_every_later_turn_of_a_program_begins_with_the_brief(library: Kingfisher) -> None:
    answer = library.go_on("And the heron?", "cat")
    again = library.turn(answer["uuid"], "And the egret?")
    assert again["text"].startswith(HEADING) and again["text"].endswith("Now:\n\nAnd the egret?")
    assert "User: And the heron?" in again["text"]


def test_an_agent_of_another_kind_gets_the_brief_once(library: Kingfisher) -> None:
    answer = library.go_on("the heron", "other")
    assert (answer["way"], answer["agent"], answer["folder"]) == ("brief", "codex", str(library.work))
    assert answer["text"] == "Answer: the heron lies behind the weir."
    library.turn(answer["uuid"], "the egret")
    messages = library.messages(answer["uuid"])
    assert [message["content"] for message in messages if message.get("injected")] == [answer["brief"]["text"]]
    logs = [path.read_text() for path in library.log.parent.glob("*.jsonl") if path != library.log]
    assert [log.count(HEADING) for log in logs] == [1], "the agent loaded its own session for the second turn"


def test_without_a_prompt_the_agent_goes_on(library: Kingfisher) -> None:
    answer = library.data("continue", id=library.id, runner="cat")
    assert answer["prompt"] == "Go on with this work from where it stopped." and answer["text"].endswith(answer["prompt"])


def test_a_preview_starts_nothing(library: Kingfisher) -> None:
    plan = library.go_on("And the heron?", "cat", preview=True)
    assert plan["text"] is None and plan["brief"]["text"].startswith(HEADING)
    assert library.realm.live.list_sessions({}, 0, 10) == []
    assert library.go_on("And the heron?", "cat")["brief"] == plan["brief"], "what was shown is what is sent"


# ---- natively


def test_the_sessions_own_agent_loads_it(library: Kingfisher) -> None:
    answer = library.go_on("the heron", "claude")
    assert (answer["way"], answer["brief"], answer["folder"]) == ("native", None, str(library.work))
    again = library.turn(answer["uuid"], "the egret")
    assert again["turns"] == 2
    contents = [message["content"] for message in library.messages(answer["uuid"]) if message["role"] == "user"]
    assert contents == ["the heron", "the egret"]
    assert HEADING not in library.log.read_text() and "the egret" in library.log.read_text()
    library.person.sync()
    assert {row["id"] for row in library.data("sessions")["sessions"]} == {library.id, answer["session"]}
    hits = library.data("search", query="heron")["hits"]
    assert [hit["session"]["id"] for hit in hits] == [answer["session"]], "the agent's log repeats the turn"


@pytest.mark.parametrize("why", ["the agent loads no sessions", "the agent no longer has it"])
def test_an_agent_that_cannot_load_the_session_gets_the_brief(library: Kingfisher, why: str) -> None:
    runner = "forgetful" if "no sessions" in why else "claude"
    if runner == "claude":
        library.log.unlink()
    answer = library.go_on("the heron", runner)
    assert answer["way"] == "brief" and answer["brief"]["text"].startswith(HEADING)
    assert [message["role"] for message in library.messages(answer["uuid"])][:2] == ["user", "user"]


def test_a_native_way_that_fails_leaves_nothing(library: Kingfisher) -> None:
    assert_nothing_is_left(library)


def test_a_native_way_that_fails_leaves_no_file_in_a_jsonl_realm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person(tmp_path)
    monkeypatch.setenv("HOME", str(person.home))
    read_or_create(person.realm, "main", Backend.JSONL, Origin.EXPLICIT)
    library = Kingfisher(person)
    assert_nothing_is_left(library)
    assert [*person.realm.glob("*.jsonl")] == []
    library.go_on("And the heron?", "cat")
    (transcript,) = person.realm.glob("*.jsonl")
    assert HEADING in transcript.read_text()


def assert_nothing_is_left(library: Kingfisher) -> None:
    library.log.unlink()
    error = library.refusal("continue", id=library.id, prompt="the heron", runner="claude", way="native")
    assert error["code"] == "agent_failed" and error["details"] == {"is_not_loaded": True}
    assert library.realm.live.list_sessions({}, 0, 10) == []
    library.person.sync()
    assert [row["id"] for row in library.data("sessions")["sessions"]] == [library.id]


# ---- the live session, and its lineage


def test_the_new_session_is_linked_with_the_one_that_it_continues(library: Kingfisher) -> None:
    answer = library.go_on("And the heron?", "cat")
    new = library.data("session", id=answer["session"])
    assert new["session"]["parent"] == library.id and new["session"]["title"] == ASKED
    assert [(row["session"], row["relation"]) for row in new["related"]] == [(library.id, "continues")]
    old = library.data("session", id=library.id)
    assert [(row["session"], row["relation"]) for row in old["related"]] == [(answer["session"], "continued by")]
    assert new["session"]["state"] == "waiting"


def test_a_live_session_goes_on_itself(library: Kingfisher) -> None:
    first = library.go_on("And the heron?", "cat")
    second = library.go_on("And the egret?", "cat", id=first["session"])
    assert (second["session"], second["turns"]) == (first["session"], 2)
    third = library.go_on("the stork", "other", id=first["uuid"])
    assert (third["session"], third["turns"], third["way"]) == (first["session"], 3, "brief")
    assert "And the egret?" in third["brief"]["text"] and f"> > {ANSWERED}" in third["brief"]["text"]
    fourth = library.go_on("the crane", "", id=first["uuid"])
    assert (fourth["turns"], fourth["way"], fourth["agent"]) == (4, "native", "codex")


def test_an_archived_session_goes_on_in_a_new_one(library: Kingfisher) -> None:
    first = library.go_on("And the heron?", "cat")
    library.call("meerkat_archive", session_id=first["uuid"])
    second = library.go_on("And the egret?", "cat", id=first["session"])
    assert second["session"] != first["session"] and "And the heron?" in second["brief"]["text"]


def test_a_live_session_that_runs_is_busy(library: Kingfisher) -> None:
    first = library.go_on("And the heron?", "cat")
    with ThreadPoolExecutor() as threads:
        running = threads.submit(library.call, "meerkat_start_turn", session_id=first["uuid"], prompt="x", runner="slow")
        until(lambda: library.call("meerkat_read", session_id=first["uuid"])["is_active"])
        for is_preview in (True, False):
            error = library.refusal("continue", id=first["session"], prompt="z", runner="cat", preview=is_preview)
            assert error["code"] == "session_busy"
        library.call("meerkat_interrupt", session_id=first["uuid"])
        assert running.result()["code"] == "REQUEST_CANCELLED", "the running turn was not touched before"
    assert len(library.realm.live.list_sessions({}, 0, 10)) == 1


def test_a_first_turn_that_fails_leaves_a_session_to_go_on_with(library: Kingfisher) -> None:
    error = library.refusal("continue", id=library.id, prompt="And the heron?", runner="failing")
    assert error["code"] == "agent_failed"
    failed = error["details"]["session_id"]
    again = library.turn(failed, "And the heron?", runner="cat")
    assert again["text"].startswith(HEADING)


def test_the_tokens_of_the_brief_are_counted(library: Kingfisher) -> None:
    answer = library.go_on("And the heron?", "cat")
    assert answer["brief"]["tokens"] < answer["usage"]["input_tokens"] <= answer["brief"]["tokens"] + 5


def test_to_forget_a_session_is_to_forget_what_quotes_it(library: Kingfisher) -> None:
    library.go_on("the heron", "other")
    library.person.run("sync")
    dry = library.data("forget", ids=[library.id], dry_run=True)
    assert dry["counts"]["sessions"] == 4, "also the live session, its agent's log, and the sub-agent of that"
    library.log.unlink()
    library.data("forget", ids=[library.id], confirm=4)
    left = [path for path in library.person.state.rglob("*") if path.is_file() and b"kingfisher" in path.read_bytes()]
    assert left == [] and library.data("sessions")["sessions"] == []


# ---- the other surfaces


def test_rest_and_rpc_continue_a_session(library: Kingfisher) -> None:
    with HttpServer(library.person) as server:
        path = f"/library/sessions/{library.id}/continue"
        status, answer = server.ask("POST", path, {"prompt": "And the heron?", "runner": "cat", "preview": True})
        assert (status, answer["data"]["way"]) == (200, "brief")
        status, answer = server.ask("POST", path, {"prompt": "And the heron?", "runner": "cat"})
        assert (status, answer["data"]["turns"]) == (200, 1)
        status, answer = server.ask("GET", f"/library/sessions/{library.id}/resume")
        assert answer["data"]["command"] == f"cd {library.work} && claude -r {NATIVE}"
        status, answer = server.ask("POST", path, {"runner": "nobody"})
        assert (status, answer["error"]["code"]) == (400, "invalid_request")
    with RawRpc(library.person, "--realm", "main") as rpc:
        rpc.result("initialize")
        found = rpc.result("library/continue", id=NATIVE, prompt="And the egret?", runner="cat")
        assert found["data"]["text"].endswith("And the egret?")
        events = [message["params"]["type"] for message in rpc.earlier_messages if message["method"] == "session/event"]
        assert events[0] == "turn_started" and events[-1] == "turn_completed"


def test_the_command_line_shows_the_brief_and_asks(library: Kingfisher) -> None:
    person = library.person
    refused = person.run("continue", NATIVE, "And the heron?", "--in", "cat", check=False, input="n\n")
    assert refused.returncode != 0 and HEADING in refused.stderr and "tokens" in refused.stderr
    assert not refused.stdout and library.realm.live.list_sessions({}, 0, 10) == []
    silent = person.run("continue", NATIVE, "--in", "cat", check=False, input="")
    assert silent.returncode != 0 and library.realm.live.list_sessions({}, 0, 10) == []
    agreed = person.run("continue", NATIVE, "And the heron?", "--in", "cat", input="y\n")
    assert agreed.stdout.startswith(HEADING) and agreed.stdout.endswith("And the heron?\n")
    assert HEADING in agreed.stderr and "session " in agreed.stderr
    quiet = person.run("continue", NATIVE, "And the heron?", "--in", "cat", "--yes")
    assert HEADING in quiet.stdout and HEADING not in quiet.stderr
    shown = person.run("continue", NATIVE, "--in", "cat", "--preview", "--budget", "300")
    assert "at most 300" in shown.stdout and HEADING in shown.stdout
    assert person.run("continue", NATIVE, "--in", "cat", "--json", check=False).returncode == 2


def test_the_command_line_asks_again_if_the_agent_lost_the_session(library: Kingfisher) -> None:
    library.log.unlink()
    done = library.person.run("continue", NATIVE, "the heron", "--in", "claude", input="y\ny\n")
    assert "No brief is needed" in done.stderr and "cannot load its session" in done.stderr
    assert done.stderr.index("No brief is needed") < done.stderr.index(HEADING)
    assert done.stdout == "Answer: the heron lies behind the weir.\n"
    assert len(library.realm.live.list_sessions({}, 0, 10)) == 1


def test_exec_runs_the_agents_own_command_in_its_folder(library: Kingfisher) -> None:
    person = library.person
    missing = person.run("resume", NATIVE, "--exec", check=False)
    assert missing.returncode == 20 and "claude is not installed" in missing.stderr
    program = person.home / "bin" / "claude"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$PWD" "$@"\n')
    program.chmod(0o755)
    person.env["PATH"] = f"{program.parent}{os.pathsep}{person.env['PATH']}"
    assert person.run("resume", NATIVE, "--exec").stdout == f"{library.work} -r {NATIVE}\n"
    assert person.run("resume", NATIVE).stdout == f"cd {library.work} && claude -r {NATIVE}\n"
    library.work.rmdir()
    gone = person.run("resume", NATIVE, "--exec", check=False)
    assert gone.returncode == 20 and f"{library.work} is not on this machine" in gone.stderr
