"""A turn as the rules see it: who asked what, what was done to which files, which checks ran, what was said at the end."""

from msgspec import Struct

from recollect.model import Event
from recollect.observe._outcomes import Outcome
from recollect.observe._prose import NOTHING, Prose
from recollect.observe._requests import Wish

NO_WISH = Wish("")


class Run(Struct, frozen=True):
    """A command that was run and how it ended. `check` is its name if it is a test, a build or the like."""

    call: Event
    response: Event
    command: str
    check: str
    outcome: Outcome


class Words(Struct, frozen=True):
    """What was said in an event: its text, or the argument of a tool that speaks for the agent."""

    event: Event
    text: str


class Commit(Struct, frozen=True):
    event: Event
    subject: str


class Turn(Struct):
    """Everything that the rules ask of a turn."""

    prompt: Event | None = None
    prompts: list[Event] = []
    request: str = ""
    wish: Wish = NO_WISH
    asked: Prose = NOTHING
    answer: Event | None = None
    answers: list[Words] = []
    said: Prose = NOTHING
    sentences: list[str] = []  # of the answer, each without its polite opening
    low: str = ""  # the same in small letters: the cheap look comes before the expression that decides
    leads: bool = False  # whether the answer opens with a report, which then sums up the rest
    told: list[str] = []  # of what was said, the sentences that stand alone
    done: list[str] = []  # and those that report something done
    causes: list[str] = []
    thoughts: list[Event] = []
    edits: list[Event] = []
    changed: list[str] = []
    created: list[str] = []
    read: list[str] = []
    runs: list[Run] = []
    commits: list[Commit] = []
    pull_request: Commit | None = None
    choices: list[tuple[str, Event]] = []
    plan: Prose = NOTHING
    calls: int = 0
    last: Event | None = None
