"""The brief of a session for another agent: goal, state, decisions, open ends, files, last exchange; within a budget.

Everything is taken from the record and quoted; no model is asked, so the same record gives the same brief.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from recollect.continuation.quotation import list_lines, quote_within
from recollect.continuation.session_record import ChangedFile, LastExchange, SessionRecord, TurnSummary
from recollect.continuation.token_budget import CHARS_PER_TOKEN, DEFAULT_TOKENS, Claim, count_tokens, divide
from recollect.display import DATA, code_span, one_line
from recollect.label import label
from recollect.store import SessionRow

MAX_LABEL = 200  # characters of a request, an outcome or a step of a plan
MAX_ASKED = 140  # characters of the request of one of many turns
MAX_COMMAND, MAX_ERROR = 120, 160  # characters of a failed command, and of its error
BINDING = ("decision", "pattern", "config")  # types of observations that later work must respect
EXPLAINING = ("diagnosis", "bug-fix", "discovery")
MAX_FACTS = 2  # facts of an observation that follow its title
QUESTION = re.compile(r"[^.!?\n]{8,300}\?(?=\s|$)")
MAX_QUESTIONS = 3
ASKED_AT_END = 600  # characters at the end of an answer, in which its questions are open
MAX_READ_FILES = 12  # of the files that were only read, the last ones: the agent finds others itself
MAX_COMMITS = 3
STOPS = {
    "interrupt": "It was interrupted.",
    "cancel": "It was cancelled.",
    "crash": "It ended by an error.",
    "exit": "The program was closed.",
}


class Brief(Struct, frozen=True):
    """A text for an agent, and what it costs."""

    text: str
    tokens: int
    budget: int


class BriefPart(Struct, frozen=True, kw_only=True):
    """A part of a brief: a text that may be cut in its middle, or items of which the most important ones stay."""

    section: str
    heading: str = ""
    text: str = ""
    items: Sequence[str] = ()
    newest_last: bool = True  # of the items, the last ones are the most important
    share: int  # of the budget, if not every block can have what it needs

    def is_empty(self) -> bool:
        return not self.text and not self.items

    def need(self) -> int:
        """The characters of the whole block."""
        return len(self.render(1 << 40))

    def render(self, length: int) -> str:
        """The block in at most so many characters; empty if nothing useful fits."""
        head = f"{self.heading}\n" if self.heading else ""
        room = length - len(head)
        body = quote_within(self.text, room) if self.text else _fit_items(self.items, room, newest_last=self.newest_last)
        return f"{head}{body}" if body else ""


def make_brief(record: SessionRecord, budget: int = DEFAULT_TOKENS) -> Brief:
    """The brief of a session in at most `budget` tokens."""
    opening = _opening(record)
    blocks = [block for block in _blocks(record, budget) if not block.is_empty()]
    headings = sum(len(f"## {section}\n") for section in {block.section for block in blocks})
    room = budget * CHARS_PER_TOKEN - len(opening) - headings - 2 * len(blocks)
    lengths = divide(room, [Claim(block.need(), block.share) for block in blocks])
    parts = [opening]
    section = ""
    for block, length in zip(blocks, lengths, strict=True):
        if rendered := block.render(length):
            parts.append(f"## {block.section}\n{rendered}" if block.section != section else rendered)
            section = block.section
    text = "\n\n".join(parts)
    return Brief(text, count_tokens(text), budget)


def _fit_items(items: Sequence[str], length: int, *, newest_last: bool) -> str:
    """The most important items that fit, in their order, with a line that says how many are missing."""
    lines = list_lines(items)
    if sum(map(len, lines)) + len(lines) <= length + 1:
        return "\n".join(lines)
    room = length - len(_missing(len(lines)))
    chosen: list[str] = []
    for line in reversed(lines) if newest_last else lines:
        if len(line) + 1 > room:
            break
        room -= len(line) + 1
        chosen.append(line)
    if not chosen:
        return ""
    missing = _missing(len(lines) - len(chosen))
    return "\n".join([missing, *reversed(chosen)] if newest_last else [*chosen, missing])


def _missing(count: int) -> str:
    return f"[{count:,} more left out]"


# ---- what is said


def _opening(record: SessionRecord) -> str:
    session = record.session
    lines = [
        f"# Brief of an earlier session of {record.agent}",
        f'Recollect made it from the session\'s log. Lines that begin with "> " are {DATA}',
        "Use it to go on with the work. Check the files before you rely on it: they may have changed since.",
        "",
        f"- Session: session:{session.id.hex()}; `recollect show session:{session.id.hex()}` reads it in full",
        f"- When: {_period(session)}, {_turns(session.turn_count)}",
    ]
    places = [("Project", session.project), ("Folder", session.cwd), ("Branch", session.branch), ("Model", session.model)]
    lines += [f"- {name}: {code_span(label(value, MAX_LABEL))}" for name, value in places if value]
    if record.is_sub_agent:
        lines.append("- Another session started it as a sub-agent.")
    return "\n".join(lines)


def _blocks(record: SessionRecord, budget: int) -> list[BriefPart]:
    """All blocks, in the order in which they are read."""
    last = record.last
    earlier = [turn for turn in record.turns if last is None or turn.number != last.turn]
    goal = earlier[0].request if earlier else label(last.request, MAX_LABEL) if last is not None else ""
    since = [turn for turn in earlier if turn.number >= record.compacted_in]
    compacted = f"The agent's own summary of the turns before turn {record.compacted_in}:"
    plan = record.plan
    return [
        *_continued_blocks(record, budget),
        BriefPart(section="Goal", text=goal, share=14),
        BriefPart(section="State", items=_state(record), share=6),
        BriefPart(section="State", heading="A note of the person:", text=record.note, share=5),
        BriefPart(section="State", heading=compacted, text=record.compaction, share=18),
        BriefPart(section="State", heading="Turn by turn:", items=[_turn_item(turn) for turn in since], share=14),
        BriefPart(
            section="State",
            heading=f"The agent's plan, as of turn {plan.turn if plan is not None else 0}:",
            items=_plan_items(record),
            newest_last=False,
            share=8,
        ),
        BriefPart(section="Decisions and findings", heading="Decided:", items=_observed(record, BINDING), share=10),
        BriefPart(section="Decisions and findings", heading="Found out:", items=_observed(record, EXPLAINING), share=6),
        BriefPart(section="Open ends", items=_open_ends(record), share=9),
        BriefPart(section="Files", heading="Changed:", items=_changed_files(record.files), share=7),
        BriefPart(section="Files", heading="Only read:", items=_read_files(record.files), share=2),
        *_exchange_blocks(record.before, "The exchange before the last", 18),
        *_exchange_blocks(last, "Last exchange", 26),
    ]


def _continued_blocks(record: SessionRecord, budget: int) -> list[BriefPart]:
    """The brief of the session that this one goes on with."""
    if record.continued is None:
        return []
    return [
        BriefPart(
            section="The session that this one goes on with", text=make_brief(record.continued, budget // 2).text, share=30
        )
    ]


def _exchange_blocks(exchange: LastExchange | None, section: str, share: int) -> list[BriefPart]:
    if exchange is None:
        return []
    asked = f"The person asked (turn {exchange.turn}):"
    return [
        BriefPart(section=section, heading=asked, text=exchange.request, share=share * 6 // 10),
        BriefPart(section=section, heading="The agent then did:", items=exchange.actions, share=share * 3 // 10),
        BriefPart(section=section, heading="The agent answered:", text=exchange.answer, share=share),
    ]


def _turn_item(turn: TurnSummary) -> str:
    parts = [STOPS.get(turn.stop or "", ""), label(turn.outcome, MAX_LABEL)]
    return f"{turn.number}. Asked: {label(turn.request, MAX_ASKED)} — Outcome: {' '.join(filter(None, parts)) or 'none'}"


def _state(record: SessionRecord) -> list[str]:
    last = record.last
    if last is None:
        return ["Nobody asked for anything yet."]
    if last.was_cut_off():
        lines = [f"The last turn is not finished. {STOPS[str(last.stop)]}"]
    elif not last.answer:
        lines = ["The last turn has no answer: the agent was still working, or the log ends early."]
    else:
        lines = ["The last turn was answered."]
    if record.commits:
        commits = [label(subject, MAX_COMMAND) for subject in record.commits[-MAX_COMMITS:]]
        lines.append(f"Last commits: {'; '.join(commits)}")
    return lines


def _plan_items(record: SessionRecord) -> list[str]:
    """The steps of the plan, those that are not done first."""
    steps = sorted(record.plan.steps if record.plan is not None else (), key=lambda step: step.is_done())
    return [f"[{'x' if step.is_done() else ' '}] {label(step.text, MAX_LABEL)}" for step in steps]


def _observed(record: SessionRecord, types: Sequence[str]) -> list[str]:
    """Observations of these types with their facts. One whose title is only a question says nothing."""
    items = []
    for observation in record.observations:
        if observation.type in types and not observation.title.endswith("?"):
            facts = [fact for fact in observation.facts if fact.rstrip(".") not in observation.title][:MAX_FACTS]
            items.append(" — ".join([observation.title, *facts]))
    return list(dict.fromkeys(items))


def _open_ends(record: SessionRecord) -> list[str]:
    """What is not done: the request without an answer, failing commands, questions that the agent asked, open steps."""
    last = record.last
    items = []
    undone = [step for step in record.plan.steps if not step.is_done()] if record.plan is not None else []
    if undone:
        items.append(f"Steps of the plan that are not done: {len(undone)}")
    for failed in record.failures:
        error = f" — {label(failed.error, MAX_ERROR)}" if failed.error else ""
        items.append(f"Failed in turn {failed.turn}: {label(failed.command, MAX_COMMAND)}{error}")
    if last is not None:
        items += [
            f"The agent asked: {one_line(text)}" for text in QUESTION.findall(last.answer[-ASKED_AT_END:])[-MAX_QUESTIONS:]
        ]
        if not last.answer or last.was_cut_off():
            items.append(f"Not finished: {label(last.request, MAX_LABEL)}")
    return items


def _changed_files(files: Iterable[ChangedFile]) -> list[str]:
    items = []
    for file in files:
        lines = f" (+{file.added} -{file.removed})" if file.added or file.removed else ""
        done = [operation for operation in file.operations if operation in ("created", "deleted")]
        if done or "changed" in file.operations:
            items.append(f"{file.path}{lines}{', ' if done else ''}{', '.join(done)}")
    return items


def _read_files(files: Iterable[ChangedFile]) -> list[str]:
    return [file.path for file in files if file.operations == ["read"]][-MAX_READ_FILES:]


def _period(session: SessionRow) -> str:
    first, last = _time(session.started_at), _time(session.updated_at)
    return f"{'about ' if session.estimated else ''}{first}{'' if first == last else f' to {last}'} UTC"


def _time(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds // 1_000, UTC):%Y-%m-%d %H:%M}"


def _turns(count: int) -> str:
    return "1 turn" if count == 1 else f"{count:,} turns"
