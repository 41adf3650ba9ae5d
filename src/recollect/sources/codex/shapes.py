"""The shapes of a Codex rollout's lines, and of its records about the session.

Fields that are not read are not declared, so they are never decoded.
"""

from typing import Annotated, Any

from msgspec import Meta, Raw, Struct
from msgspec.json import Decoder

NOTHING = Raw(b"")
NULL = Raw(b"null")
Count = Annotated[int, Meta(ge=0, le=1 << 53)]  # larger numbers are not counts, and do not fit into a column
ExitCode = Annotated[int, Meta(ge=-(1 << 31), lt=1 << 32)]


class Envelope(Struct):
    """One line. In the oldest rollouts there is no payload: the line itself is the record."""

    type: str | None = None
    payload: Raw = NOTHING
    timestamp: Any = None
    created_at: Any = None
    ordinal: Any = None
    record_type: Any = None
    id: Any = None
    instructions: Raw = NOTHING


class Block(Struct):
    type: str | None = None
    text: str | None = None
    refusal: str | None = None


Content = list[Block | str] | str | None


class LooseRecord(Struct):
    """The descriptive fields of a record whose type is missing or unknown."""

    type: str | None = None
    role: str | None = None
    name: str | None = None
    call_id: str | None = None
    output: Raw = NOTHING
    message: Any = None
    summary: Any = None
    text: Any = None


class Tokens(Struct):
    """`input_tokens` includes cached tokens, read and written; `output_tokens` includes reasoning."""

    input_tokens: Count | None = None
    cached_input_tokens: Count | None = None
    cache_write_input_tokens: Count | None = None
    output_tokens: Count | None = None
    reasoning_output_tokens: Count | None = None


class TokenInfo(Struct):
    total_token_usage: Tokens | None = None
    last_token_usage: Tokens | None = None
    prompt: Count | None = None
    completion: Count | None = None


class CopiedRecord(Struct):
    """The fields that are read from a record of copied history: the turn that it begins, and the tokens so far."""

    type: str | None = None
    turn_id: str | None = None
    info: TokenInfo | None = None


# ---- records about the session


class Git(Struct):
    branch: str | None = None


class SessionMeta(Struct):
    id: str | None = None
    timestamp: Any = None
    cwd: str | None = None
    git: Git | None = None
    source: Any = None
    parent_thread_id: str | None = None
    forked_from_id: str | None = None
    history_base: Raw = NOTHING  # a fork that refers to its parent's history does not copy it
    subagent_history_start_ordinal: Count | None = None


class TurnContext(Struct):
    cwd: str | None = None
    model: str | None = None


class Compacted(Struct):
    message: str | None = None


LOOSE_RECORD = Decoder(LooseRecord)
COPIED_RECORD = Decoder(CopiedRecord)
SESSION_META = Decoder(SessionMeta)
TURN_CONTEXT = Decoder(TurnContext)
COMPACTED = Decoder(Compacted)
