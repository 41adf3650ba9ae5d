"""A first look at Recollect: read this machine's agent sessions, or a small bundled sample, and search them."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from recollect.model import Problem
from recollect.sources import all_sources

SAMPLE = Path(__file__).parent / "sample"


def main() -> None:
    if any(_logs(dict(os.environ))):
        _show(dict(os.environ))
        return
    with tempfile.TemporaryDirectory() as state:
        print("There are no agent sessions on this machine; here is a small sample instead.\n")
        _show({**os.environ, "HOME": str(SAMPLE), "RECOLLECT_HOME": state})


def _logs(env: dict[str, str]) -> "list[Path]":
    return [found for source in all_sources() for _, found in source.find(env) if not isinstance(found, Problem)][:1]


FIRST_STEPS = ("sync", "list -n 5", "search -n 3 tests fail", "observations -n 5", "status")


def _show(env: dict[str, str]) -> None:
    for words in map(str.split, FIRST_STEPS):
        print(f"\n$ recollect {' '.join(words)}", flush=True)
        subprocess.run([sys.executable, "-m", "recollect", *words], env=env, check=True)
    print(f'\nConnect an agent:  claude mcp add recollect -- "{Path(sys.executable).with_name("recollect")}" mcp')


if __name__ == "__main__":
    main()
