"""A journey: one person's sessions and documents over time."""

from collections.abc import Mapping
from typing import Any, Literal

from recollect.client._ask import ask
from recollect.client._loop import LoopThread
from recollect.client._session import AsyncSession, Session
from recollect.client._wire import Wire
from recollect.client.results import (
    AddedDocument,
    DeletedJourney,
    Document,
    DocumentList,
    DocumentRow,
    JourneyHistory,
    JourneyInfo,
    LinkedSession,
    Timeline,
    TimelineEntry,
)

DocumentType = Literal["woop_plan", "file_upload", "artifact", "note"]


class AsyncJourney:
    """Journeys come from an `AsyncClient`. `found` is what was known of it when it was asked for."""

    def __init__(self, wire: Wire, found: JourneyInfo) -> None:
        self.id = found.journey_id
        self.found = found
        self._wire = wire

    async def query(
        self,
        query: str | None = None,
        *,
        from_date: str | None = None,
        to_date: str | None = None,
        limit: int | None = None,
        include_documents: bool | None = None,
    ) -> JourneyHistory:
        """Its sessions, by words of their summaries, by date (ISO 8601, both included), or the newest."""
        when: dict[str, Any] = {"from_date": from_date, "to_date": to_date}
        asked = {"query": query, **when, "limit": limit, "include_documents": include_documents}
        return await ask(self._wire, JourneyHistory, "journey/query", journey_id=self.id, **asked)

    async def link(
        self, session: AsyncSession | str, *, summary: str | None = None, diagnosis: str | bool | None = None
    ) -> LinkedSession:
        """Put a session into this journey, out of any other one."""
        told = {"session_id": _id_of(session), "summary": summary, "diagnosis": diagnosis}
        return await ask(self._wire, LinkedSession, "journey/link", journey_id=self.id, **told)

    async def timeline(self, *, limit: int | None = None) -> list[TimelineEntry]:
        """Sessions and documents, oldest first."""
        return (await ask(self._wire, Timeline, "journey/timeline", journey_id=self.id, limit=limit)).entries

    async def add_document(
        self,
        document_type: DocumentType,
        *,
        title: str | None = None,
        content: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> AddedDocument:
        """Add a text, or a path, which is never opened."""
        more = None if metadata is None else dict(metadata)
        given: dict[str, Any] = {"document_type": document_type, "title": title, "content": content, "metadata": more}
        return await ask(self._wire, AddedDocument, "document/add", journey_id=self.id, **given)

    async def documents(self) -> list[DocumentRow]:
        """Its documents, newest first."""
        return (await ask(self._wire, DocumentList, "document/list", journey_id=self.id)).documents

    async def document(self, document_id: str) -> Document:
        """One document, whole."""
        return await ask(self._wire, Document, "document/get", journey_id=self.id, document_id=document_id)

    async def delete_document(self, document_id: str) -> Document:
        """Remove a document; the answer is what it was."""
        return await ask(self._wire, Document, "document/delete", journey_id=self.id, document_id=document_id)

    async def delete(self) -> DeletedJourney:
        """Delete the journey with its documents; its sessions stay, in no journey."""
        return await ask(self._wire, DeletedJourney, "journey/delete", journey_id=self.id)


class Journey:
    """Journeys come from a `Client`. `found` is what was known of it when it was asked for."""

    def __init__(self, loop: LoopThread, journey: AsyncJourney) -> None:
        self.id = journey.id
        self.found = journey.found
        self._loop = loop
        self._journey = journey

    def query(
        self,
        query: str | None = None,
        *,
        from_date: str | None = None,
        to_date: str | None = None,
        limit: int | None = None,
        include_documents: bool | None = None,
    ) -> JourneyHistory:
        """Its sessions, by words of their summaries, by date (ISO 8601, both included), or the newest."""
        return self._loop.run(
            self._journey.query(
                query, from_date=from_date, to_date=to_date, limit=limit, include_documents=include_documents
            )
        )

    def link(
        self, session: Session | str, *, summary: str | None = None, diagnosis: str | bool | None = None
    ) -> LinkedSession:
        """Put a session into this journey, out of any other one."""
        return self._loop.run(self._journey.link(_id_of(session), summary=summary, diagnosis=diagnosis))

    def timeline(self, *, limit: int | None = None) -> list[TimelineEntry]:
        """Sessions and documents, oldest first."""
        return self._loop.run(self._journey.timeline(limit=limit))

    def add_document(
        self,
        document_type: DocumentType,
        *,
        title: str | None = None,
        content: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> AddedDocument:
        """Add a text, or a path, which is never opened."""
        return self._loop.run(self._journey.add_document(document_type, title=title, content=content, metadata=metadata))

    def documents(self) -> list[DocumentRow]:
        """Its documents, newest first."""
        return self._loop.run(self._journey.documents())

    def document(self, document_id: str) -> Document:
        """One document, whole."""
        return self._loop.run(self._journey.document(document_id))

    def delete_document(self, document_id: str) -> Document:
        """Remove a document; the answer is what it was."""
        return self._loop.run(self._journey.delete_document(document_id))

    def delete(self) -> DeletedJourney:
        """Delete the journey with its documents; its sessions stay, in no journey."""
        return self._loop.run(self._journey.delete())


def _id_of(session: AsyncSession | Session | str) -> str:
    return session if isinstance(session, str) else session.id
