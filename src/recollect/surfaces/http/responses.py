"""HTTP responses: the reply of an operation with its status, and errors of the server itself."""

import json
from collections.abc import Mapping

import msgspec
from msgspec import Struct
from starlette.responses import Response, StreamingResponse

from recollect.operations import Reply
from recollect.operations.answer_file import AnswerFile
from recollect.surfaces.transport.error_codes import codes_of_reply

JSON = "application/json"
WARNINGS = "recollect-warnings"  # the HTTP header with the warnings of an answer that is a file, as JSON
SSE = "text/event-stream"
STREAM_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
TEXT = "text/markdown; charset=utf-8"


def response_of(reply: Reply) -> Response:
    """An operation's reply in its family's own format, with the status of its error."""
    if reply.file is not None:
        return _file(reply.file, reply)
    if reply.structured is not None:
        return Response(reply.structured, status_of(reply), media_type=JSON)
    return Response(reply.text, status_of(reply), media_type=JSON if _is_json(reply.text) else TEXT)


class Frame(Struct):
    """The part of an answer that a file does not have."""

    warnings: list[str] = []


def _file(file: AnswerFile, reply: Reply) -> Response:
    """A file that a browser saves. A header has the warnings."""
    headers = {"content-disposition": f'attachment; filename="{file.file_name}"', **file.headers}
    if warnings := msgspec.json.decode(reply.structured or b"{}", type=Frame).warnings:
        headers[WARNINGS] = json.dumps(warnings)  # in ASCII, as headers must be
    return StreamingResponse(file.chunks(), 200, headers, f"{file.media_type}; charset=utf-8")


def _is_json(text: str) -> bool:
    """Whether a text is JSON, such as an error of journeys."""
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return True


def status_of(reply: Reply) -> int:
    codes = codes_of_reply(reply)
    return codes.http if codes is not None else 200


def error_response(status: int, code: str, message: str, *, headers: Mapping[str, str] = {}) -> Response:
    """An error of the server itself: the request did not reach an operation."""
    body = msgspec.json.encode({"code": code, "message": message})
    return Response(body, status, dict(headers), JSON)
