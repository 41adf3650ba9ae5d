"""Checks whether a caller may name programs to run: one rule for a request's command and for a config's runners."""

from recollect.errors import BadRequest
from recollect.live import LiveRealm
from recollect.operations.context import RequestContext

OWNER_CAN = "`commands_over_mcp = true` in settings.toml, or RECOLLECT_COMMANDS_OVER_MCP=1, lets the owner allow it"


def check_may_name_programs(realm: LiveRealm, context: RequestContext, field: str) -> None:
    """Refuse a caller on another machine, and an MCP client unless the owner's settings allow it.

    An agent that speaks MCP may run in a sandbox; a program that it names here would run outside of it.
    """
    if not context.is_local:
        raise BadRequest(f"{field} cannot be given by callers on other machines", field=field)
    if context.is_mcp and not realm.settings.commands_over_mcp:
        raise BadRequest(f"{field} cannot be given over MCP, only the name of a configured runner: {OWNER_CAN}", field=field)
