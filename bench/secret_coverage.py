"""Coverage of redaction: how many kinds of secrets are replaced in every context, and what is replaced in ordinary text.

python bench/secret_coverage.py                              # kinds of secrets; also by detect-secrets if it is installed
python bench/secret_coverage.py --ordinary DIR [DIR …]       # what is replaced in ordinary code and documents, and how fast
"""

import argparse
import json
import random
import re
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from secret_kinds import KINDS, Kind, made_up

from recollect.redact import MARK, find_secret_texts, redact

# Contexts in which a secret has a name and a value. The name is spelled as is usual in each context.
CONTEXTS = {
    "env": "PORT=80\n{name}={value}\nDEBUG=1",
    "json": '{{"port": 80, "{lower}": "{value}", "debug": true}}',
    "escaped": '{{\\"port\\": 80, \\"{lower}\\": \\"{value}\\"}}',
    "twice escaped": '{{\\\\\\"{lower}\\\\\\": \\\\\\"{value}\\\\\\"}}',
    "export": "export {name}='{value}' && make",
    "option": "tool --{option}={value} --verbose",
    "yaml": "service:\n  {lower}: {value}\n  port: 80",
    "xml": "<config><{lower}>{value}</{lower}></config>",
    "python": '{lower}: str = "{value}"',
    "go": '{camel} := "{value}"',
    "ruby": '{{"{lower}" => "{value}"}}',
    "log": "2026-01-02T03:04:05Z INFO using {lower}={value} for all",
    "terraform": 'variable "{lower}" {{\n  default = "{value}"\n}}',
    "csharp": 'public string {camel} {{ get; set; }} = "{value}";',
    "default": 'os.getenv("{name}", "{value}")',
    "c": '#define {name} "{value}"',
    "dockerfile": "FROM x\nENV {name} {value}\n",
    "kubernetes": "env:\n  - name: {name}\n    value: {value}\n",
    "block": "{lower}: |\n  {value}\n",
    "attribute": '<add key="{camel}" value="{value}" />',
    "property list": "<key>{camel}</key>\n<string>{value}</string>",
    "table": "| name | value |\n|---|---|\n| {name} | {value} |",
    "query": "GET https://api.example.org/v1?page=1&{lower}={value}&sort=name",
    "percent": "%7B%22{lower}%22%3A%22{value}%22%7D",
    "continued": '{lower} = (\n    "{value}"\n)',
}


def planted(kind: Kind, context: str, rng: random.Random) -> tuple[str, str]:
    """A text that contains a secret, and the secret."""
    value = made_up(kind.shape, rng)
    lower = kind.name.lower() if kind.name.isupper() else kind.name
    words = re.split(r"[_-]+", lower)
    camel = words[0] + "".join(word.title() for word in words[1:])
    option = lower.replace("_", "-").strip("-")
    return CONTEXTS[context].format(name=kind.name, lower=lower, camel=camel, option=option, value=value), value


def is_taken_out(text: str, value: str) -> bool:
    """Whether redaction replaces a secret, its end and its first half. Of URLs, only the secret part must be replaced."""
    redacted = redact(text)
    if value not in text or redacted == text:
        return False
    if "://" in value:
        value = value.split("@")[0].split("://")[1] if "@" in value and "hook" not in value else value[30:]
    return value not in redacted and value[-12:] not in redacted and value[: max(12, len(value) // 2)] not in redacted


def missed(seed: int = 12) -> dict[str, list[str]]:
    """The kinds that are not replaced in every context, with the contexts in which they are missed."""
    rng = random.Random(seed)
    misses: dict[str, list[str]] = {}
    for name, kind in KINDS.items():
        contexts = [context for context in CONTEXTS if not is_taken_out(*planted(kind, context, rng))]
        if contexts:
            misses[name] = contexts
    return misses


def report(seed: int) -> None:
    misses = missed(seed)
    for title, letter in (("gitleaks' rules know", "g"), ("detect-secrets knows", "d"), ("only we know", "")):
        kinds = [name for name, kind in KINDS.items() if (letter in kind.known if letter else not kind.known)]
        print(f"kinds that {title}: {sum(name not in misses for name in kinds)} of {len(kinds)} replaced in every context")
    known = [name for name, kind in KINDS.items() if kind.known]
    print(f"kinds that either of them knows: {sum(name not in misses for name in known)} of {len(known)}")
    print(f"all kinds: {len(KINDS) - len(misses)} of {len(KINDS)}, in {len(CONTEXTS)} contexts each")
    for name, contexts in misses.items():
        print(f"  missed: {name}: {', '.join(contexts)}")
    report_peer(seed)


def report_peer(seed: int, program: str = "detect-secrets") -> None:
    """Print what detect-secrets finds in the same texts, one file each. gitleaks is not a Python package and is not run."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for number, kind in enumerate(KINDS.values()):
            for place, context in enumerate(CONTEXTS):
                Path(folder, f"{number}-{place}.txt").write_text(planted(kind, context, rng)[0])
        try:
            scanned = subprocess.run(
                [program, "scan", "--all-files", "--no-verify", folder], capture_output=True, check=True
            )
        except FileNotFoundError:
            print("detect-secrets is not installed: not compared (pip install detect-secrets)")
            return
    files = Counter(int(Path(name).stem.split("-")[0]) for name in json.loads(scanned.stdout)["results"])
    complete = sum(count == len(CONTEXTS) for count in files.values())
    print(f"detect-secrets finds {complete} of {len(KINDS)} kinds in every context")


# ---- ordinary text

SUFFIXES = set(
    ".py .pyi .js .mjs .cjs .ts .json .md .rst .txt .html .css .toml .yaml .yml .xml .c .h .sh .cfg .ini .go .rs".split()
)


def ordinary(folders: list[Path], max_characters: int) -> Iterator[tuple[Path, str]]:
    """Text files of code and documents, until all together have `max_characters`."""
    for path in sorted(
        path for folder in folders for path in folder.rglob("*") if path.suffix in SUFFIXES and path.is_file()
    ):
        try:
            text = path.read_text("utf-8")
        except (UnicodeDecodeError, OSError):
            continue
        yield path, text
        max_characters -= len(text)
        if max_characters < 0:
            return


def report_ordinary(folders: list[Path], max_characters: int, show: int, seed: int) -> None:
    counts: Counter[str] = Counter()
    replacements: list[str] = []
    size, seconds = 0, 0.0
    for path, text in ordinary(folders, max_characters):
        size += len(text)
        began = time.perf_counter()
        suspicious = find_secret_texts([text])
        seconds += time.perf_counter() - began
        if not suspicious:
            continue
        redacted = redact(text, counts)
        for mark in MARK.finditer(redacted):
            if mark[0] not in text:
                replacements.append(f"{path.name}: {_around(text, redacted, mark)}")
    print(f"{size / 1e6:,.1f} MB, {sum(counts.values())} replaced, {seconds / size * 1e9:.1f} ns per character")
    print(", ".join(f"{rule} {count}" for rule, count in counts.most_common()))
    for line in random.Random(seed).sample(replacements, min(show, len(replacements))):
        print("  " + line)


def _around(text: str, redacted: str, mark: re.Match[str]) -> str:
    """A mark with the text that it replaced, which is located by the text before and after the mark."""
    before = redacted[max(0, mark.start() - 30) : mark.start()].split("]")[-1]
    place = text.find(before)
    after = redacted[mark.end() : mark.end() + 12].split("[")[0]
    end = text.find(after, place + len(before) + 1) if after else len(text)
    return f"{mark[1]} {text[place : min(end + 8, place + 160)]!r}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ordinary", nargs="+", type=Path, help="folders of ordinary code and documents")
    parser.add_argument("--most", type=int, default=300_000_000, help="characters of ordinary text to read")
    parser.add_argument("--show", type=int, default=20, help="number of replacements in ordinary text to show")
    parser.add_argument("--seed", type=int, default=12)
    arguments = parser.parse_args()
    if arguments.ordinary:
        report_ordinary(arguments.ordinary, arguments.most, arguments.show, arguments.seed)
    else:
        report(arguments.seed)


if __name__ == "__main__":
    main()
