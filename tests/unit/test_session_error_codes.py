"""An error of a live session has the codes of its kind, whatever went wrong inside."""

import json
from pathlib import Path
from typing import Any, NoReturn

import pytest

from recollect.errors import ErrorKind, RecollectError
from recollect.live import LiveRealm
from recollect.operations import Reply, RequestContext
from recollect.operations.operation import Operation
from recollect.operations.schema import Request
from recollect.operations.sessions.envelope import ENVELOPE
from recollect.settings import Settings
from recollect.surfaces.transport.error_codes import codes_of_reply
from tests.live_surfaces import EXITS, NUMBERS, STATUSES

SHARED = {
    ErrorKind.DEADLINE: "REQUEST_CANCELLED",
    ErrorKind.MODEL: "PROVIDER_ERROR",
    ErrorKind.REALM_NOT_FOUND: "INVALID_PARAMS",
    ErrorKind.STORE_BUSY: "INTERNAL_ERROR",
}


def refusal(kind: ErrorKind, folder: Path) -> Reply:
    """What is answered when an operation ends by such an error."""

    def failing(realm: LiveRealm, given: Any, clock: RequestContext) -> NoReturn:
        error = RecollectError("It went wrong.")
        error.kind = kind
        raise error

    operation = Operation("failing", "Fails", Request, failing, ENVELOPE)
    return operation.run(LiveRealm(Settings(home=folder), "main"), {}, RequestContext.now())


@pytest.mark.parametrize("kind", ErrorKind)
def test_numbers_follow_the_word(kind: ErrorKind, tmp_path: Path) -> None:
    reply = refusal(kind, tmp_path)
    word, found = json.loads(reply.text)["code"], codes_of_reply(reply)
    assert found is not None
    assert (found.rpc, found.http, found.exit) == (NUMBERS[word], STATUSES[word], EXITS[word])


@pytest.mark.parametrize(("kind", "word"), SHARED.items())
def test_what_has_no_word_of_its_own_shares_one(kind: ErrorKind, word: str, tmp_path: Path) -> None:
    assert json.loads(refusal(kind, tmp_path).text)["code"] == word
