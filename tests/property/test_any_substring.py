"""For any string and any sessions: every event that contains it is found, in order, however far the index is."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.index.filters import Filters
from recollect.index.ngrams import NgramDocument, NgramIndex, NgramWriter, fold_case
from recollect.ingest import sync
from recollect.model import KINDS
from recollect.search.substring import MatchPosition, NgramCoverage, find_substring
from recollect.settings import Settings
from recollect.sources import all_sources
from recollect.store import Reader, archive_path
from tests.logs import Claude, write

few = settings(max_examples=25, deadline=None)
said = st.text(st.sampled_from('abAB_\n "\\ß猫é.'), min_size=1, max_size=12)
sought = st.text(st.sampled_from('abAB_\n "\\ß猫é.'), min_size=1, max_size=4)
turns = st.tuples(said, said, said, said)  # prompt, argument, output, answer
sessions = st.lists(st.lists(turns, min_size=1, max_size=3), min_size=1, max_size=4)


@contextmanager
def archive(sessions_of_exchanges: list[list[tuple[str, str, str, str]]]) -> Iterator[tuple[Path, Reader]]:
    with TemporaryDirectory() as folder:
        realm = Path(folder, "state", "realms", "main")
        for number, exchanges in enumerate(sessions_of_exchanges, 1):
            claude = Claude(f"{number:08x}-1111-4111-8111-111111111111", start=number * 37 % 5 * 1_000)
            records = [
                line
                for place, (prompt, argument, output, answer) in enumerate(exchanges)
                for line in (
                    claude.prompt(prompt),
                    claude.calls("Bash", f"call-{place}", command=argument, note=["n", {"deep": argument}]),
                    claude.result(f"call-{place}", output),
                    claude.says(answer),
                )
            ]
            write(Path(folder, f"home/.claude/projects/-work-app/{claude.session}.jsonl"), records)
        sync(realm, Settings(home=Path(folder, "state")), all_sources(), {"HOME": str(Path(folder, "home"))})
        reader = Reader(archive_path(realm))
        yield realm, reader
        reader.close()


def scan(reader: Reader, string: str, filters: Filters) -> list[MatchPosition]:
    """The positions of a string, by a scan of every text and every argument."""
    rows = [row for chunk in reader.events_to_index(0, len(KINDS)) for row in chunk]
    places = [
        (started, event.session, event.seq)
        for event, source, _, started in rows
        if fold_case(string) in fold_case(event.full_text())
        and filters.session in (None, event.session)
        and (not filters.kinds or event.index_kind() in filters.kinds)
    ]
    return sorted(places, key=lambda place: (-place[0], place[1], place[2]))


def partial_index(realm: Path, reader: Reader, share: float) -> NgramCoverage:
    """An index with a share of the events."""
    rows = [row for chunk in reader.events_to_index(0, len(KINDS)) for row in chunk]
    last_key = rows[int(share * (len(rows) - 1))][0].key if share else 0
    if not last_key:
        return NgramCoverage(None, 0)
    writer = NgramWriter(realm, reader.meta("identity") or "")
    writer.add(
        NgramDocument(event.key, event.session, event.seq, event.index_kind(), source, started, event.full_text())
        for event, source, _, started in rows
        if event.key <= last_key
    )
    writer.commit_up_to(last_key)
    writer.close()
    return NgramCoverage(NgramIndex(realm, reader.meta("identity") or ""), last_key)


@few
@given(sessions, st.lists(sought, min_size=1, max_size=4), st.sampled_from([0.0, 0.5, 1.0]), st.booleans())
def test_every_event_that_contains_a_string_is_found_page_by_page(
    exchanges: list[list[tuple[str, str, str, str]]], strings: list[str], share: float, is_filtered: bool
) -> None:
    with archive(exchanges) as (realm, reader):
        index = partial_index(realm, reader, share)
        filters = Filters(kinds=(3, 4), session=reader.all_sessions()[0].key) if is_filtered else Filters()
        for string in strings:
            expected = scan(reader, string, filters)
            positions: list[MatchPosition] = []
            while True:
                after = positions[-1] if positions else None
                page = find_substring(reader, index, string, filters, after, 3, lambda: None)
                positions += [match.position for match in page]
                if len(page) < 3:
                    break
            assert positions == expected
