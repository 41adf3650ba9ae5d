"""Checks exclusion and privacy of a log's entries, and redacts secrets, before anything is stored."""

from collections import Counter

from recollect.ingest.discover import Log, is_session_excluded
from recollect.ingest.indexing import LARGE
from recollect.ingest.redaction import EntryRedactor, text_of
from recollect.model import Entry, Record, SessionMetadata, session_id
from recollect.project import project_of
from recollect.settings import Settings
from recollect.store import Writer

PRIVATE = "do not index this chat"  # in upper or lower case, anywhere in a session: the session is not stored
PART = 4 << 20  # characters of a text that are searched at once: lower() copies them


class Excluded(Exception):
    """The person excluded the folder, project or log of this session."""


class Private(Excluded):
    """A text in the session says that it must not be stored. That applies to its sub-agents too."""


def remove_excluded(archive: Writer, session: bytes, path: str, reason: Excluded) -> None:
    """Remove the stored events of a session that is excluded now."""
    if isinstance(reason, Private):
        archive.make_private(session)
    else:
        archive.forget_session(session, path)


class Admission:
    """Checks and redacts the entries of one log, batch by batch."""

    def __init__(self, archive: Writer, settings: Settings, log: Log) -> None:
        self.archive = archive
        self.settings = settings
        self.log = log
        self.large: list[Record] = []  # the large records of the latest batch
        self._allowed: set[str | None] = set()  # working folders that are not excluded
        self._redactor = EntryRedactor()

    def admit(self, entries: list[Entry]) -> list[tuple[str, Counter[str]]]:
        """Redact these entries in place. Returns (session, redactions by rule).

        Raises `Excluded` if the entries must not be stored.
        """
        self._check_folders(entries)
        self._check_parents(entries)
        texts = [text_of(entry) for entry in entries]
        if any(map(_is_private, texts)):
            raise Private
        pairs = zip(entries, texts, strict=True)
        self.large = [entry for entry, text in pairs if len(text) > LARGE and isinstance(entry, Record)]
        return list(self._redactor.redact(entries, texts)) if self.settings.redact else []

    def _check_folders(self, entries: list[Entry]) -> None:
        """Check each working folder of the log once."""
        folders = {entry.cwd for entry in entries if isinstance(entry, Record | SessionMetadata)} - self._allowed
        for cwd in folders:
            project = project_of(cwd) if cwd else None
            if is_session_excluded(cwd, self.log.path, project, self.settings):
                raise Excluded
        self._allowed |= folders

    def _check_parents(self, entries: list[Entry]) -> None:
        """A sub-agent of a private session is private."""
        for parent in {entry.parent for entry in entries if isinstance(entry, SessionMetadata)}:
            if parent and self.archive.is_private(session_id(self.log.source.name, parent)):
                raise Private


def _is_private(text: str) -> bool:
    """Whether a text says that its session must not be stored. A long text is searched in overlapping parts."""
    return any(PRIVATE in text[start : start + PART].lower() for start in range(0, len(text), PART - len(PRIVATE)))
