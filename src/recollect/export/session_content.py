"""What a document is made of: a session, its turns and files, and its events in batches."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from recollect.library_answers import FileEntry, LibraryEvent, LibrarySession, LibraryTurn, Match


class SessionContent(Struct, frozen=True, kw_only=True):
    """A session with everything in it. The events are read once, in order."""

    session: LibrarySession
    turns: Sequence[LibraryTurn] = ()
    files: Sequence[FileEntry] = ()
    events: Iterable[Sequence[LibraryEvent]] = ()
    sizes: Sequence[tuple[str, int]] = ()
    """The type and the length in bytes of each event, in order. They decide how much of long texts is shown."""
    matches: Sequence[Match] = ()
    """What a search found in the session."""
