"""Reading a log with any long value takes time and memory in proportion to its length.

Every run takes a few values of each source. RECOLLECT_EVERY_VALUE=1 takes all of them, which takes half an hour.
"""

import os
import re
import tempfile
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from recollect.ingest import sync
from recollect.settings import Settings
from recollect.sources import all_sources
from tests.golden import NAMED
from tests.long_values import LongValue, values_by_source

SMALL, LARGE = 50_000, 200_000  # characters of the value
MOST = 8  # times the small value's cost that the large one may take: 4 in theory
LEAST_S = 0.4  # seconds of the processor below which nothing is compared: most of it is not the value's
LEAST_BYTES = 24 << 20
A_SOURCE = 2  # values of each source in an ordinary run
A_TEXT = 6  # and places for each text that never ends
EVERY = bool(os.environ.get("RECOLLECT_EVERY_VALUE"))
VALUES = values_by_source()

UNCLOSED = {  # beginnings that a source looks for, and that nothing ends
    "antigravity": ["<USER_REQUEST>", " "],
    "aider": ["1", "- "],
    "claude-code": ["<command-name>", "<command-name></command-args>", "<system-reminder>", "plugin_recollect_"],
    "cline": ["<user_input>", "<mode_notice>", "<read_file><path>"],
    "cursor": ["<user_query>  ", "<timestamp>", " \n"],
    "gptme": ["<thinking> ", "```sh\n", "@shell(a): {\n"],
    "hermes": ["<think>", "<tool_call></think"],
    "openclaw": ["Context", "\n[from: x]", "[Subagent Context]", "System: [x] y\n\n"],
    "posit-assistant": ["  <MESSAGESUMMARY>"],
    "specstory": ['<tool-use data-tool-type="x" data-tool-name="y"><details>\n<summary>a</summary>\n'],
}
SPOKEN = re.compile(r"longer .*(?:user|assistant).*\.(?:text|content)$|longer \.md line", re.IGNORECASE)


class Cost(NamedTuple):
    seconds: float
    bytes: int


def cost(value: LongValue, size: int) -> Cost:
    """The time and memory of a first sync of a home with one long value."""
    with tempfile.TemporaryDirectory() as folder:
        home, realm = Path(folder, "home"), Path(folder, "realm")
        value.lay_out(home, size)
        if EVERY or value.how == "longer":  # tracing the memory of many small values is slow
            tracemalloc.start()
        started = time.process_time()
        for paths in (None, [home / NAMED]) if (home / NAMED).exists() else (None,):
            sync(realm, Settings(home=Path(folder)), all_sources(), {"HOME": str(home)}, paths)
        seconds, (_, peak) = time.process_time() - started, tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return Cost(seconds, peak)


def check(value: LongValue) -> None:
    large = cost(value, LARGE)
    if large.seconds <= LEAST_S and large.bytes <= LEAST_BYTES:
        return
    small = cost(value, SMALL)
    assert large.seconds <= max(LEAST_S, MOST * small.seconds), f"{value.name}: {small.seconds:.2f} s, {large.seconds:.2f} s"
    assert large.bytes <= max(LEAST_BYTES, MOST * small.bytes), f"{value.name}: {small.bytes:,} bytes, {large.bytes:,} bytes"


@pytest.mark.parametrize("source", VALUES)
def test_a_value_of_any_length_takes_time_in_proportion(source: str) -> None:
    for value in VALUES[source] if EVERY else VALUES[source][:A_SOURCE]:
        check(value)


@pytest.mark.parametrize(("source", "text"), [(source, text) for source, texts in UNCLOSED.items() for text in texts])
def test_repeated_beginnings_without_an_end_take_time_in_proportion(source: str, text: str) -> None:
    spoken = [value for value in VALUES[source] if SPOKEN.search(value.shape)]
    for value in spoken if EVERY else spoken[:A_TEXT]:
        check(replace(value, text=text))
