"""The calling session is left out of its own searches: an agent finds the answer, not its question."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters

from tests.conftest import Person
from tests.contract.history_archive import Codex
from tests.contract.history_client import History
from tests.e2e.hook_calls import start
from tests.e2e.processes import until
from tests.logs import Claude, append, write

QUESTION = "why does the capstan pawl slip"
LONG_AGO = 1_700_000_000  # seconds since 1970: a log of that date is not being written
OTHER, ASKING = "other", "asking"
CAUSES = {
    OTHER: "The capstan pawl slips because its spring is worn. I decided to renew the spring in other.",
    ASKING: "Salt in the grease lets the capstan pawl slip, not its spring. I decided to wash everything in asking.",
}


class Agent(History):
    """An agent with `recollect mcp` as its server. It sends the same `_meta` with every call."""

    def __init__(self, portal: Any, client: Client, meta: dict[str, Any]) -> None:
        super().__init__(portal, client)
        self.meta: Any = meta

    def result(self, tool: str, arguments: Any = None) -> Any:
        return self.portal.call(lambda: self.client.call_tool(tool, arguments, meta=self.meta))

    def titles(self, query: str = QUESTION, **more: Any) -> list[str]:
        return [hit["session"]["title"].split()[-1] for hit in self.hits(query, **more)]

    def remembered(self, **arguments: Any) -> str:
        (content,) = self.result("search", arguments).content
        return str(content.text)

    def previews(self, **arguments: Any) -> Any:
        return self.result("search_event_previews", arguments).structured_content


@contextmanager
def agent(person: Person, folder: Path, **meta: str) -> Iterator[Agent]:
    """`recollect mcp --no-sync`, started by an agent that works in a folder."""
    sent = {name.replace("__", "/"): value for name, value in meta.items()}
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "recollect", "mcp", "--no-sync"], env=person.env, cwd=folder
    )
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(command)) as client:
        yield Agent(portal, client, sent)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "work" / "harbour"
    path.mkdir(parents=True)
    return path


def claude(number: int, folder: Path) -> Claude:
    return Claude(f"{number:08x}-5e55-4a1c-8b0d-00000000000a", cwd=str(folder), start=number * 600)


def work(log: Claude | Codex, name: str) -> list[dict[str, Any]]:
    """A turn that explains why the pawl slips, worth an observation. The last word of its prompt identifies the session."""
    prompt, answer = log.prompt(f"{QUESTION} in {name}"), log.says(CAUSES[name])
    lines = [*(prompt if isinstance(prompt, list) else [prompt])]
    lines += [log.calls("Bash", f"{name}-1", command="pytest capstan.py"), log.result(f"{name}-1", "1 passed")]
    return [*lines, *(answer if isinstance(answer, list) else [answer])]


def asks(log: Claude, call: str = "toolu_01ask") -> list[dict[str, Any]]:
    return [log.prompt(QUESTION), log.calls("mcp__recollect__search_sessions", call, query=QUESTION)]


def claude_home(person: Person, folder: Path, *more: dict[str, Any]) -> dict[str, Path]:
    """Two sessions of Claude Code in one folder: an old one with the answer, and the caller."""
    other, asking = claude(1, folder), claude(2, folder)
    paths = {
        OTHER: write(person.claude_log(other.session), work(other, OTHER)),
        ASKING: write(person.claude_log(asking.session), [*work(asking, ASKING), *asks(asking), *more]),
    }
    os.utime(paths[OTHER], (LONG_AGO, LONG_AGO))
    person.run("sync")
    return paths


def expect_only_others(person: Person, asked: Agent) -> None:
    """Check that no search of any family shows the calling session, and that it is found if it is named."""
    assert {*asked.titles()} == {OTHER}
    assert ASKING not in asked.remembered(query=QUESTION)
    assert OTHER in until(lambda: asked.remembered(query=QUESTION) if OTHER in asked.remembered(query=QUESTION) else "")
    assert ASKING not in asked.remembered(query=["capstan pawl", "spring"])
    assert asked.remembered(query=["capstan pawl", "spring"]).count("### ") == 1
    matches = asked.previews(query="capstan pawl slip", limit=50)["data"]["matches"]
    assert {match["session_id"] for match in matches} == {session_uuid(asked, OTHER)}
    named = next(one["id"] for one in asked.sessions() if one["session"]["title"].endswith(ASKING))
    assert {*asked.titles(within_id=named)} == {ASKING}
    assert asked.previews(query="capstan pawl slip", session_id=session_uuid(asked, ASKING))["data"]["matches"]


def session_uuid(asked: Agent, name: str) -> str:
    session = next(one["id"] for one in asked.sessions() if one["session"]["title"].endswith(name))
    digits = session.removeprefix("session:")
    return "-".join(digits[at:to] for at, to in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))


def test_claude_code_sends_its_call_id_and_finds_other_sessions_only(person: Person, folder: Path, tmp_path: Path) -> None:
    paths = claude_home(person, folder)
    os.utime(paths[ASKING], (LONG_AGO, LONG_AGO))  # the person allowed the call after an hour
    with agent(person, tmp_path, claudecode__toolUseId="toolu_01ask") as asked:
        expect_only_others(person, asked)


def test_a_log_that_only_quotes_the_call_id_is_found(person: Person, folder: Path, tmp_path: Path) -> None:
    """A session that reads logs has the ids of other calls as text in its own log."""
    looking = claude(3, folder)
    quoted = [
        looking.prompt(QUESTION),
        looking.calls("Bash", "c1", command="cat log"),
        looking.result("c1", '"toolu_01ask"'),
    ]
    write(person.claude_log(looking.session), quoted)
    claude_home(person, folder)
    with agent(person, tmp_path, claudecode__toolUseId="toolu_01ask") as asked:
        assert len({hit["session"]["id"] for hit in asked.hits(QUESTION)}) == 2
        assert ASKING not in asked.titles()


def test_a_call_that_no_log_has_yet_belongs_to_the_session_being_written(person: Person, folder: Path) -> None:
    claude_home(person, folder)
    with agent(person, folder, claudecode__toolUseId="toolu_02next") as asked:
        expect_only_others(person, asked)


def test_a_session_that_has_just_answered_is_found_by_an_unread_session(person: Person, folder: Path) -> None:
    """Two windows in one folder: the second one searches for what the first one said a moment ago."""
    first = claude(1, folder)
    write(person.claude_log(first.session), work(first, OTHER))
    person.run("sync")
    with agent(person, folder, claudecode__toolUseId="toolu_03new") as asked:
        assert {*asked.titles()} == {OTHER}
        append(person.claude_log(first.session), first.prompt("why is that"))
        assert asked.titles() == [], "the session has begun another turn, which is not read yet"


def test_without_an_id_the_session_being_written_in_the_folder_is_the_caller(person: Person, folder: Path) -> None:
    claude_home(person, folder)
    with agent(person, folder) as asked:
        expect_only_others(person, asked)


def test_codex_sends_the_id_of_its_session(person: Person, folder: Path) -> None:
    other, asking = Codex(1, cwd=str(folder)), Codex(2, cwd=str(folder))
    for log, name in ((other, OTHER), (asking, ASKING)):
        write(person.codex_log(log.session), [log.begins(), *work(log, name), log.completes()])
    person.run("sync")
    with agent(person, folder, threadId=asking.session) as asked:
        expect_only_others(person, asked)
    with agent(person, folder, threadId=other.session) as asked:
        assert {*asked.titles()} == {ASKING}


def test_a_session_that_has_ended_or_works_elsewhere_is_found(person: Person, folder: Path, tmp_path: Path) -> None:
    paths = claude_home(person, folder)
    with agent(person, tmp_path) as asked:
        until(lambda: all(name in asked.remembered(query=QUESTION) for name in (OTHER, ASKING)))
        assert asked.remembered(query=["capstan pawl", "spring"]).count("### ") == 2
        assert {*asked.titles()} == {OTHER, ASKING}, "no session works in this folder"
    os.utime(paths[ASKING], (LONG_AGO, LONG_AGO))
    with agent(person, folder) as asked:
        assert {*asked.titles()} == {OTHER, ASKING}, "no session is being written"
        asked.meta = {"claudecode/toolUseId": 7, "threadId": ["x"]}
        assert {*asked.titles()} == {OTHER, ASKING}, "an invalid id names no session"
        asked.meta = {"threadId": "019b7d77-0001-7001-8a11-000000000000"}
        assert {*asked.titles()} == {OTHER, ASKING}, "a session that is not read yet has nothing to leave out"


def test_leaving_out_the_caller_does_not_reduce_the_number_of_hits(person: Person, folder: Path) -> None:
    """The session is left out before the best hits are chosen, counted and paged."""
    asking, other = claude(2, folder), claude(1, folder)
    write(person.claude_log(asking.session), [line for _ in range(30) for line in asks(asking)])
    lines = [line for number in range(9) for line in (other.prompt(f"{QUESTION} {number}"), other.says("Worn spring."))]
    os.utime(write(person.claude_log(other.session), lines), (LONG_AGO, LONG_AGO))
    person.run("sync")
    with agent(person, folder) as asked:
        first = asked.data("search_sessions", query=QUESTION, n_hits=5)
        assert (first["result_count"], first["truncated"]) == (5, True)
        every = asked.data("search_sessions", query=QUESTION, n_hits=50, event_types=["user_input"])
        assert (every["result_count"], every["truncated"]) == (9, False)
        page = asked.previews(query=QUESTION, limit=5)
        rest = asked.previews(query=QUESTION, limit=5, cursor=page["pagination"]["next_cursor"])
        assert [len(one["data"]["matches"]) for one in (page, rest)] == [5, 4]


def sub_agent(person: Person, folder: Path, parent: Claude, call: str) -> Path:
    """A sub-agent of Claude Code that searches for the question."""
    log = Claude(parent.session, cwd=str(folder), start=5_000)
    records = [log.prompt(f"Find out {QUESTION}", isSidechain=True, agentId="a77"), *asks(log, call)]
    path = person.claude_log(parent.session).with_suffix("") / "subagents" / "agent-a77.jsonl"
    return write(path, [{**line, "isSidechain": True, "agentId": "a77"} for line in records])


@pytest.mark.parametrize("call", ["toolu_01ask", "toolu_09sub"])
def test_a_session_and_its_sub_agents_are_left_out_together(person: Person, folder: Path, tmp_path: Path, call: str) -> None:
    sub_agent(person, folder, claude(2, folder), "toolu_09sub")
    claude_home(person, folder)
    with agent(person, tmp_path) as asked:
        assert len(asked.sessions()) == 3
        assert len({hit["session"]["id"] for hit in asked.hits(QUESTION)}) == 3
        asked.meta = {"claudecode/toolUseId": call}
        assert {*asked.titles()} == {OTHER}


def test_an_invented_word_that_only_the_caller_wrote_is_unknown(person: Person, folder: Path) -> None:
    """The model knows `motor`, which the other session contains. Only the caller wrote `motorvole`."""
    other, asking = claude(1, folder), claude(2, folder)
    text = "The motor overheats because its fan is loose. I decided to fasten the motor fan."
    lines = [other.prompt("Why does the motor of the car overheat?"), other.says(text)]
    os.utime(write(person.claude_log(other.session), lines), (LONG_AGO, LONG_AGO))
    write(person.claude_log(asking.session), [asking.prompt("what of the motorvole"), asking.says("A motorvole?")])
    person.run("sync")
    with agent(person, folder) as asked:
        until(lambda: "fan" in asked.remembered(query="motor fan"))
        assert asked.hits("motorvole") == []
        assert asked.remembered(query="motorvole").startswith("No observations found")
        assert asked.remembered(query=["motorvole", "fan"]).startswith("No conversations found")


def test_a_missing_or_growing_log_causes_no_error(person: Person, folder: Path) -> None:
    paths = claude_home(person, folder)
    with agent(person, folder, claudecode__toolUseId="toolu_05later") as asked:
        append(paths[ASKING], *asks(claude(3, folder), "toolu_05later"))
        assert {*asked.titles()} == {OTHER}
        paths[ASKING].unlink()
        assert {*asked.titles()} == {OTHER, ASKING}


def test_a_starting_session_does_not_get_its_own_observations(person: Person, folder: Path) -> None:
    """A session starts again when it is resumed or compacted."""
    paths = claude_home(person, folder)
    until(lambda: all(name in start(person, folder) for name in (OTHER, ASKING)))
    session = claude(2, folder).session
    printed = start(person, folder, session_id=session, transcript_path=str(paths[ASKING]), source="resume")
    assert OTHER in printed and ASKING not in printed
    assert start(person, folder, session_id="x", transcript_path=str(paths[ASKING])) == printed
    assert start(person, folder, session_id=session) == printed
