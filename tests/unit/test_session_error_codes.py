"""An error of a live session has the codes of its kind, whatever its cause."""

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
    """The reply of an operation that fails with an error of this kind."""

    def failing(realm: LiveRealm, arguments: Any, context: RequestContext) -> NoReturn:
        error = RecollectError("It went wrong.")
        error.kind = kind
        raise error

    operation = Operation("failing", "Fails", Request, failing, ENVELOPE)
    return operation.run(LiveRealm(Settings(home=folder), "main"), {}, RequestContext.now())


@pytest.mark.parametrize("kind", ErrorKind)
def test_error_numbers_follow_from_the_code_word(kind: ErrorKind, tmp_path: Path) -> None:
    reply = refusal(kind, tmp_path)
    word, codes = json.loads(reply.text)["code"], codes_of_reply(reply)
    assert codes is not None
    assert (codes.rpc, codes.http, codes.exit) == (NUMBERS[word], STATUSES[word], EXITS[word])


@pytest.mark.parametrize(("kind", "word"), SHARED.items())
def test_an_error_without_its_own_word_shares_one(kind: ErrorKind, word: str, tmp_path: Path) -> None:
    assert json.loads(refusal(kind, tmp_path).text)["code"] == word
