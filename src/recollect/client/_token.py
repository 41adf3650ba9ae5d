"""Finds the token of a server on this machine, where the server stores it."""

import os

from recollect.client.errors import connection_lost


def find_token(host: str, port: int) -> str | None:
    """The token for an address of this machine: `RECOLLECT_TOKEN`, else the one in the state folder.

    While our server is down, another user's program may listen at its address. It must not get the token.
    """
    # Imported here: a program that passes its token, or spawns its server, loads none of the server's code.
    from recollect.errors import BadSettings
    from recollect.loopback import is_foreign, is_loopback
    from recollect.server_token import known_token
    from recollect.settings import state_folder

    if not is_loopback(host):
        return None
    try:
        token = known_token(state_folder(os.environ), os.environ)
    except (BadSettings, OSError) as reason:
        raise connection_lost(f"{host}:{port}: the token of its server cannot be read: {reason}") from reason
    if token is not None and is_foreign(port):
        raise connection_lost(f"{host}:{port} belongs to another user of this machine, so the token was not sent to it")
    return token
