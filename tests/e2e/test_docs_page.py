"""The page at /docs, in a real browser: every operation with a form that calls it."""

import json
import re
import shlex
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from recollect.surfaces.http.openapi import document
from tests.browser import started_browser
from tests.conftest import Person
from tests.http_server import HttpServer

OPERATIONS = [
    (method.upper(), path, operation["summary"])
    for path, methods in json.loads(document())["paths"].items()
    for method, operation in methods.items()
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with HttpServer(Person(tmp_path_factory.mktemp("person"))) as server:
        yield server


def new_link(server: HttpServer) -> str:
    """An address that signs one browser in."""
    return str(server.ask("POST", "/login-links")[1]["url"])


class Docs:
    """The page in a browser, and the errors that the browser logged."""

    def __init__(self, page: Page, url: str, link: str) -> None:
        self.page = page
        self.url = url
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.goto(link)
        page.on("console", lambda said: self.complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(f"{url}/docs")
        expect(page.locator("details")).to_have_count(len(OPERATIONS))

    def shown(self) -> list[tuple[str, ...]]:
        """The visible operations: method, path and summary."""
        entries = self.page.locator("details:visible summary")
        return [tuple(words.split("\n")) for words in entries.all_inner_texts()]

    def opened(self, method: str, path: str) -> Locator:
        """The form of an operation."""
        entry = self.page.locator("details").filter(
            has=self.page.locator("summary b", has_text=re.compile(f"^{method}$"))
        ).filter(has=self.page.locator("summary code", has_text=re.compile(f"^{re.escape(path)}$")))  # fmt: skip
        expect(entry).to_have_count(1)
        entry.locator("summary").click()
        return entry


@pytest.fixture
def docs(browser: Browser, server: HttpServer) -> Iterator[Docs]:
    with browser.new_context() as context:
        yield Docs(context.new_page(), server.url, new_link(server))


def send(form: Locator, status: int) -> str:
    """Send the form. Returns the response."""
    form.get_by_role("button", name="Send").click()
    expect(form.get_by_role("status")).to_have_text(re.compile(rf"^{status} in \d+ ms$"))
    expect(form.locator("pre")).not_to_be_empty()
    return form.locator("pre").inner_text()


def test_every_operation_is_listed_under_its_family(docs: Docs) -> None:
    assert sorted(docs.shown()) == sorted(OPERATIONS)
    families = [name.lower() for name in docs.page.locator("h2").all_inner_texts()]
    assert families == ["history", "journeys", "sessions", "library", "tools", "server"]


def test_the_page_loads_nothing_from_other_sites_and_logs_no_error(docs: Docs) -> None:
    for method, path in (
        ("GET", "/search"),
        ("POST", "/sessions"),
        ("PATCH", "/config"),
        ("GET", "/sessions/{session_id}/events"),
    ):
        docs.opened(method, path)
    docs.page.wait_for_load_state("networkidle")
    assert docs.complaints == []
    assert {url.removeprefix(docs.url) for url in docs.requests} == {
        "/docs",
        "/docs.css",
        "/docs.js",
        "/docs.svg",
        "/openapi.json",
    }


def test_operations_that_do_not_match_the_filter_are_hidden(docs: Docs) -> None:
    docs.page.get_by_label("Filter operations").fill("POST journeys")
    assert docs.shown()
    assert all(method == "POST" and "journey" in path for method, path, _ in docs.shown())
    assert docs.page.locator("h2:visible").all_inner_texts() == ["JOURNEYS"]
    docs.page.get_by_label("Filter operations").fill("no such thing")
    assert docs.shown() == []
    docs.page.get_by_label("Filter operations").fill("")
    assert len(docs.shown()) == len(OPERATIONS)


def test_a_form_creates_a_session(docs: Docs) -> None:
    form = docs.opened("POST", "/sessions")
    form.get_by_label("Body").fill('{"prompt": "hello", "command": ["cat"]}')
    answer = json.loads(send(form, 200))
    assert answer["text"] == "hello"
    listed = docs.opened("GET", "/sessions")
    listed.get_by_label("limit").fill("1")
    assert json.loads(send(listed, 200))["sessions"][0]["session_id"] == answer["session_id"]
    assert docs.complaints == []


def test_an_object_is_entered_as_key_and_value(docs: Docs, server: HttpServer) -> None:
    created = server.ask("POST", "/sessions", {"initial_turn": "deferred", "labels": {"team": "core"}})[1]
    form = docs.opened("GET", "/sessions")
    form.get_by_label("labels").fill("team=core")
    assert [row["session_id"] for row in json.loads(send(form, 200))["sessions"]] == [created["session_id"]]


def test_events_are_shown_as_they_arrive(docs: Docs, server: HttpServer) -> None:
    session = server.ask("POST", "/sessions", {"initial_turn": "deferred"})[1]["session_id"]
    form = docs.opened("GET", "/sessions/{session_id}/events")
    form.get_by_label("session_id").fill(session)
    form.get_by_role("button", name="Send").click()
    expect(form.get_by_role("status")).to_have_text(re.compile("^200 "))
    server.ask("POST", f"/sessions/{session}/messages", {"prompt": "hello", "command": ["cat"]})
    expect(form.locator("pre")).to_contain_text('"type":"text_delta","delta":"hello"')
    expect(form.locator("pre")).to_contain_text("turn_completed")
    form.get_by_role("button", name="Stop").click()
    expect(form.get_by_role("status")).to_have_text("stopped")
    assert docs.complaints == []


def test_an_error_shows_its_status_and_message(docs: Docs) -> None:
    form = docs.opened("GET", "/sessions/{session_id}")
    form.get_by_label("session_id").fill("nonsense ? & # %2F more")
    assert json.loads(send(form, 400))["code"] == "INVALID_PARAMS"
    expect(form.get_by_role("status")).to_have_class(re.compile("bad"))
    form.get_by_label("session_id").fill("00000000-0000-4000-8000-000000000000")
    assert json.loads(send(form, 404))["code"] == "SESSION_NOT_FOUND"


def test_a_missing_required_argument_is_reported_before_anything_is_sent(docs: Docs) -> None:
    form = docs.opened("GET", "/sessions/{session_id}")
    form.get_by_role("button", name="Send").click()
    expect(form.get_by_label("session_id")).to_be_focused()
    expect(form.locator("pre")).to_be_hidden()
    assert not [url for url in docs.requests if "/sessions" in url]


def test_every_form_starts_with_a_valid_body(docs: Docs) -> None:
    for method, path, _ in OPERATIONS:
        form = docs.opened(method, path)
        if form.get_by_label("Body").count():
            body = json.loads(form.get_by_label("Body").input_value())
            schema = json.loads(document())["paths"][path][method.lower()]["requestBody"]["content"]["application/json"][
                "schema"
            ]
            assert set(body) == set(schema.get("required", ()))


def test_a_request_can_be_copied_as_a_shell_command(browser: Browser, server: HttpServer) -> None:
    with browser.new_context(permissions=["clipboard-read", "clipboard-write"]) as context:
        docs = Docs(context.new_page(), server.url, new_link(server))
        form = docs.opened("POST", "/sessions")
        form.get_by_label("Body").fill('{"prompt": "it\'s so"}')
        form.get_by_role("button", name="Copy as curl").click()
        expect(form.get_by_role("status")).to_have_text("copied")
        copied = docs.page.evaluate("() => navigator.clipboard.readText()")
    headers = ["-H", "Authorization: Bearer $(recollect token)", "-H", "content-type: application/json"]
    words = ["curl", "-X", "POST", f"{server.url}/sessions", *headers, "-d", '{"prompt": "it\'s so"}']
    assert shlex.split(copied) == words


def test_a_person_signs_in_with_the_link_or_the_token(browser: Browser, server: HttpServer) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{server.url}/docs")
        expect(page.get_by_role("heading")).to_have_text("Sign in to Recollect")
        page.get_by_label("token").fill("not the token of anybody")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_have_text("This is not the server's token. recollect token prints it.")
        page.get_by_label("token").fill(str(server.token))
        page.get_by_role("button", name="Sign in").click()
        expect(page).to_have_url(f"{server.url}/docs")
        expect(page.locator("details")).to_have_count(len(OPERATIONS))
        assert str(server.token) not in page.content()
    with browser.new_context() as context:
        page = context.new_page()
        link = new_link(server)
        page.goto(link)
        expect(page).to_have_url(f"{server.url}/docs")
        assert page.evaluate("document.cookie") == ""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(link)
        expect(page.get_by_role("alert")).to_contain_text("This link was used before")
