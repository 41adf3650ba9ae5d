"""Commands that failed and were not repeated with success, and the commits of a session."""

from collections.abc import Sequence

from msgspec import Struct

from recollect.distil.texts import event_for_rules
from recollect.model import Kind
from recollect.observe.commands import shell_command
from recollect.observe.turn import read_turn
from recollect.store import EventRow


class FailedCommand(Struct, frozen=True):
    """A command whose last run failed. A check is a test, a build or another command that judges the work."""

    command: str
    error: str
    turn: int
    is_check: bool


class CommandOutcomes:
    """Follows the commands of turns, which are added in their order."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._failed: dict[str, FailedCommand] = {}  # by check, or by command
        self.commits: list[str] = []

    def add(self, number: int, rows: Sequence[EventRow]) -> None:
        """Add the events of a turn."""
        events = [event_for_rules(row) for row in rows if not row.own]
        turn = read_turn(events, self._folder)
        self.commits += [commit.subject for commit in turn.commits]
        for run in turn.runs:
            name = run.check or run.command
            self._failed.pop(name, None)
            if run.outcome.failed:
                error = run.outcome.error or run.outcome.counts
                self._failed[name] = FailedCommand(run.command, error, number, bool(run.check))
        calls = {event.seq: shell_command(event.arguments or {}) for event in events if event.kind is Kind.TOOL_CALL}
        for event in events:
            if event.answers in calls and not event.failed and not event.exit_code:
                self._forget_success(calls[event.answers])

    def _forget_success(self, command: str) -> None:
        """Forget a failed command that succeeded once. For a check, its last run counts."""
        if command in self._failed and not self._failed[command].is_check:
            del self._failed[command]

    def failures(self, last_turn: int) -> list[FailedCommand]:
        """Checks whose last run failed, and other commands of the last turn that never succeeded; the newest last.

        The exit code of a pipe says nothing, so a pipe counts only if its output names an error.
        """
        return [
            failed
            for failed in self._failed.values()
            if (failed.is_check or failed.turn == last_turn) and (failed.error or "|" not in failed.command)
        ]
