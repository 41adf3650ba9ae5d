"""Who runs a turn: `recall`, `command`, `acp`, or what the realm's config calls by another name."""

from collections.abc import Generator
from functools import partial
from typing import Any

from msgspec import Struct

from recollect.errors import BadRequest
from recollect.live import LiveRealm
from recollect.live.runners import AnswerText, Assignment, Output, Runner, ToolCall, ToolResult
from recollect.live.runners import command as commands
from recollect.operations.context import RequestContext
from recollect.operations.sessions.programs import check_may_name_programs
from recollect.realms.runner_config import BUILT_IN, COMMAND, RECALL, WITH_COMMAND, command_of, kind_of, unknown_runner

TOOL = "recollect/search"  # as our own tools are called: what they gave is not found again as if it had been said
NOTHING = "nothing found"
STEP = 2_000  # characters of an answer that are told at once


class Chosen(Struct, frozen=True):
    """A runner, with what it is to run."""

    name: str
    run: Runner
    command: list[str] | None
    options: dict[str, Any]


def choose(
    realm: LiveRealm, config: dict[str, Any], name: str, command: list[str] | None, context: RequestContext
) -> Chosen:
    """The runner of this name. A command goes with those that start a program, and a configured one has its own."""
    kind, options = name, {}
    if name not in BUILT_IN:
        options = _configured(config, name)
        kind = kind_of(name, options)
        command = command or command_of(name, options)
    if kind in WITH_COMMAND and not command:
        if name in BUILT_IN:
            check_may_name_programs(realm, context, "command")  # a caller who may not is told so, not asked for one
        raise BadRequest(f"runner {name} needs a command: an array of a program and its arguments", field="command")
    if kind not in WITH_COMMAND and command:
        raise BadRequest(f"runner {name} takes no command", field="command")
    return Chosen(name, _runner(realm, kind, context), command, options)


def _configured(config: dict[str, Any], name: str) -> dict[str, Any]:
    named = config.get("runners")
    found = named.get(name) if isinstance(named, dict) else None
    if not isinstance(found, dict):
        raise BadRequest(unknown_runner(name), field="runner")
    return found


def _runner(realm: LiveRealm, kind: str, context: RequestContext) -> Runner:
    if kind == RECALL:
        return partial(recall, realm, has_deadline=context.has_deadline)
    if kind == COMMAND:
        return commands.run
    from recollect.live.runners import acp  # not everybody drives other agents, and asyncio is not loaded otherwise

    return acp.run


def recall(realm: LiveRealm, given: Assignment, *, has_deadline: bool = True) -> Generator[Output, None, None]:
    """Answer from the realm's own history, with sources and without a model: search, then details, then the words."""
    from recollect.operations.memory import ask  # heavy: a server that is only asked for tools does not wait for it

    call = f"recall-{given.session}"
    yield ToolCall(call, TOOL, {"query": given.prompt})
    try:
        context = RequestContext(RequestContext.now().received, cancelled=given.cancel.is_set, has_deadline=has_deadline)
        found = ask.gather(realm, given.prompt, context)
    except BadRequest as reason:  # what is no question is answered, too
        yield ToolResult(call, NOTHING)
        yield AnswerText(str(reason))
        return
    answered = ask.extracted(given.prompt, found)
    titles = [source.title for source in answered.sources]
    yield ToolResult(call, "\n".join(titles) or NOTHING)
    for start in range(0, len(answered.answer), STEP):
        yield AnswerText(answered.answer[start : start + STEP], quoted=True)
