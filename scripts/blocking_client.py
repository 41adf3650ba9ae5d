"""Generate the blocking classes of the Python client from the async ones.

`make sdk` writes them; a test fails when a file in the repository is out of date.
"""

import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "src" / "recollect" / "client"
NAMES = ("client", "session", "journey", "library", "library_methods", "pages")  # `_async_client.py` becomes `_client.py`
HEADER = "# Generated from {source} by `make sdk`: do not edit.\n"
MODULES = (
    ("_opening import Opening, ", "_blocking import open_blocking\nfrom recollect.client._opening import "),
    ("_transport import Transport", "_blocking import BlockingTransport"),
)
REPLACEMENTS = (  # patterns, in this order; a pattern that no longer matches anything is an error
    *((re.escape(old), new) for old, new in MODULES),
    (r"Use it in the event loop that opened it\.", "Any thread may use it; turns of different sessions run in parallel."),
    (r'"Opening\[(\w+)\]"', r'"\1"'),
    (r"\bOpening\(", "open_blocking("),
    (r"\bTransport\b", "BlockingTransport"),
    (r"\bAsyncGenerator\[(\w+), None\]", r"Iterator[\1]"),
    (r"\bAsyncGenerator\b", "Iterator"),
    (r"\bAsync([A-Z])", r"\1"),
    (r"\b_async_", "_"),
    (r"\b__a(enter|exit|iter)__", r"__\1__"),
    (r"\basync (def|for)\b", r"\1"),
    (r"\bawait ", ""),
)
RUFF = (sys.executable, "-m", "ruff")


def generate() -> dict[Path, str]:
    """The text of every generated file, by path."""
    sources = {name: (FOLDER / f"_async_{name}.py").read_text("utf-8") for name in NAMES}
    for pattern, replacement in REPLACEMENTS:
        replaced = {name: re.sub(pattern, replacement, text) for name, text in sources.items()}
        if replaced == sources:
            raise ValueError(f"{pattern!r} matches nothing in {', '.join(sources)}")
        sources = replaced
    return {
        FOLDER / f"_{name}.py": _format(HEADER.format(source=f"_async_{name}.py") + text) for name, text in sources.items()
    }


def _format(text: str) -> str:
    """Sort the imports, simplify loops that no longer await (UP028), and wrap the lines again: they are shorter now."""
    fixes = ("check", "--quiet", "--fix", "--unsafe-fixes", "--select", "I,UP028")
    for arguments in (fixes, ("format", "--quiet")):
        command = [*RUFF, *arguments, "--stdin-filename", str(FOLDER / "_client.py"), "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=FOLDER).stdout
    return text


def main(arguments: list[str]) -> int:
    if arguments != ["--write"]:
        print(f"usage: {Path(__file__).name} --write", file=sys.stderr)
        return 2
    for path, text in generate().items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
