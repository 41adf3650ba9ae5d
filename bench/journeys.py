"""What a journey of ten thousand sessions costs: how long a client waits for its history.

    python bench/journeys.py [--sessions 10000] [--queries 200]

Every session is one log, which is synced, distilled, and linked over MCP as a client would do it.
The queries ask for its newest sessions, for words that few summaries have, and for a word that all have.
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
EVERYWHERE = "lantern"  # in every summary
PER_FOLDER = 500
PAGE = 50


def write_logs(home: Path, count: int) -> None:
    """Sessions of one prompt and one answer, a minute apart, in plain words."""
    rng = Random("journeys")
    for number in range(count):
        folder = f"/home/dev/voyage-{number // PER_FOLDER}"
        log = Log(new_uuid(rng), folder, NEWEST - timedelta(minutes=number), rng)
        target = home / session_path(folder, log.session)
        target.parent.mkdir(parents=True, exist_ok=True)
        request, answer = (" ".join(rng.sample(WORDS, 10)) for _ in range(2))
        turn = Turn(f"Look into {EVERYWHERE} {number}: {request}", [], f"The {answer} is done.")
        target.write_bytes(b"\n".join(turn_lines(turn, log)) + b"\n")


def measured(here: Installation, sessions: int, count: int) -> list[Measure]:
    """Link all that was synced, then ask."""
    with here.server() as server:
        journey = content(server.call("get_or_create_journey", {"user_id": USER}))["journey_id"]
        links = [server.call("link_session_to_journey", {"journey_id": journey, "session_id": one}) for one in ids(server)]
        if len(links) != sessions:
            raise MeasureError(f"{len(links)} of {sessions} sessions could be linked.")
        rng = Random("questions")
        rare = [{"query": " ".join(rng.sample(WORDS, 2))} for _ in range(count)]
        questions: dict[str, list[dict[str, Any]]] = {
            "journey history": [{}] * count,
            "journey history, 100 rows": [{"limit": 100}] * count,
            "journey history by two words": rare,
            "journey history by a word of all": [{"query": EVERYWHERE}] * count,
            "journey history with documents": [{"include_documents": True}] * count,
        }
        history = [timed(server, name, journey, sessions, given) for name, given in questions.items()]
        linked = percentiles("link a session", [link.ms for link in links], sessions)
        got = timing("get a journey", sessions, call_all(server, "get_or_create_journey", [{"user_id": USER}] * count))
        return [linked, got, *history]


def timed(server: Client, name: str, journey: str, sessions: int, questions: Iterable[dict[str, Any]]) -> Measure:
    requests = [{"journey_id": journey, **question} for question in questions]
    call_all(server, "query_journey_history", requests[:WARM_UP])
    return timing(name, sessions, call_all(server, "query_journey_history", requests))


def ids(server: Client) -> list[str]:
    """Every session, as journeys name it."""
    window = {"start_datetime": "2000-01-01T00:00:00Z", "end_datetime": "2100-01-01T00:00:00Z", "limit": PAGE}
    found: list[str] = []
    page: dict[str, Any] = {"next_cursor": None}
    while not found or page["next_cursor"]:
        page = content(server.call("list_sessions", {**window, "cursor": page["next_cursor"]}))["data"]
        found += [str(UUID(one["id"].removeprefix("session:"))) for one in page["sessions"]]
    return found


def content(answer: Any) -> Any:
    if answer.failed:
        raise MeasureError(f"A call failed: {answer.text[:200]}")
    return answer.content


def one_journey(scratch: Path, sessions: int, count: int) -> list[Measure]:
    here = Installation(scratch / "home", scratch / "state")
    write_logs(here.home, sessions)
    sync(here)
    run(here.command("distil"), here.environment())
    return measured(here, sessions, count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--queries", type=int, default=QUERIES, help="queries of each kind")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        print(table(one_journey(Path(scratch), given.sessions, given.queries)))


if __name__ == "__main__":
    main()
