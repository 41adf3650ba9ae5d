"""Finds logs: in the homes of every source, in the folders agents worked in, and at paths that a person named."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from recollect.exclusion import has_marker, is_excluded, matches
from recollect.ingest.projects import logs_in_projects
from recollect.model import Problem
from recollect.settings import Settings
from recollect.sources import READ_ERRORS, Format, Head, Source, Stamp, describe_error, read_head
from recollect.sources.formats.walk import walk

UNRECOGNISED = "not a log of any agent we know"


class Log(Struct, frozen=True):
    """A file, folder or database of a source. `stamp` is its size and date when it was found."""

    source: Source
    format: Format
    path: Path
    stamp: Stamp


def discover(
    sources: Iterable[Source], env: Mapping[str, str], settings: Settings, projects: Sequence[Path]
) -> Iterator[Log | Problem]:
    """Every log of every source on this machine, in the homes of the source and in projects."""
    seen: set[Path] = set()
    for source in sources:
        for format, path in (*source.find(env), *logs_in_projects(source, projects)):
            if isinstance(path, Problem) or path not in seen:
                yield from _log(source, format, path, settings)
            if not isinstance(path, Problem):
                seen.add(path)


def discover_in(projects: Sequence[Path], sources: Iterable[Source], settings: Settings) -> Iterator[Log | Problem]:
    """The logs in these projects."""
    for source in sources:
        for format, path in logs_in_projects(source, projects):
            yield from _log(source, format, path, settings)


def logs_at_paths(
    paths: Iterable[Path], sources: tuple[Source, ...], settings: Settings
) -> Iterator[tuple[Path, Log | Problem]]:
    """The files at these paths and in these folders, each with its log. Logs are recognised by content."""
    endings = tuple({ending for source in sources for format in source.formats for ending in format.endings})
    for path in paths:
        if not path.exists():
            yield path, Problem(path, 0, "no such file or folder")
            continue
        if not path.is_dir() and not path.is_file():
            yield path, Problem(path, 0, "neither a file nor a folder")
            continue
        for found in walk(path, endings) if path.is_dir() else [path]:
            if isinstance(found, Problem):
                yield found.path, found
            else:
                yield from ((found, log) for log in _recognised(found, sources, settings))


def _recognised(path: Path, sources: tuple[Source, ...], settings: Settings) -> Iterator[Log | Problem]:
    try:
        match = recognise(read_head(path), sources)
    except OSError as reason:
        yield Problem(path, 0, describe_error(reason))
        return
    except READ_ERRORS as reason:
        yield Problem(path, 0, describe_error(reason))
        return
    if match is None:
        yield Problem(path, 0, UNRECOGNISED)
        return
    source, format = match
    yield from _log(source, format, format.log_of(path) or path, settings)


def logs_of_files(
    paths: Iterable[Path], sources: Iterable[Source], env: Mapping[str, str], settings: Settings
) -> Iterator[Log | Problem]:
    """The logs that these changed files belong to, in the homes of these sources."""
    homes = [
        (home, home.resolve(), source, format)
        for source in sources
        for format in source.formats
        for home in format.homes(env)
    ]
    seen: set[Path] = set()
    for changed in paths:
        for home, real_home, source, format in homes:
            if not (changed.is_relative_to(home) or changed.is_relative_to(real_home)):
                continue
            # The kernel reports the target of a link; the archive has the path with the link.
            path = home / changed.relative_to(real_home) if changed.is_relative_to(real_home) else changed
            if not format.recursive and path.parent != home:
                continue
            for log in _logs_of_file(format, path):
                if log not in seen:
                    seen.add(log)
                    yield from _log(source, format, log, settings)


def _logs_of_file(format: Format, path: Path) -> Iterator[Path]:
    if path.is_dir():  # files may have appeared in a new folder before it was watched
        yield from (log for log in format.find(path) if not isinstance(log, Problem))
    elif (log := format.log_of(path)) is not None and log.is_file():
        yield log


def _log(source: Source, format: Format, path: Path | Problem, settings: Settings) -> Iterator[Log | Problem]:
    if isinstance(path, Problem):
        yield path
        return
    if matches(str(path), settings.exclude):
        return
    try:
        yield Log(source, format, path, format.stamp(path))
    except OSError as reason:
        yield Problem(path, 0, describe_error(reason))


def recognise(head: Head, sources: tuple[Source, ...]) -> tuple[Source, Format] | None:
    """The source and format of a file, by its first values. Forks come later in `sources`, so they are tried first."""
    for source in reversed(sources):
        for format in source.formats:
            with suppress(*READ_ERRORS):  # a file that makes the check fail is not a log of this source
                if format.recognises(head):
                    return source, format
    return None


def is_session_excluded(cwd: str | None, log: Path, project: str | None, settings: Settings) -> bool:
    """Whether a person excluded this log, or the sessions of this working folder or project."""
    if is_excluded(cwd, project, settings.exclude, settings.exclude_projects):
        return True
    return matches(str(log), settings.exclude) or has_marker(str(log.parent))
