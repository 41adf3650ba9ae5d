"""The archive that the tests of the memory contract share."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import Person
from tests.contract.memory_client import Memory, Record, connect_memory, session_writer, write_session
from tests.logs import Claude


def tokens(log: Claude) -> list[Record]:
    """An ordinary session: reading, editing, a test that fails and then passes, a decision."""
    edit = {"old_string": "maxAge: 0", "new_string": "maxAge: 900"}
    return [
        log.prompt("Add JWT authentication to the API, and decide how long access tokens live"),
        log.calls("Read", "r1", file_path="/work/api/src/auth.ts"),
        log.result("r1", "export const auth = jwt({ maxAge: 0 })\n" * 20),
        log.calls("Edit", "e1", file_path="/work/api/src/auth.ts", **edit),
        log.result("e1", "The file has been updated."),
        log.calls("Bash", "b1", command="npm test"),
        log.result("b1", "Error: ERR_AUTH_FAILED token expired at auth.test.ts:41\n1 failing", failed=True),
        log.thinks("The clocks of the two hosts differ."),
        log.calls("Edit", "e2", file_path="/work/api/src/middleware/jwt.ts", **edit),
        log.result("e2", "The file has been updated."),
        log.calls("Bash", "b2", command="npm test"),
        log.result("b2", "12 passing"),
        log.says(
            "Access tokens live 15 minutes. I decided to use JWT instead of server sessions, because the API is stateless "
            "and scales horizontally. ERR_AUTH_FAILED was caused by clock skew between the hosts; verification now allows "
            "30 seconds of leeway, and all 12 tests pass."
        ),
        log.prompt("And what about refresh tokens?"),
        log.says("Refresh tokens rotate: each is used once, and reuse of an old one ends the whole family of tokens."),
    ]  # fmt: skip


def basket(log: Claude) -> list[Record]:
    return [
        log.prompt("Customers lose their basket on checkout, please investigate with React Router in mind"),
        log.calls("Read", "r1", file_path="/work/shop/lib/basket.ts"),
        log.result("r1", "export function basket() {}"),
        log.says("The basket lived in a route loader; JWT expiry had nothing to do with it."),
    ]


def midnight(log: Claude) -> list[Record]:
    """The last millisecond of one day and the first of the next."""
    return [
        log.prompt("Before the bell: polish the brass", timestamp="2026-01-19T23:59:59.999Z"),
        log.says("Polished.", timestamp="2026-01-19T23:59:59.999Z"),
        log.prompt("After the bell: wind the clock", timestamp="2026-01-20T00:00:00.000Z"),
        log.says("Wound.", timestamp="2026-01-20T00:00:00.000Z"),
    ]


def garden(log: Claude) -> list[Record]:
    return [
        log.prompt("Which seeds need stratification before spring?"),
        log.says("Milkweed and lavender, six weeks at four degrees."),
    ]


SESSIONS = (
    (1, "api", "2026-01-10", tokens),
    (2, "shop", "2026-01-15", basket),
    (3, "watch", "2026-01-20", midnight),
    (4, "garden", "2026-02-01", garden),
)
PROMPTS = {
    "api": "And what about refresh tokens",
    "shop": "Customers lose their basket",
    "before": "Before the bell",
    "after": "After the bell",
    "garden": "Which seeds need stratification",
}
RECORDED: dict[str, tuple[str, Record]] = {  # by the word in their title: the place of the evidence, and the other arguments
    "hull": ("api", {"type": "decision", "concepts": ["JWT", "middleware"], "files_modified": ["src/auth.ts"]}),
    "keel": ("api", {"type": "bugfix", "concepts": ["jwt"], "files_read": ["/work/api/src/middleware/jwt.ts"]}),
    "mast": ("shop", {"type": "decision", "concepts": ["Route loaders"], "files_modified": ["lib/preauth.ts"]}),
    "sail": ("shop", {"type": "pattern", "files_modified": ["/work/shop/lib/auth.ts", "a_b/50%.ts"]}),
    "brass": ("before", {"type": "config"}),
    "clock": ("after", {"type": "Diagnosis"}),
    "seed": ("garden", {"type": "discovery", "concepts": ["middleware"], "files_read": ["z/aXb/50%.ts"]}),
}


@contextmanager
def serve_archive(folder: Path) -> Iterator[Memory]:
    """The home with all its logs, synced and distilled, with recorded observations, a server and a client."""
    person = Person(folder)
    for number, project, day, story in SESSIONS:
        write_session(person, number, project, day, story(session_writer(number, project)))
    person.run("sync")
    with connect_memory(person) as memory:
        places = {name: memory.evidence(words) for name, words in PROMPTS.items()}
        for name, (place, more) in RECORDED.items():
            memory.ids[name] = memory.record(title=f"Lantern {name}", evidence_ids=[places[place]], **more)
        yield memory


def conversation(number: int, name: str, question: str, answer: str) -> Record:
    """One conversation of a Claude.ai export."""
    stamps = [f"2026-03-0{number}T10:00:00.000000Z", f"2026-03-0{number}T10:00:05.000000Z"]
    messages = [("human", question), ("assistant", answer)]
    return {
        "uuid": f"469d1c8e-0000-4d56-afd6-00000000000{number}", "name": name, "created_at": stamps[0],
        "updated_at": stamps[1], "account": {"uuid": "c1a9a5f8-0000-42e7-8de7-000000000000"},
        "chat_messages": [
            {
                "uuid": f"019d416b-000{number}-718e-b692-00000000000{place}", "sender": sender, "text": text,
                "content": [{"type": "text", "text": text, "start_timestamp": stamp, "stop_timestamp": stamp}],
                "created_at": stamp, "attachments": [], "files": [],
            }
            for place, ((sender, text), stamp) in enumerate(zip(messages, stamps, strict=True))
        ],
    }  # fmt: skip


EXPORT = [
    conversation(1, "Bread", "How long should rye sourdough prove in summer?", "Four hours, because the kitchen is warm."),
    conversation(2, "Tides", "When does the ebb start at Ferrow?", "At six, decided by the moon and not by you."),
    conversation(3, "Knots", "Which knot joins two ropes of unequal thickness?", "The sheet bend, doubled if it is wet."),
]


def export(folder: Path, conversations: list[Record]) -> Path:
    path = folder / "conversations.json"
    path.write_text(json.dumps(conversations))
    return path
