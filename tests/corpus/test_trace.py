"""The trace tools over hundreds of real sessions: their sizes, and their matches compared with a scan of every event."""

import json
import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.index.ngrams import NGRAMS
from recollect.live import LiveRealm
from recollect.model import KINDS, Kind
from recollect.operations import OPERATIONS, RequestContext
from recollect.store import EventRow, Reader, SessionRow, archive_path
from tests.conftest import Person
from tests.contract.trace_client import texts_in

pytestmark = pytest.mark.corpus

HOMES = {"claude": ".claude/projects", "codex": ".codex/sessions"}
BUDGET_KB = {"summary": 10, "turns": 30, "steps": 100}
KB = 1_024
PREVIEW, PAGE = 300, 15 * KB
STRINGS = 20
MOST = 400  # matches of a string that are checked one by one


class Home:
    """A home folder with the real sessions, synced, with their n-gram index."""

    def __init__(self, folder: Path, corpus: Path) -> None:
        self.person = Person(folder)
        for provider, home in HOMES.items():
            shutil.copytree(corpus / provider, self.person.home / home)
        self.person.sync()
        (self.person.state / "settings.toml").write_text('[embedding]\nmodel = "none"\n')
        self.person.run("distil")
        assert NGRAMS.folder(self.person.realm).exists()
        self.realm = LiveRealm(self.person.settings())
        self.reader = Reader(archive_path(self.person.realm))
        self.sessions = {row.key: row for row in self.reader.all_sessions() if row.event_count}
        rows = (row for chunk in self.reader.events_to_index(0, len(KINDS)) for row in chunk)
        self.events: list[tuple[EventRow, str]] = [(event, folded_text(event)) for event, *_ in rows]

    def ask(self, tool: str, **arguments: Any) -> tuple[Any, int]:
        """A tool's answer, and its size in bytes."""
        reply = OPERATIONS[tool].run(self.realm, arguments, RequestContext.now())
        assert not reply.is_error, (arguments, reply.text)
        return json.loads(reply.text), len(reply.text.encode())

    def places(self, query: str, max_count: int | None = None) -> list[tuple[str, int]]:
        """(session, event) of all matches, or of the first ones."""
        places: list[tuple[str, int]] = []
        cursor: dict[str, str] = {}
        while max_count is None or len(places) < max_count:
            answer, _ = self.ask("search_event_previews", query=query, limit=50, **cursor)
            places += [(match["session_id"], match["event_index"]) for match in answer["data"]["matches"]]
            if not answer["pagination"]["has_more"]:
                break
            cursor = {"cursor": answer["pagination"]["next_cursor"]}
        return places

    def scan(self, query: str) -> list[tuple[str, int]]:
        """The same places, by a scan of every event."""
        wanted = query.casefold()
        held = [event for event, text in self.events if wanted in text]
        held.sort(key=lambda event: (-self.sessions[event.session].started_at, event.session, event.seq))
        return [(uuid_of(self.sessions[event.session]), event.seq) for event in held]


def folded_text(event: EventRow) -> str:
    """The case-folded text of an event; for a call its tool's name, its arguments, and every text in them."""
    if event.kind is not Kind.TOOL_CALL:
        return event.text().casefold()
    parts = [event.tool or "tool", *texts_in(event.arguments())]
    return "\0".join([f"{parts[0]} {event.text()}", *parts[1:]]).casefold()


def uuid_of(session: SessionRow) -> str:
    digits = session.id.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


@pytest.fixture(scope="module")
def home(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("trace"), corpus)
    yield home
    home.reader.close()


# ---- a session at four levels


def test_sessions_of_about_twenty_turns_are_shown_within_their_sizes(home: Home) -> None:
    """A22, A23."""
    real = [row for row in home.sessions.values() if 15 <= row.turn_count <= 25]
    assert len(real) >= 5
    for session in real:
        for level, most in BUDGET_KB.items():
            answer, size = home.ask("get_session_details", session_id=uuid_of(session), detail_level=level)
            assert size <= most * KB, (session.path, level)
            assert answer["data"]["stats"]["total_turns"] == session.turn_count
            if "warnings" not in answer:
                assert len(answer["data"]["turns"]) == session.turn_count


def test_every_session_is_shown_within_its_sizes(home: Home) -> None:
    """A28: for any turns, something is always shown, and a warning says if it is not everything."""
    for session in home.sessions.values():
        for level, max_kb in BUDGET_KB.items():
            answer, size = home.ask("get_session_details", session_id=uuid_of(session), detail_level=level)
            assert size <= max_kb * KB, (session.path, level)
            turns = answer["data"]["turns"]
            assert turns and turns[0]["turn_index"] == 0
            cut = any("steps_left_out" in turn for turn in turns) or len(turns) < session.turn_count
            assert not cut or f"Response truncated to {max_kb} KB" in answer["warnings"]


def test_every_session_is_shown_in_full(home: Home) -> None:
    """A25: every event is in exactly one place."""
    for session in home.sessions.values():
        answer, _ = home.ask("get_session_details", session_id=uuid_of(session), detail_level="full")
        assert "warnings" not in answer
        turns = answer["data"]["turns"]
        tools = [tool for turn in turns for step in turn["steps"] for tool in step["tools"]]
        places = [tool[name] for tool in tools for name in ("call_index", "result_index") if tool[name] is not None]
        places += [other["event_index"] for turn in turns for other in turn["other_events"]]
        assert max(Counter(places).values(), default=1) == 1, session.path
        message_count = sum(step["message"] is not None for turn in turns for step in turn["steps"])
        events = [event for event, _ in home.events if event.session == session.key]
        kinds = Counter(event.kind for event in events)
        assert message_count == kinds[Kind.ASSISTANT_RESPONSE], session.path
        prompts = sum(turn.prompt is not None for turn in home.reader.turns(session.key))
        assert len(places) == len(events) - message_count - kinds[Kind.REASONING] - prompts, session.path


def test_every_session_is_analyzed(home: Home) -> None:
    """A41."""
    for session in home.sessions.values():
        answer, _ = home.ask("analyze_session", session_id=uuid_of(session))
        assert 0 <= answer["data"]["score"] <= 100
        assert (answer["data"]["score"] == 100) is (not answer["data"]["insights"])
        assert all(0 <= insight["turn_index"] < session.turn_count for insight in answer["data"]["insights"])


# ---- matches


def substrings(home: Home) -> list[str]:
    """Strings from real events; they may begin and end anywhere in a word."""
    chance = random.Random(3)
    strings: list[str] = []
    while len(strings) < STRINGS:
        event, _ = chance.choice(home.events)
        text = event.text()
        at = chance.randrange(max(1, len(text)))
        string = text[at : at + chance.choice((1, 2, 3, 5, 8, 13, 21, 60, 150, 400))]
        if string.strip():
            strings.append(string)
    return strings


def test_a_search_finds_the_same_as_a_scan_of_every_event(home: Home) -> None:
    """A1, A4: in the same order; for common strings the first few hundred."""
    for string in substrings(home):
        wanted = home.scan(string)
        assert wanted
        assert home.places(string, MOST) == wanted[:MOST], string


@pytest.mark.parametrize("string", ["rror: ", "_test", "/src/", "def ", "git c", "\n\n#", '": "', "\\", "TODO", "→"])
def test_every_match_opens_and_contains_the_string(home: Home, string: str) -> None:
    """A12, A13, A16."""
    answer, size = home.ask("search_event_previews", query=string)
    assert answer["data"]["matches"] and size <= PAGE
    for match in answer["data"]["matches"]:
        assert len(match["preview"]) <= PREVIEW
        assert string.casefold() in match["preview"].casefold()
        opened, _ = home.ask("get_event_details", session_id=match["session_id"], event_index=match["event_index"])
        payload = opened["data"]["payload"]
        texts = [
            payload.get("output", payload.get("text", "")),
            payload.get("name", ""),
            json.dumps(payload.get("arguments")),
        ]
        assert any(string.casefold() in text.casefold() for text in [*texts, *texts_in(payload.get("arguments"))])
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", opened["data"]["timestamp"])
