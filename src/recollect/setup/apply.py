"""Carries out a plan: writes files one by one, with a backup and a record of each. An agent that fails is rolled back."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from recollect.setup.agent import Agent
from recollect.setup.changes import Added, Changes, HookAdded, HookReplaced, Replaced, revert_all
from recollect.setup.editing import decode, open_document
from recollect.setup.files import ChangedMeanwhile, delete, digest, make_folders, missing_folders, read, remove_empty, write
from recollect.setup.journal import USER, FileRecord, Journal, JournalFolder
from recollect.setup.places import Surroundings
from recollect.setup.plan import FilePlan, SetupPlan, SetupProblem, make_plan, plan_file, without_agents
from recollect.setup.program import ProgramCommand

ATTEMPTS = 3  # an agent that runs may write its settings at the same moment


@dataclass(kw_only=True)
class Applied:
    """What setup did."""

    plan: SetupPlan
    written: list[FilePlan] = field(default_factory=list)


def apply_setup(agents: Sequence[Agent], around: Surroundings, program: ProgramCommand, folder: JournalFolder) -> Applied:
    """Set up these agents. Plans again under the lock, because files may have changed while a person read the plan."""
    with folder.lock() as journal:
        plan = make_plan(agents, around, program, journal)
        writing = _Writing(around, program, folder, journal, plan.pending)
        for file in plan.pending:
            writing.record(file)
        if plan.pending:
            folder.save(journal)
        for file in plan.pending:
            if file.uses and (problem := writing.write(file)) is not None:
                plan.problems.append(problem)
                writing.roll_back(set(problem.agents))
                plan.files = without_agents(plan.files, set(problem.agents))
        _add_owners(plan, journal)
        folder.save(journal)
        return Applied(plan=plan, written=writing.written)


def _add_owners(plan: SetupPlan, journal: Journal) -> None:
    """Note further agents that use files of ours."""
    for file in plan.files:
        record = journal.find(file.target)
        if record is not None and file.action != "keep":
            record.agents = sorted({*record.agents, *file.agents})


class _Writing:
    """The files of a plan that are written, with what is needed to take them back."""

    def __init__(
        self, around: Surroundings, program: ProgramCommand, folder: JournalFolder, journal: Journal, pending: list[FilePlan]
    ) -> None:
        self.program, self.folder, self.journal, self.pending = program, folder, journal, pending
        self.scope = USER if around.project is None else str(around.project)
        self.written: list[FilePlan] = []
        self._earlier = {str(file.target): journal.find(file.target) for file in pending}

    @property
    def is_shared(self) -> bool:
        return self.scope != USER

    def record(self, file: FilePlan) -> None:
        """Store a backup of the file, and a record of what it will be."""
        earlier = self._earlier[str(file.target)]
        before, changes = _origin(file, earlier, self.folder)
        if before is not None:
            self.folder.back_up(str(file.target), before)
        folders = [str(folder) for folder in missing_folders(file.target)]
        record = FileRecord(
            path=str(file.target),
            agents=sorted({*file.agents, *(earlier.agents if earlier else ())}),
            scope=self.scope,
            format=file.format,
            before=digest(before),
            after=str(digest(file.new)),
            folders=list(dict.fromkeys([*(earlier.folders if earlier else ()), *folders])),
            changes=changes,
        )
        self.journal.replace(file.target, record)

    def write(self, file: FilePlan) -> SetupProblem | None:
        """Write a file, or say why it could not be written."""
        for _ in range(ATTEMPTS):
            try:
                make_folders(file.target, shared=self.is_shared)
                write(file.target, file.new, file.old, shared=self.is_shared)
            except ChangedMeanwhile:
                again = plan_file(file.target, file.uses, self.program, self.journal)
                if isinstance(again, SetupProblem):
                    return again
                file.old, file.new, file.changes = again.old, again.new, again.changes
                self.record(file)
                self.folder.save(self.journal)
            except OSError as reason:
                return SetupProblem(file.path, f"cannot be written: {reason.strerror or reason}", tuple(file.agents))
            else:
                self.written.append(file)
                return None
        return SetupProblem(file.path, "is written by another program at this moment", tuple(file.agents))

    def roll_back(self, failed: set[str]) -> None:
        """Give all files that only these agents use the content and the record that they had."""
        for file in [file for file in self.pending if set(file.agents) <= failed]:
            record, earlier = self.journal.find(file.target), self._earlier[str(file.target)]
            if file in self.written:
                self.written.remove(file)
                with suppress(ChangedMeanwhile, OSError):  # the record stays true: `--undo` removes our parts
                    _take_back(file)
            if record is not None and digest(read(file.target)) != record.after:
                self.journal.replace(file.target, earlier)
                remove_empty([folder for folder in record.folders if earlier is None or folder not in earlier.folders])


def _take_back(file: FilePlan) -> None:
    if file.old is None:
        delete(file.target, file.new)
    else:
        write(file.target, file.old, file.new)


def _origin(file: FilePlan, earlier: FileRecord | None, folder: JournalFolder) -> tuple[bytes | None, Changes]:
    """The content of a file as if setup had never changed it, and all changes since."""
    if earlier is None or file.old is None:
        return file.old, file.changes
    changes = _merged(earlier.changes, file.changes)
    if digest(file.old) == earlier.after:
        backup = folder.backup(earlier)
        if backup is not None or earlier.before is None:
            return backup, changes
    if file.format is None:
        return None, changes
    bom, text = decode(file.old)
    reverted = revert_all(open_document(file.format, text), earlier.changes)
    is_new = earlier.before is None and reverted.value == {}
    return None if is_new else (bom + reverted.text).encode(), changes


def _merged(earlier: Changes, later: Changes) -> Changes:
    """The changes of two runs of setup as those of one."""
    merged = list(earlier)
    for change in later:
        if isinstance(change, Replaced | Added) and any(
            isinstance(one, Added) and one.path == change.path[: len(one.path)] and one.path != change.path for one in merged
        ):
            continue  # inside an entry that is ours
        if isinstance(change, HookReplaced) and any(
            isinstance(one, HookAdded) and (one.path, one.event) == (change.path, change.event) for one in merged
        ):
            continue
        same = next((one for one in merged if _is_same(one, change)), None)
        if same is None:
            merged.append(change)
        else:
            merged[merged.index(same)] = _combined(same, change)
    return merged


def _is_same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one.path == other.path and getattr(one, "event", "") == getattr(other, "event", "")


def _combined(earlier: Any, later: Any) -> Any:
    if isinstance(later, Replaced | HookReplaced):
        return msgspec.structs.replace(later, before=earlier.before)
    if isinstance(later, Added | HookAdded):
        return msgspec.structs.replace(later, containers=max(earlier.containers, later.containers))
    return later
