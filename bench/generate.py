"""Writes the home folder of a person who has used Claude Code and Codex for a year.

    python bench/generate.py DEST --events 100000 [--seed 1]

The same size and seed give the same bytes.
"""

import argparse
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import claude_log
import codex_log
from sessions import DEFAULT_SEED, NEWEST, Session, sessions

EDITION = 1  # raise it when the generator changes, so that older cached folders are not used
WRITERS = {"claude-code": claude_log.path_and_lines, "codex": codex_log.path_and_lines}
TINY_FILES_PER_PROJECT = 100


def write_home(home: Path, events: int, seed: int = DEFAULT_SEED) -> None:
    for session in sessions(events, seed):
        write_session(home, session)


def write_session(home: Path, session: Session) -> None:
    path, lines = WRITERS[session.agent](session)
    target = home / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(b"\n".join(lines) + b"\n")


def write_tiny_files(home: Path, files: int) -> None:
    """Write many Claude Code sessions of one prompt each, to measure the cost per file."""
    rng = Random("tiny files")
    for number in range(files):
        folder = f"/home/dev/tiny-{number // TINY_FILES_PER_PROJECT}"
        log = claude_log.Log(claude_log.new_uuid(rng), folder, NEWEST, rng)
        target = home / claude_log.session_path(folder, log.session)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(claude_log.prompt_line(f"tiny prompt {number}", log) + b"\n")


def cached_home(cache: Path, events: int, seed: int = DEFAULT_SEED) -> Path:
    return cached(cache / f"home-{EDITION}-{events}-{seed}", lambda home: write_home(home, events, seed))


def cached_tiny_files(cache: Path, files: int) -> Path:
    return cached(cache / f"tiny-{EDITION}-{files}", lambda home: write_tiny_files(home, files))


def cached(home: Path, write: Callable[[Path], None]) -> Path:
    """The home folder of that name, written if it does not exist. An interrupted run leaves no incomplete folder."""
    if home.exists():
        return home
    unfinished = home.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    write(unfinished)
    return unfinished.rename(home)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("destination", type=Path, help="the home folder to write")
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED)
    arguments = parser.parse_args()
    write_home(arguments.destination, arguments.events, arguments.seed)


if __name__ == "__main__":
    main()
