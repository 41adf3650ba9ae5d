"""The history family: search_sessions, open, list_sessions over Session > Turn > Event."""

from functools import partial

from recollect.operations.history import answer_schemas
from recollect.operations.history.envelope import ENVELOPE
from recollect.operations.history.list import list_sessions
from recollect.operations.history.open import open_id
from recollect.operations.history.requests import ListSessions, Open, SearchSessions
from recollect.operations.history.search import search_sessions
from recollect.operations.operation import Family, Operation, Route

_operation = partial(Operation, envelope=ENVELOPE)

FAMILY = Family(
    operations=(
        _operation(
            name="search_sessions",
            title="Search past agent sessions",
            request=SearchSessions,
            handle=search_sessions,
            routes=(Route(http="GET /search"),),
            **answer_schemas.SEARCH,
        ),
        _operation(
            name="open",
            title="Open a session, turn or event",
            request=Open,
            handle=open_id,
            routes=(Route(http="GET /open/{id}"),),
            **answer_schemas.OPEN,
        ),
        _operation(
            name="list_sessions",
            title="List sessions by time",
            request=ListSessions,
            handle=list_sessions,
            routes=(Route(http="GET /history"),),
            **answer_schemas.LIST,
        ),
    ),
    guide="For the exact words of a prompt, answer, command or output: search_sessions, then open the event, turn or "
    "session ids it returns, smallest first. list_sessions browses by date.",
)
