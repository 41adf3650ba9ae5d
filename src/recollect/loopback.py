"""Recognises loopback addresses, and finds which user listens on a local port."""

import ipaddress
import os
from pathlib import Path

LISTENING = "0A"  # a socket's state in /proc/net/tcp
ROOT = 0  # root can read every token, so it is not another user here
SOCKETS = Path("/proc/net/tcp"), Path("/proc/net/tcp6")


def is_loopback(host: str) -> bool:
    """Whether an address or a name can be reached from this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_foreign(port: int) -> bool:
    """Whether another user's program listens on this local port. Only Linux shows that; other systems return False."""
    return any(user not in (os.getuid(), ROOT) for user in _listeners(port))


def _listeners(port: int) -> list[int]:
    """The ids of users whose programs listen on a port, on any address."""
    users = []
    for table in SOCKETS:
        try:
            rows = [line.split() for line in table.read_text().splitlines()[1:]]
        except OSError:  # another system, or no IPv6
            continue
        users += [int(row[7]) for row in rows if row[3] == LISTENING and int(row[1].rpartition(":")[2], 16) == port]
    return users
