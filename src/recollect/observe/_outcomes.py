"""Outcomes: what a tool's response says of success: failed or passed, the line with the error, the tests counted."""

import re

from msgspec import Struct

from recollect.model import Event
from recollect.observe._prose import ANSI, SPACES

NEWLINE = "\n"
HEAD, TAIL = 1_000, 2_500  # characters: compilers put the error first, test runners put the sum last

FAILED = re.compile(
    r"^(?:--- )?FAIL(?:ED|URE)?\b|^E  +\S|\b[1-9]\d* (?:failed|failing|failures?|errors?|problems?)\b|"
    r"Traceback \(most recent|\berror TS\d+|\berror\[E\d+\]|^error(?::|\[)|npm ERR!|^panic: |BUILD FAILED|^ERROR\b|"
    r"AssertionError|Segmentation fault|command not found|Process exited with code [1-9]|\"exit_code\": ?[1-9]|"
    r"<returncode>[1-9]|Exit [Cc]ode:? [1-9]",
    re.MULTILINE,
)
FAILURE_SIGNS = (
    "FAIL",
    "fail",
    "rror",
    "ERR",
    "panic",
    "Traceback",
    "xit",
    "<returncode>",
    "not found",
    "fault",
    "\nE  ",
    "problem",
)
RAISED = re.compile(r"^(?:E   +)?(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Warning|Exit|Failure)\b.*$", re.MULTILINE)
ERROR = re.compile(
    r"^.*(?:\b(?:[A-Z]\w*)?(?:Error|Exception)\b: ?\S|\berror(?:\[E\d+\]| TS\d+)?: ?\S|\bpanic: |\bfatal: |^E   +\S|"
    r"\bERR_[A-Z_]+|\bcannot find \S|\bundefined: \S|No such file|[Cc]ommand not found|Permission denied).*$",
    re.MULTILINE,
)
FAILURE = re.compile(
    r"^.*(?:--- FAIL: \S|^FAIL(?:ED)?[:\t ]+\S|✗ |✕ |not ok \d|\bERROR\b.{0,12}\S).*$", re.MULTILINE
)  # names what failed and not why
NUMBERED = re.compile(r"^\s*(?:\d+[:|→]\s?)+")
PYTEST = re.compile(r"\b(\d+) (passed|failed|errors?|skipped|passing|failing)\b")
JSON_LINES = re.compile(r"\\n")
SPECS = re.compile(r"\b(\d+) (?:examples?|tests?|specs?), (\d+) (?:failures?|failed)")
RAN = re.compile(r"^Ran (\d+) tests? in [\d.]+s?$", re.MULTILINE)
GO_OK = re.compile(r"^ok\s+\S+/\S+\s", re.MULTILINE)
GO_FAIL = re.compile(r"^FAIL\s+\S+/\S+\s", re.MULTILINE)


class Outcome(Struct, frozen=True):
    """How a command ended, as far as its output tells."""

    failed: bool
    error: str = ""
    counts: str = ""


def text_of(response: Event) -> str:
    """The part of an output that is looked at, its lines real lines."""
    text = response.text
    if len(text) > HEAD + TAIL:
        tail = text[-TAIL:]
        text = f"{text[:HEAD]}\n{tail.split(NEWLINE, 1)[-1]}"
    if text.startswith(("{", "[")) and "\\n" in text:
        text = JSON_LINES.sub("\n", text)
    return ANSI.sub("", text) if "\x1b" in text else text


def outcome_of(response: Event, *, checked: bool) -> Outcome:
    """How it ended. What the output says counts only for a check: another command may well print an old error."""
    said = response.failed or response.exit_code not in (None, 0)
    if not checked:
        return Outcome(said, error_in(text_of(response)) if said else "")
    text = text_of(response)
    failed = said or (any(map(text.__contains__, FAILURE_SIGNS)) and FAILED.search(text) is not None)
    return Outcome(failed, error_in(text) if failed else "", counts_in(text))


def error_in(text: str) -> str:
    """The line that names the error: of a traceback the last, of a compiler the first."""
    if "Traceback" in text or "\nE  " in text:
        raised = RAISED.findall(text)
        if raised:
            return _line(str(raised[-1]))
    found = ERROR.search(text) or FAILURE.search(text)
    return _line(found[0]) if found else ""


def _line(text: str) -> str:
    text = NUMBERED.sub("", text[:600])
    return SPACES.sub(" ", text.removeprefix("E ").strip().strip("`")).strip()


def counts_in(text: str) -> str:
    """The sum that a test runner printed: "12 passed, 1 failed"."""
    if "passed" in text or "passing" in text or "failed" in text:
        sums: dict[str, int] = {}
        for number, word in PYTEST.findall(text):
            word = {"passing": "passed", "failing": "failed", "error": "errors"}.get(word, word)
            sums[word] = sums.get(word, 0) + int(number[:9]) if "test result:" in text else int(number[:9])
        if sums.get("passed") or sums.get("failed"):
            return ", ".join(f"{sums[word]} {word}" for word in ("passed", "failed", "errors") if sums.get(word))
    if specs := SPECS.search(text):
        return f"{specs[1]} tests, {specs[2]} failed"
    if ran := RAN.search(text):
        return f"{ran[1]} tests run"
    good, bad = len(GO_OK.findall(text)), len(GO_FAIL.findall(text))
    if good + bad:
        return f"{good} package{'s' if good != 1 else ''} passed" + (f", {bad} failed" if bad else "")
    return ""
