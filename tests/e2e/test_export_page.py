"""An exported HTML document in a real browser: it needs no network and no script, and fits every screen (L7)."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser import started_browser
from tests.conftest import Person
from tests.e2e.hostile_text import HOSTILE
from tests.library_content import Events, content, document
from tests.logs import Claude, write

ATTACK = "<script>document.title='owned'</script><img src=https://example.org/x.png onerror=alert(1)>"
WIDE = "a_very_long_word_" * 40


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page that the command line wrote."""
    person = Person(tmp_path_factory.mktemp("person"))
    log = Claude()
    old, new = "old = 1\n" * 30, f"new = 2  # {WIDE}\n" * 30
    lines = [
        log.prompt(f"Fix the flaky test {ATTACK} {HOSTILE}"),
        log.thinks(f"Let me look. {ATTACK}\nMore."),
        log.calls("Bash", "b1", command=f"pytest -q {ATTACK}"),
        log.result("b1", f"1 failed {ATTACK}\n{WIDE}\x1b[31mred", failed=True),
        log.calls("Edit", "e1", file_path="/work/app/a.py", old_string=old, new_string=new),
        log.result("e1", "edited"),
        log.says(f"# Done\n\nIt **passes**. {ATTACK}\n\n| a | b |\n|---|---|\n| {WIDE} | 2 |\n\n```py\nx = '{WIDE}'\n```\n"
                 "[docs](https://example.org/docs) ![](https://example.org/y.png)"),
        log.prompt("Go on"),
        log.says("Nothing more."),
    ]  # fmt: skip
    write(person.claude_log(log.session), lines)
    person.run("sync", "--no-distil")
    file = tmp_path_factory.mktemp("exported") / "session.html"
    person.run("export", "last", "-o", str(file))
    return file


@pytest.fixture
def opened(browser: Browser, page_file: Path) -> Iterator["OpenPage"]:
    with browser.new_context(offline=True) as context:
        yield OpenPage(context, page_file)


class OpenPage:
    """A page, what it asked for, and what the browser complained of."""

    def __init__(self, context: BrowserContext, file: Path) -> None:
        self.page: Page = context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda said: self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.url = file.as_uri()
        self.page.goto(self.url)


def test_it_opens_without_a_request_and_without_a_complaint(opened: OpenPage) -> None:
    for fold in opened.page.locator("details").all():
        fold.locator("summary").first.click()
    assert opened.requests == [opened.url]
    assert opened.complaints == []
    assert opened.page.title() != "owned"
    assert opened.page.locator("script, img, iframe, link, form, input").count() == 0


def test_everything_that_was_said_can_be_read(opened: OpenPage) -> None:
    page = opened.page
    expect(page.locator(".prompt").first).to_contain_text("<script>document.title='owned'</script>")
    expect(page.locator(".answer").first).to_contain_text("It passes.")
    expect(page.locator(".answer strong")).to_have_text("passes")
    bash = page.locator("details", has_text="pytest -q").first
    expect(bash.locator("pre").last).to_be_hidden()
    bash.locator("summary").click()
    expect(bash.locator("pre").last).to_be_visible()
    expect(bash.locator("pre").last).to_contain_text("1 failed <script>")
    expect(page.locator("del").first).to_contain_text("old = 1")
    expect(page.locator("footer")).to_contain_text("No secret was found.")


def test_a_prompt_in_the_outline_leads_to_its_turn(opened: OpenPage) -> None:
    opened.page.get_by_role("link", name="Go on").click()
    expect(opened.page).to_have_url(re.compile("#t2$"))
    expect(opened.page.locator("#t2")).to_be_in_viewport()


def test_a_link_to_a_folded_result_unfolds_it(opened: OpenPage) -> None:
    output = opened.page.locator("details pre[id]").first
    expect(output).to_be_hidden()
    opened.page.goto(f"{opened.url}#{output.get_attribute('id')}")
    expect(output).to_be_visible()


@pytest.mark.parametrize("width", [320, 360, 820, 1_400])
def test_nothing_is_wider_than_the_screen(opened: OpenPage, width: int) -> None:
    opened.page.set_viewport_size({"width": width, "height": 800})
    for fold in opened.page.locator("details").all():
        fold.locator("summary").first.click()
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast_in_light_and_dark(browser: Browser, page_file: Path, scheme: str) -> None:
    with browser.new_context(offline=True, color_scheme=scheme) as context:  # type: ignore[arg-type]
        page = OpenPage(context, page_file).page
        page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
        paper = _colour(page, "body", "background-color")
        assert (sum(paper) < 300) is (scheme == "dark")
        for part in ("body", "dt", "nav a", "h2", "summary b", ".failed > summary b"):
            assert _contrast(_colour(page, part, "color"), paper) >= 4.5, part
        for part in ("ins", "del", "pre", ".prompt"):
            assert _contrast(_colour(page, part, "color"), _colour(page, part, "background-color")) >= 4.5, part


def _colour(page: Page, part: str, name: str) -> list[int]:
    value = page.locator(part).first.evaluate(f"element => getComputedStyle(element).getPropertyValue('{name}')")
    return [int(number) for number in re.findall(r"\d+", value)[:3]]


def _contrast(one: list[int], other: list[int]) -> float:
    """The contrast of two colours, as WCAG defines it."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: list[int]) -> float:
    parts = [value / 255 for value in colour]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_a_page_of_1000_events_opens_at_once(browser: Browser, tmp_path: Path) -> None:
    events = Events()
    for number in range(500):
        events.turn = 1 + number // 10
        events.call("Bash", "output <of> a & command\n" * 400, command=f"make {number}")
    file = tmp_path / "long.html"
    file.write_text(document("html", content(events.all))[0], "utf-8")
    assert file.stat().st_size <= 1_000_000
    with browser.new_context(offline=True) as context:
        page = OpenPage(context, file).page
        expect(page.locator("details")).to_have_count(500)
