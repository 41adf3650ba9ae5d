"""What can be requested to go on with a session."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from recollect.continuation.token_budget import DEFAULT_TOKENS, MAX_TOKENS, MIN_TOKENS
from recollect.operations.library.requests import SESSION_ID, LibraryRequest
from recollect.operations.sessions.requests import parse_command, parse_prompt


def _optional_prompt(value: Any, field: str) -> str:
    """A prompt, or an empty text for none."""
    return parse_prompt(value, field) if not isinstance(value, str) or value.strip() else ""


class GetResumeCommand(LibraryRequest):
    """The agent's own command to go on with a session, with its folder."""

    id: Annotated[str, SESSION_ID]


class ContinueSession(LibraryRequest):
    """Go on with a session, imported or live, in any runner. The agent loads its own session if it can; any other agent
    gets a brief of the session: goal, state, decisions, open ends, files, last exchange. It may change files."""

    id: Annotated[str, SESSION_ID]
    prompt: Annotated[
        str, Meta(description="What to do next. Default: go on where it stopped.", extra={"parse": _optional_prompt})
    ] = ""
    runner: Annotated[
        str,
        Meta(
            max_length=256,
            description="A runner of the config, an agent installed on this machine (codex, gemini, …), command or acp.",
        ),
    ] = ""
    command: Annotated[
        list[str] | None,
        Meta(description="The program and its arguments, for the runners command and acp.", extra={"parse": parse_command}),
    ] = None
    way: Annotated[
        Literal["auto", "native", "brief"],
        Meta(
            description="native: fail if the agent cannot load the session itself. brief: always send a brief. auto: one "
            "if it must. Default {default}."
        ),
    ] = "auto"
    budget_tokens: Annotated[
        int,
        Meta(ge=MIN_TOKENS, le=MAX_TOKENS, description="Tokens of the brief at most, {ge} to {le}. Default {default}."),
    ] = DEFAULT_TOKENS
    preview: Annotated[bool, Meta(description="Only say which way it would go, and show the brief. Nothing is started.")] = (
        False
    )
