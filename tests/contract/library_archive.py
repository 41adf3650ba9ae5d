"""A home with sessions that differ in every property that a filter of the library knows.

Each session has a name, which is a word of its first prompt; `NAMES` lists them with what filters must find.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recollect.distil import Distiller
from recollect.live import LiveRealm
from recollect.operations import OPERATIONS, RequestContext
from recollect.settings import EmbeddingSettings, Settings
from recollect.store.memory import DISTILLED
from tests.conftest import Person
from tests.contract.history_archive import Codex
from tests.logs import Claude, write

Record = dict[str, Any]

ANCHOR, BEACON, CUTTER, DINGHY, ESTUARY, FATHOM = "anchor", "beacon", "cutter", "dinghy", "estuary", "fathom"
NAMES = (ANCHOR, BEACON, CUTTER, DINGHY, ESTUARY, FATHOM)
SHARED_WORD = "harbourmaster"  # every session says it
PATCH = """*** Begin Patch
*** Update File: src/tide.go
@@
-old tide
+new tide
+and more
*** End Patch"""


def claude_sessions() -> Iterator[tuple[str, str, list[Record]]]:
    """(project folder, session id, lines) of each session of Claude Code."""
    anchor = Claude("aaaaaaaa-0001-4000-8000-000000000001", "/work/app", start=0)
    yield (
        "-work-app",
        anchor.session,
        [
            anchor.prompt(f"Lift the {ANCHOR} for the {SHARED_WORD}"),
            anchor.calls("Read", "t1", file_path="/work/app/src/deck.py"),
            anchor.result("t1", "deck = 1\n"),
            anchor.calls(
                "Edit", "t2", file_path="/work/app/src/deck.py", old_string="deck = 1", new_string="deck = 2\nrail = 3"
            ),
            anchor.result("t2", "edited"),
            anchor.calls("Bash", "t3", command="pytest -q"),
            anchor.result("t3", "1 failed: rail", failed=True),
            anchor.says("The deck has a rail now. **Done**."),
        ],
    )
    beacon = Claude("aaaaaaaa-0002-4000-8000-000000000002", "/work/app", start=3_600)
    yield (
        "-work-app",
        beacon.session,
        [
            beacon.prompt(f"Light the {BEACON} of the {SHARED_WORD}", gitBranch="signals"),
            beacon.says("It is lit.", model="claude-opus-4-6", gitBranch="signals"),
        ],
    )
    cutter = Claude("cccccccc-0003-4000-8000-000000000003", "/work/yard", start=7_200)
    yield (
        "-work-yard",
        cutter.session,
        [
            cutter.prompt(f"Sail the {CUTTER} to the {SHARED_WORD}"),
            cutter.thinks("The wind is from the west."),
            cutter.calls("Write", "t1", file_path="/work/yard/log/voyage.md", content="one\ntwo\nthree\n"),
            cutter.result("t1", "written"),
            cutter.says("The voyage is in the log."),
            cutter.prompt("And back again"),
            cutter.says("Back."),
        ],
    )


def codex_sessions() -> Iterator[tuple[Codex, list[Record]]]:
    dinghy = Codex(1, "2026-02-02T09:00:00+00:00", "/work/app")
    yield (
        dinghy,
        [
            dinghy.begins(git={"branch": "main"}),
            *dinghy.prompt(f"Paint the {DINGHY} of the {SHARED_WORD}"),
            dinghy.patches("c1", PATCH),
            dinghy.result("c1", "Done!", 0),
            *dinghy.says("It is blue."),
            dinghy.completes(),
        ],
    )
    estuary = Codex(2, "2026-02-03T09:00:00+00:00", "/work/yard")
    yield (
        estuary,
        [
            estuary.begins(git={"branch": "signals"}),
            *estuary.prompt(f"Chart the {ESTUARY} for the {SHARED_WORD}"),
            estuary.calls("exec_command", "c1", cmd="grep -rn depth charts"),
            estuary.result("c1", "no match", 1),
            *estuary.says("There is no depth."),
            estuary.completes(),
        ],
    )
    fathom = Codex(3, "2026-02-04T09:00:00+00:00", "/work/reef")
    yield (
        fathom,
        [
            fathom.begins(git={"branch": "main"}),
            *fathom.prompt(f"Sound each {FATHOM} with the {SHARED_WORD}"),
            *fathom.says("Five fathoms."),
            fathom.completes(),
        ],
    )


def fill(person: Person) -> None:
    """Write all logs, and sync them."""
    for project, session, lines in claude_sessions():
        write(person.claude_log(session, project), lines)
    for log, lines in codex_sessions():
        write(person.codex_log(log.session), lines)
    person.sync()


def distil(person: Person) -> None:
    """Let the rules read every turn, also those that they have read. Vectors are left out."""
    settings = person.settings(embedding=EmbeddingSettings(model="none"))
    with Distiller(person.realm, settings, person.env) as distiller:
        distiller.memory.mark_all_stale()
        distiller.memory.put_meta(DISTILLED, "")
        for _ in distiller.steps():
            pass


class Library:
    """The library's operations, called in this process."""

    def __init__(self, person: Person, **settings: Any) -> None:
        self.realm = LiveRealm(Settings(home=person.state, **settings))

    def ask(self, operation: str, /, **arguments: Any) -> Any:
        """The answer of an operation with its envelope, also if it is an error."""
        reply = OPERATIONS[f"library_{operation}"].run(self.realm, arguments, RequestContext.now())
        if reply.file is not None:
            reply.file.body.close()
        return json.loads(reply.text)

    def data(self, operation: str, /, **arguments: Any) -> Any:
        answer = self.ask(operation, **arguments)
        assert "data" in answer, answer
        return answer["data"]

    def refusal(self, operation: str, /, **arguments: Any) -> Any:
        answer = self.ask(operation, **arguments)
        assert "error" in answer, answer
        return answer["error"]

    def names(self, **filters: Any) -> set[str]:
        """The names of the sessions that filters find."""
        return {name_of(session) for session in self.data("sessions", limit=200, **filters)["sessions"]}

    def session(self, name: str) -> Any:
        (session,) = (session for session in self.data("sessions")["sessions"] if name_of(session) == name)
        return session


def name_of(session: Any) -> str:
    return next(name for name in NAMES if name in session["title"])


def state_files(person: Person) -> list[Path]:
    return [path for path in person.state.rglob("*") if path.is_file()]
