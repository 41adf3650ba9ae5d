"""Chooses the runner of a turn: `recall`, `command`, `acp`, or a runner that the realm's config defines."""

import time
from collections.abc import Generator
from functools import partial
from typing import Any

from msgspec import Struct

from recollect.errors import BadRequest
from recollect.live import LiveRealm
from recollect.live.runners import AnswerText, Assignment, Output, Runner, ToolCall, ToolResult
from recollect.live.runners import command as commands
from recollect.live.runners.context import injected_context
from recollect.operations.context import RequestContext
from recollect.operations.sessions.programs import check_may_name_programs
from recollect.realms.runner_config import BUILT_IN, COMMAND, RECALL, WITH_COMMAND, command_of, kind_of, unknown_runner

TOOL = "recollect/search"  # named like our own tools, whose results searches exclude
NOTHING = "nothing found"
CHUNK = 2_000  # characters of an answer per output


class ChosenRunner(Struct, frozen=True):
    """A runner with its command and its options."""

    name: str
    run: Runner
    command: list[str] | None
    options: dict[str, Any]


def choose_runner(
    realm: LiveRealm, config: dict[str, Any], name: str, command: list[str] | None, context: RequestContext
) -> ChosenRunner:
    """The runner of this name. A runner that starts a program needs a command, which the config may define."""
    kind, options = name, {}
    if name not in BUILT_IN:
        options = _configured(config, name)
        kind = kind_of(name, options)
        command = command or command_of(name, options)
    if kind in WITH_COMMAND and not command:
        if name in BUILT_IN:
            check_may_name_programs(realm, context, "command")  # a caller without permission learns that first
        raise BadRequest(f"runner {name} needs a command: an array of a program and its arguments", field="command")
    if kind not in WITH_COMMAND and command:
        raise BadRequest(f"runner {name} takes no command", field="command")
    return ChosenRunner(name, _runner(realm, kind, context), command, options)


def _configured(config: dict[str, Any], name: str) -> dict[str, Any]:
    runners = config.get("runners")
    options = runners.get(name) if isinstance(runners, dict) else None
    if not isinstance(options, dict):
        raise BadRequest(unknown_runner(name), field="runner")
    return options


def _runner(realm: LiveRealm, kind: str, context: RequestContext) -> Runner:
    if kind == RECALL:
        return partial(recall, realm, has_deadline=context.has_deadline)
    if kind == COMMAND:
        return commands.run
    from recollect.live.runners import acp  # 11 ms of CPU, only needed by ACP agents

    return acp.run


def recall(realm: LiveRealm, assignment: Assignment, *, has_deadline: bool = True) -> Generator[Output, None, None]:
    """Answer from the realm's own history, with sources and without a model."""
    from recollect.operations.memory import ask  # 14 ms of CPU, only needed by this runner

    yield from injected_context(assignment)
    call, prompt = f"recall-{assignment.session}", assignment.prompt
    yield ToolCall(call, TOOL, {"query": prompt})
    try:
        context = RequestContext(time.perf_counter(), cancelled=assignment.cancel.is_set, has_deadline=has_deadline)
        results = ask.search_memory(realm, prompt, context)
    except BadRequest as reason:  # a prompt that is not a question gets an answer, too
        yield ToolResult(call, NOTHING)
        yield AnswerText(str(reason))
        return
    quoted = ask.quote_results(prompt, results)
    titles = [source.title for source in quoted.sources]
    yield ToolResult(call, "\n".join(titles) or NOTHING)
    for start in range(0, len(quoted.answer), CHUNK):
        yield AnswerText(quoted.answer[start : start + CHUNK], quoted=True)
