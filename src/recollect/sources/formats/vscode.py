"""The folders of VS Code and its forks, and the URIs by which they name a folder."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from recollect.sources.formats.homes import Homes, config_homes, user_home

EDITORS = ("Code", "Code - Insiders", "VSCodium", "VSCodium - Insiders", "Cursor", "Windsurf", "Trae", "Trae CN")
SERVERS = (".vscode-server", ".vscode-server-insiders", ".vscodium-server", ".cursor-server", ".windsurf-server")
DRIVE = re.compile(r"/[A-Za-z]:")  # a Windows path in a URI


def user_folders(env: Mapping[str, str], editors: Iterable[str]) -> list[Path]:
    """The `User` folder of each of these editors, on Linux, macOS and Windows."""
    return [config / editor / "User" for editor in editors for config in config_homes(env)]


def extension_storage(env: Mapping[str, str], extension: str) -> list[Path]:
    """The storage folder of an extension in each editor and on remote machines."""
    remote = [user_home(env) / server / "data/User" for server in SERVERS]
    return [user / "globalStorage" / extension for user in (*user_folders(env, EDITORS), *remote)]


def extension_homes(extension: str, folder: str) -> Homes:
    """This folder in the storage of an extension, in each editor and on remote machines."""
    return lambda env: [storage / folder for storage in extension_storage(env, extension)]


def path_of(uri: object) -> str | None:
    """The path of a URI, on this machine or a remote one; None if it is not a URI."""
    if not isinstance(uri, str) or "://" not in uri:
        return None
    try:
        path = unquote(urlsplit(uri).path)
    except ValueError:
        return None
    return (path[1:] if DRIVE.match(path) else path) or None
