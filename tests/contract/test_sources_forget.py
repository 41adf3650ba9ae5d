"""Forgotten sessions of every source stay forgotten, and the other sessions of their logs stay as they are."""

from pathlib import Path
from typing import Any

from recollect.ingest import Ingester
from recollect.realms.forget import forget_sessions
from recollect.realms.realm import Realm
from recollect.settings import Settings
from recollect.sources import all_sources
from recollect.store import Reader, SessionRow, archive_path
from tests.contract.source_cases import every_case
from tests.golden import NAMED, lay_out
from tests.state_search import places_of

MIN_NAME = 8  # characters: shorter native ids may be found by chance


class Machine:
    """The home of a fixture, and the realm that reads it."""

    def __init__(self, case: Path, folder: Path) -> None:
        self.home, self.settings = folder / "home", Settings(home=folder / "state")
        self.realm = Realm(self.settings, "main")
        lay_out(case, self.home)

    def sync(self, *, again: bool = False) -> None:
        with Ingester(self.realm.folder, self.settings, all_sources(), {"HOME": str(self.home)}) as ingester:
            if again:
                ingester.reread_all()
            ingester.sync()
            if (self.home / NAMED).exists():
                ingester.sync([self.home / NAMED])

    def sessions(self) -> dict[bytes, tuple[SessionRow, Any]]:
        """All sessions with their turns and events, except the keys of rows."""
        with Reader(archive_path(self.realm.folder)) as reader:
            found = {}
            for session in reader.all_sessions():
                turns = reader.turns(session.key)
                events = [event for turn in turns for event in reader.events_of_turn(session.key, turn.ordinal)]
                rows = [(event.id, event.turn, event.seq, event.kind, event.at, event.full_text()) for event in events]
                if session.event_count:
                    session.key = 0
                    found[session.id] = (session, [[(turn.ordinal, turn.prompt, turn.stop) for turn in turns], rows])
            return found


def text_of(log: Path) -> str:
    return log.read_bytes().decode("utf-8", "replace") if log.is_file() else ""


@every_case
def test_a_forgotten_session_does_not_come_back(case: Path, tmp_path: Path) -> None:
    machine = Machine(case, tmp_path)
    machine.sync()
    before = machine.sessions()
    if not before:
        return  # a fixture of what is ignored
    victim = max(before.values(), key=lambda found: (found[0].event_count, found[0].id))[0]
    with Reader(archive_path(machine.realm.folder)) as reader:
        family = reader.with_sub_agents([victim.id])
    forget_sessions(machine.realm, family)
    others = {session: found for session, found in before.items() if session not in family}
    logs = "".join(text_of(Path(found[0].path)) + found[0].native_id for found in others.values())
    for again in (None, False, True):
        if again is not None:
            machine.sync(again=again)
        assert machine.sessions() == others
        if len(victim.native_id) >= MIN_NAME and victim.native_id not in logs:
            assert places_of(victim.native_id, machine.realm.folder) == []
