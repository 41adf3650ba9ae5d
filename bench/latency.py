"""Latency of search, open and list: complete tool calls over MCP, one after the other, timed at the client."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import cycle, islice
from random import Random
from typing import Any

from client import Answer, Client
from product import Installation
from report import Measure, MeasureError, percentiles
from sessions import NEWEST, SPAN

TYPES = [["tool_call"], ["reasoning"], ["user_input"], ["assistant_response", "tool_response"]]
WARM_UP = 10  # calls before the measured ones: the targets are for a server that is already running

Request = Mapping[str, Any]


class NothingFound(MeasureError):
    def __init__(self, queries: int) -> None:
        super().__init__(f"None of {queries} queries found anything.")


@dataclass(frozen=True, slots=True)
class Hit:
    """A result of a query, with the ids to open next."""

    query: str
    event: str
    turn: str
    session: str


def latencies(installation: Installation, events: int, queries: list[str], warm_up: list[str]) -> list[Measure]:
    with installation.server() as server:
        for query in warm_up[:WARM_UP]:
            server.call("search_sessions", {"query": query})
        everywhere = call_all(server, "search_sessions", ({"query": query} for query in queries))
        hits = hits_of(queries, everywhere)
        measures = [timing("search", events, everywhere)]
        for name, tool, requests in scenarios(queries, hits):
            measures.append(timing(name, events, call_all(server, tool, requests)))
        return measures


def scenarios(queries: list[str], hits: list[Hit]) -> list[tuple[str, str, list[Request]]]:
    """The measures besides plain search: a name, the tool, and one request per query."""
    typed = [{"query": query, "event_types": types} for query, types in zip(queries, cycle(TYPES), strict=False)]
    weeks, years = windows(timedelta(days=7), len(queries)), windows(SPAN, len(queries))
    one_mode = [{**year, "mode": "tool_calling"} for year in years]
    return [
        ("search by type", "search_sessions", [*typed]),
        ("search in a session", "search_sessions", [{"query": hit.query, "within_id": hit.session} for hit in hits]),
        ("search in a turn", "search_sessions", [{"query": hit.query, "within_id": hit.turn} for hit in hits]),
        ("open event", "open", [{"id": hit.event} for hit in hits]),
        ("open turn", "open", [{"id": hit.turn} for hit in hits]),
        ("open session", "open", [{"id": hit.session} for hit in hits]),
        ("list, a week", "list_sessions", weeks),
        ("list, the year", "list_sessions", years),
        ("list, the year, one mode", "list_sessions", [*one_mode]),
    ]


def call_all(server: Client, tool: str, requests: Iterable[Request]) -> list[Answer]:
    return [server.call(tool, request) for request in requests]


def timing(name: str, events: int, answers: list[Answer]) -> Measure:
    return percentiles(name, [answer.ms for answer in answers], events, sum(answer.failed for answer in answers))


def hits_of(queries: list[str], answers: list[Answer]) -> list[Hit]:
    """One hit per query, each of another rank. Queries that found nothing get the hits of others."""
    hits: list[Hit] = []
    for number, (query, answer) in enumerate(zip(queries, answers, strict=True)):
        results = [] if answer.failed else answer.content["data"]["results"]
        if results:
            ids = results[number % len(results)]["open"]
            hits.append(Hit(query, ids["event_id"], ids["turn_id"], ids["session_id"]))
    if not hits:
        raise NothingFound(len(queries))
    return list(islice(cycle(hits), len(queries)))


def windows(span: timedelta, count: int) -> list[Request]:
    """Requests that list the sessions of a span of time, at random dates."""
    rng = Random("windows")
    return [window(NEWEST - SPAN * rng.random(), span) for _ in range(count)]


def window(end: datetime, span: timedelta) -> Request:
    return {"start_datetime": (end - span).isoformat(), "end_datetime": end.isoformat(), "limit": 20}
