"""Sessions as Markdown: prompts quoted, answers as they are, tool calls folded to one line each."""

from collections.abc import Iterator, Sequence

from recollect.display import MARK, one_line
from recollect.export.call_summary import call_outcome, call_summary, shown_arguments
from recollect.export.facts import facts_of, title_of, turn_facts, utc_minute
from recollect.export.fences import contained, fenced, field, summary_html
from recollect.export.length_limits import LengthLimits, budget_of, short_label
from recollect.export.redactor import ExportRedactor
from recollect.export.session_content import SessionContent
from recollect.export.steps import TranscriptStep, join_calls
from recollect.label import label
from recollect.library_answers import LibraryEvent, LibrarySession

LABEL = 110  # bytes of a folded text that stand in its line
TAIL = 0.35  # part of a cut output that is its end: errors are there
FOLDED = {"reasoning": "Reasoning", "system": "Context", "compaction": "Compaction", "runtime": "Notice"}
MATCH = 160  # characters of a match


class MarkdownDocument:
    """Writes Markdown for sessions, one after the other."""

    def __init__(self, title: str, redactor: ExportRedactor, *, is_single: bool, is_full: bool) -> None:
        self._title = title
        self._redactor = redactor
        self._receipt = redactor.receipt
        self._is_single = is_single
        self._is_full = is_full
        self._all_events = 0
        self._folder: str | None = None

    def begin(self, sessions: Sequence[LibrarySession]) -> Iterator[str]:
        self._all_events = sum(session.events for session in sessions)
        if self._is_single:
            return
        yield f"# {summary_html(self._title)}\n\n"
        for session in sessions:
            yield f"- {summary_html(title_of(session))} ({session.agent}, {utc_minute(session.updated_at)})\n"
        yield "\n"

    def session(self, number: int, content: SessionContent) -> Iterator[str]:
        """One session. `number` counts from 1."""
        self._folder = content.session.folder
        yield f"# {summary_html(title_of(content.session))}\n\n"
        yield "".join(field(name, value) for name, value in facts_of(content.session)) + "\n"
        if content.matches:
            yield "Found:\n\n" + "".join(f"- {summary_html(label(match.text, MATCH))}\n" for match in content.matches) + "\n"
        limits = LengthLimits(() if self._is_full else content.sizes, budget_of(len(content.sizes), self._all_events))
        turns = {turn.number: turn for turn in content.turns}
        redacted = (event for batch in content.events for event in self._redactor.redact_events(batch))
        current = None
        for step in join_calls(redacted):
            piece = self._step(step, limits)
            if step.event.turn != current:
                current = step.event.turn
                facts = " · ".join(turn_facts(turns.get(current), content.session))
                piece = f"## Turn {current}\n\n{facts}\n\n{piece}"
            limits.wrote(1 + (step.response is not None), len(piece.encode()))
            if piece:
                yield piece

    def end(self) -> Iterator[str]:
        yield f"---\n\n{' '.join(self._receipt.sentences())} Exported by Recollect. Times are in UTC.\n"

    def _step(self, step: TranscriptStep, limits: LengthLimits) -> str:
        event = step.event
        match event.type:
            case "user_input":
                text = self._counted(contained(event.text, limits.limit(event.type)))
                return "\n".join(f"{MARK}{line}".rstrip() for line in text.split("\n")) + "\n\n" + _note(event)
            case "assistant_response":
                text = self._counted(contained(event.text, limits.limit(event.type)))
                return f"{text}\n\n{_note(event)}" if text.strip() else ""
            case "tool_call" | "tool_response":
                return self._call(step, limits)
            case "reasoning" | "system" | "compaction":
                return self._folded(event, limits)
            case "runtime" if event.usage is None and event.text.strip():
                return self._folded(event, limits)
        self._receipt.events_left_out += 1
        return ""

    def _call(self, step: TranscriptStep, limits: LengthLimits) -> str:
        event, output = step.event, step.output
        name = event.tool or (output.tool if output is not None else None) or "tool"
        summary = call_summary(step, self._folder) if step.is_call else "result"
        blocks = []
        if event.diff:
            blocks.append(self._counted(fenced(event.diff, limits.limit(event.type), language="diff")))
        if step.is_call and (arguments := shown_arguments(step)):
            blocks.append(self._counted(fenced(arguments, limits.limit(event.type))))
        if output is not None and output.text.strip():
            blocks.append(self._counted(fenced(output.text, limits.limit(output.type), tail=TAIL)))
        line = " · ".join(filter(None, [summary, *call_outcome(step)]))
        return _details(f"<b>{summary_html(name)}</b> {summary_html(line)}", blocks) + _note(event)

    def _folded(self, event: LibraryEvent, limits: LengthLimits) -> str:
        if not event.text.strip():
            return ""
        line = short_label(event.text, LABEL)
        whole = event.text.strip() == line
        blocks = [] if whole else [self._counted(fenced(event.text, limits.limit(event.type)))]
        return _details(f"{FOLDED[event.type]}: {summary_html(line)}", blocks) + _note(event)

    def _counted(self, text: tuple[str, bool]) -> str:
        markdown, is_cut = text
        self._receipt.texts_shortened += is_cut
        return markdown


def _details(summary: str, blocks: list[str]) -> str:
    """A line that unfolds. The empty lines make Markdown of what is inside."""
    inner = "".join(f"\n{block}" for block in blocks)
    return f"<details><summary>{summary}</summary>\n{inner}\n</details>\n\n"


def _note(event: LibraryEvent) -> str:
    return f"**Note:** {summary_html(one_line(event.note))}\n\n" if event.note else ""
