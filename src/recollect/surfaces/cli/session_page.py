"""A session as a terminal or a pipe shows it: read like a document, from the first prompt to the last answer."""

import textwrap
from collections.abc import Iterable, Mapping

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown
from rich.padding import Padding
from rich.text import Text
from rich.theme import Theme

from recollect.display import neutralise, one_line
from recollect.export.call_summary import call_outcome, call_summary, shown_arguments
from recollect.export.facts import facts_of, title_of, turn_facts
from recollect.export.steps import TranscriptStep, join_calls
from recollect.label import plural
from recollect.library_answers import LibraryEvent, LibrarySession, LibraryTurn
from recollect.surfaces.cli.local_times import local_minute
from recollect.surfaces.cli.short_forms import Shorten

BAR = "▌ "  # before every line of a prompt
QUOTE = "> "  # the same in a pipe
DIFF_LINES = 16  # of an edit that are shown while it is folded: most edits are smaller
FOLDED = {"reasoning": "Reasoning", "system": "Context", "compaction": "Compaction", "runtime": "Notice"}
INDENT = "    "
IDS = ("ID", "Part of")  # facts that are shown in the short form of ids
STYLES = Theme({"markdown.code": "cyan", "markdown.item.number": "dim"})  # no background: it may be light or dark
LABEL = 20  # columns of the name of a fact


class SessionPrinter:
    """Prints one session. In a pipe nothing is wrapped or coloured, and answers stay Markdown."""

    def __init__(
        self, out: Console, session: LibrarySession, turns: Iterable[LibraryTurn], shorten: Shorten, *, is_full: bool
    ) -> None:
        self._out = out
        self._shorten = shorten
        self._session = session
        self._turns: Mapping[int, LibraryTurn] = {turn.number: turn for turn in turns}
        self._is_full = is_full
        self._is_apart = True  # the line before is blank
        self._contexts: list[LibraryEvent] = []  # consecutive ones, which become one line

    def print_all(self, events: Iterable[LibraryEvent]) -> None:
        """The facts about the session, then its events as they are read."""
        self._print_facts()
        turn = None
        for step in join_calls(events):
            if step.event.type != "system" or step.event.turn != turn or self._is_full:
                self._print_contexts()
            if step.event.turn != turn:
                turn = step.event.turn
                self._print_turn(turn)
            self._print_step(step)
        self._print_contexts()

    def _print_facts(self) -> None:
        self._line(Text(title_of(self._session), "bold"))
        for name, value in facts_of(self._session, local_minute):
            shown = self._shorten(value) if name in IDS else neutralise(value)
            self._line(Text.assemble((f"{name:<11}", "dim"), shown))

    def _print_turn(self, number: int) -> None:
        facts = [f"Turn {number}", *turn_facts(self._turns.get(number), self._session, local_minute)]
        self._part()
        self._line(Text(" · ".join(facts), "dim"))
        self._part()

    def _print_step(self, step: TranscriptStep) -> None:
        event = step.event
        match event.type:
            case "user_input" if event.text.strip():
                self._print_prompt(event.text)
            case "assistant_response" if event.text.strip():
                self._print_answer(event.text)
            case "tool_call" | "tool_response":
                self._print_call(step)
            case "system" if event.text.strip() and not self._is_full:
                self._contexts.append(event)
            case "reasoning" | "system" | "compaction" | "runtime" if event.text.strip() and not _is_count(event):
                self._print_folded(event)
        if event.note:
            self._line(Text(f"Note: {one_line(event.note)}", "bold"))

    def _print_contexts(self) -> None:
        """What was injected for the model, in one line."""
        if self._contexts:
            more = f" and {len(self._contexts) - 1:,} more" if len(self._contexts) > 1 else ""
            self._print_folded(self._contexts[0], more)
            self._contexts = []

    def _print_prompt(self, text: str) -> None:
        self._part()
        text = neutralise(text).strip("\n")
        if not self._out.is_terminal:
            self._line(Text("\n".join(f"{QUOTE}{line}".rstrip() for line in text.split("\n"))))
        else:
            lines = Text(text, "bold").wrap(self._out, self._out.width - len(BAR))
            for line in lines:
                self._line(Text.assemble((BAR, "green"), line))
        self._part()

    def _print_answer(self, text: str) -> None:
        self._part()
        if self._out.is_terminal:
            with self._out.use_theme(STYLES):
                self._out.print(PlainMarkdown(neutralise(text).strip("\n"), hyperlinks=False))
            self._is_apart = False
        else:
            self._line(Text(neutralise(text).strip("\n")))
        self._part()

    def _print_call(self, step: TranscriptStep) -> None:
        event, output = step.event, step.output
        name = event.tool or (output.tool if output is not None else None) or "tool"
        summary = call_summary(step, self._session.folder) if step.is_call else "result"
        outcome = "".join(f" · {part}" for part in call_outcome(step))
        style = "red" if step.has_failed() else "yellow"
        self._one_line(Text.assemble(("● ", style), (one_line(name), style), " ", summary), Text(outcome, "dim"))
        if event.diff:
            self._print_diff(event.diff)
        if not self._is_full:
            return
        if step.is_call and (arguments := shown_arguments(step)):
            self._print_indented(arguments, "")
        if output is not None and output.text.strip():
            self._print_indented(output.text, "dim")

    def _print_diff(self, diff: str) -> None:
        lines = [line for line in neutralise(diff).rstrip("\n").split("\n") if not line.startswith(("--- ", "@@"))]
        files = sum(line.startswith("+++ ") for line in lines)
        lines = lines if files > 1 else [line for line in lines if not line.startswith("+++ ")]
        shown = lines if self._is_full or len(lines) <= DIFF_LINES + 1 else lines[:DIFF_LINES]
        for line in shown:
            style = {"+": "green", "-": "red"}.get(line[:1], "dim")
            self._clipped(Text(INDENT + line.expandtabs(4), "bold" if line.startswith("+++ ") else style))
        if len(shown) < len(lines):
            self._line(Text(f"{INDENT}… {plural(len(lines) - len(shown), 'more line')}", "dim"))

    def _print_folded(self, event: LibraryEvent, more: str = "") -> None:
        text = event.text.strip()
        first = one_line(text.split("\n", 1)[0])
        head = f"{FOLDED[event.type]}: {first}"
        self._one_line(Text(f"○ {head}", "dim italic" if event.type == "reasoning" else "dim"), Text(more, "dim"))
        if self._is_full and "\n" in text:
            self._print_indented(text, "dim")

    def _print_indented(self, text: str, style: str) -> None:
        """A long text below its line."""
        text = neutralise(text).strip("\n").expandtabs(4)
        if self._out.is_terminal:
            self._out.print(Padding(Text(text, style), (0, 0, 0, len(INDENT))))
        else:
            self._line(Text(textwrap.indent(text, INDENT)))

    def _one_line(self, line: Text, end: Text) -> None:
        """A line that is cut so that its end can be seen."""
        if self._out.is_terminal:
            line.truncate(max(LABEL, self._out.width - end.cell_len), overflow="ellipsis")
        self._line(Text.assemble(line, end))

    def _clipped(self, line: Text) -> None:
        if self._out.is_terminal and not self._is_full:
            line.truncate(self._out.width, overflow="ellipsis")
        self._line(line)

    def _line(self, line: Text) -> None:
        """Print a line; a terminal wraps it, a pipe gets it whole."""
        self._out.print(line, soft_wrap=not self._out.is_terminal)
        self._is_apart = False

    def _part(self) -> None:
        """Leave a blank line, unless there is one."""
        if not self._is_apart:
            self._out.print()
        self._is_apart = True


def _is_count(event: LibraryEvent) -> bool:
    """Whether an event only counts tokens. The facts of its turn have the sum."""
    return event.type == "runtime" and event.usage is not None


class _PlainHeading(Heading):
    """A heading as a bold line at the left. Rich would centre it in a box."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        self.text.stylize("bold")
        yield self.text


class _PlainCode(CodeBlock):
    """Code without colours, because highlighting takes 60 ms to load and guesses the background."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Padding(Text(str(self.text).rstrip(), "cyan"), (0, 0, 0, len(INDENT)))


class PlainMarkdown(Markdown):
    """Markdown of a transcript."""

    elements = {
        **Markdown.elements,
        "heading_open": _PlainHeading,
        "fence": _PlainCode,
        "code_block": _PlainCode,
    }
