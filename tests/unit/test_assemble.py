"""Records become turns: the beginning and the end of a turn, and the title and mode of a session."""

from itertools import count, pairwise
from typing import Any

import pytest

from recollect.assemble import MAX_TENTATIVE, Folded, State, fold, is_own, session_of
from recollect.label import call_text, label
from recollect.model import (
    Event,
    Kind,
    Record,
    Session,
    SessionMetadata,
    SessionMode,
    Stop,
    TitleRank,
    Turn,
    TurnStart,
    Usage,
)
from recollect.title import MAX_TITLE

BEFORE = 1_700_000_000_000  # the time of a record without one, if nothing else is known
START = 1_769_904_000_000  # 2026-02-01


class Log:
    """Records of one session; each is a second later than the one before."""

    def __init__(self) -> None:
        self.state = State(native_id="s")
        self.numbers = count(1)
        self.events: list[Event] = []
        self.turns: dict[int, Turn] = {}

    def record(self, kind: Kind, text: str = "", **more: Any) -> Record:
        number = next(self.numbers)
        more.setdefault("at", START + number * 1000)
        return Record(session="s", key=f"k{number}", id=f"k{number}".encode(), kind=kind, text=text, **more)

    def take(self, *records: Record | SessionMetadata) -> Folded:
        folded = fold(self.state, list(records), BEFORE)
        self.events = [event for event in self.events if event.id not in folded.withdrawn] + folded.events
        self.turns |= {turn.ordinal: turn for turn in folded.turns}
        return folded

    def shape(self) -> list[list[str]]:
        """The texts of the events, turn by turn."""
        return [[event.text for event in self.events if event.turn == ordinal] for ordinal in sorted(self.turns)]

    def ends(self) -> list[tuple[str | None, Stop | None]]:
        """What ended each turn, and how."""
        texts = {event.seq: event.text for event in self.events}
        return [(None if turn.terminal is None else texts[turn.terminal], turn.stop) for turn in self.turns.values()]

    def session(self) -> Session:
        return session_of(self.state, "source", "/log", "Source")

    # ---- records of a log

    def prompt(self, text: str = "prompt", **more: Any) -> Record:
        return self.record(Kind.USER_INPUT, text, opens=TurnStart.PROMPT, **more)

    def command(self, text: str = "/command") -> Record:
        return self.record(Kind.USER_INPUT, text, opens=TurnStart.COMMAND)

    def says(self, text: str = "remark", **more: Any) -> Record:
        return self.record(Kind.ASSISTANT_RESPONSE, text, **more)

    def answers(self, text: str = "answer") -> Record:
        return self.says(text, stop=Stop.ANSWER)

    def calls(self, tool: str = "Bash", call: str = "c1", **arguments: Any) -> Record:
        return self.record(Kind.TOOL_CALL, tool, tool=tool, call=call, arguments=arguments)

    def result(self, call: str = "c1", text: str = "output") -> Record:
        return self.record(Kind.TOOL_RESPONSE, text, call=call)

    def note(self, text: str = "note", **more: Any) -> Record:
        return self.record(Kind.RUNTIME, text, **more)


@pytest.fixture
def log() -> Log:
    return Log()


# ---- where a turn begins (36, 37)


def test_a_prompt_begins_a_turn_and_nothing_else_does(log: Log) -> None:
    others = [kind for kind in Kind if kind is not Kind.USER_INPUT]
    log.take(log.prompt("one"), *(log.record(kind, kind) for kind in others), log.prompt("two"))
    assert log.shape() == [["one", *others], ["two"]]


def test_a_prompt_typed_while_the_agent_works_stays_in_its_turn(log: Log) -> None:
    log.take(log.prompt("one"), log.calls(), log.record(Kind.USER_INPUT, "steering"), log.answers())
    assert log.shape() == [["one", "Bash", "steering", "answer"]]
    assert log.turns[1].prompt == 0


def test_records_before_the_first_prompt_belong_to_turn_one(log: Log) -> None:
    log.take(log.note("before"), log.answers("old answer"), log.prompt("first"))
    assert log.shape() == [["before", "old answer", "first"]]
    assert log.turns[1].prompt == 2
    assert log.ends() == [(None, None)]


def test_events_are_numbered_through_the_session_and_turns_from_one(log: Log) -> None:
    log.take(log.prompt(), log.answers(), log.prompt(), log.answers())
    assert [(event.seq, event.turn) for event in log.events] == [(0, 1), (1, 1), (2, 2), (3, 2)]
    assert [(turn.ordinal, turn.event_count, turn.last) for turn in log.turns.values()] == [(1, 2, 1), (2, 2, 3)]


def test_kinds_and_tools_of_a_turn_are_unique_and_in_the_order_first_seen(log: Log) -> None:
    log.take(log.prompt(), log.calls("Read"), log.calls("Bash"), log.calls("Read"), log.answers())
    assert log.turns[1].tools == ["Read", "Bash"]
    assert log.turns[1].kinds == [Kind.USER_INPUT, Kind.TOOL_CALL, Kind.ASSISTANT_RESPONSE]


# ---- when a turn has ended (33..35, 46)


@pytest.mark.parametrize("stop", [stop for stop in Stop if stop is not Stop.ANSWER and stop is not Stop.EXIT])
def test_a_turn_that_was_stopped_ends_with_the_event_that_stopped_it(log: Log, stop: Stop) -> None:
    log.take(log.prompt(), log.says("half an answer"), log.note("the end", stop=stop))
    assert log.ends() == [("the end", stop)]
    assert log.session().completed


def test_the_latest_turn_has_ended_only_on_evidence(log: Log) -> None:
    log.take(log.prompt(), log.says("looks final, but nothing says so"))
    assert log.ends() == [(None, None)]
    assert not log.session().completed


def test_a_turn_whose_next_one_has_begun_ended_with_its_last_answer(log: Log) -> None:
    log.take(log.prompt(), log.says("first"), log.says("last"), log.calls(), log.result(), log.prompt())
    assert log.ends()[0] == ("last", Stop.ANSWER)


def test_a_turn_without_an_answer_whose_next_one_has_begun_ended_with_its_last_event(log: Log) -> None:
    log.take(log.prompt(), log.calls(), log.result(text="the last"), log.prompt())
    assert log.ends()[0] == ("the last", Stop.OTHER)


def test_a_session_is_completed_when_its_latest_turn_is(log: Log) -> None:
    log.take(log.prompt(), log.answers())
    assert log.session().completed
    log.take(log.prompt())
    assert not log.session().completed


def test_an_action_of_the_agent_after_an_answer_reopens_the_turn(log: Log) -> None:
    log.take(log.prompt(), log.answers(), log.calls())
    assert log.ends() == [(None, None)]
    log.take(log.result(), log.answers("the real one"))
    assert log.ends() == [("the real one", Stop.ANSWER)]


def test_the_answer_is_the_end_and_not_the_bookkeeping_after_it(log: Log) -> None:
    log.take(log.prompt(), log.answers(), log.note("hooks ran", stop=Stop.ANSWER), log.note("took 3 s", stop=Stop.ANSWER))
    assert log.ends() == [("answer", Stop.ANSWER)]


def test_bookkeeping_alone_is_evidence_that_the_last_answer_was_final(log: Log) -> None:
    log.take(log.prompt(), log.says("final"), log.note("took 3 s", stop=Stop.ANSWER))
    assert log.ends() == [("final", Stop.ANSWER)]


def test_an_interrupt_stays_the_end_when_bookkeeping_follows(log: Log) -> None:
    log.take(log.prompt(), log.says(), log.note("stop!", stop=Stop.INTERRUPT), log.note("took 3 s", stop=Stop.ANSWER))
    assert log.ends() == [("stop!", Stop.INTERRUPT)]


def test_an_exit_ends_a_turn_without_an_answer_and_does_not_change_one_with_an_answer(log: Log) -> None:
    log.take(log.prompt(), log.answers(), log.note("exit", stop=Stop.EXIT))
    assert log.ends() == [("answer", Stop.ANSWER)]
    log.take(log.prompt(), log.note("exit", stop=Stop.EXIT))
    assert log.ends()[1] == ("exit", Stop.EXIT)


def test_a_completed_turn_ends_with_one_of_its_own_events(log: Log) -> None:
    log.take(log.prompt(), log.says(), log.prompt(), log.note(), log.prompt(), log.answers(), log.note(stop=Stop.ANSWER))
    for turn in log.turns.values():
        assert turn.last - turn.event_count < (turn.terminal or -1) <= turn.last


# ---- slash commands


def test_a_command_that_the_agent_does_not_answer_does_not_begin_a_turn(log: Log) -> None:
    log.take(log.prompt("one"), log.answers("a"), log.command("/model"), log.note("echo"), log.prompt("two"))
    assert log.shape() == [["one", "a", "/model", "echo"], ["two"]]
    assert log.ends()[0] == ("a", Stop.ANSWER)


def test_a_command_that_the_agent_answers_begins_a_turn_with_everything_after_it(log: Log) -> None:
    log.take(log.prompt("one"), log.answers("a"), log.command("/review"), log.note("body"), log.answers("b"))
    assert log.shape() == [["one", "a"], ["/review", "body", "b"]]
    assert log.ends() == [("a", Stop.ANSWER), ("b", Stop.ANSWER)]
    assert log.turns[2].prompt == 2


@pytest.mark.parametrize("act", [Kind.ASSISTANT_RESPONSE, Kind.REASONING, Kind.TOOL_CALL])
def test_a_thought_or_a_tool_call_answers_a_command_too(log: Log, act: Kind) -> None:
    log.take(log.prompt("one"), log.command("/review"), log.record(act, "act"))
    assert log.shape() == [["one"], ["/review", "act"]]


def test_a_command_that_is_answered_in_a_later_batch_moves_to_a_new_turn_and_keeps_its_ids(log: Log) -> None:
    log.take(log.prompt("one"), log.command("/review"))
    assert log.shape() == [["one", "/review"]]
    log.take(log.note("body"))
    made = log.take(log.answers("b"))
    assert made.withdrawn == [b"k2", b"k3"]
    assert log.shape() == [["one"], ["/review", "body", "b"]]
    assert [event.seq for event in log.events] == [0, 1, 2, 3]
    assert log.session().event_count == 4


def test_a_first_command_that_is_answered_is_turn_one(log: Log) -> None:
    log.take(log.note("before"), log.command("/init"), log.answers("done"))
    assert log.shape() == [["before", "/init", "done"]]
    assert log.turns[1].prompt == 1
    assert log.session().title == "/init"


def test_the_answered_one_of_two_commands_begins_the_turn(log: Log) -> None:
    log.take(log.prompt("one"), log.command("/model"), log.command("/review"), log.answers("b"))
    assert log.shape() == [["one", "/model"], ["/review", "b"]]


def test_a_result_after_an_answered_command_still_has_its_call(log: Log) -> None:
    log.take(log.prompt(), log.calls("Bash", "c1"), log.command("/review"), log.result("c1"), log.answers())
    (result,) = [event for event in log.events if event.kind is Kind.TOOL_RESPONSE]
    assert (result.tool, result.answers) == ("Bash", 1)


def test_tokens_are_counted_once_when_a_command_is_moved(log: Log) -> None:
    note = log.record(Kind.RUNTIME, "note", usage=Usage(input=7))
    log.take(log.prompt(), log.command(), note)
    log.take(log.answers())
    assert log.session().usage == Usage(input=7)
    assert log.turns[1].usage == Usage()
    assert log.turns[2].usage == Usage(input=7)


def test_a_command_is_a_system_event_until_the_agent_answers_it(log: Log) -> None:
    log.take(log.prompt("one"), log.command("/review"))
    assert [event.kind for event in log.events] == [Kind.USER_INPUT, Kind.SYSTEM]
    log.take(log.answers("b"))
    assert [event.kind for event in log.events] == [Kind.USER_INPUT, Kind.USER_INPUT, Kind.ASSISTANT_RESPONSE]
    assert log.turns[2].prompt == 1


def test_a_command_that_printed_something_is_local_even_if_the_agent_continues(log: Log) -> None:
    printed = log.record(Kind.SYSTEM, "Set model", opens=TurnStart.ECHO)
    log.take(log.prompt("one"), log.calls("Bash", "c1"), log.command("/model"), printed, log.result("c1"), log.answers("b"))
    assert log.session().turn_count == 1
    assert [event.text for event in log.events if event.kind is Kind.USER_INPUT] == ["one"]


def test_a_shell_line_counts_as_user_input(log: Log) -> None:
    log.take(log.prompt("one"), log.answers(), log.command("! ls"))
    assert log.events[-1].kind is Kind.USER_INPUT


def test_the_wait_for_the_answer_to_a_command_is_limited(log: Log) -> None:
    log.take(log.prompt("one"), log.command("/model"), *(log.note() for _ in range(MAX_TENTATIVE)), log.answers("late"))
    assert len(log.turns) == 1


# ---- tools


def test_a_response_is_joined_to_its_call_whatever_is_between_them(log: Log) -> None:
    log.take(
        log.prompt(), log.calls("Read", "c1"), log.calls("Bash", "c2"), log.result("c2"), log.prompt(), log.result("c1")
    )
    joined = {event.seq: (event.tool, event.answers) for event in log.events if event.kind is Kind.TOOL_RESPONSE}
    assert joined == {3: ("Bash", 2), 5: ("Read", 1)}


def test_a_response_without_a_call_is_still_an_event(log: Log) -> None:
    log.take(log.prompt(), log.result("never called"))
    assert (log.events[1].tool, log.events[1].answers) == (None, None)


def test_events_of_the_agent_have_a_model_and_prompts_have_none(log: Log) -> None:
    log.take(log.prompt(), log.says(model="m1"), log.calls(), log.result(), log.note(), log.prompt())
    assert [event.model for event in log.events] == [None, "m1", "m1", "m1", None, None]


def test_a_call_reads_as_a_person_would_write_it() -> None:
    assert call_text("exec_command", {"cmd": "ls -l", "workdir": "/w"}) == 'exec_command(cmd="ls -l", workdir="/w")'
    assert call_text(None, None) == "tool()"


# ---- times and tokens


def test_a_record_without_a_time_gets_the_time_of_the_previous_record(log: Log) -> None:
    log.take(log.prompt(at=None), log.says(at=START), log.note(at=None))
    assert [event.at for event in log.events] == [BEFORE, START, START]


def test_a_record_with_an_earlier_time_stays_in_its_place_and_extends_the_turn(log: Log) -> None:
    log.take(log.prompt(at=START + 5), log.says("early", at=START), log.says("late", at=START + 9))
    assert log.shape() == [["prompt", "early", "late"]]
    assert (log.turns[1].started_at, log.turns[1].updated_at) == (START, START + 9)
    assert (log.session().started_at, log.session().updated_at) == (START, START + 9)


def test_tokens_add_up_per_turn_and_per_session(log: Log) -> None:
    log.take(log.prompt(), log.says(usage=Usage(input=1, output=2)), log.prompt(), log.says(usage=Usage(output=3)))
    assert [turn.usage for turn in log.turns.values()] == [Usage(input=1, output=2), Usage(output=3)]
    assert log.session().usage == Usage(input=1, output=5)


# ---- mode (41)


@pytest.mark.parametrize(
    ("tools", "mode"),
    [
        ([], SessionMode.CHAT),
        (["Bash", "Read"], SessionMode.TOOL_CALLING),
        (["mcp__recollect__search_sessions", "Bash"], SessionMode.MCP_INTERNAL),
        (["WebSearch", "mcp__recollect__open"], SessionMode.WEB_SEARCH),
        (["WebFetch"], SessionMode.WEB_SEARCH),
        (["web_search"], SessionMode.WEB_SEARCH),
        (["mcp__exa__web_search"], SessionMode.WEB_SEARCH),
    ],
)
def test_the_tools_of_a_session_decide_its_mode(log: Log, tools: list[str], mode: SessionMode) -> None:
    log.take(log.prompt(), *(log.calls(tool, f"c{number}") for number, tool in enumerate(tools)), log.answers())
    assert log.session().mode is mode


# ---- own traffic (42)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("mcp__recollect__search_sessions", {}),
        ("mcp__recollect__open", {"id": "event:1"}),
        ("mcp__moraine__list_sessions", {}),
        ("recollect.open", {}),
        ("search_sessions", {}),
        ("meerkat_start_turn", {}),
        ("mcp__plugin_recollect_recollect__open", {}),
        ("mcp__plugin_my_tools_recollect__search", {}),
        ("mcp__plugin_my-tools_Recollect__search", {}),
        ("mcp_plugin_recollect_recollect_search", {}),
        ("plugin:recollect:recollect/search", {}),
        ("mcp__recollect-local__search", {}),
        ("recollect__search", {}),
        ("recollect___search", {}),
        ("mcp_recollect_search", {}),
        ("recollect_search", {}),
        ("recollect-search", {}),
        ("recollect/search", {}),
        ("@recollect/search", {}),
        ("recollect:search", {}),
        ("Bash", {"command": "recollect search oven"}),
        ("exec_command", {"cmd": "  /usr/local/bin/recollect list --json"}),
        ("shell", {"command": ["bash", "-lc", "recollect open event:1"]}),
        ("shell", {"command": ["recollect", "search", "oven"]}),
        ("Bash", {"command": "cd /work/app && recollect search oven | head"}),
        ("Bash", {"command": "RECOLLECT_HOME=/x recollect ask why"}),
        ("Bash", {"command": "uvx recollect search oven"}),
        ("Bash", {"command": "time uv run recollect session history last"}),
        ("Bash", {"command": "python3 -m recollect show last"}),
        ("mcp__claude_ai_Recollect__search", {}),
    ],
)
def test_recollects_own_tools_and_commands_are_recognised(tool: str, arguments: dict[str, Any]) -> None:
    assert is_own(tool, arguments)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (None, {}),
        ("open", {"id": "event:1"}),
        ("mcp__browser__open", {}),
        ("mcp__recollections__open", {}),
        ("mcp__othermem__search_sessions", {}),
        ("mcp__othermem__meerkat_read", {}),
        ("mcp__othermem__recollect_search", {}),
        ("mcp__plugin_recollect_browser__open", {}),
        ("mcp__plugin_my_recollect_browser__open", {}),
        ("mcp__plugin_browser_tabs__recollect_open", {}),
        ("mcp__plugin_othermem_othermem__search_sessions", {}),
        ("othermem__search_sessions", {}),
        ("mcp_othermem_search_sessions", {}),
        ("othermem_list_sessions", {}),
        ("othermem.search_sessions", {}),
        ("othermem/search_sessions", {}),
        ("recollections_search", {}),
        ("search", {}),
        ("read", {}),
        ("get_observations", {}),
        ("Bash", {"command": "grep -r recollect src"}),
        ("Bash", {"command": "recollect sync"}),
        ("Bash", {"command": "git commit -m 'recollect search is faster'"}),
        ("Bash", {"command": "cd /work/recollect && make test"}),
        ("Bash", {"command": "echo recollect search oven"}),
        ("shell", {"command": ["git", "commit", "-m", "x", 5]}),
        ("mcp__claude_ai_Linear__search", {}),
        ("Bash", {"command": []}),
        ("Bash", {"command": 5}),
    ],
)
def test_similar_tools_and_commands_are_not_recollects_own(tool: str | None, arguments: dict[str, Any]) -> None:
    assert not is_own(tool, arguments)


def test_the_result_of_recollects_own_call_is_own_traffic_too(log: Log) -> None:
    log.take(
        log.prompt(), log.calls("mcp__recollect__open", "c1"), log.calls("Bash", "c2"), log.result("c1"), log.result("c2")
    )
    assert [event.own for event in log.events] == [False, True, False, True, False]


# ---- titles (40)


def title_metadata(text: str, rank: int) -> SessionMetadata:
    return SessionMetadata(session="s", title=text, title_rank=rank)


RANKS = [TitleRank.SUMMARY, TitleRank.GENERATED, TitleRank.AGENT, TitleRank.CUSTOM]


@pytest.mark.parametrize(("lower", "higher"), list(pairwise(RANKS)))
def test_a_better_title_wins_whichever_comes_first(lower: int, higher: int) -> None:
    for titles in (
        [title_metadata("low", lower), title_metadata("high", higher)],
        [title_metadata("high", higher), title_metadata("low", lower)],
    ):
        log = Log()
        log.take(log.prompt("the prompt"), *titles)
        assert log.session().title == "high"


def test_the_later_of_two_titles_of_one_rank_wins(log: Log) -> None:
    log.take(title_metadata("first", TitleRank.GENERATED), log.prompt(), title_metadata("second", TitleRank.GENERATED))
    assert log.session().title == "second"


def test_an_empty_title_is_ignored(log: Log) -> None:
    log.take(log.prompt("the prompt"), title_metadata("", TitleRank.CUSTOM))
    assert log.session().title == "the prompt"


def test_the_first_line_of_the_first_prompt_is_the_title_until_there_is_a_better_one(log: Log) -> None:
    log.take(log.note("injected"), log.record(Kind.SYSTEM, "reminder"), log.prompt("\n  \n Fix   the oven \nplease"))
    log.take(log.answers(), log.prompt("and the mixer"))
    assert log.session().title == "Fix the oven"


@pytest.mark.parametrize("kind", [Kind.SYSTEM, Kind.COMPACTION, Kind.RUNTIME, Kind.ASSISTANT_RESPONSE])
def test_text_that_is_not_a_prompt_is_never_a_title(log: Log, kind: Kind) -> None:
    log.take(log.record(kind, "not a title"))
    assert log.session().title == "Source, 2026-02-01"


def test_a_local_command_is_not_a_title(log: Log) -> None:
    log.take(log.command("/clear"), log.note("echo"))
    assert log.session().title == "Source, 2026-02-01"


def test_after_a_blank_prompt_the_next_prompt_is_the_title(log: Log) -> None:
    log.take(log.prompt(" \n "), log.prompt("something"))
    assert log.session().title == "something"


def test_a_bare_link_is_the_title_until_a_prompt_names_the_subject(log: Log) -> None:
    log.take(log.prompt("https://example.org/issues/12"), log.answers())
    assert log.session().title == "https://example.org/issues/12"
    log.take(log.prompt("paint the shed"), log.answers(), log.prompt("and the route"))
    assert log.session().title == "paint the shed"


def test_a_placeholder_never_replaces_a_title(log: Log) -> None:
    log.take(
        title_metadata("Paint the shed", TitleRank.GENERATED),
        log.prompt("do it"),
        title_metadata("New Session", TitleRank.CUSTOM),
    )
    assert log.session().title == "Paint the shed"


@pytest.mark.parametrize("text", ["word " * 60, "x" * 500, "界" * 500, "a" * MAX_TITLE, "a" * (MAX_TITLE + 1)])
def test_a_title_is_never_too_long_and_shows_where_it_was_cut(text: str) -> None:
    title = label(text, MAX_TITLE)
    assert 0 < len(title) <= MAX_TITLE
    assert title.endswith("…") is (len(text.strip()) > MAX_TITLE)
    assert text.startswith(title.rstrip("…"))


# ---- metadata of a session


def test_a_session_has_its_first_folder_and_its_last_branch(log: Log) -> None:
    log.take(log.prompt(cwd="/work/app", branch="main"), log.says(cwd="/elsewhere", branch="fix"), log.note(branch=None))
    assert (log.session().cwd, log.session().branch) == ("/work/app", "fix")


def test_a_sub_agent_has_its_parent_and_the_call_that_started_it(log: Log) -> None:
    log.take(
        SessionMetadata(session="s", parent="p"), log.prompt(), SessionMetadata(session="s", parent="p", parent_call="c1")
    )
    session = log.session()
    assert session.parent is not None
    assert session.parent_call == "c1"


@pytest.mark.parametrize(
    ("code", "stored"), [(0, 0), (-9, -9), (3_221_225_786, 3_221_225_786), (10**30, None), (None, None)]
)
def test_an_exit_code_that_no_program_can_have_is_not_stored(log: Log, code: int | None, stored: int | None) -> None:
    log.take(log.prompt(), log.record(Kind.TOOL_RESPONSE, "out", exit_code=code))
    assert log.events[-1].exit_code == stored


def test_without_any_record_times_new_records_get_the_time_of_the_log(log: Log) -> None:
    fold(log.state, [log.prompt(at=None)], BEFORE)
    made = fold(log.state, [log.says(at=None)], BEFORE + 5_000)
    assert [event.at for event in made.events] == [BEFORE + 5_000]
    assert fold(log.state, [log.says(at=BEFORE + 7_000), log.says(at=None)], BEFORE + 9_000).events[-1].at == BEFORE + 7_000
