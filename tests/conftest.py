"""Shared by all tests: a person's home folder, a state folder, the real command line and a raw MCP client."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from recollect.ingest import SyncReport, sync
from recollect.settings import Settings
from recollect.sources import all_sources
from tests import process_guard
from tests.golden import use_utc
from tests.memory_folder import memory_folder

use_utc()
process_guard.install()
if (memory := memory_folder()) is not None:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))  # where pytest makes its temporary folders
PROCESS_FOLDERS = ("agents", "corpus", "e2e")  # folders in which every test may start processes
TESTS = Path(__file__).parent
INHERITED = {
    "LANG",
    "PATH",
    "TERM",
    "TMPDIR",
    "TZ",
    "VIRTUAL_ENV",
}  # environment variables that tests pass on; those of agents are left out


RESTING_THIRD = "RECOLLECT_RESTING_THIRD"  # 0, 1 or 2: the third of the end-to-end tests that is left out


def pytest_xdist_auto_num_workers() -> int:
    """Twice as many as there are processors: tests wait for processes a third of their time."""
    return 2 * (os.cpu_count() or 1)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.relative_to(TESTS).parts[0] in PROCESS_FOLDERS:
            item.add_marker(process_guard.MARKER)
    if third := os.environ.get(RESTING_THIRD):
        resting = {item.path for item in items if _rests(item.path, int(third))}
        config.hook.pytest_deselected(items=[item for item in items if item.path in resting])
        items[:] = [item for item in items if item.path not in resting]


def _rests(path: Path, third: int) -> bool:
    """Whether a file of end-to-end tests belongs to a third of them. The thirds take about the same time."""
    return path.parent.name == "e2e" and sum(path.stem.encode()) % 3 == third


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Also while fixtures are set up: they start the servers."""
    if item.get_closest_marker(process_guard.MARKER) is None:
        process_guard.forbid(item.nodeid)
    try:
        return (yield)
    finally:
        process_guard.allow()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    try:
        return (yield)
    finally:
        process_guard.check()


COMMANDS_OVER_MCP = {"RECOLLECT_COMMANDS_OVER_MCP": "1"}  # the owner lets MCP clients name programs


def without_coverage(env: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process without coverage measurement, because the test would notice it."""
    return {name: value for name, value in env.items() if not name.startswith("COVERAGE_")}


class Person:
    """A person with a home folder of agent logs, and Recollect's state folder beside it. Everything is real."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.state = folder / "state"
        self.realm = self.state / "realms" / "main"
        self.launcher: tuple[str, ...] = ()  # a command that starts the program, for example a sandbox
        self.home.mkdir(parents=True)
        self.env = {
            **{
                name: value
                for name, value in os.environ.items()
                if name in INHERITED or name.startswith(("LC_", "PYTHON", "COVERAGE_"))
            },
            "HOME": str(self.home),
            "RECOLLECT_HOME": str(self.state),
        }

    def claude_log(self, session: str, project: str = "-work-app") -> Path:
        """The path at which Claude Code would write this session; its folder exists."""
        path = self.home / ".claude" / "projects" / project / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def codex_log(self, session: str) -> Path:
        path = self.home / ".codex" / "sessions" / "2026" / "01" / "02" / f"rollout-2026-01-02T00-00-00-{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def settings(self, **changes: Any) -> Settings:
        return Settings(home=self.state, **changes)

    def sync(self, *paths: Path, **changes: Any) -> SyncReport:
        """Run one sync in this process."""
        return sync(self.realm, self.settings(**changes), all_sources(), self.env, paths or None)

    def run(self, *arguments: str, check: bool = True, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run the command line in another process."""
        command = [*self.launcher, sys.executable, "-m", "recollect", *arguments]
        completed = subprocess.run(command, env=self.env, capture_output=True, text=True, check=False, timeout=120, **more)
        assert not (check and completed.returncode), (
            f"{' '.join(arguments)}: exit {completed.returncode}\n{completed.stderr}"
        )
        return completed

    def json(self, *arguments: str) -> Any:
        """The JSON that a command prints with --json, also when it fails."""
        return json.loads(self.run(*arguments, "--json", check=False).stdout)

    def mcp(self, *options: str, **environment: str) -> "RawMcp":
        return RawMcp(self, *options, **environment)


class RawMcp:
    """`recollect mcp` and its pipes, for messages that a valid client would not send."""

    def __init__(self, person: Person, *options: str, **environment: str) -> None:
        command = [*person.launcher, sys.executable, "-m", "recollect", "mcp", *(options or ("--no-sync",))]
        env = {**person.env, **environment}
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._last = 0

    def __enter__(self) -> "RawMcp":
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()

    def say(self, line: str | bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write((line.encode() if isinstance(line, str) else line) + b"\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def request(self, method: str, params: Any = None) -> Any:
        """Send a request and return its response, result or error."""
        self._last += 1
        message = {"jsonrpc": "2.0", "id": self._last, "method": method}
        self.say(json.dumps(message if params is None else {**message, "params": params}))
        while (answer := self.hear()).get("id") != self._last:
            pass
        return answer

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool and return its envelope."""
        return self.request("tools/call", {"name": tool, "arguments": arguments})["result"]["structuredContent"]


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the unpacked real sessions. Tests that use it are marked `corpus` and skipped if there are none."""
    archive = os.environ.get("RECOLLECT_CORPUS")
    if not archive or not Path(archive, "unpack").exists():
        pytest.skip("RECOLLECT_CORPUS names no folder of real sessions")
    folder = tmp_path_factory.mktemp("corpus")
    subprocess.run([sys.executable, str(Path(archive, "unpack")), str(folder)], check=True)
    yield folder
