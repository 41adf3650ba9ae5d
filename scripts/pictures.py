"""Draw the README's pictures: run the program on the bundled sample in a terminal, and write what it prints as SVG.

Durations are left out, because they differ from run to run. Everything else is as printed.
"""

import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
WIDTH = 118  # columns: most titles fit on a line, and a page of 800 pixels still shows it legibly
PICTURES = {
    "search": 'search -n 4 "why did the import and the tests fail?"',
    "ask": 'ask "why did we move to JWT?"',
    "list": "list",
}
DURATION = re.compile(r" in [\d,.]+ m?s\b")
FONTS = re.compile(r"@font-face \{\{.*?\}\}\s*", re.DOTALL)  # as rich writes them: fetched from elsewhere
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
SVG = FONTS.sub("", CONSOLE_SVG_FORMAT).replace("Fira Code, monospace", FONT).replace("Fira Code", FONT)


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        shutil.copytree(ROOT / "scripts" / "sample", home)
        env = {
            "HOME": str(home),
            "RECOLLECT_HOME": str(Path(folder) / "state"),
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "COLUMNS": str(WIDTH),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
        }
        _run("sync", env)
        _run("distil", env)
        for name, words in PICTURES.items():
            printed = DURATION.sub("", _run(words, env).replace(str(home), "~"))
            (FOLDER / f"{name}.svg").write_text(_draw(name, words, printed), "utf-8")
            print(f"docs/pictures/{name}.svg")


def _run(words: str, env: dict[str, str]) -> str:
    """What a command prints to a terminal of this width, with its colours."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "recollect", *shlex.split(words)],
        env=env, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        os.close(theirs)
        printed = b""
        while chunk := _read(ours):
            printed += chunk
    os.close(ours)
    if process.returncode:
        raise SystemExit(f"recollect {words} failed:\n{printed.decode()}")
    return printed.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux ends a terminal with an error
        return b""


def _draw(name: str, words: str, printed: str) -> str:
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, highlight=False)
    console.print(Text.assemble(("$ ", "green"), (f"recollect {words}", "bold")))
    console.print(Text.from_ansi(printed.rstrip("\n")))
    svg = console.export_svg(title="recollect", code_format=SVG, unique_id=f"recollect-{name}")
    return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE).rstrip() + "\n"


if __name__ == "__main__":
    main()
