"""Reading a turn: its events are sorted into what was asked, what was done and what was said, and nothing is judged yet."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from recollect.model import Event, Kind
from recollect.observe import _cues
from recollect.observe._deeds import take_call, take_notice
from recollect.observe._prose import bounded, plain, prose
from recollect.observe._requests import Wish, complains, is_trivial
from recollect.observe._sentences import THOUGHTS, causes_in, opened, reports, telling
from recollect.observe._turn import Turn, Words

MOST_PROMPTS = 12  # of one turn that are looked at: the first that says something is the request
WISHED = 1_500  # characters of a prompt that tell what it wants
LOOK_BACK = 6  # answers before the last among which the one that sums up is sought
EXPLAINING = 4  # sentences of an answer to a complaint among which its cause is expected
LEADING = 3  # sentences of an answer among which its sum is expected
LOCAL = frozenset(
    """add agents architect-mode bug clear commands commit compact config context copy cost diff doctor drop ex exit export
    fast hooks init-config lint login logout ls map map-refresh mcp memory model models new paste permissions plugin
    quit read read-only reload rename reset resume rewind run save settings status tok tokens undo usage voice web
    theme vim terminal-setup""".split()
)
TALKING = {"ask", "code", "architect", "help", "chat", "plan", "btw"}  # what follows is said to the agent
SLASHED = re.compile(r"/([\w:.-]+)(?:\s+(.*))?\s*$", re.DOTALL)


def read_turn(events: Sequence[Event], cwd: str | None) -> Turn:
    """The events of a turn, each looked at once; Recollect's own traffic is passed over."""
    turn = Turn()
    events = [event for event in events if not event.own]
    turn.last = events[-1] if events else None
    responses = {event.answers: event for event in events if event.kind is Kind.TOOL_RESPONSE and event.answers is not None}
    for event in events:
        match event.kind:
            case Kind.USER_INPUT:
                turn.prompts.append(event)
            case Kind.ASSISTANT_RESPONSE if event.text.strip():
                turn.answers.append(Words(event, event.text))
            case Kind.REASONING if event.text:
                turn.thoughts.append(event)
            case Kind.TOOL_CALL:
                take_call(turn, event, responses.get(event.seq), cwd)
            case Kind.RUNTIME if event.text:
                take_notice(turn, event, cwd)
            case _:
                pass
    _take_prompt(turn)
    turn.wish = Wish(turn.request[:WISHED])
    _take_answer(turn)
    _take_causes(turn)
    turn.changed = list(dict.fromkeys(turn.changed))
    changed = set(turn.changed)
    turn.read = [path for path in dict.fromkeys(turn.read) if path not in changed]
    return turn


# ---- what was asked


def _take_prompt(turn: Turn) -> None:
    """The first prompt that says something; what a person types to steer the program itself is none."""
    requests = [(event, request_of(event.text)) for event in turn.prompts[:MOST_PROMPTS]]
    for event, request in sorted(requests, key=lambda pair: pair[1].startswith("/")):
        if request and not is_trivial(request):
            turn.prompt, turn.request, turn.asked = event, request, prose(request)
            return
    turn.prompt = next((event for event in turn.prompts if request_of(event.text)), None)
    turn.request = request_of(turn.prompt.text) if turn.prompt else ""


def request_of(text: str) -> str:
    """What a prompt asks, without injected notes; nothing for a command of the program itself."""
    text = text.strip()
    if text.startswith("/") and (slashed := SLASHED.match(text[:4_000])):
        name, rest = slashed[1], (slashed[2] or "").strip()
        if name in LOCAL:
            return ""
        if name in TALKING:
            return rest
        return rest if len(rest.split()) >= 3 or not rest.isascii() else text[:4_000]
    return plain(bounded(text)).strip() if "<" in text or "\x1b" in text else text


# ---- what was answered


def _take_answer(turn: Turn) -> None:
    """The answer that sums up: the last one, unless it only says goodbye."""
    for words in reversed(turn.answers[-LOOK_BACK:]):
        said = prose(spoken(words.text))
        sentences = opened(said.sentences)
        told = telling(sentences)
        last = words is turn.answers[-1]
        sums_up = bool(told) if last else len(told) >= 3 or any(len(sentence) > 40 for sentence in told)
        if sums_up or (turn.answer is None and sentences):
            turn.answer, turn.said, turn.told, turn.done = words.event, said, told, reports(sentences)
            turn.sentences, turn.low = sentences, "\n".join(sentences).lower()
            turn.leads = any(map(_cues.reported, sentences[:LEADING]))
        if sums_up:
            return
    if turn.answer is None and turn.answers:
        turn.answer = turn.answers[-1].event


def _take_causes(turn: Turn) -> None:
    """The sentences that name a cause: of the answer; where a fault was reported, of what was said and thought before."""
    words = _cues.hints(_cues.CAUSE_WORDS, turn.low)
    found = [sentence for sentence in turn.told if _cues.is_cause(sentence, words)] if words else []
    if not found and complains(turn.request):
        found = [sentence for sentence in turn.told[:EXPLAINING] if sentence not in turn.done and _cues.explains(sentence)]
    if not found and turn.wish.reports_a_problem():
        found = [sentence for words in turn.answers[-LOOK_BACK:] for sentence in causes_in(words.text)]
        found = found or [sentence for event in turn.thoughts[-THOUGHTS:] for sentence in causes_in(event.text)][-2:]
    turn.causes = list(dict.fromkeys(found))[:3]


def spoken(text: str) -> str:
    """An answer that was asked for as JSON, as the sentences in it."""
    if not text.startswith("{") or len(text) > 20_000:
        return text
    try:
        fields = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeEncodeError):
        return text
    told = [value for value in fields.values() if isinstance(value, str) and value.count(" ") > 3]
    return "\n".join(told) or text
