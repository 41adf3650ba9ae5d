"""Completion in real shells: what a person types, and what the shell makes of it after a tab."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Person
from tests.contract.library_archive import fill
from tests.e2e.terminals import plain

TIMEOUT_S = 60.0
SHELLS = {  # how each starts without a person's own settings, and how it takes the script
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(recollect completion bash)"; echo rea""dy'),
    "zsh": (
        ["zsh", "-f", "-i"],
        'autoload -Uz compinit; compinit -u -D; eval "$(recollect completion zsh)"; echo rea""dy',
    ),
}
TYPED = {  # what is typed before the tab, and what the line has after it
    "recollect lis": "recollect list ",
    "recollect list --agent cl": "--agent claude-code",
    "recollect list agent:cl": "agent:claude-code",
    "recollect open aaaaaaaa-0001": "aaaaaaaa-0001-4000-8000-000000000001",
    "recollect list --state wai": "--state waiting",
}


class Shell:
    """An interactive shell at a terminal."""

    def __init__(self, person: Person, command: list[str]) -> None:
        leader, follower = pty.openpty()
        path = f"{Path(sys.executable).parent}{os.pathsep}{person.env['PATH']}"
        env = {**person.env, "TERM": "xterm", "PATH": path, "PS1": "> ", "COLUMNS": "200"}
        self.process = subprocess.Popen(
            command, env=env, stdin=follower, stdout=follower, stderr=follower, start_new_session=True
        )
        os.close(follower)
        self.leader = leader

    def type(self, text: str, expected: str) -> str:
        """Type a text, and read until something is shown."""
        os.write(self.leader, text.encode())
        shown = ""
        until = time.monotonic() + TIMEOUT_S
        while expected not in plain(shown).replace("\r", "") and time.monotonic() < until:
            if select.select([self.leader], [], [], 0.5)[0]:
                shown += os.read(self.leader, 65_536).decode(errors="replace")
        return plain(shown).replace("\r", "")

    def close(self) -> None:
        self.process.kill()
        self.process.wait(TIMEOUT_S)
        os.close(self.leader)


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    person = Person(tmp_path_factory.mktemp("shells"))
    fill(person)
    person.run("__complete", "zsh", "")  # makes the table of commands
    return person


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, person: Person) -> Iterator[Shell]:
    command, init = SHELLS[request.param]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    shell = Shell(person, command)
    try:
        assert "ready" in shell.type(f"{init}\n", "ready")
        yield shell
    finally:
        shell.close()


def test_a_tab_completes_commands_options_and_live_values(shell: Shell) -> None:
    for typed, expected in TYPED.items():
        assert expected in shell.type(f"{typed}\t", expected), typed
        shell.type("\x15\n", "> ")  # an empty line


def test_fish_completes_the_same(person: Person) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    asked = "; ".join(f"complete -C {typed!r}" for typed in TYPED)
    path = f"{Path(sys.executable).parent}{os.pathsep}{person.env['PATH']}"
    command = ["fish", "--no-config", "-c", f"recollect completion fish | source; {asked}"]
    done = subprocess.run(command, env={**person.env, "PATH": path}, capture_output=True, text=True, check=True)
    completed = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    assert completed == [expected.split()[-1] for expected in TYPED.values()]


def test_completion_imports_neither_the_commands_nor_the_store(person: Person) -> None:
    code = (
        "import sys; sys.argv = ['recollect', '__complete', 'bash', 'recollect open ']\n"
        "from recollect.__main__ import main; main()\n"
        "print(sorted({'click', 'msgspec', 'rich', 'recollect.store', 'recollect.operations'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=person.env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert done.stdout.splitlines()[0] == "last "
