"""Ways to run the program with a read-only state folder, also as root."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.conftest import Person

REMOUNT = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


def mount_read_only(person: Person) -> None:
    """As in a sandbox: only this program sees its state folder through a read-only mount; other processes can write it."""
    person.launcher = ("unshare", "-m", "sh", "-c", REMOUNT, str(person.state))
    _need(person, "a process may not mount folders here")


def take_write_permission(person: Person) -> None:
    """As a folder without write permission. Root can still write it, unless it drops that right."""
    subprocess.run(["chmod", "-R", "a-w", str(person.state)], check=True)
    if not os.geteuid():
        person.launcher = ("setpriv", "--bounding-set", "-dac_override", "--inh-caps", "-dac_override", "--")
    _need(person, "root cannot drop its rights here")


def _need(person: Person, reason: str) -> None:
    """Skip the test if the program cannot be started in this way. Fail it if the folder can still be written."""
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
