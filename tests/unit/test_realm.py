"""A realm that many threads open at once has each of its parts once."""

import subprocess
import sys

import pytest

from tests.conftest import Person

pytestmark = pytest.mark.process

PRELUDE = """
import functools

class CachedWithoutALock:
    "What `functools.cached_property` is from Python 3.12 on."
    def __init__(self, function):
        self.function = function
    def __set_name__(self, owner, name):
        self.name = name
    def __class_getitem__(cls, kind):
        return cls
    def __get__(self, instance, owner=None):
        if self.name not in instance.__dict__:
            instance.__dict__[self.name] = self.function(instance)
        return instance.__dict__[self.name]

functools.cached_property = CachedWithoutALock
"""
RACE = """
import os, sys, tempfile, threading
from pathlib import Path
from recollect.live import LiveRealm
from recollect.realms.manifest import Backend, Origin, read_or_create
from recollect.settings import Settings

THREADS, ROUNDS = 8, 20
sys.setswitchinterval(1e-6)
settings = Settings(home=Path(os.environ["RECOLLECT_HOME"]))
read_or_create(settings.home / "realms" / "passing", "passing", Backend.MEMORY, Origin.EXPLICIT)
for _ in range(ROUNDS):
    realm, together, seen = LiveRealm(settings, "passing"), threading.Barrier(THREADS), []

    def look():
        together.wait()
        seen.append((realm.live, realm.publisher, realm.folder))

    threads = [threading.Thread(target=look) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(seen)) == 1, "every thread has the same sessions, in the same folder"
print(len(list(Path(tempfile.gettempdir()).glob("recollect-memory-*"))) - ROUNDS)
"""


def test_threads_that_open_a_realm_at_once_share_its_parts(person: Person) -> None:
    passing = person.home / "tmp"
    passing.mkdir()
    environment = {**person.env, "TMPDIR": str(passing)}
    command = [sys.executable, "-c", PRELUDE + RACE]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert (ran.returncode, ran.stdout.strip(), ran.stderr) == (0, "0", ""), "no unused folder was created"
    assert list(passing.iterdir()) == [], "and all are removed with the process"
