"""Clients of either era of the protocol get the same answers."""

import pytest

from tests.conftest import Person
from tests.contract.history_client import connect_history
from tests.logs import Claude, write

pytestmark = pytest.mark.process


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_clients_of_both_protocol_versions_get_the_same_answers(person: Person, mode: str) -> None:
    """Rule 30."""
    log = Claude()
    write(person.claude_log(log.session), [log.prompt("Trim the jib"), log.says("Trimmed.")])
    person.sync()
    with connect_history(person, mode) as history:
        [hit] = history.hits("jib")
        assert history.open(hit["open"]["session_id"])["session"]["title"] == "Trim the jib"
        assert history.error("open", id="event:none")["message"] == "event not found"
