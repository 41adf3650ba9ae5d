"""Resolves the paths that tool calls name: relative to the session's folder if they are inside, else absolute.

Pure text: the file system of this machine is not asked, because most logs were written elsewhere or long ago.
"""

import posixpath
import re
from functools import lru_cache
from urllib.parse import unquote

MAX_PATH = 500  # characters: a longer argument is not a path

DRIVE = re.compile(r"/?([A-Za-z]):(?=[/\\]|$)")
GIT_BASH_DRIVE = re.compile(r"/([A-Za-z])(?=/)")
SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
HOME = re.compile(r"(?:[A-Za-z]:)?/(?:home|Users)/[^/]+|/root")
NEEDS_NORMALIZING = re.compile(r"(?:^|/)\.{0,2}/|/\.{0,2}$")
NOT_IN_PATHS = re.compile(r"[\x00-\x1f\x7f*<>|\"]")
DEVICES = ("/dev/", "/proc/")


@lru_cache(maxsize=4_096)  # agents read, edit and read a file again
def project_path(path: str, folder: str | None, base: str = "") -> str:
    """A path relative to the session's folder if it is inside, else absolute; empty if it is not the path of a file.

    `base` is the folder in which the call ran, if it was not the session's own.
    """
    path = path.strip().strip("`'\"")
    if not path or len(path) > MAX_PATH or NOT_IN_PATHS.search(path) or not path.isprintable():
        return ""
    root, is_windows = _root(folder or "")
    path = _with_slashes(path, is_windows=is_windows)
    if not is_absolute(path):
        path = join_path(join_path(root, _with_slashes(base, is_windows=is_windows)) if base else root, path)
    elif path.startswith("~"):
        path = _home(root) + path[1:] if path[1:2] in {"", "/"} and _home(root) else path
    if path[:1] == "." or NEEDS_NORMALIZING.search(path, 1):
        path = posixpath.normpath(path)
    return _inside(path, root)


def _inside(path: str, root: str) -> str:
    """The part of a path after its project's root; the whole path outside; empty for a folder or a device."""
    if root and path.startswith(root) and path[len(root) : len(root) + 1] == "/":
        path = path[len(root) + 1 :]
    if path in {"", ".", "..", "/", "~", root} or path.startswith(DEVICES) or SCHEME.match(path, 0, 40):
        return ""
    return path


@lru_cache(maxsize=1024)
def _root(folder: str) -> tuple[str, bool]:
    """A session's folder with slashes, and whether it is on Windows."""
    is_windows = DRIVE.match(folder) is not None or folder.startswith("\\\\")
    root = _with_slashes(folder, is_windows=is_windows)
    return (posixpath.normpath(root) if root else "").rstrip("/"), is_windows


def _home(root: str) -> str:
    """The home folder that contains a session's folder, for paths that begin with `~`."""
    home = HOME.match(root)
    return home[0] if home else ""


def _with_slashes(path: str, *, is_windows: bool) -> str:
    """A path with slashes, from a path of any system or a `file:` URI. A drive's letter is in upper case."""
    if path.startswith("file:"):
        path = unquote(path[5:].removeprefix("//").removeprefix("localhost"))
    drive = DRIVE.match(path) or (GIT_BASH_DRIVE.match(path) if is_windows else None)
    if drive:
        path = f"{drive[1].upper()}:{path[drive.end() :]}"
    return path.replace("\\", "/") if is_windows or drive or path.startswith("\\\\") else path


def is_absolute(path: str) -> bool:
    return path.startswith(("/", "~")) or path[1:2] == ":" or SCHEME.match(path) is not None


def join_path(folder: str, path: str) -> str:
    """A path inside a folder; the path alone if it is absolute."""
    return path if is_absolute(path) or not folder else posixpath.join(folder, path)
