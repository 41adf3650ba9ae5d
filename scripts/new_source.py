"""Begins a source for one more agent: a module that reads, a fixture, and the line that makes everything know of it.

python scripts/new_source.py heron "Heron CLI"
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")

MODULE = '''"""{title} keeps one `<session>.jsonl` per session under ~/.{name}/sessions/.

Evidence: none yet. Say here which versions and how many real sessions you have read, and what is odd about them.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Entry
from recollect.sources._container import Line
from recollect.sources.formats.head import Head
from recollect.sources.formats.message import RecordBuilder, chat_message
from recollect.sources.formats.source import Lines, Memory, Source, home_of
from recollect.sources.formats.values import instant


class Row(Struct):
    """One line."""

    role: str = ""
    content: Any = None
    timestamp: Any = None


def homes(env: Mapping[str, str]) -> list[Path]:
    return [home_of(env) / ".{name}/sessions"]


def recognises(head: Head) -> bool:
    return head.first().get("agent") == "{name}"


def begin(path: Path, first: list[Any]) -> Memory:
    return Memory(session=path.stem)


def read(line: Line, memory: Memory) -> Iterable[Entry]:
    row: Row = line.value
    builder = RecordBuilder(
        session=memory.session, key=f"{{memory.session}}@{{line.offset}}", at=instant(row.timestamp), line=line.number
    )
    yield from chat_message(builder, {{"role": row.role, "content": row.content}})


SOURCE = Source(
    name="{name}",
    title="{title}",
    formats=(Lines(homes=homes, endings=(".jsonl",), shape=Row, begin=begin, read=read, recognises=recognises),),
)
'''

LOG = """\
{{"agent":"{name}","role":"system","content":"You are {title}.","timestamp":"2026-01-10T09:00:00.000Z"}}
{{"role":"user","content":"Which berth is free?","timestamp":"2026-01-10T09:00:01.000Z"}}
{{"role":"assistant","content":"Berth 4 is free.","timestamp":"2026-01-10T09:00:04.000Z"}}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="as in `recollect sources`: small letters, digits and hyphens")
    parser.add_argument("title", nargs="?", help="as its makers write it")
    chosen = parser.parse_args()
    if not NAME.fullmatch(chosen.name):
        sys.exit(f"{chosen.name!r} is no name for a source: small letters, digits and single hyphens, as in heron-cli.")
    module = ROOT / "src/recollect/sources" / f"{chosen.name.replace('-', '_')}.py"
    fixture = ROOT / "tests/fixtures" / chosen.name / "plain_turns"
    if module.exists() or fixture.exists():
        sys.exit(f"There is a source {chosen.name!r} already: {module.relative_to(ROOT)}")
    words = {"name": chosen.name, "title": chosen.title or chosen.name.replace("-", " ").title()}
    log = fixture / f"home/.{chosen.name}/sessions/6a1f0c5e-2b1d-4f7e-9a3c-0d5e8f7a1b21.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text(LOG.format(**words), "utf-8")
    module.write_text(MODULE.format(**words), "utf-8")
    _enlist(module.stem)
    for script in (["tests.golden", "--write", chosen.name], ["tests.source_table", "--write"]):
        subprocess.run([sys.executable, "-m", *script], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    made = "\n".join(f"  {path.relative_to(ROOT)}" for path in (module, log, fixture / "expected.jsonl"))
    print(
        f"{made}\n  and its line in src/recollect/sources/__init__.py\nNow make it true. `make golden` shows what it reads."
    )


def _enlist(module: str) -> None:
    """One line in the list of imports, in its order, and one at the end of the table."""
    listing = ROOT / "src/recollect/sources/__init__.py"
    text = listing.read_text("utf-8")
    before, imports, after = re.split(r"(?s)(from recollect\.sources import \(\n.*?\n\))", text, maxsplit=1)
    names = sorted({*re.findall(r"^    (\w+),$", imports, re.MULTILINE), module})
    imports = "from recollect.sources import (\n" + "".join(f"    {name},\n" for name in names) + ")"
    table = r"(?s)(BUILT_IN: tuple\[Source, \.\.\.\] = \(\n.*?)\n\)"
    after = re.sub(table, rf"\1\n    {module}.SOURCE,\n)", after, count=1)
    listing.write_text(before + imports + after, "utf-8")


if __name__ == "__main__":
    main()
