"""HTTP responses: the reply of an operation with its status, and errors of the server itself."""

from collections.abc import Mapping

import msgspec
from starlette.responses import Response, StreamingResponse

from recollect.operations import Reply
from recollect.operations.answer_file import AnswerFile
from recollect.surfaces.transport.error_codes import codes_of_reply

JSON = "application/json"
SSE = "text/event-stream"
STREAM_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
TEXT = "text/markdown; charset=utf-8"


def response_of(reply: Reply) -> Response:
    """An operation's reply in its family's own format, with the status of its error."""
    if reply.file is not None:
        return _file(reply.file)
    if reply.structured is not None:
        return Response(reply.structured, status_of(reply), media_type=JSON)
    return Response(reply.text, status_of(reply), media_type=JSON if _is_json(reply.text) else TEXT)


def _file(file: AnswerFile) -> Response:
    """A file that a browser saves."""
    headers = {"content-disposition": f'attachment; filename="{file.file_name}"', **file.headers}
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
