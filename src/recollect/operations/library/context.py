"""What every operation of the library needs: a reader, the names that filters may have, and the state of sessions now."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from recollect.filters import FilterQuery, FilterTerm, ResolvedFilters, Vocabulary, resolve
from recollect.library_answers import LibrarySession
from recollect.live import LiveRealm
from recollect.model import now_ms
from recollect.operations.context import RequestContext, start_deadline
from recollect.operations.library.costs import Costs
from recollect.operations.library.lookup import find_session
from recollect.operations.library.requests import FilteredRequest
from recollect.operations.library.states import SessionStates
from recollect.operations.library.views import SessionParts, session_views
from recollect.operations.library.word_matches import matching_sessions
from recollect.prices import load_prices
from recollect.search import deadline_check
from recollect.store import Reader, SessionRow
from recollect.store.memory import Memory
from recollect.store.observation_filters import EVERY_OBSERVATION, ObservationFilters
from recollect.store.sqlite.session_filter import Names, SessionFilter

DEADLINE_MS = 10_000


class Library(Struct, frozen=True):
    """A realm as the library sees it during one request."""

    realm: LiveRealm
    reader: Reader
    memory: Memory
    states: SessionStates
    now: int
    check: Callable[[], None]

    def costs(self) -> Costs:
        return Costs(load_prices(self.realm.settings.prices))

    def vocabulary(self) -> Vocabulary:
        return Vocabulary(
            self.reader,
            labels=lambda: self.memory.labelled_sessions(self.reader.session_keys_of),
            states=self.states.in_states,
            find_session=lambda text: find_session(self.reader, text).key,
            now=self.now,
        )

    def resolve(self, request: FilteredRequest) -> ResolvedFilters:
        """The filters of a request, by the names of this archive."""
        return resolve(request.filter_query(), self.vocabulary())

    def resolve_terms(self, terms: Sequence[FilterTerm]) -> ResolvedFilters:
        """These filters alone, by the names of this archive."""
        return resolve(FilterQuery("", tuple(terms)), self.vocabulary())

    def session_filter(self, request: FilteredRequest) -> tuple[SessionFilter, list[str]]:
        """The filter of sessions that a request means, also by the words of its query; and warnings."""
        resolved = self.resolve(request)
        warnings = [*self.warnings(), *resolved.notes]
        if not resolved.text.strip():
            return resolved.sessions, warnings
        keys, is_cut = matching_sessions(self.realm, self.reader, resolved.text, self.check)
        if is_cut:
            warnings.append(f"Very many events match {resolved.text!r}, and some sessions may be missing. Add a filter.")
        return resolved.sessions.with_keys(Names(keys)), warnings

    def observation_filters(
        self, resolved: ResolvedFilters, others: ObservationFilters = EVERY_OBSERVATION
    ) -> ObservationFilters:
        """The other filters, and the sessions that a filter selects. Its times are those of the observations."""
        sessions = resolved.sessions
        without_times = replace(sessions, since=None, until=None)
        ids = None
        if not without_times.is_empty():
            ids = tuple(self.reader.session_ids(self.reader.filtered_keys(without_times)).values())
        return replace(others, since=sessions.since, until=sessions.until, sessions=ids)

    def find(self, text: str) -> SessionRow:
        """The session with this id, in any form."""
        return find_session(self.reader, text)

    def views(self, sessions: Sequence[SessionRow]) -> list[LibrarySession]:
        """Sessions in full."""
        ids = [session.id for session in sessions]
        parts = SessionParts(
            states=self.states.of(sessions),
            labels=self.memory.labels_of(ids),
            notes=self.memory.notes_of(ids),
            costs=self.costs(),
        )
        return session_views(self.reader, sessions, parts)

    def warnings(self) -> list[str]:
        return self.realm.sync_warnings()


@contextmanager
def open_library(realm: LiveRealm, context: RequestContext, deadline_ms: int = DEADLINE_MS) -> Iterator[Library]:
    """The library of a realm, interrupted at the request's deadline."""
    now = now_ms()
    is_late = start_deadline(realm, context, deadline_ms)
    with realm.open_archive() as reader, realm.open_memory() as memory:
        reader.interrupt_when(is_late)
        yield Library(realm, reader, memory, SessionStates(realm, reader, now), now, deadline_check(is_late))
