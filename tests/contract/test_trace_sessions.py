"""get_session_details: a session at four levels, each with its size limit, by its id or a prefix (A21 to A32)."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Person
from tests.contract.trace_archive import (
    DEPTHS,
    HEAVY,
    LEDGER,
    LEDGER_ANSWER,
    LEDGER_ARGUMENT,
    LEDGER_OUTPUT,
    LEDGER_PROMPT,
    LEDGER_THOUGHTS,
    NETS,
    RIGGING,
    SIGNALS,
    SIXTY,
    STEPPED,
    WORST_TITLE,
    serve_archive,
    stepped,
)
from tests.contract.trace_client import KB, LEVELS, Answer, Trace, connect_trace, size
from tests.logs import Claude, write

pytestmark = pytest.mark.process

SESSION = "get_session_details"
BUDGET_KB = {"summary": 10, "turns": 30, "steps": 100}
FRAME = {"session_id", "start_time", "end_time", "stats", "turns"}
SUMMARY_TURN = {"turn_index", "user_message", "step_count", "stats"}
TURNS_TURN = SUMMARY_TURN | {"steps", "outcome", "key_actions"}
STEP_LINE = {"step_index", "summary", "tool_calls", "failed_tools", "tokens"}
STEP = {"step_index", "status", "reasoning", "message", "tools"}
PROMPT, SHORT = 200, 500  # characters of a prompt at `summary`, of reasoning and output at `steps`


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    with serve_archive(tmp_path_factory.mktemp("trace")) as client:
        yield client


def details_answer(trace: Trace, title: str, level: str, **more: Any) -> Answer:
    return trace.answer(SESSION, session_id=trace.ids[title], detail_level=level, **more)


# ---- levels


def test_the_default_is_a_summary(trace: Trace) -> None:
    """A21."""
    session = trace.details(NETS)
    assert session == trace.details(NETS, "summary")
    assert session.keys() >= FRAME
    assert (session["start_time"], session["end_time"]) == ("2026-02-01T06:06:41.000Z", "2026-02-01T06:07:08.000Z")
    assert [turn.keys() for turn in session["turns"]] == [SUMMARY_TURN] * 6
    assert [turn["turn_index"] for turn in session["turns"]] == [*range(6)]
    assert [turn["step_count"] for turn in session["turns"]] == [1] * 6
    assert [turn["user_message"] for turn in session["turns"]][:2] == [NETS, "good"]


def test_the_totals_are_those_of_the_session(trace: Trace) -> None:
    stats = trace.details(NETS)["stats"]
    counts = {"total_turns": 6, "total_steps": 6, "total_events": 28, "total_tool_calls": 11, "failed_tool_calls": 4}
    assert {name: stats[name] for name in counts} == counts
    assert stats["duration_ms"] == 27_000
    assert stats["tokens"]["input_tokens"] == 10 * 14, "of all fourteen answers"
    codex = trace.details(DEPTHS)["stats"]["tokens"]
    assert [codex[name] for name in ("input_tokens", "cache_read_tokens", "output_tokens")] == [600, 400, 50]
    assert {level: trace.details(NETS, level)["stats"] == stats for level in LEVELS} == dict.fromkeys(LEVELS, True)


def test_a_summary_shows_the_beginning_of_a_prompt(trace: Trace) -> None:
    (turn,) = trace.details(LEDGER)["turns"]
    assert len(turn["user_message"]) == PROMPT
    assert LEDGER_PROMPT.startswith(turn["user_message"][: PROMPT - 1])


def test_turns_shows_every_step_in_one_line(trace: Trace) -> None:
    for title in (NETS, RIGGING, LEDGER, SIGNALS):
        for turn in trace.details(title, "turns")["turns"]:
            assert turn.keys() == TURNS_TURN
            assert len(turn["steps"]) == turn["step_count"]
            for place, step in enumerate(turn["steps"]):
                assert step.keys() == STEP_LINE
                assert step["step_index"] == place
                assert step["summary"] and len(step["summary"].splitlines()) == 1
            for name, total in (("tool_calls", "tool_calls"), ("failed_tools", "failed_tools"), ("tokens", "tokens")):
                assert sum(step[name] for step in turn["steps"]) == turn["stats"][total]


def test_steps_shortens_only_long_reasoning_and_output(trace: Trace) -> None:
    """A24: 500 characters stay, 501 are cut; messages and arguments are complete."""
    answer = details_answer(trace, LEDGER, "steps")
    assert "warnings" not in answer
    (turn,) = answer["data"]["turns"]
    assert turn["user_message"] == LEDGER_PROMPT
    first, just, over = turn["steps"]
    assert all(step.keys() >= STEP for step in turn["steps"])
    assert first["message"] == LEDGER_ANSWER
    assert first["tools"][0]["arguments"] == {"command": LEDGER_ARGUMENT}
    for shown, stored in ((first["reasoning"], LEDGER_THOUGHTS[0]), (over["reasoning"], LEDGER_THOUGHTS[2]),
                          (first["tools"][0]["output"], LEDGER_OUTPUT), (over["tools"][0]["output"], "w" * 501)):  # fmt: skip
        assert len(shown) == SHORT and shown[:-1] == stored[: SHORT - 1]
    assert (just["reasoning"], just["tools"][0]["output"]) == (LEDGER_THOUGHTS[1], "z" * 500)
    assert (just["message"], over["message"]) == (None, "Done.")


def test_full_is_uncut(trace: Trace) -> None:
    """A25."""
    answer = details_answer(trace, LEDGER, "full")
    assert "warnings" not in answer
    (turn,) = answer["data"]["turns"]
    assert turn["user_message"] == LEDGER_PROMPT
    assert [step["reasoning"] for step in turn["steps"]] == [*LEDGER_THOUGHTS]
    assert [step["message"] for step in turn["steps"]] == [LEDGER_ANSWER, None, "Done."]
    outputs = [tool["output"] for step in turn["steps"] for tool in step["tools"]]
    assert outputs == [LEDGER_OUTPUT, "z" * 500, "w" * 501]


def test_full_has_everything_in_the_archive(trace: Trace) -> None:
    """A25: every text of every event of every session, except two repetitive sessions."""
    for title in trace.ids.keys() - {SIXTY, STEPPED}:
        turns = trace.details(title, "full")["turns"]
        steps = [step for turn in turns for step in turn["steps"]]
        tools = [tool for step in steps for tool in step["tools"]]
        texts = [
            *(("user", turn["user_message"]) for turn in turns),
            *(("message", step["message"]) for step in steps if step["message"] is not None),
            *(("tool_call", tool["name"], str(tool["arguments"])) for tool in tools if tool["arguments"] is not None),
            *(("tool_result", tool["output"]) for tool in tools if tool["output"] is not None),
            *((other["event_type"], other["text"]) for turn in turns for other in turn["other_events"]),
        ]
        events = trace.every_event(title)
        assert Counter(texts) == Counter(text_of_event(event) for event in events if event["event_type"] != "reasoning"), (
            title
        )
        thoughts = [event["payload"]["text"] for event in events if event["event_type"] == "reasoning"]
        assert "\n\n".join(step["reasoning"] for step in steps if step["reasoning"]) == "\n\n".join(thoughts)


def text_of_event(event: Answer) -> tuple[str, ...]:
    payload = event["payload"]
    match event["event_type"]:
        case "tool_call":
            return "tool_call", payload["name"], str(payload["arguments"])
        case "tool_result":
            return "tool_result", payload["output"]
        case kind:
            return kind, payload["text"]


# ---- reasoning


def test_turns_shows_reasoning_on_request(trace: Trace) -> None:
    """A27."""
    plain, thoughtful = (details_answer(trace, RIGGING, "turns", include_reasoning=wanted) for wanted in (False, True))
    assert "warnings" not in plain and "warnings" not in thoughtful
    assert plain["data"] == trace.details(RIGGING, "turns")
    shown = [[step.get("reasoning") for step in turn["steps"]] for turn in thoughtful["data"]["turns"]]
    assert shown[:4] == [["A1", None], [None, "B2"], [None, "C2"], ["D1\n\nD2"]]
    for turn in thoughtful["data"]["turns"]:
        for step in turn["steps"]:
            step.pop("reasoning", None)
    assert thoughtful["data"] == plain["data"]


@pytest.mark.parametrize("level", ["summary", "steps", "full"])
def test_other_levels_ignore_a_request_for_reasoning_with_a_warning(trace: Trace, level: str) -> None:
    """A27."""
    plain, wished = (details_answer(trace, RIGGING, level, include_reasoning=wanted) for wanted in (False, True))
    assert wished["data"] == plain["data"]
    assert "warnings" not in plain
    (warning,) = wished["warnings"]
    assert "include_reasoning" in warning and level in warning


@pytest.mark.parametrize("wish", ["true", 1, 0, "", [], {}])
def test_the_request_for_reasoning_must_be_a_boolean(trace: Trace, wish: Any) -> None:
    error = trace.error(SESSION, session_id=trace.ids[NETS], detail_level="turns", include_reasoning=wish)
    assert (error["code"], error["details"]["parameter"]) == ("invalid_parameter", "include_reasoning")


@pytest.mark.parametrize("level", ["", "Summary", "FULL", "preview", "steps ", "summary,turns", 5, True, ["full"], {}])
def test_an_unknown_level_is_refused(trace: Trace, level: Any) -> None:
    """A26."""
    error = trace.error(SESSION, session_id=trace.ids[NETS], detail_level=level)
    assert error["code"] == "invalid_detail_level"
    assert all(name in error["message"] for name in LEVELS)


# ---- sizes


def size_warning(level: str) -> str:
    return f"Response truncated to {BUDGET_KB[level]} KB"


@pytest.mark.parametrize("level", BUDGET_KB)
def test_no_answer_is_larger_than_its_level_allows(trace: Trace, level: str) -> None:
    """A22, A23, A28: a warning says that something is missing, exactly if it is."""
    for title in trace.ids:
        for wish in {"turns": (False, True)}.get(level, (False,)):
            answer = details_answer(trace, title, level, include_reasoning=wish)
            assert size(answer) <= BUDGET_KB[level] * KB
            assert answer["data"]["stats"] == trace.details(title, "full")["stats"], "totals count the complete session"
            is_cut = size_warning(level) in answer.get("warnings", [])
            assert is_cut or "warnings" not in answer
            assert is_cut or len(answer["data"]["turns"]) == answer["data"]["stats"]["total_turns"]


def test_steps_that_fit_are_complete(trace: Trace) -> None:
    """A24, A28: `steps` shows what `full` shows, with reasoning and output cut, unless that is too large."""
    complete_titles = set()
    for title in trace.ids:
        expected = details_answer(trace, title, "full")
        expected["data"]["detail_level"] = "steps"
        for turn in expected["data"]["turns"]:
            del turn["other_events"]
            for step in turn["steps"]:
                step["reasoning"] = shorten(step["reasoning"])
                for tool in step["tools"]:
                    tool["output"] = shorten(tool["output"])
        answer = details_answer(trace, title, "steps")
        if size(expected) <= 100 * KB:
            complete_titles.add(title)
            assert answer == expected
        else:
            assert size_warning("steps") in answer["warnings"]
            assert 50 * KB <= size(answer) <= 100 * KB
    assert complete_titles == trace.ids.keys() - {SIXTY, STEPPED, HEAVY, WORST_TITLE}


def shorten(text: str | None) -> str | None:
    return text if text is None or len(text) <= SHORT else text[: SHORT - 1] + "…"


def test_a_session_of_sixty_turns_keeps_its_beginning_and_its_end(trace: Trace) -> None:
    """A28."""
    answer = details_answer(trace, SIXTY, "summary")
    assert answer["warnings"][0] == size_warning("summary")
    indexes = [turn["turn_index"] for turn in answer["data"]["turns"]]
    assert (indexes[0], indexes[-1]) == (0, 59)
    assert indexes == sorted(set(indexes))
    assert answer["data"]["stats"]["total_turns"] == 60
    for level in ("turns", "steps"):
        assert size_warning(level) in details_answer(trace, SIXTY, level)["warnings"]


@pytest.mark.parametrize("level", ["turns", "steps"])
def test_a_turn_of_three_hundred_steps_keeps_its_beginning_and_its_end(trace: Trace, level: str) -> None:
    """A28: and still gives the total of three hundred."""
    answer = details_answer(trace, STEPPED, level)
    assert answer["warnings"][0] == size_warning(level)
    (turn,) = answer["data"]["turns"]
    assert turn["step_count"] == answer["data"]["stats"]["total_steps"] == 300
    indexes = [step["step_index"] for step in turn["steps"]]
    assert (indexes[0], indexes[-1]) == (0, 299)
    assert indexes == sorted(set(indexes))
    assert len(indexes) + turn["steps_left_out"] == 300
    assert size(answer) > BUDGET_KB[level] * KB * 0.9, "no more was left out than necessary"


def test_a_session_of_long_words_is_cut_in_all_its_turns(trace: Trace) -> None:
    """A28."""
    answer = details_answer(trace, HEAVY, "steps")
    assert answer["warnings"] == [size_warning("steps")]
    turns = answer["data"]["turns"]
    assert [turn["turn_index"] for turn in turns] == [*range(40)]
    assert all(turn["steps"][0]["message"].startswith(f"saga {place}: 波") for place, turn in enumerate(turns))


@pytest.mark.parametrize("giant", [0, 5, 9])
def test_a_giant_turn_hides_neither_the_beginning_nor_the_end_of_a_session(person: Person, giant: int) -> None:
    """A28."""
    log = Claude()
    turns = [stepped(log) if turn == giant else [log.prompt(f"turn {turn}"), log.says("Yes.")] for turn in range(10)]
    write(person.claude_log(log.session), [record for turn in turns for record in turn])
    person.sync()
    with connect_trace(person) as trace:
        (title,) = trace.ids
        answers = {level: details_answer(trace, title, level) for level in ("turns", "steps")}
    for level, answer in answers.items():
        assert size_warning(level) in answer["warnings"]
        shown = {turn["turn_index"]: turn for turn in answer["data"]["turns"]}
        assert shown.keys() >= {0, 9}, level
        assert shown.get(giant, {"step_count": 300})["step_count"] == 300
        assert size(answer) <= BUDGET_KB[level] * KB


@pytest.mark.parametrize(("level", "turns"), [("summary", 30), ("turns", 100), ("steps", 2)])
def test_an_answer_of_exactly_the_maximum_size_is_complete_and_one_byte_more_is_cut(
    person: Person, level: str, turns: int
) -> None:
    """A28: 10 KB are 10,240 bytes."""

    def answer_with_extra(trace: Trace, number: int, extra: int) -> Answer:
        log = Claude(f"{number:08d}-0000-4000-8000-000000000000", start=number * 1_000)
        length, remainder = divmod(extra, turns - 1)
        prompts = [log.prompt("on " + "a" * (length + (turn < remainder))) for turn in range(turns - 1)]
        write(person.claude_log(log.session), [log.prompt(f"Weigh {number}"), *prompts])
        person.sync()
        session = trace.matches(f"Weigh {number}")[0]["session_id"]
        return trace.answer(SESSION, session_id=session, detail_level=level)

    max_size = BUDGET_KB[level] * KB
    with connect_trace(person) as trace:
        room = max_size - size(answer_with_extra(trace, 1, 0))
        exact, over = answer_with_extra(trace, 2, room), answer_with_extra(trace, 3, room + 1)
    assert (size(exact), "warnings" in exact) == (max_size, False)
    assert over["warnings"] == [size_warning(level)]
    assert size(over) <= max_size


# ---- session ids and prefixes


def alike(trace: Trace) -> tuple[str, list[str]]:
    """A first character that exactly two ids have, and those ids."""
    firsts = Counter(session[0] for session in trace.ids.values())
    letter = next(letter for letter, count in firsts.items() if count == 2)
    return letter, sorted(session for session in trace.ids.values() if session[0] == letter)


def test_a_session_may_be_given_by_its_id_or_any_unique_prefix(trace: Trace) -> None:
    """A29, A30: from one character on, in any case; the answer has the full id."""
    firsts = Counter(session[0] for session in trace.ids.values())
    session = next(session for session in trace.ids.values() if firsts[session[0]] == 1)
    expected = trace.data(SESSION, session_id=session)
    for length in range(1, len(session) + 1):
        assert trace.data(SESSION, session_id=session[:length]) == expected
    assert trace.data(SESSION, session_id=session.upper()) == expected
    assert expected["session_id"] == session


@pytest.mark.parametrize("tool", [SESSION, "get_event_details", "analyze_session"])
def test_a_prefix_of_several_ids_is_refused_with_a_list_of_them(trace: Trace, tool: str) -> None:
    """A31."""
    letter, sessions = alike(trace)
    index = {"event_index": 0} if tool == "get_event_details" else {}
    error = trace.error(tool, session_id=letter, **index)
    assert error["code"] == "ambiguous_session_prefix"
    assert error["details"] == {"prefix": letter, "matches": sessions}
    assert f"matches {len(sessions)} sessions" in error["message"]
    assert trace.error(tool, session_id=letter.upper(), **index)["details"]["prefix"] == letter.upper()


def test_a_prefix_of_no_id_is_not_found(trace: Trace) -> None:
    """A32: also text that cannot be a prefix of a UUID, and ids of other things in other families."""
    session = trace.ids[NETS]
    journey = trace.result("get_or_create_journey", {}).structured_content["journey_id"]
    others = [session[:-1] + ("0" if session[-1] != "0" else "1"), session + "0", session + "-", session.replace("-", "")]
    for name in [*others, journey, journey[:13], "zz", "-", "0-", "obs-0123456789abcdef", "g" * 36, "0" * 1_000]:
        error = trace.error(SESSION, session_id=name)
        assert (error["code"], name in error["message"]) == ("session_not_found", True)


@pytest.mark.parametrize(
    "name", ["", " ", "\t", "*", "%", "_", "?", "0*", "a%", "a_", ".", "[0-9]", "0\n", "0 ", " 0", "a b", "é", "٣", "０", "\x00", "0\x00"]
)  # fmt: skip
def test_wildcards_and_blanks_are_not_ids(trace: Trace, name: str) -> None:
    """A32."""
    assert trace.error(SESSION, session_id=name)["code"] == "invalid_session_id"
    assert trace.error("analyze_session", session_id=name)["code"] == "invalid_session_id"


def test_ids_of_another_family_are_refused(trace: Trace) -> None:
    reference = trace.ids_by_title[NETS]
    event = trace.open(trace.open(reference)["turns"][0]["id"])["events"][0]["id"]
    names: list[Any] = [reference, event, "turn:x", 5, 0, True, [], {}, ["0"]]
    for name in names:
        assert trace.error(SESSION, session_id=name)["code"] == "invalid_session_id"


@pytest.mark.parametrize("arguments", [{}, {"session_id": None}, {"detail_level": "full"}])
def test_a_session_must_be_given(trace: Trace, arguments: Answer) -> None:
    error = trace.error(SESSION, **arguments)
    assert (error["code"], error["details"]["parameter"]) == ("invalid_parameter", "session_id")
