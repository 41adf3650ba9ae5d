"""Plans what setup changes: reads every file, edits it in memory, and finds what cannot be edited. Writes nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from recollect.setup.agent import Agent, SettingsFile, WholeFile, installed_file
from recollect.setup.changes import Changes, revert_all
from recollect.setup.editing import NotEditable, decode, open_document
from recollect.setup.files import digest, is_read_only, read
from recollect.setup.journal import Journal
from recollect.setup.places import Surroundings
from recollect.setup.program import ProgramCommand

Action = Literal["create", "change", "none", "keep"]


@dataclass(frozen=True, kw_only=True)
class Use:
    """A file that an agent reads, and what it should contain."""

    agent: str
    position: int
    """Of the file among those of the agent."""
    path: Path
    """As the agent names it; links are not resolved."""
    file: SettingsFile | WholeFile


@dataclass(kw_only=True)
class FilePlan:
    """What happens to one file."""

    uses: list[Use]
    target: Path
    """The file itself, with links resolved."""
    format: str | None
    action: Action
    old: bytes | None
    new: bytes
    changes: Changes = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    """The parts that change, for people."""

    @property
    def path(self) -> Path:
        return self.uses[0].path

    @property
    def agents(self) -> list[str]:
        return list(dict.fromkeys(use.agent for use in self.uses))

    def position(self, agent: str) -> int:
        """The position of the file among those of an agent."""
        return next(use.position for use in self.uses if use.agent == agent)


@dataclass(frozen=True)
class SetupProblem:
    """A file that is left alone, and why."""

    path: Path
    reason: str
    """Completes a sentence that begins with the path."""
    agents: tuple[str, ...]


@dataclass(kw_only=True)
class SetupPlan:
    agents: Sequence[Agent]
    files: list[FilePlan]
    problems: list[SetupProblem]

    @property
    def pending(self) -> list[FilePlan]:
        """The files that have to be written."""
        return [plan for plan in self.files if plan.action in ("create", "change")]


def make_plan(agents: Sequence[Agent], around: Surroundings, program: ProgramCommand, journal: Journal) -> SetupPlan:
    """What has to change so that these agents use this program. An agent with a problem changes nothing."""
    files: list[FilePlan] = []
    problems: list[SetupProblem] = []
    for target, uses in _by_target(agents, around, problems).items():
        result = plan_file(target, uses, program, journal)
        if isinstance(result, SetupProblem):
            problems.append(result)
        else:
            files.append(result)
    return SetupPlan(agents=agents, files=without_agents(files, _failed(problems)), problems=problems)


def without_agents(files: Iterable[FilePlan], failed: set[str]) -> list[FilePlan]:
    """The files that other agents than these need."""
    for plan in files:
        plan.uses = [use for use in plan.uses if use.agent not in failed]
    return [plan for plan in files if plan.uses]


def _failed(problems: Iterable[SetupProblem]) -> set[str]:
    return {agent for problem in problems for agent in problem.agents}


def _by_target(agents: Iterable[Agent], around: Surroundings, problems: list[SetupProblem]) -> dict[Path, list[Use]]:
    """Every file with its uses: by links, two agents may share one."""
    targets: dict[Path, list[Use]] = {}
    for agent in agents:
        for position, file in enumerate(agent.project if around.project is not None else agent.user):
            for path in file.place(around):
                try:
                    target = path.absolute().resolve()
                except (OSError, RuntimeError):
                    problems.append(SetupProblem(path, "is a link to itself", (agent.name,)))
                    continue
                targets.setdefault(target, []).append(
                    Use(agent=agent.name, position=position, path=path.absolute(), file=file)
                )
    return targets


def plan_file(target: Path, uses: list[Use], program: ProgramCommand, journal: Journal) -> FilePlan | SetupProblem:
    """What happens to one file, or why it is left alone."""
    try:
        old = read(target)
        file = uses[0].file
        if isinstance(file, WholeFile):
            plan = _plan_whole(target, uses, old, installed_file(file.source).encode(), journal)
        else:
            plan = _plan_settings(target, uses, old, file.format, program)
        if plan.action == "change" and is_read_only(target):
            raise NotEditable("is read-only")
        return plan
    except NotEditable as reason:
        return SetupProblem(uses[0].path, str(reason), tuple(use.agent for use in uses))
    except OSError as reason:
        problem = f"cannot be read: {reason.strerror or reason}"
        return SetupProblem(uses[0].path, problem, tuple(use.agent for use in uses))


def _plan_whole(target: Path, uses: list[Use], old: bytes | None, new: bytes, journal: Journal) -> FilePlan:
    record = journal.find(target)
    action: Action = "create"
    if old is not None:
        is_ours = record is not None and digest(old) == record.after
        action = "none" if old == new else "change" if is_ours else "keep"
    return FilePlan(uses=uses, target=target, format=None, action=action, old=old, new=new)


def _plan_settings(target: Path, uses: list[Use], old: bytes | None, format: str, program: ProgramCommand) -> FilePlan:
    bom, text = decode(old or b"")
    document = before = open_document(format, text)
    changes: Changes = []
    labels: list[str] = []
    for use in uses:
        assert isinstance(use.file, SettingsFile)  # a file is either wholly ours or settings
        for part in use.file.parts:
            document, made = part.apply(document, program)
            changes += made
            labels += [part.label()] if made and part.label() not in labels else []
    if revert_all(document, changes).value != before.value:
        raise NotEditable("has a form that cannot be edited without risk")
    new = (bom + document.text).encode()
    action: Action = "none" if new == (old or b"") and old is not None else "create" if old is None else "change"
    return FilePlan(uses=uses, target=target, format=format, action=action, old=old, new=new, changes=changes, labels=labels)
