"""Ways to run the program where its state folder can be read and not written, that hold for root too."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.conftest import Person

REMOUNT = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


def mount_read_only(person: Person) -> None:
    """As in a sandbox: the program sees its state folder through a read-only mount; everybody else can write it."""
    person.launcher = ("unshare", "-m", "sh", "-c", REMOUNT, str(person.state))
    _need(person, "a process may not mount folders here")


def take_write_permission(person: Person) -> None:
    """As with a folder that was made read-only by hand. Root may write it all the same, unless it drops that right."""
    subprocess.run(["chmod", "-R", "a-w", str(person.state)], check=True)
    if not os.geteuid():
        person.launcher = ("setpriv", "--bounding-set", "-dac_override", "--inh-caps", "-dac_override", "--")
    _need(person, "root cannot drop its rights here")


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
