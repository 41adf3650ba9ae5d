"""What every operation of the library needs: a reader, the names that filters may have, and the state of sessions now."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from recollect.filters import ResolvedFilters, Vocabulary, resolve
from recollect.library_answers import LibrarySession
from recollect.live import LiveRealm
from recollect.model import now_ms
from recollect.operations.context import RequestContext, open_reader
from recollect.operations.library.costs import Costs
from recollect.operations.library.lookup import find_session
from recollect.operations.library.requests import FilteredRequest
from recollect.operations.library.states import SessionStates
from recollect.operations.library.views import SessionParts, session_views
from recollect.prices import load_prices
from recollect.store import Reader, SessionRow
from recollect.store.memory import Memory

DEADLINE_MS = 10_000


class Library(Struct, frozen=True):
    """A realm as the library sees it during one request."""

    realm: LiveRealm
    reader: Reader
    memory: Memory
    states: SessionStates
    now: int

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
        query = request.filter_query()
        return resolve(query.text, query.terms, self.vocabulary())

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
def open_library(realm: LiveRealm, context: RequestContext) -> Iterator[Library]:
    """The library of a realm, interrupted at the request's deadline."""
    now = now_ms()
    with open_reader(realm, context, DEADLINE_MS) as reader, realm.open_memory() as memory:
        yield Library(realm, reader, memory, SessionStates(realm, reader, now), now)
