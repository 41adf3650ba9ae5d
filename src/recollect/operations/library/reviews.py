"""People's decisions about observations: confirm, edit, retire, delete."""

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from recollect.distil.texts import event_for_rules, observation_words, words_of_turn
from recollect.errors import BadRequest
from recollect.live import LiveRealm
from recollect.model import Observation, observation_type
from recollect.operations.context import RequestContext
from recollect.operations.library.answers import DeletedObservation, ReviewedObservation
from recollect.operations.library.context import Library, open_library
from recollect.operations.library.envelope import LibraryAnswer
from recollect.operations.library.observation_requests import (
    ConfirmObservation,
    DeleteObservation,
    EditObservation,
    RetireObservation,
    ReviewRequest,
)
from recollect.operations.library.observations import FoundObservation, find_observation, observation_view
from recollect.operations.library.stored_observation import encode_observation
from recollect.operations.memory.record import embed_at_once
from recollect.operations.memory.views import observation_ref
from recollect.store.memory import Memory, ObservationWords
from recollect.store.reviews import Review, Verdict

PERSON = "person"  # the author of an observation that a person has edited
EDITABLE = ("title", "type", "subtitle", "narrative", "facts")


class PendingReview(FoundObservation, frozen=True):
    """An observation that is being reviewed."""

    library: Library
    memory: Memory  # in a transaction

    def decide(self, request: ReviewRequest, verdict: Verdict, content: str | None) -> Review:
        review = Review(self.row.id, self.row.session, verdict, request.reviewer or _user(), self.library.now, content)
        self.memory.put_review(review)
        return review


def confirm_observation(realm: LiveRealm, request: ConfirmObservation, context: RequestContext) -> LibraryAnswer:
    with _reviewed(realm, request, context) as found:
        if found.is_retired:
            found.memory.restore_observation(found.row, _words(found))
        was_edited = found.review is not None and found.review.verdict is Verdict.EDITED
        content = found.review.content if was_edited and found.review is not None else None
        review = found.decide(request, Verdict.EDITED if was_edited else Verdict.CONFIRMED, content)
    return _answer(realm, found, review, changed=found.is_retired)


def edit_observation(realm: LiveRealm, request: EditObservation, context: RequestContext) -> LibraryAnswer:
    changes = {name: value for name in EDITABLE if (value := getattr(request, name)) is not None}
    if not changes:
        raise BadRequest(f"Nothing to change: give some of {', '.join(EDITABLE)}.")
    changes = realm.redact(changes)
    if "type" in changes:
        changes["type"] = observation_type(changes["type"])
        if not changes["type"]:
            raise BadRequest("type must have a letter or a digit", field="type")
    with _reviewed(realm, request, context) as found:
        before = encode_observation(found.row)
        edited = replace(found, row=replace(found.row, made_by=PERSON, **changes))
        edited.memory.restore_observation(edited.row, _words(edited))
        review = edited.decide(request, Verdict.EDITED, before)
    return _answer(realm, edited, review, changed=True)


def retire_observation(realm: LiveRealm, request: RetireObservation, context: RequestContext) -> LibraryAnswer:
    with _reviewed(realm, request, context) as found:
        if not found.is_retired:
            found.memory.remove_observation(found.row)
        review = found.decide(request, Verdict.RETIRED, encode_observation(found.row))
    return _answer(realm, found, review, changed=False)


def delete_observation(realm: LiveRealm, request: DeleteObservation, context: RequestContext) -> LibraryAnswer:
    with _reviewed(realm, request, context) as found:
        if not found.is_retired:
            found.memory.remove_observation(found.row)
        found.decide(request, Verdict.DELETED, None)
    return LibraryAnswer(DeletedObservation(id=observation_ref(found.row.id), deleted=True))


@contextmanager
def _reviewed(realm: LiveRealm, request: ReviewRequest, context: RequestContext) -> Iterator[PendingReview]:
    """The observation of a request, in a transaction of the memory."""
    with (
        open_library(realm, context) as library,
        realm.open_memory(writable=True) as memory,
        memory.transaction(),
    ):
        found = find_observation(library.reader, memory, request.id)
        yield PendingReview(found.row, found.review, found.is_retired, library, memory)


def _words(found: PendingReview) -> ObservationWords:
    """The words of an observation for its index, with those of its turn."""
    reader, row = found.library.reader, found.row
    session = reader.session(row.session)
    events = reader.events_of_turn(session.key, row.turn) if session is not None else []
    fields: dict[str, Any] = {name: getattr(row, name) for name in Observation.__struct_fields__}
    return observation_words(Observation(**fields), words_of_turn([event_for_rules(event) for event in events]))


def _answer(realm: LiveRealm, found: PendingReview, review: Review, *, changed: bool) -> LibraryAnswer:
    if changed:
        embed_at_once(realm)
    return LibraryAnswer(ReviewedObservation(observation=observation_view(found.row, review)))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # the user has no name
        return PERSON
