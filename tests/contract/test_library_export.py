"""library/export: a session or a search as a document, over every surface that offers it."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from recollect.library_answers import LibraryEvent
from recollect.live import LiveRealm
from recollect.operations import OPERATIONS, Reply, RequestContext
from recollect.operations.library.export import Target
from recollect.surfaces.http.openapi import document
from recollect.surfaces.http.responses import response_of
from tests.conftest import Person
from tests.contract.library_archive import ANCHOR, BEACON, CUTTER, NAMES, SHARED_WORD, Library, fill
from tests.logs import Claude, append, write


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    person = Person(tmp_path_factory.mktemp("library"))
    fill(person)
    return Library(person)


def reply_to(library: Library, operation: str, **arguments: Any) -> Reply:
    return OPERATIONS[f"library_{operation}"].run(library.realm, arguments, RequestContext.now())


def text_of(library: Library, operation: str, **arguments: Any) -> str:
    reply = reply_to(library, operation, **arguments)
    assert reply.file is not None, reply.text
    return reply.file.text()


def test_jsonl_is_the_session_and_then_all_its_events(library: Library) -> None:
    for name in NAMES:
        session = library.session(name)
        first, *lines = text_of(library, "export_session", id=session["id"], format="jsonl").splitlines()
        assert json.loads(first) == {"type": "session", **session}
        assert [json.loads(line) for line in lines] == library.data("events", id=session["id"], limit=200)["events"]


@pytest.mark.parametrize("format", ["html", "markdown"])
def test_a_document_has_the_prompts_the_answers_the_calls_and_the_diffs(library: Library, format: str) -> None:
    text = text_of(library, "export_session", id=library.session(ANCHOR)["id"], format=format)
    for part in (f"Lift the {ANCHOR}", "The deck has a rail now", "pytest -q", "1 failed: rail", "-deck = 1", "+rail = 3"):
        assert part in text
    assert "claude-code" in text
    assert "No secret was found." in text


def test_any_form_of_an_id_is_accepted(library: Library) -> None:
    session = library.session(ANCHOR)
    texts = {text_of(library, "export_session", id=form, format="jsonl") for form in (session["id"], session["native_id"])}
    assert len(texts) == 1
    assert library.refusal("export_session", id="nothing-like-it")["code"] == "not_found"
    assert library.refusal("export_session", id=session["id"], format="pdf")["code"] == "invalid_request"


def test_rest_sends_the_document_and_its_receipt(library: Library) -> None:
    reply = reply_to(library, "export_session", id=library.session(ANCHOR)["id"])
    response = response_of(reply)
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    disposition = 'attachment; filename="2026-02-01-lift-the-anchor-for-the-harbourmaster.html"'
    assert response.headers["content-disposition"] == disposition
    assert reply.file is not None
    assert "The deck has a rail now" in reply.file.text()
    assert json.loads(response.headers["recollect-receipt"])["events"] == library.session(ANCHOR)["events"]


def test_filters_choose_sessions_and_a_search_shows_what_it_found(library: Library) -> None:
    listed = text_of(library, "export_sessions", agent=["claude-code"], format="jsonl").splitlines()
    titles = [line["title"] for line in map(json.loads, listed) if line["type"] == "session"]
    assert len(titles) == 3
    found = text_of(library, "export_sessions", query=f"agent:claude-code {BEACON}", format="html")
    assert f"Light the {BEACON}" in found
    assert f"<mark>{BEACON}</mark>" in found
    assert f"Sail the {CUTTER}" not in found
    links = set(re.findall(r'href="#([^"]+)"', found))
    assert links <= set(re.findall(r' id="([^"]+)"', found))


def test_a_limit_is_said(library: Library) -> None:
    reply = reply_to(library, "export_sessions", limit=2, format="markdown", query=SHARED_WORD)
    assert reply.file is not None
    assert reply.file.text().count("\n## Turn 1\n") == 2
    answer = json.loads(reply.text)
    assert answer["data"]["receipt"]["sessions"] == 2
    assert answer["warnings"] == ["Only the first 2 sessions are written. Raise the limit, or add a filter."]


def test_no_session_is_an_error(library: Library) -> None:
    assert library.refusal("export_sessions", since=["1990-01-01"], until=["1990-01-02"])["code"] == "not_found"
    assert library.refusal("export_sessions", agent=["nobody"])["code"] == "invalid_filter"


def test_a_folder_gets_a_document_for_each_session(library: Library) -> None:
    written: dict[str, str] = {}

    @contextmanager
    def sink(name: str) -> Iterator[Any]:
        pieces: list[str] = []
        yield pieces.append
        written[name] = "".join(pieces)

    target = Target(sink, is_folder=True)
    operation = OPERATIONS["library_export_sessions"]
    reply = operation.run(library.realm, {"format": "jsonl"}, RequestContext.now(), target=target)
    answer = json.loads(reply.text)["data"]
    assert answer["files"] == list(written)
    assert len(written) == len(NAMES)
    assert answer["receipt"]["events"] == sum(text.count("\n") - 1 for text in written.values())


def test_a_stored_mark_and_a_secret_of_newer_rules_are_in_the_receipt(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The person had switched redaction off when the log was read, so the archive has the secret."""
    person = Person(tmp_path_factory.mktemp("secrets"))
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    log = Claude()
    write(person.claude_log(log.session), [log.prompt(f"use {secret}")])
    person.sync(redact=False)
    append(person.claude_log(log.session), log.says(f"I used {secret}."))
    person.sync()
    library = Library(person)
    for name in ("html", "markdown", "jsonl"):
        reply = reply_to(library, "export_session", id="last", format=name)
        assert reply.file is not None
        assert secret not in reply.file.text()
        receipt = json.loads(reply.text)["data"]["receipt"]
        assert sum(receipt["redacted_now"].values()) == 1
        assert sum(receipt["redacted_when_stored"].values()) == 1


def test_the_events_can_be_read_back(library: Library) -> None:
    _, *lines = text_of(library, "export_session", id=library.session(CUTTER)["id"], format="jsonl").splitlines()
    events = [msgspec.json.decode(line, type=LibraryEvent) for line in lines]
    assert [event.sequence for event in events] == list(range(len(events)))


def test_openapi_names_the_media_types() -> None:
    paths = json.loads(document())["paths"]
    for path in ("/library/sessions/{id}/export", "/library/export"):
        content = paths[path]["get"]["responses"]["200"]["content"]
        assert set(content) - {"application/json"} == {"text/html", "text/markdown", "application/jsonl"}


def test_an_empty_realm_has_nothing_to_export(tmp_path_factory: pytest.TempPathFactory) -> None:
    person = Person(tmp_path_factory.mktemp("empty"))
    realm = LiveRealm(person.settings())
    reply = OPERATIONS["library_export_session"].run(realm, {"id": "last"}, RequestContext.now())
    assert json.loads(reply.text)["error"]["code"] == "not_found"
