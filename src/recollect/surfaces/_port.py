"""A port of this machine, and the token that opens it to others."""

import ipaddress
import os
import socket

from recollect.errors import BadSettings, Busy
from recollect.settings import TOKEN

SHORTEST_TOKEN = 16  # characters: less can be guessed
WAITING = 128  # that want to connect


def token() -> str | None:
    """What callers must bring, if anything."""
    given = os.environ.get(TOKEN) or None
    if given is not None and (len(given) < SHORTEST_TOKEN or not given.isascii() or not given.isprintable()):
        raise BadSettings(f"{TOKEN} must be at least {SHORTEST_TOKEN} printable ASCII characters.")
    return given


def is_loopback(host: str) -> bool:
    """Whether an address, or a name, means this machine and nobody else."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens. Port 0 is any that is free."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as reason:
        raise BadSettings(f"{host!r} is no address of this machine.") from reason
    listening = socket.socket(family, kind, protocol)  # asyncio sends answers at once only where the protocol is named
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(WAITING)
    except (OSError, OverflowError) as reason:
        listening.close()
        why = getattr(reason, "strerror", None) or reason
        raise Busy(f"Port {port} of {host} cannot be had: {why}; --port 0 takes any that is free.") from reason
    return listening


def address_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
