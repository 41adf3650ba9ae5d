"""The short ids that commands print, looked up in the archive that they read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from recollect.errors import AmbiguousId, BadId, NotFound
from recollect.live import LiveRealm
from recollect.operations.ids import WELL_FORMED
from recollect.operations.library.lookup import LAST, OWN_FORM
from recollect.operations.library.short_ids import ShortIds, full_id

NOT_AN_ID = "Not an ID: {typed!r}. Copy one from `recollect list`, or type the first characters of a session's ID."

Shorten = Callable[[str], str]  # from `session:…`, `turn:…` or `event:…`


@contextmanager
def short_forms(realm: LiveRealm) -> Iterator[Shorten]:
    """A function that shortens ids."""
    with realm.open_archive() as reader:
        yield ShortIds(reader).of


def place_of(realm: LiveRealm, text: str, *, as_json: bool) -> str:
    """The full ID of the session, turn or event that was typed.

    What cannot be an ID is an error; with `as_json` it is returned, because the operation has its own words for that.
    """
    try:
        with realm.open_archive() as reader:
            return full_id(reader, text)
    except AmbiguousId:
        raise
    except (BadId, NotFound) as error:
        if WELL_FORMED.fullmatch(text):
            return text
        if isinstance(error, NotFound) and (text == LAST or OWN_FORM.fullmatch(text) or ":" in text):
            raise
        if as_json:
            return text
        raise BadId(NOT_AN_ID.format(typed=text)) from None
