"""Chooses the runner that goes on with a session: a configured one, or an agent that is installed on this machine."""

import shutil
from typing import Any

import msgspec
from msgspec import Struct

from recollect.continuation.agents import AGENTS, agent_of_command, agents_named
from recollect.errors import BadRequest
from recollect.live import LiveRealm
from recollect.operations.context import RequestContext
from recollect.operations.library.continuation_requests import ContinueSession
from recollect.operations.sessions.programs import check_may_name_programs
from recollect.operations.sessions.runners import ChosenRunner, choose_runner
from recollect.operations.sessions.turns import stored_command
from recollect.realms.runner_config import ACP, BUILT_IN, COMMAND, RECALL, kind_of
from recollect.store.live import LiveRow

EXAMPLE = """recollect config patch '{"runners": {"gemini": {"runner": "acp", "command": ["gemini", "--acp"]}}}'"""


class ContinuingRunner(Struct, frozen=True):
    """A runner, and which agent it starts. `command`: what is stored with the session, unless the config has it."""

    chosen: ChosenRunner
    kind: str
    agent: str | None
    command: list[str] | None = None


def runner_of(
    realm: LiveRealm,
    config: dict[str, Any],
    request: ContinueSession,
    source: str,
    live: LiveRow | None,
    context: RequestContext,
) -> ContinuingRunner:
    """The runner that the request names; else that of the live session, the configured one, or the session's own agent."""
    if request.command is not None:
        check_may_name_programs(realm, context, "command")
    configured = _configured(config)
    name, command = request.runner or (COMMAND if request.command is not None else ""), request.command
    if not name and live is not None:
        name, command = live.runner, stored_command(live)
    name = name or _default(config, configured, source)
    if name not in BUILT_IN and name not in configured:
        check_may_name_programs(realm, context, "runner")
        name, command = ACP, _installed(name, configured)
    chosen = choose_runner(realm, config, name, command, context)
    kind = name if name in BUILT_IN else kind_of(name, chosen.options)
    return ContinuingRunner(chosen, kind, _agent(kind, chosen), command)


def _configured(config: dict[str, Any]) -> dict[str, dict[str, Any]]:
    runners = config.get("runners")
    return runners if isinstance(runners, dict) else {}


def _default(config: dict[str, Any], configured: dict[str, dict[str, Any]], source: str) -> str:
    """The configured default; else a configured or installed runner of the session's agent; else the only one there is."""
    default = config.get("runner")
    if isinstance(default, str) and default != RECALL:
        return default
    agents = {name: _named_agent(options) for name, options in configured.items()}
    own = next((name for name, agent in agents.items() if agent == source), None)
    if own is not None:
        return own
    if _command_of_agent(source) is not None:
        return source
    if len(configured) == 1:
        return next(iter(configured))
    raise BadRequest(
        f"runner must name who goes on with this session. {_choices(configured)} To configure one: {EXAMPLE}",
        field="runner",
        runners=[*configured],
        agents=_installed_agents(),
    )  # fmt: skip


def _installed(name: str, configured: dict[str, dict[str, Any]]) -> list[str]:
    """The command of an installed agent with this name. Raises `BadRequest` if there is none."""
    for agent in agents_named(name):
        command = _command_of_agent(agent)
        if command is not None:
            return command
    known = [words for agent in agents_named(name) for words in AGENTS[agent].acp]
    programs = " or ".join(sorted({words[0] for words in known}))
    missing = f"{name} needs the program {programs}, which is not installed. " if programs else ""
    raise BadRequest(
        f"there is no runner {name!r}. {missing}{_choices(configured)} To configure one: {EXAMPLE}",
        field="runner",
        runners=[*configured],
        agents=_installed_agents(),
    )


def _command_of_agent(agent: str) -> list[str] | None:
    """The command of an agent as a runner, if its program is installed."""
    commands = AGENTS[agent].acp if agent in AGENTS else ()
    return next((list(words) for words in commands if shutil.which(words[0]) is not None), None)


def _installed_agents() -> list[str]:
    return [agent for agent in AGENTS if _command_of_agent(agent) is not None]


def _choices(configured: dict[str, dict[str, Any]]) -> str:
    installed = _installed_agents()
    runners = f"Configured: {', '.join(configured)}." if configured else "No runner is configured."
    agents = f"Installed agents: {', '.join(installed)}." if installed else "No agent that speaks ACP is installed."
    return f"{runners} {agents}"


def _agent(kind: str, chosen: ChosenRunner) -> str | None:
    if kind == RECALL:
        return None
    return _named_agent({**chosen.options, "command": chosen.command})


def _named_agent(options: dict[str, Any]) -> str | None:
    """The agent of a runner: the one that its options name, else the one that its command starts."""
    agent, command = options.get("agent"), options.get("command")
    if isinstance(agent, str) and agent:
        return agent
    try:
        return agent_of_command(msgspec.convert(command, list[str]))
    except msgspec.ValidationError:
        return None
