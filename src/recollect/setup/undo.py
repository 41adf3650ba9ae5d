"""Undoes setup: gives every file its old content, or removes only our parts if it has been changed since."""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from recollect.setup.changes import revert_all
from recollect.setup.editing import NotEditable, decode, open_document
from recollect.setup.files import ChangedMeanwhile, delete, digest, read, remove_empty, unfinished, write
from recollect.setup.journal import FileRecord, Journal, JournalFolder

ATTEMPTS = 3  # an agent that runs may write its settings at the same moment

Outcome = Literal["restored", "deleted", "edited", "kept", "unchanged", "failed"]


@dataclass(frozen=True, kw_only=True)
class UndoneFile:
    """What happened to a file, or would happen."""

    path: Path
    agents: tuple[str, ...]
    outcome: Outcome
    reason: str = ""
    """For `failed`: completes a sentence that begins with the path."""


@dataclass(frozen=True)
class _Step:
    """The content that a file gets. None deletes it."""

    outcome: Outcome
    old: bytes | None = None
    new: bytes | None = None
    reason: str = ""


def records_of(journal: Journal, scope: str, agents: Collection[str] | None) -> list[FileRecord]:
    """The records of a scope that belong to one of these agents, or to any."""
    in_scope = (record for record in journal.files if record.scope == scope)
    return [record for record in in_scope if not agents or not set(agents).isdisjoint(record.agents)]


def plan_undo(folder: JournalFolder, scope: str, agents: Collection[str] | None) -> list[UndoneFile]:
    """What `undo_setup` would do."""
    return [
        UndoneFile(path=Path(record.path), agents=tuple(record.agents), outcome=step.outcome, reason=step.reason)
        for record in records_of(folder.load(), scope, agents)
        if not _others(record, agents)
        for step in [_step(record, folder)]
    ]


def undo_setup(folder: JournalFolder, scope: str, agents: Collection[str] | None) -> list[UndoneFile]:
    """Undo what setup did for these agents. A file that other agents still use stays."""
    done = []
    with folder.lock() as journal:
        for record in records_of(journal, scope, agents):
            if others := _others(record, agents):
                record.agents = others
                continue
            step = _undo(record, folder)
            done.append(
                UndoneFile(path=Path(record.path), agents=tuple(record.agents), outcome=step.outcome, reason=step.reason)
            )
            with suppress(OSError):  # of a setup that was killed
                unfinished(Path(record.path)).unlink(missing_ok=True)
            if step.outcome != "failed":
                journal.replace(Path(record.path), None)
                remove_empty(record.folders)
        folder.save(journal)
    return done


def _others(record: FileRecord, agents: Collection[str] | None) -> list[str]:
    """The agents that go on using a file."""
    return [agent for agent in record.agents if agent not in agents] if agents else []


def _undo(record: FileRecord, folder: JournalFolder) -> _Step:
    path = Path(record.path)
    for _ in range(ATTEMPTS):
        step = _step(record, folder)
        try:
            if step.old is not None and step.new is not None:
                write(path, step.new, step.old)
            elif step.old is not None:
                delete(path, step.old)
            return step
        except ChangedMeanwhile:
            continue
        except OSError as reason:
            return _Step("failed", reason=f"cannot be written: {reason.strerror or reason}")
    return _Step("failed", reason="is written by another program at this moment")


def _step(record: FileRecord, folder: JournalFolder) -> _Step:
    """What has to happen to a file."""
    try:
        current = read(Path(record.path))
    except OSError as reason:
        return _Step("failed", reason=f"cannot be read: {reason.strerror or reason}")
    if current is None or digest(current) == record.before:
        return _Step("unchanged")
    if digest(current) == record.after:
        if record.before is None:
            return _Step("deleted", current)
        if (backup := folder.backup(record)) is not None:
            return _Step("restored", current, backup)
    if record.format is None:
        return _Step("kept")
    return _without_our_parts(record, record.format, current)


def _without_our_parts(record: FileRecord, format: str, current: bytes) -> _Step:
    try:
        bom, text = decode(current)
        reverted = revert_all(open_document(format, text), record.changes)
    except NotEditable as reason:
        return _Step("failed", reason=str(reason))
    if record.before is None and reverted.value == {} and not reverted.text.strip(" \t\r\n{}"):
        return _Step("deleted", current)
    if reverted.text == text:
        return _Step("unchanged")
    return _Step("edited", current, (bom + reverted.text).encode())
