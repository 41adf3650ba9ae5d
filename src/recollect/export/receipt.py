"""The receipt of an export: what was written, what was redacted, and what was shortened or left out."""

from collections import Counter
from typing import Any

from recollect.label import plural


class Receipt:
    """Counts while a document is written."""

    def __init__(self) -> None:
        self.sessions = 0
        self.events = 0
        self.redacted_when_stored: Counter[str] = Counter()
        self.redacted_now: Counter[str] = Counter()
        self.texts_shortened = 0
        self.events_left_out = 0

    @classmethod
    def of(cls, view: dict[str, Any]) -> "Receipt":
        """The receipt that a view shows."""
        receipt = cls()
        for name, value in view.items():
            setattr(receipt, name, Counter(value) if isinstance(value, dict) else value)
        return receipt

    def add(self, other: "Receipt") -> None:
        """Count what another document has, too."""
        self.sessions += other.sessions
        self.events += other.events
        self.redacted_when_stored += other.redacted_when_stored
        self.redacted_now += other.redacted_now
        self.texts_shortened += other.texts_shortened
        self.events_left_out += other.events_left_out

    def view(self) -> dict[str, Any]:
        """The receipt for programs."""
        return {
            "sessions": self.sessions,
            "events": self.events,
            "redacted_when_stored": dict(sorted(self.redacted_when_stored.items())),
            "redacted_now": dict(sorted(self.redacted_now.items())),
            "texts_shortened": self.texts_shortened,
            "events_left_out": self.events_left_out,
        }

    def sentences(self) -> list[str]:
        """The receipt for people."""
        sentences = [f"{plural(self.sessions, 'session')}, {plural(self.events, 'event')}.", self._redacted()]
        if self.texts_shortened:
            sentences.append(f"{plural(self.texts_shortened, 'long text')} shortened; JSONL has all of each.")
        if self.events_left_out:
            records = plural(self.events_left_out, "record")
            sentences.append(f"{records} of the agent's own bookkeeping left out; JSONL has them.")
        return sentences

    def _redacted(self) -> str:
        total = self.redacted_when_stored + self.redacted_now
        if not total:
            return "No secret was found."
        kinds = ", ".join(f"{count:,} × {rule}" for rule, count in sorted(total.items()))
        now = self.redacted_now.total()
        newly = f", {now:,} of them in this export" if now else ""
        return f"{plural(total.total(), 'secret')} redacted{newly}: {kinds}."
