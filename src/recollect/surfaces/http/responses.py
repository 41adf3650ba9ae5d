"""Answers as HTTP has them: a status, and the body that every other surface gives, too."""

from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from recollect.operations import Reply
from recollect.surfaces.transport.error_codes import codes_of_reply

JSON = "application/json"
SSE = "text/event-stream"
TEXT = "text/markdown; charset=utf-8"


def answer(reply: Reply) -> Response:
    """An operation's answer in its family's own form, with the status that its error has."""
    if reply.structured is not None:
        return Response(reply.structured, status(reply), media_type=JSON)
    return Response(reply.text, status(reply), media_type=JSON if _is_json(reply.text) else TEXT)


def _is_json(text: str) -> bool:
    """Errors of journeys are JSON, though no model is told so."""
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return True


def status(reply: Reply) -> int:
    number = codes_of_reply(reply)
    return number.http if number is not None else 200


def refused(code_number: int, code: str, message: str, *, headers: Mapping[str, str] = {}) -> Response:
    """What never reached an operation."""
    body = msgspec.json.encode({"code": code, "message": message})
    return Response(body, code_number, dict(headers), JSON)
