"""`recollect hook`: what agents call after a tool, when they stop, and when a session starts.

A hook runs inside somebody else's work, so it is quick and never fails: only the light part of the standard library, one
thing done, exit code 0 whatever happened. What takes longer is left to a process that nobody waits for.

Evidence: Codex's hook engine (codex-rs/hooks) and Gemini CLI's hook runner and reference were read; Claude Code and Cursor
are known from published descriptions of their hooks and from others' hooks for them. No host was tried live.
"""
# ruff: noqa: PTH100, PTH103, PTH109, PTH110, PTH111, PTH117, PTH118, PTH119, PTH120, SIM105
# Importing pathlib takes 4 ms; contextlib, collections.abc and typing as long again.

import os
import select
import sys
import time

from recollect import OURS
from recollect.surfaces.hook.json import parsed, quoted

QUEUE = "hooks.queue"
QUEUE_BYTES = 1_000_000  # then the queue starts over: it holds hints for `stop`, and the logs themselves are complete
LINE_BYTES = 16_000  # four paths of the greatest length
SILENCE_S = 2.0  # a host that sends nothing for so long forgot to close the pipe
SHORTEST_ID = 8  # characters of a session's id that can be told from the rest of a path
MARKER = ".no-recollect"  # a file of this name excludes the folder it lies in and everything below
OPTIONS = {"budget": "1000", "format": "", "realm": "main"}
FORMATS = ("", "text", "json")  # "": what the host understands, by what it sends


def main(arguments: list[str]) -> None:
    """Do what a hook is to do, and leave. The interpreter's own farewell would take longer than most hooks."""
    try:
        os.umask(0o077)
        _run(arguments)
    except BaseException as reason:  # noqa: BLE001 - the last net: a hook never fails its host
        _whisper(f"recollect hook: {reason or type(reason).__name__}")
    os._exit(0)


def _run(arguments: list[str]) -> None:
    if arguments[:1] == ["read"]:  # ourselves, started by `stop`
        from pathlib import Path

        from recollect.surfaces.hook.reading import read

        words, options = understood(arguments[1:])
        read(Path(realm_folder(options["realm"])), options["realm"], words)
        return
    document = _standard_input()  # first of all: a host must be able to write what it has to say
    words, options = understood(arguments)
    if len(words) != 1 or words[0] not in EVENTS:
        raise ValueError(f"the event is one of {', '.join(EVENTS)}, not {' '.join(words)!r}")
    if not document.strip():
        return
    said = parsed(document)
    if not isinstance(said, dict):
        raise ValueError("the host sent no JSON object")
    cwd = working_folder(said)
    if not is_excluded(cwd):
        EVENTS[words[0]](said, cwd, options)


# ---- what the host says


def _standard_input() -> str:
    """What the host sends. A terminal is not a host: nobody is waited for there."""
    if sys.stdin is None or os.isatty(0):
        return ""
    parts = []
    while select.select([0], [], [], SILENCE_S)[0] and (part := os.read(0, 1 << 20)):
        parts.append(part)
    return b"".join(parts).decode("utf-8", "replace")


def understood(arguments: list[str]) -> tuple[list[str], dict[str, str]]:
    """The words and the options of a command line."""
    words: list[str] = []
    options = dict(OPTIONS)
    rest = iter(arguments)
    for word in rest:
        if word == "--":
            words += rest
        elif word.startswith("--"):
            name, is_given, value = word[2:].partition("=")
            if name not in options:
                raise ValueError(f"there is no option --{name}")
            options[name] = value if is_given else next(rest, "")
        else:
            words.append(word)
    if options["format"] not in FORMATS:
        raise ValueError(f"--format is text or json, not {options['format']!r}")
    realm = options["realm"]
    if not realm[:1].isalnum() or os.path.basename(realm) != realm:
        raise ValueError(f"{realm!r} is no name of a realm")
    return words, options


def text_of(said: dict[str, object], *names: str) -> str:
    """The first of these members that holds a text."""
    return next((value for name in names if isinstance(value := said.get(name), str) and value), "")


def working_folder(said: dict[str, object]) -> str:
    """Where the agent works. Cursor names the roots of its workspace; without a word, it is where we were started."""
    roots = said.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    return text_of(said, "cwd") or first or os.getcwd()


def is_excluded(cwd: str) -> bool:
    """Whether a person asked us to stay out of this folder or one above it."""
    folder = cwd
    while True:
        if os.path.exists(os.path.join(folder, MARKER)):
            return True
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above


# ---- where we keep things


def state_folder() -> str:
    """The same as in the settings, without the library that they ask where it is simple."""
    if home := os.environ.get("RECOLLECT_HOME"):
        return os.path.expanduser(home)
    if sys.platform != "linux":
        import platformdirs  # every other system has rules of its own

        return platformdirs.user_data_dir("recollect")
    data = os.environ.get("XDG_DATA_HOME", "").strip()
    return os.path.join(data if os.path.isabs(data) else os.path.expanduser("~/.local/share"), "recollect")


def realm_folder(realm: str) -> str:
    return os.path.join(state_folder(), "realms", realm)


# ---- the events


def post_tool_use(said: dict[str, object], cwd: str, options: dict[str, str]) -> None:
    """Note which transcript has grown, and nothing else: this happens at every tool call."""
    noted = {"transcript_path": text_of(said, "transcript_path"), "at": f"{time.time():.3f}"}
    line = ("{" + ", ".join(f"{quoted(name)}: {quoted(value)}" for name, value in noted.items()) + "}\n").encode()
    if len(line) > LINE_BYTES:
        raise ValueError("the host's JSON has a name of impossible length")
    handle = _open_queue(realm_folder(options["realm"]))
    try:
        if os.fstat(handle).st_size > QUEUE_BYTES:
            os.ftruncate(handle, 0)
        os.write(handle, line)
    finally:
        os.close(handle)


def _open_queue(folder: str) -> int:
    how = os.O_WRONLY | os.O_APPEND | os.O_CREAT  # one write at the end, whoever else writes
    try:
        return os.open(os.path.join(folder, QUEUE), how, 0o600)
    except FileNotFoundError:
        os.makedirs(folder, exist_ok=True)
        return os.open(os.path.join(folder, QUEUE), how, 0o600)


def stop(said: dict[str, object], cwd: str, options: dict[str, str]) -> None:
    """Start reading what the agent wrote, in a process that outlives us and holds nothing that our host may wait for."""
    transcript = text_of(said, "transcript_path")
    paths = [os.path.abspath(os.path.expanduser(transcript))] if transcript else []
    # -P: a project may hold files with the names of our modules, and it is where we were started
    command = [*OURS, "hook", "read", "--realm", options["realm"], "--", *paths]
    nowhere = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)]
    os.closerange(3, 256)
    os.posix_spawn(sys.executable, command, os.environ, file_actions=nowhere, setsid=True)


def session_start(said: dict[str, object], cwd: str, options: dict[str, str]) -> None:
    """Tell the agent what is remembered of this project."""
    from recollect.surfaces.hook.context import context_for, in_form  # its imports are not for the other events

    session = text_of(said, "session_id", "conversation_id")
    asking = (session if len(session) >= SHORTEST_ID else "", text_of(said, "transcript_path"))
    context = context_for(realm_folder(options["realm"]), cwd, int(options["budget"]), asking)
    if context:
        _say(in_form(options["format"] or form_of(said), context))


def form_of(said: dict[str, object]) -> str:
    """What the host wants to read. Claude Code and Codex take text; the others only JSON, each its own."""
    if "workspace_roots" in said or "conversation_id" in said:
        return "cursor"
    if isinstance(said.get("timestamp"), str):  # Gemini CLI and what grew out of it
        return "json"
    return "text"


EVENTS = {"post-tool-use": post_tool_use, "stop": stop, "session-start": session_start}


# ---- what we say


def _say(text: str) -> None:
    if sys.stdout is None:
        return
    rest = text.encode("utf-8", "replace")
    while rest:
        rest = rest[os.write(sys.stdout.fileno(), rest) :]


def _whisper(text: str) -> None:
    """One line for whoever looks into it. Nobody may."""
    try:
        os.write(2, (" ".join(text.split())[:300] + "\n").encode("utf-8", "replace"))
    except OSError:
        pass
