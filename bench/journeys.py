"""Latency of a journey of ten thousand sessions: linking, and queries of its history.

    python bench/journeys.py [--sessions 10000] [--queries 200]

Every session is one log, which is synced, distilled, and linked over MCP. The queries are for the newest sessions, for words
that few summaries contain, and for a word that all contain.
"""

import argparse
import tempfile
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from claude_log import Log, new_uuid, session_path, turn_lines
from client import Client
from latency import WARM_UP, call_all, timing
from meaning import WORDS
from product import Installation, run, sync
from report import Measure, MeasureError, percentiles, table
from sessions import NEWEST, Turn

SESSIONS = 10_000
QUERIES = 200
USER = "5d6f3a5e-1c1b-4c7e-9a55-2f6c6b0f3a10"
COMMON_WORD = "lantern"  # in every summary
PER_FOLDER = 500
PAGE = 50


def write_logs(home: Path, count: int) -> None:
    """Write sessions of one prompt and one answer, a minute apart, in plain words."""
    rng = Random("journeys")
    for number in range(count):
        folder = f"/home/dev/voyage-{number // PER_FOLDER}"
        log = Log(new_uuid(rng), folder, NEWEST - timedelta(minutes=number), rng)
        target = home / session_path(folder, log.session)
        target.parent.mkdir(parents=True, exist_ok=True)
        request, answer = (" ".join(rng.sample(WORDS, 10)) for _ in range(2))
        turn = Turn(f"Look into {COMMON_WORD} {number}: {request}", [], f"The {answer} is done.")
        target.write_bytes(b"\n".join(turn_lines(turn, log)) + b"\n")


def measure_journey(here: Installation, sessions: int, count: int) -> list[Measure]:
    """Link all synced sessions, then query the history."""
    with here.server() as server:
        journey = content(server.call("get_or_create_journey", {"user_id": USER}))["journey_id"]
        links = [
            server.call("link_session_to_journey", {"journey_id": journey, "session_id": session})
            for session in session_uuids(server)
        ]
        if len(links) != sessions:
            raise MeasureError(f"Only {len(links)} of {sessions} sessions were listed and linked.")
        rng = Random("questions")
        two_words = [{"query": " ".join(rng.sample(WORDS, 2))} for _ in range(count)]
        requests: dict[str, list[dict[str, Any]]] = {
            "journey history": [{}] * count,
            "journey history, 100 rows": [{"limit": 100}] * count,
            "journey history by two words": two_words,
            "journey history by a common word": [{"query": COMMON_WORD}] * count,
            "journey history with documents": [{"include_documents": True}] * count,
        }
        history = [time_history(server, name, journey, sessions, queries) for name, queries in requests.items()]
        linking = percentiles("link a session", [link.ms for link in links], sessions)
        getting = timing("get a journey", sessions, call_all(server, "get_or_create_journey", [{"user_id": USER}] * count))
        return [linking, getting, *history]


def time_history(server: Client, name: str, journey: str, sessions: int, queries: Iterable[dict[str, Any]]) -> Measure:
    requests = [{"journey_id": journey, **query} for query in queries]
    call_all(server, "query_journey_history", requests[:WARM_UP])
    return timing(name, sessions, call_all(server, "query_journey_history", requests))


def session_uuids(server: Client) -> list[str]:
    """The UUIDs of all sessions, as the journey tools need them."""
    window = {"start_datetime": "2000-01-01T00:00:00Z", "end_datetime": "2100-01-01T00:00:00Z", "limit": PAGE}
    uuids: list[str] = []
    page: dict[str, Any] = {"next_cursor": None}
    while not uuids or page["next_cursor"]:
        page = content(server.call("list_sessions", {**window, "cursor": page["next_cursor"]}))["data"]
        uuids += [str(UUID(session["id"].removeprefix("session:"))) for session in page["sessions"]]
    return uuids


def content(answer: Any) -> Any:
    if answer.failed:
        raise MeasureError(f"A call failed: {answer.text[:200]}")
    return answer.content


def one_journey(scratch: Path, sessions: int, count: int) -> list[Measure]:
    here = Installation(scratch / "home", scratch / "state")
    write_logs(here.home, sessions)
    sync(here)
    run(here.command("distil"), here.environment())
    return measure_journey(here, sessions, count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--queries", type=int, default=QUERIES, help="queries of each kind")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        print(table(one_journey(Path(scratch), arguments.sessions, arguments.queries)))


if __name__ == "__main__":
    main()
