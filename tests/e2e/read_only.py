"""Ways to run the program where its state folder can be read and not written, that hold for root too."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Person

NOBODY = 65534
REMOUNT = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


def mount_read_only(person: Person) -> None:
    """As in a sandbox: the program sees its state folder through a read-only mount; everybody else can write it."""
    person.launcher = ("unshare", "-m", "sh", "-c", REMOUNT, str(person.state))
    _need(person, "a process may not mount folders here")


def take_write_permission(person: Person) -> None:
    """As on a shared disk: the folder is of somebody else."""
    subprocess.run(["chmod", "-R", "a+rX", str(person.state.parent)], check=True)
    if os.geteuid():
        subprocess.run(["chmod", "-R", "a-w", str(person.state)], check=True)
    else:
        user = ("--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups")
        person.launcher = ("setpriv", *user, "--")
    _need(person, "no other user can run Python here")


def _need(person: Person, reason: str) -> None:
    """Skip where the program cannot be started so, and fail where the folder can be written nevertheless."""
    probe = "import os, sys; import recollect; sys.exit(os.access(sys.argv[1], os.W_OK) * 3)"
    command = [*person.launcher, sys.executable, "-c", probe, str(person.state)]
    try:
        code = subprocess.run(command, capture_output=True, check=False, timeout=60).returncode
    except FileNotFoundError:
        code = 1
    assert code != 3, "the folder can be written"
    if code:
        pytest.skip(reason)


WAYS: dict[str, Callable[[Person], None]] = {"mount": mount_read_only, "permission": take_write_permission}


def person_in_the_open() -> Person:
    """Somebody whose folders every user of the machine can reach; pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="recollect-test-"))
    folder.chmod(0o755)
    return Person(folder)
