"""recollect setup"""

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from recollect.errors import BadRequest
from recollect.filters.resolve import near_names, no_such
from recollect.label import plural
from recollect.project import repository_folder
from recollect.settings import state_folder
from recollect.setup import (
    AGENTS,
    USER,
    Agent,
    Checked,
    JournalFolder,
    ProgramCommand,
    SetupPlan,
    Surroundings,
    UndoneFile,
    apply_setup,
    check_all,
    make_plan,
    plan_undo,
    this_program,
    undo_setup,
)
from recollect.setup.journal import BACKUPS
from recollect.surfaces.cli.realm_options import json_option
from recollect.surfaces.cli.render import console, print_json, say, tilde
from recollect.surfaces.cli.render_setup import (
    draw_checks,
    draw_plan,
    draw_problems,
    draw_to_do,
    draw_undone,
    plan_as_object,
    undone_as_object,
)


@click.command("setup")
@click.argument("agents", metavar="[AGENT]...", nargs=-1)
@click.option("--dry-run", is_flag=True, help="Show what would change. Writes nothing.")
@click.option("--undo", is_flag=True, help="Take back what setup changed.")
@click.option("--project", is_flag=True, help="Change the files of this project, not the user's.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
def command(agents: tuple[str, ...], dry_run: bool, undo: bool, project: bool, yes: bool, as_json: bool) -> None:
    """Connect your agents to Recollect, or take it back.

    Finds the agents on this machine, shows what will change, and asks. Then it adds the MCP server, hooks, skill, commands
    and sub-agent to their files. Everything else in these files stays as it is, and --undo gives them back byte for byte.

    \b
    recollect setup                   # every agent that is found
    recollect setup codex cursor      # only these
    recollect setup --dry-run         # only show what would change
    recollect setup --undo
    """
    if as_json and not (yes or dry_run):
        raise click.UsageError("--json cannot ask for confirmation. Add --yes to make the changes, or --dry-run.")
    around = Surroundings(os.environ, _project_folder() if project else None)
    folder = JournalFolder(state_folder(os.environ))
    chosen = _named(agents)
    if undo:
        _undo(chosen, around, folder, dry_run=dry_run, yes=yes, as_json=as_json)
    else:
        _set_up(chosen, around, folder, dry_run=dry_run, yes=yes, as_json=as_json)


def _named(names: Sequence[str]) -> list[Agent]:
    """The agents with these names."""
    by_name = {name: agent for agent in AGENTS for name in (agent.name, *agent.aliases)}
    chosen: dict[str, Agent] = {}
    for name in names:
        agent = by_name.get(name.casefold())
        if agent is None:
            near = near_names(name, [agent.name for agent in AGENTS])
            known = "" if near else f" These can be set up: {', '.join(one.name for one in AGENTS)}."
            raise BadRequest(no_such("agent", name, near) + known, did_you_mean=near)
        chosen[agent.name] = agent
    return list(chosen.values())


def _project_folder() -> Path:
    """The repository of the current folder, else the folder."""
    here, home = Path.cwd(), Path.home()
    repository = repository_folder(str(here))
    folder = repository if repository is not None and repository != home and here.is_relative_to(repository) else here
    if folder == home:
        raise BadRequest("This is your home folder, not a project. Leave out --project to change the files of the user.")
    return folder


def _confirm(question: str) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError("This is not a terminal, so setup cannot ask. Add --yes to make the changes.")
    click.echo(err=True)
    click.confirm(question, abort=True, err=True)


# ---- setting up


def _set_up(
    named: list[Agent], around: Surroundings, folder: JournalFolder, *, dry_run: bool, yes: bool, as_json: bool
) -> None:
    program = this_program(around.env)
    agents = named or [agent for agent in AGENTS if agent.is_found(around.env)]
    without_files = [agent for agent in agents if around.project is not None and not agent.project]
    agents = [agent for agent in agents if agent not in without_files]
    plan = make_plan(agents, around, program, folder.load())
    if not as_json:
        _draw_beginning(plan, named, without_files, program, around, dry_run=dry_run)
    changed, checks = 0, []
    if agents and not dry_run:
        if plan.pending:
            if not yes:
                _confirm(f"Change {plural(len(plan.pending), 'file')}?")
            applied = apply_setup(agents, around, program, folder)
            plan, changed = applied.plan, len(applied.written)
        checks = _check(plan, program, around, quiet=as_json)
    steps = _steps(plan, program, around)
    if as_json:
        answer = {"dry_run": dry_run, "changed": changed, **plan_as_object(plan, program, checks, steps, agents)}
        print_json(msgspec.json.encode(answer).decode())
    elif agents:
        _draw_end(plan, changed, checks, steps, folder, dry_run=dry_run)
    sys.exit(1 if plan.problems else 0)


def _draw_beginning(
    plan: SetupPlan,
    named: list[Agent],
    without_files: list[Agent],
    program: ProgramCommand,
    around: Surroundings,
    *,
    dry_run: bool,
) -> None:
    out = console()
    if not named and not plan.agents and not without_files:
        out.print("No agent was found on this machine. Name one to set it up anyway: `recollect setup claude-code`.")
        out.print(f"These can be set up: {', '.join(agent.name for agent in AGENTS)}.")
        out.print("Any other MCP client can start this program as a server on stdio:")
        out.print(f"  {shlex.join([*program.words, 'mcp'])}", soft_wrap=True, markup=False)
        return
    if around.project is not None:
        out.print(f"Project: {tilde(str(around.project))}", markup=False, soft_wrap=True)
    for agent in without_files:
        out.print(f"{agent.title} has no files in projects. Set it up without --project.")
    for agent in named:
        if agent in plan.agents and not agent.is_found(around.env):
            out.print(f"{agent.title} was not found on this machine. Its files are created all the same.")
    if plan.agents:
        draw_plan(plan, program, in_full=dry_run)


def _check(plan: SetupPlan, program: ProgramCommand, around: Surroundings, *, quiet: bool) -> list[Checked]:
    """Ask the agents without a problem whether they connect."""
    failed = {agent for problem in plan.problems for agent in problem.agents}
    agents = [agent for agent in plan.agents if agent.name not in failed]
    asked = [agent.title for agent in agents if agent.check is not None and agent.program(around.env) is not None]
    if asked and not quiet and sys.stderr.isatty():
        say(f"\nAsking {', '.join(asked)} to connect …", err=True)
    return check_all(agents, program, around.env)


def _steps(plan: SetupPlan, program: ProgramCommand, around: Surroundings) -> list[str]:
    """What a person has to do by hand."""
    failed = {agent for problem in plan.problems for agent in problem.agents}
    agents = [agent for agent in plan.agents if agent.name not in failed]
    steps: list[str] = []
    for agent in agents:
        steps += [*agent.by_hand, *(agent.by_hand_in_project if around.project is not None else ())]
    if agents:
        steps.append("Restart the agents that are running now: they read these files when they start.")
    if program.is_temporary:
        steps.append(
            "Install this program (`uv tool install recollect-agents`) and run setup again: this copy of it is temporary."
        )
    if agents and shutil.which("recollect", path=around.env.get("PATH")) is None:
        steps.append(f"Put {tilde(str(Path(program.words[0]).parent))} on your PATH: the skill runs `recollect ask`.")
    if agents and program.home:
        steps.append("Set RECOLLECT_HOME for your agents too, as it is set here: their hooks use it.")
    return steps


def _draw_end(
    plan: SetupPlan, changed: int, checks: list[Checked], steps: list[str], folder: JournalFolder, *, dry_run: bool
) -> None:
    out = console()
    titles = {agent.name: agent.title for agent in plan.agents}
    if dry_run:
        would = f"{plural(len(plan.pending), 'file')} would change" if plan.pending else "Nothing would change"
        out.print(f"\n{would}. This was a dry run: nothing was written.")
    elif changed:
        backups = folder.path / BACKUPS
        copies = f" Copies of the old ones are in {tilde(str(backups))}." if backups.exists() else ""
        out.print(f"\nChanged {plural(changed, 'file')}.{copies}", markup=False, soft_wrap=True)
    else:
        out.print("\nNothing to change.")
    draw_problems(plan.problems, titles)
    draw_checks(checks, titles)
    draw_to_do(steps, later=dry_run)
    if changed:
        out.print("\nTo take it back: recollect setup --undo")


# ---- undoing


def _undo(
    agents: list[Agent], around: Surroundings, folder: JournalFolder, *, dry_run: bool, yes: bool, as_json: bool
) -> None:
    scope = USER if around.project is None else str(around.project)
    names = [agent.name for agent in agents]
    files = plan_undo(folder, scope, names)
    if files and not dry_run:
        if not yes:
            draw_undone(files, later=True)
            _confirm(f"Take back {plural(len(files), 'file')}?")
            console().print()
        files = undo_setup(folder, scope, names)
    if as_json:
        print_json(msgspec.json.encode({"dry_run": dry_run, "files": undone_as_object(files)}).decode())
    else:
        _draw_undone(files, folder, scope, names, dry_run=dry_run)
    sys.exit(1 if any(file.outcome == "failed" for file in files) else 0)


def _draw_undone(files: list[UndoneFile], folder: JournalFolder, scope: str, names: list[str], *, dry_run: bool) -> None:
    out = console()
    if not files:
        out.print(f"Nothing to take back: setup has changed nothing {'for ' + ', '.join(names) if names else 'here'}.")
    else:
        draw_undone(files, later=dry_run)
        out.print(
            "\nThis was a dry run: nothing was written." if dry_run else "\nDone. Restart the agents that are running now."
        )
    elsewhere = sorted({record.scope for record in folder.load().files} - {scope})
    for other in elsewhere:
        options = "--undo" if other == USER else f"--undo --project` in `{tilde(other)}"
        out.print(
            f"{'Files of the user' if other == USER else 'A project'} can be taken back too: `recollect setup {options}`."
        )
