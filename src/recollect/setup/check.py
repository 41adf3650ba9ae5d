"""Asks agents whether they connect to the server, by their own command that lists MCP servers.

The command runs in a temporary home that contains only our entry. Agents rewrite their files whenever they start, and they
would start all other servers of the person. So nothing of the person's is read, written or started.
"""

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from recollect.setup.agent import Agent, SettingsFile
from recollect.setup.editing import open_document
from recollect.setup.parts import SERVER, Server
from recollect.setup.places import Surroundings
from recollect.setup.program import ProgramCommand

TIME_LIMIT_S = 30.0  # an agent takes 1 to 4 s on two idle cores
PASSED_ON = re.compile(r"PATH|LANG|LC_\w+|TERM|TMPDIR|TZ|NODE_\w+|SSL_CERT_\w+|PYTHON\w*|COVERAGE_\w+|VIRTUAL_ENV")
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
FAILED = re.compile(r"fail|error|disconnect|✗|✘|not connected|disabled|pending", re.IGNORECASE)
CONNECTED = re.compile(r"connected", re.IGNORECASE)

CheckOutcome = Literal["connected", "listed", "failed", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What an agent says about the server."""

    agent: str
    command: str
    outcome: CheckOutcome
    detail: str = ""
    """The agent's own line, or why it said nothing."""


def check_all(
    agents: Sequence[Agent], program: ProgramCommand, env: Mapping[str, str], limit_s: float = TIME_LIMIT_S
) -> list[Checked]:
    """Ask all of these agents that can be asked, at the same time."""
    askable = [agent for agent in agents if agent.check is not None and agent.program(env) is not None]
    if not askable:
        return []
    with ThreadPoolExecutor(len(askable)) as pool:
        return list(pool.map(lambda agent: check(agent, program, env, limit_s), askable))


def check(agent: Agent, program: ProgramCommand, env: Mapping[str, str], limit_s: float = TIME_LIMIT_S) -> Checked:
    """Ask one agent."""
    assert agent.check is not None
    command = " ".join(agent.check.command)
    with tempfile.TemporaryDirectory(prefix="recollect-setup-", ignore_cleanup_errors=True) as folder:
        work, surroundings = _prepare(agent, program, env, Path(folder))
        words = [str(agent.program(env)), *agent.check.command[1:]]
        try:
            output = _output_of(words, work, surroundings, limit_s)
        except subprocess.TimeoutExpired:
            return Checked(agent=agent.name, command=command, outcome="unknown", detail=f"no answer within {limit_s:.0f} s")
        except OSError as reason:
            return Checked(agent=agent.name, command=command, outcome="unknown", detail=str(reason.strerror or reason))
    outcome, detail = _judge(output, connects=agent.check.connects)
    return Checked(agent=agent.name, command=command, outcome=outcome, detail=detail)


def _prepare(agent: Agent, program: ProgramCommand, env: Mapping[str, str], home: Path) -> tuple[Path, dict[str, str]]:
    """A home with our server in the agent's settings; the working folder in it, and the environment."""
    assert agent.check is not None
    work = home / "work"
    work.mkdir()
    passed = {name: value for name, value in env.items() if PASSED_ON.fullmatch(name)}
    surroundings = {**passed, **agent.check.env, "HOME": str(home), "RECOLLECT_HOME": str(home / "state")}
    for file in agent.user:
        if isinstance(file, SettingsFile) and any(isinstance(part, Server) for part in file.parts):
            document = open_document(file.format, "")
            for part in file.parts:
                if isinstance(part, Server):
                    document, _ = part.apply(document, ProgramCommand(program.words, str(home / "state")))
            for path in file.place(Surroundings(surroundings)):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(document.text, "utf-8")
    for name, content in agent.check.files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(content.replace('"{folder}"', msgspec.json.encode(str(work)).decode()), "utf-8")
    return work, surroundings


def _output_of(words: Sequence[str], folder: Path, env: Mapping[str, str], limit_s: float) -> str:
    """What a command prints. It is ended, with all that it started, after the time limit."""
    with subprocess.Popen(
        words,
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            return process.communicate(timeout=limit_s)[0].decode("utf-8", "replace")
        finally:
            _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # nothing that it started is left
        return


def _judge(output: str, *, connects: bool) -> tuple[CheckOutcome, str]:
    lines = [ANSI.sub("", line).strip(" \t\r│●├└┌") for line in output.splitlines()]
    line = next((line for line in lines if re.search(rf"(?<![/\w]){SERVER}(?![/\w])", line)), None)
    if line is None:
        said = [line for line in lines if line]
        return "unknown", said[-1] if said else "it printed nothing"
    if not connects:
        return "listed", line
    return ("connected", line) if CONNECTED.search(line) and not FAILED.search(line) else ("failed", line)
