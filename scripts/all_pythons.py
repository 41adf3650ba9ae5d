"""Run `make test-fast` with every installed Python that the project supports, each in its own environment.

python scripts/all_pythons.py [--others] [TESTS=tests/unit]

With --others, all except the one that runs this. Variables are passed on to make.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUPPORTED = re.compile(r'"Programming Language :: Python :: (3\.\d+)"')


def interpreter(version: str) -> str | None:
    """The path of an installed Python: on PATH, or from pyenv. A shim of pyenv may be broken, so this runs it."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for path in (shutil.which(f"python{version}"), *map(str, sorted(pyenv.glob(f"{version}.*/bin/python")))):
        if path is None:
            continue
        result = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        if result.returncode == 0 and result.stdout.startswith(f"Python {version}."):
            return path
    return None


def main() -> int:
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    variables = [word for word in sys.argv[1:] if "=" in word]
    failed = []
    for version in SUPPORTED.findall((ROOT / "pyproject.toml").read_text("utf-8")):
        if "--others" in sys.argv[1:] and version == own:
            continue
        if (path := interpreter(version)) is None:
            print(f"Python {version} is not installed: skipped.", flush=True)
            continue
        print(f"Python {version}: {path}", flush=True)
        folder = f".venv/python-{version}"
        command = ["make", "test-fast", f"PYTHON={path}", f"VENV={folder}", "GROUP=test", *variables]
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            failed.append(version)
    if failed:
        print(f"Failed with Python {', '.join(failed)}.", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
