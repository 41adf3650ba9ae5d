"""Reads the messages of a Codex rollout: prompts, answers, reasoning, and texts that Codex writes in the user's role."""

from recollect.model import Entry, Ignored, Kind, Record, Stop, TurnStart
from recollect.sources.codex import event_shapes, item_shapes
from recollect.sources.codex.state import EVENT, ITEM, CodexState, is_twin, record, twin_of
from recollect.sources.codex.text import (
    ABORTED,
    request_of,
    shown_texts,
    split_injected,
    texts_of,
    untagged,
    with_images,
)
from recollect.sources.formats.container import Line

# ---- the person's side


def message(part: item_shapes.Message, line: Line, state: CodexState) -> list[Entry]:
    texts, images = texts_of(part.content or part.message)
    match part.role:
        case "user":
            return _read_user_role(texts, images, ITEM, line, state)
        case "assistant":
            return _agent(texts, ITEM, line, state)
        case _:
            return [record(line, state, Kind.SYSTEM, "\n\n".join(texts))]


def user_message(part: event_shapes.UserMessage, line: Line, state: CodexState) -> list[Entry]:
    images = len(part.images or []) + len(part.local_images or [])
    return _read_user_role([part.message] if part.message else [], images, EVENT, line, state)


def user_turn_item(part: event_shapes.UserTurnItem, line: Line, state: CodexState) -> list[Entry]:
    texts, images = texts_of(part.content)
    return _read_user_role(texts, images, EVENT, line, state)


def _read_user_role(texts: list[str], images: int, stream: int, line: Line, state: CodexState) -> list[Entry]:
    """Reads a message in the user's role: blocks by Codex itself, and blocks by the person or the parent agent."""
    if texts and texts[0].lstrip().startswith(ABORTED):
        return end_interrupted_turn(Stop.INTERRUPT, untagged(texts[0]), stream, line, state)
    parts = [split_injected(text) for text in texts]
    prompts = [own for own, _ in parts if own]
    system = "\n\n".join(block for _, blocks in parts for block in blocks)
    entries: list[Entry] = []
    if system and not is_twin("system", system, stream, line, state):
        entries.append(record(line, state, Kind.SYSTEM, system))
    if not prompts and not images:
        return entries or (twin_of(stream) if system else [Ignored("empty message")])
    if is_twin("person", "".join(prompts), stream, line, state):
        state.prompted = True
        return entries or twin_of(stream)
    before, text = request_of("\n".join(prompts))
    if before:
        entries.append(record(line, state, Kind.SYSTEM, before, len(entries)))
    entries.append(_prompt(with_images(text, images), len(entries), line, state))
    return entries


def end_interrupted_turn(stop: Stop, text: str, stream: int, line: Line, state: CodexState) -> list[Entry]:
    """Ends an interrupted turn. An event and a message to the model both record it; the first of them is stored."""
    state.turn, state.prompted = None, False
    if is_twin("stopped", "", stream, line, state):
        return twin_of(stream)
    return [record(line, state, Kind.RUNTIME, text, stop=stop)]


def _prompt(text: str, place: int, line: Line, state: CodexState) -> Record:
    steers = state.turn is not None and state.prompted
    state.prompted = True
    if not steers:
        state.spoke = False
    return record(line, state, Kind.USER_INPUT, text, place, opens=TurnStart.NO if steers else TurnStart.PROMPT)


def inter_agent(part: item_shapes.InterAgentMessage, line: Line, state: CodexState, stream: int = ITEM) -> list[Entry]:
    """Reads a message between agents: a new task is the parent's prompt, anything else is information."""
    texts, images = texts_of(part.content)
    text = with_images("\n".join(texts), images)
    if is_twin("agents", text, stream, line, state):
        return twin_of(stream)
    if text.startswith("Message Type: NEW_TASK"):
        return [_prompt(text, 0, line, state)]
    return [record(line, state, Kind.SYSTEM, text)]


# ---- the agent's side


def agent_message(part: event_shapes.AgentMessage, line: Line, state: CodexState) -> list[Entry]:
    return _agent([part.message] if part.message else [], EVENT, line, state)


def agent_turn_item(part: event_shapes.AgentTurnItem, line: Line, state: CodexState) -> list[Entry]:
    return _agent(texts_of(part.content)[0], EVENT, line, state)


def plan_turn_item(part: event_shapes.PlanTurnItem, line: Line, state: CodexState) -> list[Entry]:
    return _agent([part.text] if part.text else [], EVENT, line, state)


def _agent(texts: list[str], stream: int, line: Line, state: CodexState) -> list[Entry]:
    """Reads an answer. Each block of an item is an event of its own, so blocks are compared."""
    state.spoke = True
    state.prompted = state.prompted and state.turn is not None
    new_texts: list[str] = []
    for text in texts:
        parts = shown_texts(text)
        new_parts = [part for part in parts if not is_twin("agent", part, stream, line, state)]
        new_texts += [text] if len(new_parts) == len(parts) else new_parts
    if not new_texts:
        return twin_of(stream) if texts else [Ignored("empty message")]
    return [record(line, state, Kind.ASSISTANT_RESPONSE, "\n".join(new_texts), model=state.model)]


def reasoning(part: item_shapes.Reasoning, line: Line, state: CodexState) -> list[Entry]:
    texts = texts_of(part.summary)[0] + texts_of(part.content or part.text)[0]
    return _thought(texts, ITEM, line, state)


def agent_reasoning(part: event_shapes.AgentReasoning, line: Line, state: CodexState) -> list[Entry]:
    return _thought([part.text] if part.text else [], EVENT, line, state)


def reasoning_turn_item(part: event_shapes.ReasoningTurnItem, line: Line, state: CodexState) -> list[Entry]:
    texts = (part.summary_text or []) + (part.raw_content or [])
    return _thought(texts, EVENT, line, state) if texts else [Ignored("turn item")]


def _thought(texts: list[str], stream: int, line: Line, state: CodexState) -> list[Entry]:
    new_texts = [text for text in texts if not is_twin("thought", text, stream, line, state)]
    if texts and not new_texts:
        return twin_of(stream)
    return [record(line, state, Kind.REASONING, "\n\n".join(new_texts), model=state.model)]
