"""The journeys family: one person's sessions and documents over time."""

from functools import partial

from recollect.operations.journeys import answer_schemas
from recollect.operations.journeys.documents import (
    add_document_to_journey,
    delete_document,
    get_document,
    list_documents,
)
from recollect.operations.journeys.envelope import ENVELOPE
from recollect.operations.journeys.journeys import (
    delete_journey,
    get_or_create_journey,
    journey_timeline,
    link_session_to_journey,
    query_journey_history,
)
from recollect.operations.journeys.requests import (
    AddDocumentToJourney,
    DeleteDocument,
    DeleteJourney,
    GetDocument,
    GetOrCreateJourney,
    JourneyTimeline,
    LinkSessionToJourney,
    ListDocuments,
    QueryJourneyHistory,
)
from recollect.operations.operation import Family, Operation, Route

_operation = partial(Operation, envelope=ENVELOPE)

FAMILY = Family(
    operations=(
        _operation(
            name="get_or_create_journey",
            title="Get or create a journey",
            request=GetOrCreateJourney,
            handle=get_or_create_journey,
            output_schema=answer_schemas.GET_OR_CREATE,
            routes=(Route(rpc="journey/get_or_create", http="POST /journeys"),),
            failure="Failed to access journey",
            writes=True,
            repeatable=False,
        ),
        _operation(
            name="query_journey_history",
            title="Search a journey",
            request=QueryJourneyHistory,
            handle=query_journey_history,
            output_schema=answer_schemas.QUERY,
            routes=(Route(rpc="journey/query", http="GET /journeys/{journey_id}/history"),),
            failure="Failed to query history",
        ),
        _operation(
            name="add_document_to_journey",
            title="Add a document to a journey",
            request=AddDocumentToJourney,
            handle=add_document_to_journey,
            output_schema=answer_schemas.ADD_DOCUMENT,
            routes=(Route(rpc="document/add", http="POST /journeys/{journey_id}/documents"),),
            failure="Failed to add document",
            writes=True,
            repeatable=False,
        ),
        _operation(
            name="link_session_to_journey",
            title="Link a session to a journey",
            request=LinkSessionToJourney,
            handle=link_session_to_journey,
            output_schema=answer_schemas.LINK,
            routes=(Route(rpc="journey/link", http="POST /journeys/{journey_id}/sessions"),),
            failure="Failed to link session",
            writes=True,
        ),
        _operation(
            name="journey_timeline",
            title="The course of a journey",
            request=JourneyTimeline,
            handle=journey_timeline,
            output_schema=answer_schemas.TIMELINE,
            routes=(Route(rpc="journey/timeline", http="GET /journeys/{journey_id}/timeline"),),
            failure="Failed to query history",
            is_tool=False,
        ),
        _operation(
            name="list_documents",
            title="The documents of a journey",
            request=ListDocuments,
            handle=list_documents,
            output_schema=answer_schemas.LIST_DOCUMENTS,
            routes=(Route(rpc="document/list", http="GET /journeys/{journey_id}/documents"),),
            failure="Failed to read documents",
            is_tool=False,
        ),
        _operation(
            name="get_document",
            title="Read a document",
            request=GetDocument,
            handle=get_document,
            output_schema=answer_schemas.DOCUMENT,
            routes=(Route(rpc="document/get", http="GET /journeys/{journey_id}/documents/{document_id}"),),
            failure="Failed to read documents",
            is_tool=False,
        ),
        _operation(
            name="delete_document",
            title="Delete a document",
            request=DeleteDocument,
            handle=delete_document,
            output_schema=answer_schemas.DOCUMENT,
            routes=(Route(rpc="document/delete", http="DELETE /journeys/{journey_id}/documents/{document_id}"),),
            failure="Failed to delete",
            writes=True,
            repeatable=False,
            is_tool=False,
        ),
        _operation(
            name="delete_journey",
            title="Delete a journey",
            request=DeleteJourney,
            handle=delete_journey,
            output_schema=answer_schemas.DELETE_JOURNEY,
            routes=(Route(rpc="journey/delete", http="DELETE /journeys/{journey_id}"),),
            failure="Failed to delete",
            writes=True,
            repeatable=False,
            is_tool=False,
        ),
    ),
    guide="For one person's work over time: get_or_create_journey with their user_id, then query_journey_history; "
    "link_session_to_journey and add_document_to_journey add to it.",
)
