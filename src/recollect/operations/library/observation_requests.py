"""What can be requested about observations."""

from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import replace

from recollect.filters import FilterTerm
from recollect.filters.grammar import FilterQuery
from recollect.model import observation_type
from recollect.operations.library.requests import Filter, LibraryRequest, PagedRequest, filter_meta
from recollect.store.observation_filters import ObservationFilters

ACTIVE, RETIRED = "active", "retired"  # states of observations


def _wanted(values: Filter) -> Filter:
    return tuple(value for value in values if not value.startswith("-"))


def _left_out(values: Filter) -> Filter:
    return tuple(value[1:] for value in values if value.startswith("-"))


class ListLibraryObservations(PagedRequest):
    """Observations by filters, newest first; with words, best first."""

    type: Annotated[Filter, filter_meta("Only observations of this type: decision, bug-fix, …")] = ()
    concept: Annotated[Filter, filter_meta("Only observations tagged with this concept.")] = ()
    file: Annotated[Filter, filter_meta("Only observations about this file: `*.go`, `src/auth.ts`.")] = ()
    state: Annotated[
        Filter,
        filter_meta("Only observations in this state: active (default) or retired. Or the session's state."),
    ] = ()

    def is_retired(self) -> bool:
        """Whether retired observations are listed."""
        return RETIRED in self.state

    def observation_filters(self) -> ObservationFilters:
        """The filters that are not about sessions."""
        return ObservationFilters(
            types=tuple(map(observation_type, _wanted(self.type))),
            excluded_types=tuple(map(observation_type, _left_out(self.type))),
            concepts=_wanted(self.concept),
            excluded_concepts=_left_out(self.concept),
            files=_wanted(self._files()),
            excluded_files=_left_out(self._files()),
        )

    def filter_query(self) -> FilterQuery:
        query = super().filter_query()
        return replace(query, terms=tuple(term for term in query.terms if term.key != "file"))

    def fingerprint(self) -> dict[str, Any]:
        return {**super().fingerprint(), "type": self.type, "concept": self.concept}

    def _files(self) -> Filter:
        """The files of the parameter and of the query, with a dash before those to leave out."""
        return tuple(f"{'-' * term.is_negated}{term.value}" for term in super().filter_query().terms if term.key == "file")

    def _terms(self, key: str) -> list[FilterTerm]:
        own = (ACTIVE, RETIRED) if key == "state" else ()
        return [] if key == "type" else [term for term in super()._terms(key) if term.value not in own]


OBSERVATION_REF = Meta(min_length=1, max_length=64, description="An observation: `obs-…`.")


class GetLibraryObservation(LibraryRequest):
    """One observation, also a retired one."""

    id: Annotated[str, OBSERVATION_REF]


class ReviewRequest(LibraryRequest):
    id: Annotated[str, OBSERVATION_REF]
    reviewer: Annotated[
        str, Meta(max_length=100, description="Who decides. Default: the user that the program runs as.")
    ] = ""


class ConfirmObservation(ReviewRequest):
    """Confirm an observation. A retired one is found again."""


class RetireObservation(ReviewRequest):
    """Retire an observation: it is no longer found, but kept, with who retired it and when."""


class DeleteObservation(ReviewRequest):
    """Delete an observation for good."""


class EditObservation(ReviewRequest):
    """Change the words of an observation. What it said before is kept, with who changed it and when."""

    title: Annotated[str | None, Meta(min_length=1, max_length=200, description="Its title.", extra={"strip": True})] = None
    type: Annotated[str | None, Meta(min_length=1, max_length=40, description="Its type: decision, bug-fix, …")] = None
    subtitle: Annotated[str | None, Meta(max_length=400, description="Its subtitle.")] = None
    narrative: Annotated[str | None, Meta(max_length=4_000, description="What happened, in sentences.")] = None
    facts: Annotated[list[str] | None, Meta(max_length=50, description="Its facts, one sentence each.")] = None
