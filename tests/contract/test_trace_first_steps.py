"""The first steps of a user: from a string to its events and its session."""

import uuid
from collections.abc import Iterator

import pytest

from tests.conftest import Person
from tests.contract.trace_client import Trace, connect_trace
from tests.logs import Claude, write

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    person = Person(tmp_path_factory.mktemp("trace"))
    log = Claude()
    spoken = [log.prompt("Trim the jib"), log.calls("Bash", "t1", command="trim --jib"), log.result("t1", "jib trimmed")]
    write(person.claude_log(log.session), [*spoken, log.says("Done with the JIB.")])
    person.sync()
    with connect_trace(person) as client:
        yield client


def test_a_string_leads_to_its_events_and_to_their_session(trace: Trace) -> None:
    matches = trace.matches("jib")
    assert [match["event_type"] for match in matches] == ["user", "tool_call", "tool_result", "message"]
    first = matches[0]
    assert first.keys() == {"session_id", "event_index", "timestamp", "event_type", "preview"}
    opened = trace.data("get_event_details", session_id=first["session_id"], event_index=first["event_index"])
    assert opened["payload"] == {"text": "Trim the jib"}
    session = trace.data("get_session_details", session_id=first["session_id"])
    assert [turn["user_message"] for turn in session["turns"]] == ["Trim the jib"]
    assert trace.data("analyze_session", session_id=first["session_id"])["score"] == 100


def test_all_families_use_the_same_session_id(trace: Trace) -> None:
    (title,) = trace.ids
    assert trace.ids_by_title[title] == f"session:{uuid.UUID(trace.ids[title]).hex}"
    assert trace.matches("jib")[0]["session_id"] == trace.ids[title]
