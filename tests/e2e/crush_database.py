"""A process that has a Crush database open, as the agent has."""

import json
import subprocess
import sys
from pathlib import Path

SCHEMA = (Path(__file__).parents[1] / "fixtures/crush/tools_and_summary/home/named/harbour/.crush/crush.db.sql").read_text()
TABLES = [part + ";" for part in SCHEMA.split(";") if part.strip().startswith("CREATE")]
OWNER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
for line in sys.stdin:
    try:
        print(db.execute(line).fetchall(), flush=True)
    except sqlite3.Error as reason:
        print(repr(reason), flush=True)
"""


class Crush:
    """A process that has a Crush database open, as the agent has."""

    def __init__(self, path: Path, journal: str = "WAL") -> None:
        path.parent.mkdir(parents=True)
        self.path = path
        self._said = 0
        command = [sys.executable, "-c", OWNER, str(path)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.do(f"PRAGMA journal_mode = {journal}")
        self.do("PRAGMA wal_autocheckpoint = 0")
        for statement in TABLES:
            self.do(statement.replace("\n", " "))

    def do(self, statement: str) -> str:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(statement + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def begins(self, session: str = "s-1", *, at: int = 1_755_600_000) -> None:
        self.do(f"INSERT INTO sessions VALUES ('{session}', NULL, 'Title of {session}', 0, 0, 0, 0.0, {at}, {at}, NULL)")

    def says(self, text: str, session: str = "s-1", *, role: str = "user", at: int = 1_755_600_000) -> None:
        self._said += 1
        parts = json.dumps([{"type": "text", "data": {"text": text}}])
        self.do(
            "INSERT INTO messages VALUES "
            f"('m-{self._said}', '{session}', '{role}', '{parts}', 'gpt-5', {at}, {at}, NULL, 'openai')"
        )
        self.do(f"UPDATE sessions SET message_count = message_count + 1 WHERE id = '{session}'")

    def close(self) -> None:
        """End the process normally, so that it closes the database."""
        self.process.communicate()

    def kill(self) -> None:
        self.process.kill()
        if self.process.stdin and not self.process.stdin.closed:
            self.process.communicate()
