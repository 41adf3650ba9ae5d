"""Documents of a journey."""

import uuid
from typing import Any

import msgspec

from recollect.errors import BadRequest
from recollect.model import now_ms
from recollect.operations.context import RequestContext, start_deadline
from recollect.operations.journeys import views
from recollect.operations.journeys.journeys import DEADLINE_MS, Answer, check_journey, not_found, open_journeys
from recollect.operations.journeys.requests import AddDocumentToJourney, DeleteDocument, GetDocument, ListDocuments
from recollect.realms import Realm
from recollect.store.journeys import DateRange, JourneyDocument, Journeys


def add_document_to_journey(realm: Realm, request: AddDocumentToJourney, context: RequestContext) -> Answer:
    document = JourneyDocument(
        id=uuid.uuid4().bytes,
        journey=request.journey_id,
        type=request.document_type,
        title=realm.redact(request.title),
        content=realm.redact(request.content),
        metadata=_encode(realm, request.metadata),
        created_at=now_ms(),
    )
    start_deadline(realm, context, DEADLINE_MS)
    with realm.open_memory(writable=True) as memory:
        if not Journeys(memory).add_document(document):
            raise not_found("Journey", request.journey_id)
    return views.added_document(document)


def _encode(realm: Realm, metadata: dict[str, Any] | None) -> str | None:
    if metadata is None:
        return None
    try:
        return msgspec.json.encode(realm.redact(metadata)).decode()
    except RecursionError:
        raise BadRequest("metadata is nested too deeply", field="metadata") from None


def list_documents(realm: Realm, request: ListDocuments, context: RequestContext) -> Answer:
    with open_journeys(realm, start_deadline(realm, context, DEADLINE_MS), request.journey_id) as journeys:
        return {"documents": [views.document_head(row) for row in journeys.documents(request.journey_id, DateRange())]}


def get_document(realm: Realm, request: GetDocument, context: RequestContext) -> Answer:
    with open_journeys(realm, start_deadline(realm, context, DEADLINE_MS), request.journey_id) as journeys:
        return _document_view(journeys.document(request.journey_id, request.document_id), request)


def delete_document(realm: Realm, request: DeleteDocument, context: RequestContext) -> Answer:
    start_deadline(realm, context, DEADLINE_MS)
    with realm.open_memory(writable=True) as memory:
        check_journey(Journeys(memory), request.journey_id)
        return _document_view(Journeys(memory).delete_document(request.journey_id, request.document_id), request)


def _document_view(document: JourneyDocument | None, request: GetDocument | DeleteDocument) -> Answer:
    if document is None:
        raise not_found("Document", request.document_id)
    return views.document(document)
