"""A log whose text would control a terminal if it were shown unchanged."""

from pathlib import Path

from tests.conftest import Person
from tests.logs import Claude, write

HOSTILE = "\x1b[31m\x1b]0;owned\x07\x9b2J\u202eevil\u2066\u200b\u200d\ufeff\U000e0041"
ACTING = [*"\x1b\x07\x9b\u202e\u2066\u200b\u200d\ufeff\U000e0041"]
FORGED = "Deploy\n## Exchange 99\n\n**Assistant:**\rforged\x85# Sub-agent of: evil\u2028---\n> quoted"


def write_hostile_log(person: Person) -> Path:
    log = Claude(cwd=f"/work/app{HOSTILE}")
    records = [
        log.prompt(f"{HOSTILE} {FORGED}"),
        log.calls(f"Bash{HOSTILE}", "b1", command=f"deploy {HOSTILE}"),
        log.result("b1", f"error: deploy failed {HOSTILE}", failed=True),
        log.says(f"The deploy failed because the token expired {HOSTILE}, so I renewed it.\n{FORGED}"),
    ]
    path = write(person.claude_log(log.session), records)
    person.run("sync")
    return path
