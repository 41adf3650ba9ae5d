"""list_sessions: its arguments, its order and pages, and that it shows only metadata."""

import string
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.contract.history_archive import CODEX, LONG_LINE, MIGRATION, OWN, serve_archive
from tests.contract.history_client import EVER, History, text_of

pytestmark = pytest.mark.process

MODES = ["web_search", "mcp_internal", "tool_calling", "chat"]
LISTED = {
    "id", "title", "source", "started_at", "updated_at", "completed", "turn_count", "event_count", "mode", "session_slug",
    "session_summary",
}  # fmt: skip
CLOCK = "%Y-%m-%dT%H:%M:%S.%f"


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    with serve_archive(tmp_path_factory.mktemp("history")) as client:
        yield client


@pytest.fixture(scope="module")
def everything(history: History) -> list[Any]:
    """All sessions, oldest first."""
    return history.sessions(sort="asc")


def ids(listed: list[Any]) -> list[str]:
    return [one["id"] for one in listed]


def moved(stamp: str, **by: int) -> str:
    """A timestamp in our notation, moved by some time."""
    return (datetime.fromisoformat(stamp) + timedelta(**by)).strftime(CLOCK) + "Z"


# ---- the successful rows of the matrix


def test_a_window_alone_is_listed_newest_first_twenty_at_a_time(history: History, everything: list[Any]) -> None:
    """Rule 11; matrix: start_datetime + end_datetime."""
    envelope = history.call("list_sessions", **EVER)
    request = envelope["request"]
    assert set(request) == {"start_datetime", "end_datetime", "limit", "cursor", "mode", "sort"}
    assert {key: request[key] for key in ("limit", "cursor", "mode", "sort")} == {
        "limit": 20, "cursor": None, "mode": None, "sort": "desc",
    }  # fmt: skip
    data = envelope["data"]
    assert set(data) == {"result_count", "limit", "truncated", "sessions", "next_cursor"}
    assert (data["result_count"], data["limit"], data["truncated"]) == (20, 20, True)
    assert ids(data["sessions"]) == ids(everything)[::-1][:20]


def test_null_means_the_default(history: History) -> None:
    """Rule 1, for the optional arguments of list_sessions."""
    nulls = {"limit": None, "cursor": None, "mode": None, "sort": None}
    assert history.data("list_sessions", **EVER, **nulls) == history.data("list_sessions", **EVER)


@pytest.mark.parametrize("limit", [1, 7, 50])
def test_a_limit_bounds_the_page_and_truncated_says_whether_there_is_more(
    history: History, everything: list[Any], limit: int
) -> None:
    """Matrix: range + limit."""
    data = history.data("list_sessions", **EVER, limit=limit)
    assert (data["result_count"], data["limit"], data["truncated"]) == (limit, limit, True)
    assert ids(data["sessions"]) == ids(everything)[::-1][:limit]
    assert [one["rank"] for one in data["sessions"]] == list(range(1, limit + 1))


@pytest.mark.parametrize(("limit", "truncated"), [(len(CODEX) - 1, True), (len(CODEX), False), (len(CODEX) + 1, False)])
def test_the_last_page_has_no_cursor_and_is_not_truncated(history: History, limit: int, truncated: bool) -> None:
    """Matrix: range + limit, in a window with exactly the sessions of Codex."""
    january = {"start_datetime": "2026-01-01T00:00:00Z", "end_datetime": "2026-02-01T00:00:00Z"}
    data = history.data("list_sessions", **january, limit=limit)
    assert (data["result_count"], data["truncated"]) == (min(limit, len(CODEX)), truncated)
    assert (data["next_cursor"] is not None) is truncated


@pytest.mark.parametrize("limit", [1, 3, 20, 50])
@pytest.mark.parametrize("sort", ["asc", "desc"])
def test_paging_visits_every_session_once_and_in_order(
    history: History, everything: list[Any], sort: str, limit: int
) -> None:
    """Rule 12; matrix: range + cursor."""
    visited = ids(history.sessions(sort=sort, limit=limit))
    assert visited == (ids(everything) if sort == "asc" else ids(everything)[::-1])
    assert len(set(visited)) == len(visited)


def test_a_cursor_works_with_another_limit(history: History, everything: list[Any]) -> None:
    """Rule 45."""
    listed: list[str] = []
    cursor = None
    for limit in (1, 5, 2, 50, 50):
        page = history.data("list_sessions", **EVER, sort="asc", limit=limit, cursor=cursor)
        listed += ids(page["sessions"])
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert listed == ids(everything)


def test_the_same_window_in_another_notation_is_the_same_window(history: History, everything: list[Any]) -> None:
    """Rule 12: a cursor is bound to the moments, not to their notation."""
    page = history.data("list_sessions", **EVER, sort="asc", limit=2)
    abroad = {"start_datetime": "2025-01-01T01:00:00+01:00", "end_datetime": "2026-12-31T19:00:00.000-05:00"}
    after = history.data("list_sessions", **abroad, sort="asc", limit=2, cursor=page["next_cursor"])
    assert ids(after["sessions"]) == ids(everything)[2:4]


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_lists_the_sessions_of_that_mode(history: History, everything: list[Any], mode: str) -> None:
    """Matrix: range + mode, with paging."""
    expected = [one["id"] for one in everything if one["session"]["mode"] == mode]
    assert expected
    for limit in (2, 50):
        assert ids(history.sessions(mode=mode, sort="asc", limit=limit)) == expected


def test_ascending_is_by_last_update_and_then_by_id_and_descending_the_reverse(
    history: History, everything: list[Any]
) -> None:
    """Matrix: range + sort=asc. Two of the sessions were updated in the same instant."""
    places = [(one["session"]["updated_at"], one["id"]) for one in everything]
    assert places == sorted(places)
    assert len({updated for updated, _ in places}) < len(places)
    assert ids(history.sessions(sort="desc")) == ids(everything)[::-1]


# ---- boundaries


@pytest.mark.parametrize("moved_by", [-1, 0, 1])
def test_a_window_includes_its_start_and_excludes_its_end(history: History, moved_by: int) -> None:
    """Rule 31: updated_at >= start and started_at < end, to the millisecond."""
    session = history.open(history.ids_by_title[MIGRATION])["session"]
    start = moved(session["updated_at"], milliseconds=moved_by)
    end = moved(session["started_at"], milliseconds=moved_by)
    from_start = ids(history.sessions(start_datetime=start))
    to_end = ids(history.sessions(end_datetime=end))
    assert (session["id"] in from_start) is (moved_by <= 0)
    assert (session["id"] in to_end) is (moved_by > 0)


@pytest.mark.parametrize(("moved_by", "starts", "ends"), [(-1, True, False), (1, False, True)])
def test_a_window_is_exact_below_the_millisecond(history: History, moved_by: int, starts: bool, ends: bool) -> None:
    """Rule 31: a start one microsecond after the last update leaves the session out."""
    session = history.open(history.ids_by_title[MIGRATION])["session"]
    start = moved(session["updated_at"], microseconds=moved_by)
    end = moved(session["started_at"], microseconds=moved_by)
    assert (session["id"] in ids(history.sessions(start_datetime=start))) is starts
    assert (session["id"] in ids(history.sessions(end_datetime=end))) is ends


def test_a_session_that_spans_the_window_is_listed(history: History) -> None:
    """Rule 31: overlap, not containment."""
    session = history.open(history.ids_by_title[MIGRATION])["session"]
    inside = {
        "start_datetime": moved(session["started_at"], seconds=2),
        "end_datetime": moved(session["started_at"], seconds=3),
    }
    assert ids(history.sessions(**inside)) == [session["id"]]


def test_a_window_without_sessions_is_an_empty_success(history: History) -> None:
    """Rule 31."""
    data = history.data("list_sessions", start_datetime="2020-01-01T00:00:00Z", end_datetime="2020-01-02T00:00:00Z")
    assert data == {"result_count": 0, "limit": 20, "truncated": False, "sessions": [], "next_cursor": None}


SAME_MOMENT = [
    "2026-02-01T00:00:00Z", "2026-02-01T00:00:00.000Z", "2026-02-01T00:00:00+00:00", "2026-01-31T19:00:00-05:00",
    "2026-02-01T05:30:00+05:30", "2026-02-01T00:00Z", "2026-02-01T00:00:00.000000000Z", "2026-02-01t00:00:00z",
]  # fmt: skip


@pytest.mark.parametrize("datetime", SAME_MOMENT)
def test_a_datetime_may_have_any_offset(history: History, datetime: str) -> None:
    """Rules 11 and 27: the canonical request has the moment in UTC, whatever its notation."""
    for field in ("start_datetime", "end_datetime"):
        envelope = history.call("list_sessions", **{**EVER, field: datetime})
        assert envelope["request"][field] == "2026-02-01T00:00:00.000Z"
        assert envelope["data"]["result_count"] > 0


# ---- metadata only


def test_a_listed_session_has_the_shape_of_the_contract_and_agrees_with_what_it_opens(
    history: History, everything: list[Any]
) -> None:
    """Rules 31 and 33."""
    for one in everything:
        assert set(one) == {"rank", "id", "session", "open"}
        assert one["id"] == one["session"]["id"] == one["open"]["session_id"]
        assert set(one["session"]) == LISTED
        opened = history.open(one["open"]["session_id"])["session"]
        assert {key: one["session"][key] for key in opened} == opened
        assert one["session"]["mode"] in MODES


def test_labels_are_short_and_never_empty(everything: list[Any]) -> None:
    """Rule 31: 120, 120 and 240 characters at most."""
    for one in everything:
        session = one["session"]
        assert 0 < len(session["title"]) <= 120
        assert 0 < len(session["session_slug"]) <= 120
        assert 0 < len(session["session_summary"]) <= 240


def test_a_list_shows_no_transcript(history: History) -> None:
    """Rule 31: titles come from prompts; no other text is shown."""
    text = text_of(history.result("list_sessions", {**EVER, "limit": 50}))
    assert LONG_LINE not in text
    for excerpt in ("Painted.", "all quiet on the water", "barnacle", "kelp.csv", "Use the blue paint", "Made."):
        assert excerpt not in text


# ---- refusals

NOT_A_TIME = [
    None, "", "   ", "2026-02-01T00:00:00", "2026-02-01", "2026-02-01 00:00:00", "yesterday", "1769904000", 1769904000, 1.5, True,
    ["2026-02-01T00:00:00Z"], "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-02-01T25:00:00Z", "2026-02-01T00:00:00+99:99",
    "2026-02-01T00:00:00ZZ", "2026-02-01T00:00:00Z ", " 2026-02-01T00:00:00Z", "2026-02-01q00:00:00Z", "2026-02-01T00:00:00 UTC",
    "0000-00-00T00:00:00Z", "٢٠٢٦-02-01T00:00:00Z",
]  # fmt: skip


@pytest.mark.parametrize("field", ["start_datetime", "end_datetime"])
@pytest.mark.parametrize("bad", NOT_A_TIME, ids=repr)
def test_a_datetime_must_be_valid_and_have_an_offset(history: History, field: str, bad: Any) -> None:
    """Rules 3 and 11; matrix: datetime without timezone."""
    arguments = {**EVER, field: bad}
    envelope = history.call("list_sessions", **arguments)
    assert envelope["error"]["code"] == "invalid_request"
    assert envelope["error"]["details"] == {"field": field}
    assert envelope["request"] == arguments


@pytest.mark.parametrize("missing", [["start_datetime"], ["end_datetime"], ["start_datetime", "end_datetime"]])
def test_both_datetimes_are_required(history: History, missing: list[str]) -> None:
    """Rule 11; matrix: missing datetime."""
    arguments = {field: value for field, value in EVER.items() if field not in missing}
    envelope = history.call("list_sessions", **arguments)
    assert envelope["error"]["code"] == "invalid_request"
    assert envelope["error"]["details"] == {"field": missing[0]}
    assert envelope["request"] == arguments


@pytest.mark.parametrize(
    "end", ["2025-01-01T00:00:00Z", "2025-01-01T00:00:00+01:00", "2024-12-31T23:59:59.999Z", "2025-01-01T01:00:00+01:00"]
)
def test_an_end_that_is_not_after_the_start_is_refused(history: History, end: str) -> None:
    """Rule 11; matrix: end_datetime <= start_datetime."""
    assert (
        history.error("list_sessions", start_datetime="2025-01-01T00:00:00Z", end_datetime=end)["code"] == "invalid_request"
    )


BAD_FILTERS = [
    *(("limit", bad) for bad in (0, -1, 51, 10**30, 2.5, True, "20", [20])),
    *(("mode", bad) for bad in ("", "Chat", "chat ", "unknown", 1, ["chat"])),
    *(("sort", bad) for bad in ("", "ASC", "descending", "updated_at", 1, ["asc"])),
    *(("cursor", bad) for bad in ("", "x", "not a cursor", "é", "AAAA", 5, ["x"], True, "=" * 20)),
    ("query", "x"), ("offset", 3), ("Limit", 3), ("event_types", None),
]  # fmt: skip


@pytest.mark.parametrize(("field", "bad"), BAD_FILTERS, ids=repr)
def test_a_bad_limit_mode_sort_or_cursor_or_an_unknown_field_is_refused(history: History, field: str, bad: Any) -> None:
    """Rules 3, 10, 11 and 12; matrix: unknown field, invalid mode or sort."""
    arguments = {**EVER, field: bad}
    envelope = history.call("list_sessions", **arguments)
    assert envelope["error"]["code"] == "invalid_request"
    assert envelope["error"]["details"] == {"field": field}
    assert envelope["request"] == arguments
    assert envelope["tool"] == "list_sessions"


CHANGED = {
    "window start": {"start_datetime": "2025-01-01T00:00:00.001Z"},
    "window end": {"end_datetime": "2027-01-02T00:00:00Z"},
    "mode": {"mode": "chat"},
    "no mode": {"mode": None},
    "sort": {"sort": "asc"},
}


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED)
def test_a_cursor_is_refused_with_another_window_mode_or_sort(history: History, change: dict[str, Any]) -> None:
    """Rule 12; matrix: cursor with changed filter or sort."""
    filters = {**EVER, "mode": "tool_calling", "sort": "desc", "limit": 2}
    cursor = history.data("list_sessions", **filters)["next_cursor"]
    assert history.data("list_sessions", **filters, cursor=cursor)["result_count"] == 2
    error = history.error("list_sessions", **{**filters, **change}, cursor=cursor)
    assert (error["code"], error["details"]) == ("invalid_request", {"field": "cursor"})


def test_a_mangled_cursor_is_refused_whichever_character_was_changed(history: History) -> None:
    """Rule 12."""
    cursor = history.data("list_sessions", **EVER, limit=2)["next_cursor"]
    mangled = [cursor[:place] + ("A" if letter != "A" else "B") + cursor[place + 1 :] for place, letter in enumerate(cursor)]
    mangled += [cursor[:-1] + letter for letter in string.ascii_letters + string.digits + "-_" if letter != cursor[-1]]
    mangled += [
        cursor[1:],
        cursor[:-1],
        cursor + "A",
        cursor + "=",
        cursor + " ",
        " " + cursor,
        cursor.swapcase(),
        cursor * 2,
    ]
    codes = {bad: history.call("list_sessions", **EVER, limit=2, cursor=bad).get("error", {}).get("code") for bad in mangled}
    assert [bad for bad, code in codes.items() if code != "invalid_request"] == []


def test_a_cursor_reveals_nothing(history: History) -> None:
    """Rule 12: opaque, and without the title or id of any session."""
    page = history.data("list_sessions", **EVER, limit=1)
    assert page["sessions"][0]["id"].partition(":")[2] not in page["next_cursor"]
    assert OWN not in page["next_cursor"]
