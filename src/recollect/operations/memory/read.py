"""`read`: the transcript of one conversation, or some lines of it."""

from recollect.errors import BadRequest, NotFound
from recollect.operations.context import RequestContext, open_reader
from recollect.operations.memory.requests import Read
from recollect.operations.memory.transcript import transcript
from recollect.realms import Realm

DEADLINE_MS = 10_000


def read(realm: Realm, request: Read, context: RequestContext) -> str:
    with open_reader(realm, context, DEADLINE_MS) as reader:
        sessions = reader.sessions_at(request.path)
        if not sessions:
            raise NotFound("File not found")
        if request.startLine > reader.last_line(sessions[0].path, [session.key for session in sessions]):
            raise BadRequest("Invalid line range")
        return transcript(reader, sessions, request.startLine, request.endLine)
