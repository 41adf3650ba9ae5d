"""Messages of a Codex rollout: prompts, answers, thoughts, and what Codex itself writes in the user's role."""

from recollect.model import Entry, Ignored, Kind, Record, Stop, TurnStart
from recollect.sources.codex import shapes as shape
from recollect.sources.codex import text as wording
from recollect.sources.codex.state import EVENT, ITEM, CodexState, is_twin, record, twin_of
from recollect.sources.formats.container import Line

# ---- the person's side


def message(part: shape.Message, line: Line, state: CodexState) -> list[Entry]:
    texts, images = wording.texts_of(part.content or part.message)
    match part.role:
        case "user":
            return _person(texts, images, ITEM, line, state)
        case "assistant":
            return _agent(texts, ITEM, line, state)
        case _:
            return [record(line, state, Kind.SYSTEM, "\n\n".join(texts))]


def user_message(part: shape.UserMessage, line: Line, state: CodexState) -> list[Entry]:
    images = len(part.images or []) + len(part.local_images or [])
    return _person([part.message] if part.message else [], images, EVENT, line, state)


def user_turn_item(part: shape.UserTurnItem, line: Line, state: CodexState) -> list[Entry]:
    texts, images = wording.texts_of(part.content)
    return _person(texts, images, EVENT, line, state)


def _person(texts: list[str], images: int, stream: int, line: Line, state: CodexState) -> list[Entry]:
    """A message in the user's role: blocks of Codex itself, and blocks of the person or the parent agent."""
    if texts and texts[0].lstrip().startswith(wording.ABORTED):
        return stopped(Stop.INTERRUPT, wording.untagged(texts[0]), stream, line, state)
    parts = [wording.split_injected(text) for text in texts]
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
    before, text = wording.request_of("\n".join(prompts))
    if before:
        entries.append(record(line, state, Kind.SYSTEM, before, len(entries)))
    entries.append(_prompt(wording.with_images(text, images), len(entries), line, state))
    return entries


def stopped(stop: Stop, text: str, stream: int, line: Line, state: CodexState) -> list[Entry]:
    """An interrupted turn. Both an event and a message to the model record it; the first of them counts."""
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


def inter_agent(part: shape.InterAgentMessage, line: Line, state: CodexState, stream: int = ITEM) -> list[Entry]:
    """A message between agents: a new task is the parent's prompt, anything else is information."""
    texts, images = wording.texts_of(part.content)
    text = wording.with_images("\n".join(texts), images)
    if is_twin("agents", text, stream, line, state):
        return twin_of(stream)
    if text.startswith("Message Type: NEW_TASK"):
        return [_prompt(text, 0, line, state)]
    return [record(line, state, Kind.SYSTEM, text)]


# ---- the agent's side


def agent_message(part: shape.AgentMessage, line: Line, state: CodexState) -> list[Entry]:
    return _agent([part.message] if part.message else [], EVENT, line, state)


def agent_turn_item(part: shape.AgentTurnItem, line: Line, state: CodexState) -> list[Entry]:
    return _agent(wording.texts_of(part.content)[0], EVENT, line, state)


def plan_turn_item(part: shape.PlanTurnItem, line: Line, state: CodexState) -> list[Entry]:
    return _agent([part.text] if part.text else [], EVENT, line, state)


def _agent(texts: list[str], stream: int, line: Line, state: CodexState) -> list[Entry]:
    """An answer. Each block of an item is an event of its own, so blocks are compared."""
    state.spoke = True
    state.prompted = state.prompted and state.turn is not None
    fresh: list[str] = []
    for text in texts:
        parts = wording.shown_texts(text)
        new = [part for part in parts if not is_twin("agent", part, stream, line, state)]
        fresh += [text] if len(new) == len(parts) else new
    if not fresh:
        return twin_of(stream) if texts else [Ignored("empty message")]
    return [record(line, state, Kind.ASSISTANT_RESPONSE, "\n".join(fresh), model=state.model)]


def reasoning(part: shape.Reasoning, line: Line, state: CodexState) -> list[Entry]:
    texts = wording.texts_of(part.summary)[0] + wording.texts_of(part.content or part.text)[0]
    return _thought(texts, ITEM, line, state)


def agent_reasoning(part: shape.AgentReasoning, line: Line, state: CodexState) -> list[Entry]:
    return _thought([part.text] if part.text else [], EVENT, line, state)


def reasoning_turn_item(part: shape.ReasoningTurnItem, line: Line, state: CodexState) -> list[Entry]:
    texts = (part.summary_text or []) + (part.raw_content or [])
    return _thought(texts, EVENT, line, state) if texts else [Ignored("turn item")]


def _thought(texts: list[str], stream: int, line: Line, state: CodexState) -> list[Entry]:
    fresh = [text for text in texts if not is_twin("thought", text, stream, line, state)]
    if texts and not fresh:
        return twin_of(stream)
    return [record(line, state, Kind.REASONING, "\n\n".join(fresh), model=state.model)]
