"""Short ids: the form that people see, and every form that they can type (L12)."""

from pathlib import Path

import pytest

from recollect.errors import AmbiguousId, BadId, NotFound
from recollect.live import LiveRealm
from recollect.operations.ids import event_ref, session_ref, turn_ref
from recollect.operations.library.short_ids import ShortIds, full_id
from recollect.store import Reader, SessionRow
from tests.conftest import Person
from tests.contract.library_archive import CUTTER, fill
from tests.logs import Claude, write

TWINS = 12  # sessions whose native ids begin with the same characters


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> LiveRealm:
    person = Person(tmp_path_factory.mktemp("short"))
    for number in range(TWINS):
        said = Claude(f"dddddddd-0000-4000-8000-{number:012d}")
        write(person.claude_log(said.session), [said.prompt(f"twin {number}")])
    fill(person)
    return LiveRealm(person.settings())


def session_with(reader: Reader, word: str) -> SessionRow:
    return next(session for session in reader.all_sessions() if word in session.title)


def test_the_short_form_of_everything_means_the_same_again(realm: LiveRealm) -> None:
    with realm.open_archive() as reader:
        short = ShortIds(reader)
        for session in reader.all_sessions():
            references = [session_ref(session.id)]
            for turn in reader.turns(session.key):
                references.append(turn_ref(session.id, turn.ordinal))
                references += [event_ref(event.id) for event in reader.events_of_turn(session.key, turn.ordinal)]
            shown = [short.of(reference) for reference in references]
            assert [full_id(reader, text) for text in shown] == references
            assert shown[0] == session.id.hex()[:8] and all(text.startswith(shown[0]) for text in shown)


def test_turns_and_events_count_from_one(realm: LiveRealm) -> None:
    with realm.open_archive() as reader:
        session = session_with(reader, CUTTER)
        short = session.id.hex()[:8]
        first = reader.events_of_turn(session.key, 1)[0]
        assert ShortIds(reader).of(event_ref(first.id)) == f"{short}:1.1"
        assert ShortIds(reader).of(turn_ref(session.id, 2)) == f"{short}:2"


def test_an_id_is_found_by_every_form(realm: LiveRealm) -> None:
    with realm.open_archive() as reader:
        session = session_with(reader, CUTTER)
        turn, (event, *_) = turn_ref(session.id, 1), reader.events_of_turn(session.key, 1)
        for form in (
            session.id.hex(),
            session.id.hex()[:4],
            session.native_id,
            session.native_id[:9],
            session_ref(session.id)[:14],
        ):
            assert full_id(reader, form) == session_ref(session.id), form
            assert full_id(reader, f"{form}:1") == turn
            assert full_id(reader, f" {form}:1.1 ") == event_ref(event.id)
        assert full_id(reader, f"turn:{session.id.hex()[:6]}-1") == turn
        assert full_id(reader, event_ref(event.id)[:16]) == event_ref(event.id)
        last = reader.last_updated("", 1)[0]
        assert full_id(reader, "last") == session_ref(last.id)
        assert full_id(reader, "last:1") == turn_ref(last.id, 1)


@pytest.mark.parametrize(
    ("text", "error", "part"),
    [
        ("last:99", NotFound, "There is no turn 99: the session has "),
        ("last:1.99", NotFound, "There is no event 99 in turn 1, which has "),
        ("event:00000000", NotFound, "There is no event"),
        ("nobody", NotFound, "There is no session 'nobody'"),
        ("dddddddd", AmbiguousId, f"the beginning of {TWINS} ids"),
        ("abc", BadId, "at least 4 characters"),
    ],
)
def test_what_is_unknown_or_ambiguous_is_explained(realm: LiveRealm, text: str, error: type[Exception], part: str) -> None:
    with realm.open_archive() as reader, pytest.raises(error) as raised:
        full_id(reader, text)
    assert part in str(raised.value)


def test_an_id_is_as_long_as_it_must_be(realm: LiveRealm, tmp_path: Path) -> None:
    """A native id that begins as another session's own id does makes the short form of that session longer."""
    with realm.open_archive() as reader:
        digits = session_with(reader, CUTTER).id.hex()
    person = Person(tmp_path)
    fill(person)
    other = Claude(f"{digits[:8]}-0000-4000-8000-000000000000")
    write(person.claude_log(other.session), [other.prompt("its twin")])
    person.sync()
    with LiveRealm(person.settings()).open_archive() as reader:
        session = session_with(reader, CUTTER)
        short = ShortIds(reader).of(session_ref(session.id))
        assert (short, full_id(reader, short)) == (digits[:10], session_ref(session.id))
