"""The token of a server on this machine, found where the server keeps it."""

import os

from recollect.client.errors import lost


def find_token(host: str, port: int) -> str | None:
    """The token for an address, where it is one of this machine: `RECOLLECT_TOKEN`, else that of the state folder.

    Another user's program may listen there, if our server does not. It must not be sent the token.
    """
    # Imported here: a program that only asks loads nothing of the server's until it has to look for its token.
    from recollect.errors import BadSettings
    from recollect.loopback import is_foreign, is_loopback
    from recollect.server_token import known_token
    from recollect.settings import state_folder

    if not is_loopback(host):
        return None
    try:
        token = known_token(state_folder(os.environ), os.environ)
    except (BadSettings, OSError) as reason:
        raise lost(f"{host}:{port}: the token of its server cannot be read: {reason}") from reason
    if token is not None and is_foreign(port):
        raise lost(f"{host}:{port} belongs to another user of this machine, so the token was not sent to it")
    return token
