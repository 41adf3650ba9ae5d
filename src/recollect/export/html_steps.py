"""The events of a session as HTML: prompts and answers in full, everything else folded into one line each."""

from collections.abc import Callable

from recollect.export.call_summary import call_outcome, call_summary, shown_arguments
from recollect.export.html_text import cut_html, diff_html, label_html, markdown_html, text_html
from recollect.export.receipt import Receipt
from recollect.export.steps import TranscriptStep
from recollect.library_answers import LibraryEvent

LABEL = 110  # bytes of a folded text that stand in its line
TAIL = 0.35  # part of a cut output that is its end: errors are there
FOLDED = {"reasoning": "Reasoning", "system": "Context", "compaction": "Compaction"}

Limit = Callable[[str], int | None]


class StepsHtml:
    """Writes the steps of one session."""

    def __init__(self, folder: str | None, prefix: str, limit: Limit, receipt: Receipt) -> None:
        """`prefix` begins every anchor of the session; `limit` is the length to show of a text of some type."""
        self._folder = folder
        self._prefix = prefix
        self._limit = limit
        self._receipt = receipt

    def html(self, step: TranscriptStep) -> str:
        """A step; empty if it is the agent's own bookkeeping, which is left out."""
        event = step.event
        match event.type:
            case "user_input":
                return self._spoken(event, "prompt")
            case "assistant_response":
                return self._spoken(event, "answer")
            case "tool_call" | "tool_response":
                return self._call(step)
            case "reasoning" | "system" | "compaction":
                return self._folded(event, FOLDED[event.type])
            case "runtime" if event.usage is None and event.text.strip():
                return self._notice(event)
        self._receipt.events_left_out += 1
        return ""

    def _spoken(self, event: LibraryEvent, role: str) -> str:
        if not event.text.strip():
            return ""
        body = self._counted(markdown_html(event.text, self._limit(event.type)))
        return f'<div class="{role}" {self._anchor(event)}>\n{body}\n</div>\n{self._note(event)}'

    def _call(self, step: TranscriptStep) -> str:
        event, output = step.event, step.output
        name = event.tool or (output.tool if output is not None else None) or "tool"
        outcome = "".join(f"<i>{text_html(part)}</i>" for part in call_outcome(step))
        summary = text_html(call_summary(step, self._folder)) if step.is_call else "result"
        head = f"<summary><b>{text_html(name)}</b> <code>{summary}</code>{outcome}</summary>"
        parts = [self._pre(diff_html(event.diff, self._limit(event.type)), "diff")] if event.diff else []
        if step.is_call and (arguments := shown_arguments(step)):
            parts.append(self._pre(cut_html(arguments, self._limit(event.type))))
        if output is not None and output.text.strip():
            text = cut_html(output.text.strip("\n"), self._limit(output.type), tail=TAIL)
            parts.append(f"<pre{f' {self._anchor(output)}' if step.is_call else ''}>{self._counted(text)}</pre>\n")
        kind = ' class="failed"' if step.has_failed() else ""
        return f"<details{kind} {self._anchor(event)}>{head}\n{''.join(parts)}</details>\n{self._note(event)}"

    def _folded(self, event: LibraryEvent, name: str) -> str:
        if not event.text.strip():
            return ""
        text = event.text.strip("\n")
        line = label_html(text, LABEL)
        if text_html(text.strip()) == line:
            return f'<p class="note" {self._anchor(event)}>{name}: {line}</p>\n{self._note(event)}'
        body = self._pre(cut_html(text, self._limit(event.type)))
        head = f"<summary><span>{name}: {line}</span></summary>"
        return f"<details {self._anchor(event)}>{head}\n{body}</details>\n{self._note(event)}"

    def _notice(self, event: LibraryEvent) -> str:
        """What the agent's program said of itself: an interrupt, an error, a change of mode."""
        if "\n" in event.text.strip():
            return self._folded(event, "Notice")
        return f'<p class="note" {self._anchor(event)}>{self._counted(cut_html(event.text, self._limit(event.type)))}</p>\n'

    def _note(self, event: LibraryEvent) -> str:
        """The note that a person wrote beside an event."""
        return f'<p class="note"><b>Note:</b> {text_html(event.note)}</p>\n' if event.note else ""

    def _pre(self, text: tuple[str, bool], kind: str = "") -> str:
        name = f' class="{kind}"' if kind else ""
        return f"<pre{name}>{self._counted(text)}</pre>\n"

    def _counted(self, text: tuple[str, bool]) -> str:
        html, is_cut = text
        self._receipt.texts_shortened += is_cut
        return html

    def _anchor(self, event: LibraryEvent) -> str:
        return f'id="{self._prefix}e{event.sequence}"'
