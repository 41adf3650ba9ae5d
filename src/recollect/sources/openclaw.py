"""OpenClaw keeps one log per session, ~/.openclaw/agents/<agent>/sessions/<id>.jsonl, and beside them a `sessions.json`.

Evidence: its documentation and source code, and published samples; unverified on real sessions.
It is Pi's log (see `_pi_session`). A session that was reset or deleted is renamed, `<id>.jsonl.reset.<time>`, and may be
compressed. Around what a person wrote in some chat stand blocks that say who and where, and the hour. Who is whose
sub-agent is in `sessions.json` alone, by the keys of sessions, which pass from one log to the next when a session is reset.
"""

import re
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from msgspec import Raw, Struct

from recollect.model import About, Entry, Noise, TitleRank
from recollect.sources._head import Head
from recollect.sources._json import decoded, document
from recollect.sources._message import without_reminders
from recollect.sources._pi_family import family
from recollect.sources._pi_session import PiMemory, begin, read
from recollect.sources._pi_shapes import Row
from recollect.sources._source import Document, Lines, Source, home_of

STORE = "sessions.json"
FOLDERS = (".openclaw", ".clawdbot", ".moltbot")  # the agent's names, the present one first
NOT_LOGS = (".trajectory.", ".checkpoint.")  # what else is kept of a session under its name
ENVELOPE = re.compile(r"[\w ]{3,60} \(untrusted[^)\n]*\):\n```json\n.*?\n```\s*", re.DOTALL)
TASK = re.compile(r"\[Subagent Context\].*?\[Subagent Task\]:?\s*", re.DOTALL)
HOUR = re.compile(r"\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d [^\]\n]{1,12}\] ")


class Session(Struct, rename="camel"):
    """What the store says of one session."""

    session_id: str
    spawned_by: str | None = None
    label: str | None = None


def homes(env: Mapping[str, str]) -> list[Path]:
    if env.get("OPENCLAW_STATE_DIR"):
        return [Path(env["OPENCLAW_STATE_DIR"]) / "agents"]
    return [home_of(env) / folder / "agents" for folder in FOLDERS]


def is_log(path: Path) -> bool:
    is_named = ".jsonl" in path.name and not any(part in path.name for part in NOT_LOGS)
    return is_named and path.parent.name == "sessions"


def is_store(path: Path) -> bool:
    return path.name == STORE and path.parent.name == "sessions"


def recognises(head: Head) -> bool:
    return family(head) == "openclaw"


def recognises_store(head: Head) -> bool:
    told = list(head.first().values())
    return bool(told) and all(isinstance(one, dict) and {"sessionId", "updatedAt"} <= one.keys() for one in told)


def without_envelope(text: str) -> tuple[str, list[str]]:
    """What a person or a parent agent wrote, and what the chat that it came from put in front of it."""
    envelopes = []
    while found := ENVELOPE.match(text) or HOUR.match(text) or TASK.match(text):
        if found.re is not HOUR:  # which the entry's own time says too
            envelopes.append(found[0].strip())
        text = text[found.end() :]
    own, reminders = without_reminders(text)
    return own, envelopes + reminders


def read_store(path: Path, sessions: dict[str, Raw]) -> Iterable[Entry]:
    known = {key: session for key, raw in sessions.items() if (session := decoded(raw, Session))}
    if not known:
        yield Noise("empty store")
    for session in known.values():
        parent = known.get(session.spawned_by or "")
        yield About(
            session=session.session_id,
            title=session.label,
            title_rank=TitleRank.CUSTOM,
            parent=parent.session_id if parent else None,
        )


SOURCE = Source(
    name="openclaw",
    title="OpenClaw",
    formats=(
        Lines(
            homes=homes,
            endings=(".jsonl", "Z", "Z.zst"),
            is_log=is_log,
            shape=Row,
            memory=PiMemory,
            begin=begin,
            read=partial(read, split=without_envelope),
            recognises=recognises,
        ),
        Document(
            homes=homes,
            endings=(STORE,),
            is_log=is_store,
            recognises=recognises_store,
            load=document(dict[str, Raw]),
            read=read_store,
        ),
    ),
)
