"""Start a source for another agent: a module, a fixture with its golden result, and a line in the registry.

python scripts/new_source.py heron-cli --title "Heron CLI" --kind document
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
EXAMPLE = 'make new-source heron-cli TITLE="Heron CLI" KIND=document'
SESSION = "6a1f0c5e-2b1d-4f7e-9a3c-0d5e8f7a1b21"
LAST = "recollect.SOURCE"  # Recollect's own source stays the last line of the registry

MODULE = '''"""{title} keeps {what} under ~/.{name}/sessions/.

Evidence: none yet. Say here which versions and how many real sessions you have read, and what is unusual about them.
"""

from recollect.sources.formats.chat import {format}
from recollect.sources.formats.homes import home
from recollect.sources.formats.recognition import {recognition}
from recollect.sources.formats.source import Source
from recollect.sources.formats.usage import tokens

FORMAT = {format}(
    homes=home("{variable}_HOME", ".{name}", "sessions"),
    recognises={recognises},
    usage=tokens(input="input_tokens", output="output_tokens", cache_read="cached_tokens", cached_in_input=True),
)
SOURCE = Source(name="{name}", title="{title}", formats=(FORMAT,))
'''

MESSAGES = (
    '"role":"system","content":"You are {title}.","timestamp":"2026-01-10T09:00:00.000Z"',
    '"role":"user","content":"Which berth is free?","timestamp":"2026-01-10T09:00:01.000Z"',
    '"role":"assistant","content":"Berth 4 is free.","timestamp":"2026-01-10T09:00:04.000Z",'
    '"usage":{{"input_tokens":120,"output_tokens":9,"cached_tokens":100}}',
)
LINES = '{{"agent":"{name}",' + MESSAGES[0] + "}}\n{{" + MESSAGES[1] + "}}\n{{" + MESSAGES[2] + "}}\n"
DOCUMENT = '{{"agent":"{name}","messages":[\n' + ",\n".join("{{" + message + "}}" for message in MESSAGES) + "\n]}}\n"
DATABASE = f"""\
CREATE TABLE {{table}}_version (version INTEGER);
CREATE TABLE sessions (id TEXT PRIMARY KEY, updated_at INTEGER);
CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, usage TEXT, created_at INTEGER);
INSERT INTO sessions VALUES ('{SESSION}', 1768035604000);
INSERT INTO messages VALUES (1, '{SESSION}', 'system', 'You are {{title}}.', NULL, 1768035600000);
INSERT INTO messages VALUES (2, '{SESSION}', 'user', 'Which berth is free?', NULL, 1768035601000);
INSERT INTO messages VALUES (3, '{SESSION}', 'assistant', 'Berth 4 is free.',
    '{{{{"input_tokens":120,"output_tokens":9,"cached_tokens":100}}}}', 1768035604000);
"""

KINDS = {
    "lines": {
        "what": "one `<session>.jsonl` per session, a chat message per line,",
        "format": "chat_lines",
        "recognition": "marked",
        "recognises": 'marked(agent="{name}")',
        "file": f"{SESSION}.jsonl",
        "log": LINES,
    },
    "document": {
        "what": "one `<session>.json` per session, a document with a list of chat messages,",
        "format": "chat_document",
        "recognition": "marked",
        "recognises": 'marked("messages", agent="{name}")',
        "file": f"{SESSION}.json",
        "log": DOCUMENT,
    },
    "database": {
        "what": "all sessions in one SQLite database, a chat message per row,",
        "format": "chat_database",
        "recognition": "has_tables",
        "recognises": 'has_tables("sessions", "messages", "{table}_version")',
        "file": "sessions.db.sql",
        "log": DATABASE,
    },
}


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        sys.exit(f"Cannot start a source: {message}. Try `{EXAMPLE}`.")


def main() -> None:
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="", help="as in `recollect sources`: small letters, digits and hyphens")
    parser.add_argument("--title", help="the agent's name as its makers write it")
    parser.add_argument("--kind", default="lines", help="how a log is written: lines (default), document or database")
    options = parser.parse_args()
    if not options.name:
        sys.exit(f"A new source needs a name, as in `{EXAMPLE}`.")
    if not NAME.fullmatch(options.name):
        sys.exit(
            f"{options.name!r} is not a name for a source: use small letters, digits and single hyphens, as in `{EXAMPLE}`."
        )
    if options.kind not in KINDS:
        sys.exit(f"{options.kind!r} is not a kind of log: choose {', '.join(KINDS)}, as in `{EXAMPLE}`.")
    title = options.title or options.name.replace("-", " ").title()
    if not title.isprintable() or set(title) & set("\"\\{}|'"):
        sys.exit(f"{title!r} is not a title: leave out quotes, braces, bars and backslashes, as in `{EXAMPLE}`.")
    _create(options.name, title, KINDS[options.kind])


def _create(name: str, title: str, kind: dict[str, str]) -> None:
    module = ROOT / "src/recollect/sources" / f"{name.replace('-', '_')}.py"
    fixture = ROOT / "tests/fixtures" / name / "plain_turns"
    if module.exists() or module.with_suffix("").exists() or fixture.parent.exists():
        sys.exit(f"There is a source {name!r} already. Choose another name for `make new-source`.")
    table = name.replace("-", "_")
    words = {"name": name, "title": title, "table": table, "variable": table.upper()}
    words |= {key: kind[key].format(**words) for key in ("what", "format", "recognition", "recognises")}
    log = fixture / f"home/.{name}/sessions" / kind["file"]
    log.parent.mkdir(parents=True)
    log.write_text(kind["log"].format(**words), "utf-8")
    module.write_text(MODULE.format(**words), "utf-8")
    _register(module.stem)
    for script in (["tests.golden", "--write", name], ["tests.source_table", "--write"]):
        subprocess.run([sys.executable, "-m", *script], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    created = "\n".join(f"  {path.relative_to(ROOT)}" for path in (module, log, fixture / "expected.jsonl"))
    print(f"Created\n{created}\n  and a line in src/recollect/sources/__init__.py.")
    print("Now write the real format. `make golden` writes what it reads; `make docs` updates the tables.")


def _register(module: str) -> None:
    """Add the module to the sorted imports, and to the registry before Recollect's own source."""
    listing = ROOT / "src/recollect/sources/__init__.py"
    text = listing.read_text("utf-8")
    before, imports, after = re.split(r"(?s)(from recollect\.sources import \(\n.*?\n\))", text, maxsplit=1)
    names = sorted({*re.findall(r"^    (\w+),$", imports, re.MULTILINE), module})
    imports = "from recollect.sources import (\n" + "".join(f"    {name},\n" for name in names) + ")"
    after = after.replace(f"    {LAST},\n", f"    {module}.SOURCE,\n    {LAST},\n", 1)
    listing.write_text(before + imports + after, "utf-8")


if __name__ == "__main__":
    main()
