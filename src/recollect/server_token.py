"""The token that callers of `recollect serve` and of the RPC port must send.

It is `RECOLLECT_TOKEN`, or a random token. A random token is created on first use and stored in the state folder. Only its
owner can read the file. All servers of a state folder share it.
"""

import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from recollect.errors import BadSettings
from recollect.settings import TOKEN

FILE = "token"
MIN_LENGTH = 16  # characters: a shorter token can be guessed
RANDOM_BYTES = 32
READABLE_BY_OTHERS = 0o077


def server_token(home: Path, env: Mapping[str, str]) -> str:
    """The token of this state folder. It is created if it does not exist."""
    return known_token(home, env) or _create(home)


def known_token(home: Path, env: Mapping[str, str]) -> str | None:
    """The token of this state folder; None if it does not exist yet."""
    if token := env.get(TOKEN):
        if not is_token(token):
            raise BadSettings(
                f"{TOKEN} must be at least {MIN_LENGTH} printable ASCII characters, without spaces around them."
            )
        return token
    return _read(home / FILE)


def is_token(text: str) -> bool:
    """Whether a text can be a token: valid in an HTTP header, and too long to guess."""
    return len(text) >= MIN_LENGTH and text.isascii() and text.isprintable() and text == text.strip()


def replace_token(home: Path) -> str:
    """Create a new token. A server rejects the old one after its next restart."""
    token = secrets.token_urlsafe(RANDOM_BYTES)
    _write(home, token).replace(home / FILE)
    return token


def _read(path: Path) -> str | None:
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            mode = os.fstat(file.fileno()).st_mode
            token = file.read().strip()
    except FileNotFoundError:
        return None
    if mode & READABLE_BY_OTHERS:
        raise BadSettings(f"{path} can be read by others (mode {stat.S_IMODE(mode):o}). {CREATE_ANOTHER}")
    if not is_token(token):
        raise BadSettings(f"{path} does not hold a token. {CREATE_ANOTHER}")
    return token


CREATE_ANOTHER = "`recollect token --new` makes another one."


def _create(home: Path) -> str:
    """Create the token. If several processes do so at once, all use the token of the first."""
    token = secrets.token_urlsafe(RANDOM_BYTES)
    temporary = _write(home, token)
    try:
        os.link(temporary, home / FILE)
    except FileExistsError:
        token = _read(home / FILE) or token
    finally:
        temporary.unlink()
    return token


def _write(home: Path, token: str) -> Path:
    """Write the token to a new file with a random name. Returns its path."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = home / f"{FILE}.{secrets.token_hex(8)}"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(token + "\n")
    return path
