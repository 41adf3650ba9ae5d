"""Run `make test-fast` with every installed Python that the project supports, each in its own environment.

python scripts/all_pythons.py [--newest] [TESTS=tests/unit]

With --newest, only the newest one that is installed, if it is not the one that runs this. Variables are passed on to make.
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
    found = {version: interpreter(version) for version in SUPPORTED.findall((ROOT / "pyproject.toml").read_text("utf-8"))}
    for version in [version for version, path in found.items() if path is None]:
        print(f"Python {version} is not installed: skipped.", flush=True)
    installed = {version: path for version, path in found.items() if path is not None}
    if "--newest" in sys.argv[1:]:
        newest = max(installed, key=lambda version: [*map(int, version.split("."))], default=own)
        installed = {newest: installed[newest]} if newest != own else {}
    for version, path in installed.items():
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
