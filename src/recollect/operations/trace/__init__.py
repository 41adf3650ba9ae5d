"""The trace family: event previews, event details, a session at four depths, and what went wrong in it.

A limit that is too large is clamped with a warning. A session may be named by a prefix of its id.
"""

from functools import partial

from recollect.operations.operation import Family, Operation
from recollect.operations.trace.details import analyze_session, get_event_details, get_session_details
from recollect.operations.trace.envelope import ENVELOPE
from recollect.operations.trace.requests import (
    AnalyzeSession,
    GetEventDetails,
    GetSessionDetails,
    SearchEventPreviews,
    SearchEvents,
)
from recollect.operations.trace.search import search_event_previews, search_events

_operation = partial(Operation, envelope=ENVELOPE)

FAMILY = Family(
    operations=(
        _operation(
            name="search_event_previews",
            title="Find a string in events (trace, layer 1)",
            request=SearchEventPreviews,
            handle=search_event_previews,
        ),
        _operation(
            name="get_event_details",
            title="One event in full (trace, layer 2)",
            request=GetEventDetails,
            handle=get_event_details,
        ),
        _operation(
            name="get_session_details",
            title="A session at four depths (trace, layer 3)",
            request=GetSessionDetails,
            handle=get_session_details,
        ),
        _operation(
            name="analyze_session",
            title="What went wrong in a session (trace)",
            request=AnalyzeSession,
            handle=analyze_session,
        ),
        _operation(
            name="search_events",
            title="Find a string in events (deprecated)",
            request=SearchEvents,
            handle=search_events,
        ),
    ),
    guide="For an exact string, also inside words, and for the course of a session: search_event_previews, then "
    "get_event_details or get_session_details; analyze_session for what went wrong.",
)
