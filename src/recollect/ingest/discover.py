"""Which logs there are: in the homes of every source, or among the paths that somebody named."""

import os
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.model import Problem
from recollect.settings import Settings
from recollect.sources import Line, Source
from recollect.sources._jsonl import OversizedLine, decode, open_log, raw_lines
from recollect.sources._source import walk

HEAD = 65_536  # bytes of a log's beginning that say what it is and whose
HEAD_LINES = 40
ENDINGS = (".jsonl", ".jsonl.zst")
MARKER = ".no-recollect"  # a file of this name excludes the folder it lies in and everything below


class Log(Struct, frozen=True):
    source: Source
    path: Path
    stat: os.stat_result


def discover(sources: Iterable[Source], env: Mapping[str, str], settings: Settings) -> Iterator[Log | Problem]:
    """Every log of every source on this machine."""
    for source in sources:
        for home in source.homes(env):
            for found in source.find(home):
                yield from _log(source, found, settings)


def named(paths: Iterable[Path], sources: tuple[Source, ...], settings: Settings) -> Iterator[Log | Problem]:
    """The logs among these files and folders, recognised by what is in them."""
    for path in paths:
        if not path.exists():
            yield Problem(path, 0, "no such file or folder")
            continue
        for found in walk(path, ENDINGS) if path.is_dir() else [path]:
            source = None if isinstance(found, Problem) else recognise(found, sources)
            if source is not None:
                yield from _log(source, found, settings)
            else:
                yield found if isinstance(found, Problem) else Problem(found, 0, "not a log of any agent we know")


def among(
    paths: Iterable[Path], sources: Iterable[Source], env: Mapping[str, str], settings: Settings
) -> Iterator[Log | Problem]:
    """The logs among files that changed in the homes of these sources."""
    homes = [(home, home.resolve(), source) for source in sources for home in source.homes(env)]
    for changed in paths:
        place = next(
            (place for place in homes if changed.is_relative_to(place[0]) or changed.is_relative_to(place[1])), None
        )
        if place is None:
            continue
        home, real, source = place
        # The kernel names what lies behind a link; the archive knows it by the name of the link.
        path = home / changed.relative_to(real) if changed.is_relative_to(real) else changed
        if path.is_dir():  # a new folder may have been filled before anybody watched it
            for found in source.find(path):
                yield from _log(source, found, settings)
        elif path.name.endswith(source.endings) and source.is_log(path) and path.is_file():
            yield from _log(source, path, settings)


def _log(source: Source, found: Path | Problem, settings: Settings) -> Iterator[Log | Problem]:
    if isinstance(found, Problem):
        yield found
        return
    if any(fnmatch(str(found), glob) for glob in settings.exclude):
        return
    try:
        yield Log(source, found, found.stat())
    except OSError as reason:
        yield Problem(found, 0, f"cannot be read: {reason.strerror}")


def recognise(path: Path, sources: Iterable[Source]) -> Source | None:
    """Whose log a file is: by the folder it lies in if that is a source's own, else by its first values."""
    for source in sources:
        try:
            if source.recognises(first_values(path, source)):
                return source
        except OSError:
            return None
    return None


def first_values(path: Path, source: Source) -> list[Any]:
    """What a log begins with, decoded into the source's shape."""
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(source.shape)
    values: list[Any] = []
    with open_log(path) as stream:
        try:
            for number, (offset, raw, _) in enumerate(raw_lines(stream, 0), 1):
                values += [line.value for line in decode(path, offset, number, raw, decoder) if isinstance(line, Line)]
                if offset > HEAD or number >= HEAD_LINES:
                    break
        except OversizedLine:
            pass
    return values


def is_excluded(cwd: str | None, path: Path, project: str | None, settings: Settings) -> bool:
    """Whether the person asked us not to read sessions of this folder or project."""
    if project is not None and project in settings.exclude_projects:
        return True
    if cwd is not None and any(fnmatch(cwd, glob) or fnmatch(f"{cwd}/", glob) for glob in settings.exclude):
        return True
    folders = [path.parent, *((Path(cwd), *Path(cwd).parents) if cwd else ())]
    return any(_has_marker(folder) for folder in folders)


def _has_marker(folder: Path) -> bool:
    try:
        return (folder / MARKER).exists()
    except (OSError, ValueError):  # a path that cannot be, such as one of 5,000 letters
        return False
