"""`get_event_details`, `get_session_details` and `analyze_session`."""

from typing import Any

from msgspec.structs import asdict

from recollect.errors import OutOfRange
from recollect.operations.context import RequestContext, open_reader
from recollect.operations.ids import uuid_text
from recollect.operations.trace import views
from recollect.operations.trace.analysis import Insight, insights, score
from recollect.operations.trace.envelope import TraceAnswer
from recollect.operations.trace.requests import AnalyzeSession, GetEventDetails, GetSessionDetails
from recollect.operations.trace.search import NEXT
from recollect.operations.trace.session_details import Level, SessionTrace, details
from recollect.operations.trace.session_lookup import find_session
from recollect.realms import Realm

DEADLINE_MS = 10_000
DEEPER = "Use get_session_details with detail_level=turns, steps or full for more; get_event_details for one event"


def get_event_details(realm: Realm, request: GetEventDetails, context: RequestContext) -> TraceAnswer:
    index = request.event_index
    with open_reader(realm, context, DEADLINE_MS) as reader:
        session = find_session(reader, request.session_id)
        event = reader.event_at(session.key, index) if 0 <= index < session.event_count else None
    if event is None:
        last = session.event_count - 1
        raise OutOfRange(f"event_index must be from 0 to {last}, not {index}", event_index=index, max_index=last)
    return TraceAnswer({**views.head(event, session), "payload": views.payload(event)})


def get_session_details(realm: Realm, request: GetSessionDetails, context: RequestContext) -> TraceAnswer:
    level, reasoning = request.detail_level, request.include_reasoning
    warnings = realm.sync_warnings()
    if reasoning and level is not Level.TURNS:
        warnings.append(f"include_reasoning only counts with detail_level=turns and was ignored at {level}")
    with open_reader(realm, context, DEADLINE_MS) as reader:
        trace = SessionTrace(reader, find_session(reader, request.session_id))
        return details(trace, level, include_reasoning=reasoning, warnings=warnings, hint=DEEPER)


def analyze_session(realm: Realm, request: AnalyzeSession, context: RequestContext) -> TraceAnswer:
    with open_reader(realm, context, DEADLINE_MS) as reader:
        trace = SessionTrace(reader, find_session(reader, request.session_id))
    session_insights = insights(trace.steps)
    data = {
        "session_id": uuid_text(trace.session.id),
        "score": score(session_insights),
        "insights": [_insight_view(insight) for insight in session_insights],
    }
    return TraceAnswer(data, hint=NEXT)


def _insight_view(insight: Insight) -> dict[str, Any]:
    """An insight with its details as fields of their own."""
    fields = asdict(insight)
    details = fields.pop("details")
    return {**fields, **details}
