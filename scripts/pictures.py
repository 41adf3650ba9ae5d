"""Draw the README's pictures: run the program on the bundled sample in a terminal, and write its output as SVG.

Durations are left out, because they differ from run to run. Everything else is the exact output.
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
FONTS = re.compile(r"@font-face \{\{.*?\}\}\s*", re.DOTALL)  # rich's fonts, which a browser would fetch from another server
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
            output = DURATION.sub("", _run(words, env).replace(str(home), "~"))
            (FOLDER / f"{name}.svg").write_text(_draw(name, words, output), "utf-8")
            print(f"docs/pictures/{name}.svg")


def _run(words: str, env: dict[str, str]) -> str:
    """The output of a command on a terminal of this width, with its colours."""
    our_end, its_end = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "recollect", *shlex.split(words)],
        env=env, stdin=subprocess.DEVNULL, stdout=its_end, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        os.close(its_end)
        output = b""
        while chunk := _read(our_end):
            output += chunk
    os.close(our_end)
    if process.returncode:
        raise SystemExit(f"recollect {words} failed:\n{output.decode()}")
    return output.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # on Linux, the end of a terminal is an error
        return b""


def _draw(name: str, words: str, output: str) -> str:
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, highlight=False)
    console.print(Text.assemble(("$ ", "green"), (f"recollect {words}", "bold")))
    console.print(Text.from_ansi(output.rstrip("\n")))
    svg = console.export_svg(title="recollect", code_format=SVG, unique_id=f"recollect-{name}")
    return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE).rstrip() + "\n"


if __name__ == "__main__":
    main()
