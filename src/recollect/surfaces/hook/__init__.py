"""`recollect hook`: what agents call after a tool, when they stop, and when a session starts.

A hook delays another program's work, so it is quick and never fails: it imports only the light part of the standard
library, does one thing, and always exits with 0. A background process does longer work.

Evidence: Codex's hook engine (codex-rs/hooks) and Gemini CLI's hook runner and reference were read; for Claude Code and
Cursor, published descriptions of their hooks and hooks that others wrote for them. No host was tried live.
"""
# ruff: noqa: PTH100, PTH109, PTH111, PTH118, PTH119, PTH120, SIM105
# `pathlib` takes 6 ms to import, `json` 5 ms, `typing` 24 ms.

import os
import select
import sys

from recollect import SELF_COMMAND
from recollect.exclusion import excluded_by_settings, has_marker, is_excluded, matches
from recollect.folders import state_folder_of
from recollect.light_json import parse, quote
from recollect.surfaces.hook import queue

SILENCE_S = 2.0  # seconds without input after which reading ends: some hosts do not close the pipe
MIN_ID_LENGTH = 8  # characters: a shorter session id could be part of any path
OPTIONS = {"budget": "1000", "format": "", "realm": "main"}
FORMATS = ("", "text", "json")  # "": the host's own format, recognised from its input

Input = dict[str, object]
Options = dict[str, str]


def main(arguments: list[str]) -> None:
    """Run a hook and exit. Skips interpreter shutdown, which takes longer than most hooks."""
    try:
        os.umask(0o077)
        _run(arguments)
    except BaseException as reason:  # noqa: BLE001 - a hook never fails its host
        _report(f"recollect hook: {reason or type(reason).__name__}")
    os._exit(0)


def _run(arguments: list[str]) -> None:
    if arguments[:1] == ["read"]:  # the background process that `stop` starts
        from pathlib import Path  # 6 ms, in a process that no host waits for

        from recollect.surfaces.hook.background_read import read  # 90 ms

        words, options = parse_arguments(arguments[1:])
        read(Path(realm_folder(options["realm"])), options["realm"], words)
        return
    document = _read_stdin()  # before anything else: the host may block until it has written everything
    words, options = parse_arguments(arguments)
    if len(words) != 1 or words[0] not in EVENTS:
        raise ValueError(f"the event is one of {', '.join(EVENTS)}, not {' '.join(words)!r}")
    if not document.strip():
        return
    data = parse(document)
    if not isinstance(data, dict):
        raise ValueError("the host's input is not a JSON object")
    cwd = working_folder(data)
    if not _is_excluded(cwd, first_text(data, "transcript_path")):
        EVENTS[words[0]](data, cwd, options)


# ---- input


def _read_stdin() -> str:
    """What the host sends. A terminal is not a host, so nothing is read from it."""
    if sys.stdin is None or os.isatty(0):
        return ""
    parts = []
    while select.select([0], [], [], SILENCE_S)[0] and (part := os.read(0, 1 << 20)):
        parts.append(part)
    return b"".join(parts).decode("utf-8", "replace")


def parse_arguments(arguments: list[str]) -> tuple[list[str], Options]:
    """The words and the options of a command line."""
    words: list[str] = []
    options = dict(OPTIONS)
    remaining = iter(arguments)
    for word in remaining:
        if word == "--":
            words += remaining
        elif word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if name not in options:
                raise ValueError(f"there is no option --{name}")
            options[name] = value if equals else next(remaining, "")
        else:
            words.append(word)
    if options["format"] not in FORMATS:
        raise ValueError(f"--format is text or json, not {options['format']!r}")
    realm = options["realm"]
    if not realm[:1].isalnum() or os.path.basename(realm) != realm:
        raise ValueError(f"{realm!r} is not a realm's name")
    return words, options


def first_text(data: Input, *names: str) -> str:
    """The first non-empty string in these fields."""
    return next((value for name in names if isinstance(value := data.get(name), str) and value), "")


def working_folder(data: Input) -> str:
    """The agent's working folder. Cursor sends the roots of its workspace; otherwise it is the current folder."""
    roots = data.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    return first_text(data, "cwd") or first or os.getcwd()


def _is_excluded(cwd: str, transcript: str) -> bool:
    """Whether a marker file or the settings exclude this folder, its project, or this log."""
    globs, projects = excluded_by_settings(state_folder_of(os.environ), os.environ)
    project = None
    if projects:
        from recollect.project import project_of  # 7 ms, only spent if projects are excluded

        project = project_of(cwd)
    if is_excluded(cwd, project, globs, projects):
        return True
    return bool(transcript) and (matches(transcript, globs) or has_marker(os.path.dirname(transcript)))


def realm_folder(realm: str) -> str:
    return os.path.join(state_folder_of(os.environ), "realms", realm)


# ---- events


def post_tool_use(data: Input, cwd: str, options: Options) -> None:
    """Queue the transcript that has grown. Does nothing else, because it runs at every tool call."""
    queue.append(realm_folder(options["realm"]), first_text(data, "transcript_path"))


def stop(data: Input, cwd: str, options: Options) -> None:
    """Start reading the transcript in a process that outlives us and holds none of the host's pipes."""
    transcript = first_text(data, "transcript_path")
    paths = [os.path.abspath(os.path.expanduser(transcript))] if transcript else []
    command = [*SELF_COMMAND, "hook", "read", "--realm", options["realm"], "--", *paths]
    no_streams = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)]
    os.closerange(3, 256)
    os.posix_spawn(sys.executable, command, os.environ, file_actions=no_streams, setsid=True)


def session_start(data: Input, cwd: str, options: Options) -> None:
    """Print what is known about this project."""
    from recollect.session_context import session_context  # 10 ms, only spent for this event

    session = first_text(data, "session_id", "conversation_id")
    caller = (session if len(session) >= MIN_ID_LENGTH else "", first_text(data, "transcript_path"))
    context = session_context(realm_folder(options["realm"]), cwd, int(options["budget"]), caller)
    if context:
        _print(format_context(options["format"] or host_format(data), context))


EVENTS = {"post-tool-use": post_tool_use, "stop": stop, "session-start": session_start}


# ---- output


def host_format(data: Input) -> str:
    """The host's format: text for Claude Code and Codex; JSON for the others, each with its own fields."""
    if "workspace_roots" in data or "conversation_id" in data:
        return "cursor"
    if isinstance(data.get("timestamp"), str):  # Gemini CLI and its forks
        return "json"
    return "text"


def format_context(format: str, context: str) -> str:
    """The context as text, or in the JSON object that the host reads."""
    if format == "cursor":
        return f'{{"additional_context": {quote(context)}}}\n'
    if format == "json":
        return f'{{"hookSpecificOutput": {{"hookEventName": "SessionStart", "additionalContext": {quote(context)}}}}}\n'
    return context


def _print(text: str) -> None:
    if sys.stdout is None:
        return
    remaining = text.encode("utf-8", "replace")
    while remaining:
        remaining = remaining[os.write(sys.stdout.fileno(), remaining) :]


def _report(text: str) -> None:
    """Write one line to standard error, if it is open."""
    try:
        os.write(2, (" ".join(text.split())[:300] + "\n").encode("utf-8", "replace"))
    except OSError:
        pass
