"""In a poor environment (no UTF-8, little memory, closed streams, no home) a command prints an answer or one sentence."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Person
from tests.logs import Claude, write

SAID = "where does the hoopoe nest — 🐦 ☃ ┌─┐ é"
NO_UTF8 = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
COMMANDS = (
    "search hoopoe", "open {session}", "list", "status", "doctor", "sources", "ask where does the hoopoe nest", "observations",
    "trace search hoopoe", "trace event {session} 0", "trace session {session} --level full", "trace analyze {session}",
    "session list --imported", "session history {session}", "realm list", "config get", "sync",
)  # fmt: skip
MB = 1 << 20


@pytest.fixture(scope="module")
def synced(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """A person with a session whose text and file name are not ASCII."""
    person = Person(tmp_path_factory.mktemp("odd"))
    claude = Claude()
    decided = "We decided to use twigs → mud because they last 🐦."
    folder = os.fsdecode(b"-work-n\xffst")
    write(
        person.claude_log(claude.session, folder), [claude.prompt(SAID), claude.calls("Bash🐦", "c1"), claude.says(decided)]
    )
    person.run("sync")
    return person


def run(
    person: Person, *arguments: str, env: dict[str, str] | None = None, prepare: Callable[[], None] | None = None
) -> Any:
    """Run the command line in an environment. Returns the printed bytes."""
    command = [sys.executable, "-m", "recollect", *arguments]
    return subprocess.run(
        command, env={**person.env, **(env or {})}, capture_output=True, check=False, timeout=120, preexec_fn=prepare
    )


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_text_that_a_locale_lacks_is_replaced(synced: Person, encoding: str) -> None:
    session = synced.json("list")["data"]["sessions"][0]["id"]
    for command in COMMANDS:
        arguments = command.format(session=session).split(" ")
        shown = run(synced, *arguments, env={"PYTHONIOENCODING": encoding, **NO_UTF8})
        assert (shown.returncode, b"Traceback" in shown.stderr) == (0, False), f"{command}: {shown.stderr.decode()}"
        shown.stdout.decode(encoding)
        done = run(synced, *arguments, "--json", env={"PYTHONIOENCODING": encoding, **NO_UTF8})
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False), f"{command}: {done.stderr.decode()}"
        json.loads(done.stdout.decode("ascii"))


def test_json_has_the_complete_text_in_every_locale(synced: Person) -> None:
    done = run(synced, "list", "--json", env={"PYTHONIOENCODING": "ascii", **NO_UTF8})
    assert json.loads(done.stdout)["data"]["sessions"][0]["session"]["title"] == SAID


def test_typed_arguments_are_utf8_in_every_locale(synced: Person) -> None:
    answer = json.loads(run(synced, "search", "🐦 ☃", "--json", env={"PYTHONIOENCODING": "ascii", **NO_UTF8}).stdout)
    assert answer["request"]["query"] == "🐦 ☃"


def limit(megabytes: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes * MB, megabytes * MB))


@pytest.mark.parametrize(("command", "allowed", "needed"), [("list", 60, 80), ("search x", 100, 256), ("sync", 200, 352)])
def test_a_command_without_enough_address_space_says_how_much_it_needs(
    person: Person, command: str, allowed: int, needed: int
) -> None:
    done = run(person, *command.split(), prepare=limit(allowed))
    name = command.split()[0]
    assert done.returncode == 1
    assert done.stderr.decode() == (
        f"recollect: `ulimit -v` allows {allowed} MB of memory, and `recollect {name}` needs {needed} MB."
        " Raise the limit with `ulimit -v`.\n"
    )
    answer = json.loads(run(person, *command.split(), "--json", prepare=limit(allowed)).stdout)
    assert answer["error"]["message"].startswith(f"`ulimit -v` allows {allowed} MB")


def test_a_command_with_enough_address_space_works(person: Person) -> None:
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("where does the hoopoe nest"), claude.says("In the wall.")])
    assert run(person, "sync", prepare=limit(360)).returncode == 0
    done = run(person, "search", "hoopoe", "--json", prepare=limit(264))
    assert json.loads(done.stdout)["data"]["result_count"] == 1
    assert run(person, "list", prepare=limit(96)).returncode == 0


def test_programs_that_we_start_are_not_limited(person: Person) -> None:
    """A variable that limits the memory of our own libraries is not passed on."""
    person.run("sync")
    shown = person.run("run", "x", "--command", f"{sys.executable} -c 'import os; print(sorted(os.environ))'").stdout
    assert "OPENBLAS_NUM_THREADS" not in shown


@pytest.mark.parametrize("command", ["list", "list --json", "search hoopoe", "ask hoopoe", "status"])
def test_a_reader_that_closes_the_pipe_is_not_an_error(synced: Person, command: str) -> None:
    arguments = [sys.executable, "-m", "recollect", *command.split()]
    with subprocess.Popen(arguments, env=synced.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert (process.stderr.read(), process.wait(60)) == (b"", 0)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", ["list", "search hoopoe", "sync", "mcp --no-sync", "run hello --runner recall"])
def test_a_closed_stream_causes_no_error(synced: Person, command: str, closed: str) -> None:
    line = f"exec {sys.executable} -m recollect {command} {closed}"
    done = subprocess.run(
        ["sh", "-c", line], env=synced.env, capture_output=True, check=False, timeout=120, stdin=subprocess.DEVNULL
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr.decode()
    assert synced.json("doctor")["archive"] == "sound"


def test_an_error_names_a_state_folder_that_is_a_file(person: Person, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    done = run(person, "list", env={"RECOLLECT_HOME": str(file)})
    assert done.returncode == 2
    assert done.stderr.decode() == f"recollect: The state folder {file} is a file. Set RECOLLECT_HOME to a folder.\n"


def test_without_a_home_the_state_folder_is_read(synced: Person) -> None:
    env = {name: value for name, value in synced.env.items() if name != "HOME"}
    command = [sys.executable, "-m", "recollect", "list"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
