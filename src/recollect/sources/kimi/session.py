"""Parts that Kimi's formats share: the session of a file, token counts, and the end of a turn."""

import re
from pathlib import Path

from msgspec import Struct

from recollect.model import AGENT_KINDS, Entry, Kind, Record, Stop, Usage
from recollect.sources.formats.container import Line
from recollect.sources.formats.message import RecordBuilder
from recollect.sources.formats.usage import tokens
from recollect.sources.formats.values import UUID

PART = re.compile(
    rf"({UUID.pattern})_(.+)", UUID.flags
)  # a sub-agent's context, or an older context that a compaction moved
EXIT_CODE = re.compile(r"Command failed with exit code: (\d{1,9})\b")


def session_of(path: Path) -> tuple[str, str | None]:
    """The session of a file, and its parent if it is a sub-agent's."""
    folder, stem = path.parent, path.stem
    if stem == "wire" or stem.partition("_")[0] == "context":
        if folder.parent.name in {"agents", "subagents"}:
            root, part = folder.parent.parent.name, folder.name
        else:
            root, part = folder.name, stem.partition("_")[2]
    else:
        match = PART.fullmatch(stem)
        root, part = (match[1], match[2]) if match else (stem, "")
    return (root, None) if part in {"", "main"} else (f"{root}/{part}", root)


def exit_code_of(text: str) -> int | None:
    code = EXIT_CODE.search(text)
    return int(code[1]) if code else None


# kimi-cli names its counts in snake case, kimi-code in camel case
usage_of = tokens(
    input=("input_other", "inputOther"),
    output="output",
    cache_read=("input_cache_read", "inputCacheRead"),
    cache_write=("input_cache_creation", "inputCacheCreation"),
)


class Wire(Struct, kw_only=True):
    """One session of a wire while it is read: its entries so far, to which later lines add tokens and ends."""

    session: str
    model: str | None = None
    entries: list[Entry] = []
    repeated: list[str] = []  # prompts that a later message will repeat
    step: Record | None = None  # the agent's first record in the running step
    answer: Record | None = None  # the agent's last response in the running turn
    stopped: bool = False  # the running turn was interrupted
    usage: Usage | None = None  # of a model call outside any step

    def builder(self, place: int, line: Line, at: int | None = None) -> RecordBuilder:
        return RecordBuilder(session=self.session, key=f"{self.session}@{place}", at=at, line=line.number, model=self.model)

    def add(self, *entries: Entry) -> None:
        for entry in entries:
            self.entries.append(entry)
            if isinstance(entry, Record) and entry.kind in AGENT_KINDS:
                self.step = self.step or entry
                self.answer = entry if entry.kind is Kind.ASSISTANT_RESPONSE else self.answer

    def begin_turn(self) -> None:
        self.step, self.answer, self.stopped = None, None, False

    def begin_step(self) -> None:
        self.step = None

    def add_usage(self, usage: Usage | None) -> None:
        if self.step is not None and self.step.usage is None:
            self.step.usage = usage

    def interrupt(self, record: Record) -> None:
        """Add the record that ends the running turn early."""
        self.stopped = True
        self.add(record)

    def end_turn(self) -> bool:
        """Mark the answer as the turn's end. False if the turn has no answer and was not interrupted."""
        if self.answer is not None and not self.stopped:
            self.answer.stop = Stop.ANSWER
        return self.stopped or self.answer is not None
