"""`library/ask`: a question, answered with sources."""

import os

from msgspec.structs import replace

from recollect.errors import BadRequest
from recollect.filters import split
from recollect.live import LiveRealm
from recollect.model import DEFAULT_KIND_CODES
from recollect.operations.context import RequestContext
from recollect.operations.library.answers import QuestionAnswer
from recollect.operations.library.context import open_library
from recollect.operations.library.envelope import LibraryAnswer
from recollect.operations.library.event_filters import event_filters
from recollect.operations.library.requests import AskLibrary
from recollect.operations.memory.ask import answer


def ask_library(realm: LiveRealm, request: AskLibrary, context: RequestContext, *, by_model: bool = True) -> LibraryAnswer:
    """The answer, from the sessions that the filters select. Without `by_model` it only quotes."""
    if request.question and split(request.query).text.strip():
        raise BadRequest("Give the question as `question` or as `query`, not both.", field="query")
    with open_library(realm, context) as library:
        resolved = library.resolve(request)
        question = request.question or resolved.text
        events = replace(event_filters(library, resolved), kinds=resolved.kinds or DEFAULT_KIND_CODES)
        observations = library.observation_filters(resolved)
        warnings = [*realm.all_warnings(library.reader), *resolved.notes]
    found = answer(realm, question, context, os.environ, by_model=by_model, events=events, observations=observations)
    data = QuestionAnswer(question=question, answer=found.answer, sources=found.sources, tokens=found.tokens, by=found.by)
    return LibraryAnswer(data, warnings=[*warnings, *found.warnings])
