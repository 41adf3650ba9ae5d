# Generated from _async_journey.py by `make sdk`: do not edit.
"""A journey: one person's sessions and documents over time."""

from collections.abc import Mapping
from typing import Any

from recollect.client._blocking import BlockingTransport
from recollect.client._json import as_dict
from recollect.client._session import Session
from recollect.client.results import (
    AddedDocument,
    DeletedJourney,
    Document,
    DocumentList,
    DocumentRow,
    DocumentType,
    JourneyHistory,
    JourneyInfo,
    LinkedSession,
    Timeline,
    TimelineEntry,
)


class Journey:
    """A journey of the realm. `Client` creates these. `found` describes it at that time."""

    def __init__(self, transport: BlockingTransport, found: JourneyInfo) -> None:
        self.id = found.journey_id
        self.found = found
        self._transport = transport

    def query(
        self,
        query: str | None = None,
        *,
        from_date: str | None = None,
        to_date: str | None = None,
        limit: int | None = None,
        include_documents: bool | None = None,
    ) -> JourneyHistory:
        """Search the sessions by words in their summaries and by date (ISO 8601, inclusive). Default: the newest."""
        params: dict[str, Any] = {"query": query, "from_date": from_date, "to_date": to_date}
        params |= {"limit": limit, "include_documents": include_documents}
        return self._transport.call(JourneyHistory, "journey/query", journey_id=self.id, **params)

    def link(
        self, session: Session | str, *, summary: str | None = None, diagnosis: str | bool | None = None
    ) -> LinkedSession:
        """Add a session to this journey. It leaves any other journey."""
        session_id = session if isinstance(session, str) else session.id
        params = {"session_id": session_id, "summary": summary, "diagnosis": diagnosis}
        return self._transport.call(LinkedSession, "journey/link", journey_id=self.id, **params)

    def timeline(self, *, limit: int | None = None) -> list[TimelineEntry]:
        """The journey's sessions and documents, oldest first."""
        return (self._transport.call(Timeline, "journey/timeline", journey_id=self.id, limit=limit)).entries

    def add_document(
        self,
        document_type: DocumentType,
        *,
        title: str | None = None,
        content: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> AddedDocument:
        """Add a document. `content` is a text or a path; a path is stored but never opened."""
        params: dict[str, Any] = {"document_type": document_type, "title": title, "content": content}
        params["metadata"] = as_dict(metadata)
        return self._transport.call(AddedDocument, "document/add", journey_id=self.id, **params)

    def documents(self) -> list[DocumentRow]:
        """The journey's documents, newest first, without their content."""
        return (self._transport.call(DocumentList, "document/list", journey_id=self.id)).documents

    def document(self, document_id: str) -> Document:
        """One document with its content."""
        return self._transport.call(Document, "document/get", journey_id=self.id, document_id=document_id)

    def delete_document(self, document_id: str) -> Document:
        """Delete a document and return it."""
        return self._transport.call(Document, "document/delete", journey_id=self.id, document_id=document_id)

    def delete(self) -> DeletedJourney:
        """Delete the journey and its documents. Its sessions stay, without a journey."""
        return self._transport.call(DeletedJourney, "journey/delete", journey_id=self.id)
