"""A state folder that is deleted under a process: the process ends, and does not create the folder again."""

import subprocess
import sys

from tests.conftest import Person
from tests.logs import Claude, write

SESSIONS = 40  # each at least one step
DISTIL = """
import os, shutil, sys
from pathlib import Path
from recollect.distil import distil
from recollect.settings import read_settings

home, realm = Path(sys.argv[1]), Path(sys.argv[2])
steps = []

def on_step(progress):
    steps.append(progress)
    if len(steps) == 3:
        shutil.rmtree(home)

done = distil(realm, read_settings(os.environ), os.environ, lambda: False, on_step)
print(len(steps), done, home.exists())
print(distil(realm, read_settings(os.environ), os.environ, lambda: False, on_step), home.exists())
"""


def test_distilling_ends_quietly_when_its_state_folder_is_deleted(person: Person) -> None:
    for number in range(SESSIONS):
        said = Claude(f"{number:08d}-4444-4444-8444-444444444444")
        write(person.claude_log(said.session), [said.prompt(f"count the plovers of bay {number}"), said.says("Seven.")])
    person.run("sync", "--no-distil")
    command = [sys.executable, "-c", DISTIL, str(person.state), str(person.realm)]
    ended = subprocess.run(command, env=person.env, capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == ["3 False False", "False False"]
