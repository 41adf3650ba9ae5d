"""The words of docs/glossary.md are the words of the code."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "recollect"
ROW = re.compile(r"\| ([^|`]+) \| [^|]+ \| `([^`]+)`(?: `([^`]+)`)? \|")
ROWS = ROW.findall((ROOT / "docs" / "glossary.md").read_text("utf-8"))
# Shapes of foreign logs have the names of their format; those of two agents are never used together.
FOREIGN = {path for path in (PACKAGE / "sources").rglob("*.py") if "formats" not in path.parts}


def names_of(path: Path) -> set[str]:
    """The names that a module or a package defines or exports."""
    files = [path] if path.is_file() else list(path.glob("*.py"))
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text("utf-8")))]
    found = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    found |= {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    return found | {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def test_the_glossary_has_60_to_80_words_each_once() -> None:
    words = [word for word, _, _ in ROWS]
    assert 60 <= len(words) <= 80
    assert len(words) == len({*words})


@pytest.mark.parametrize(("word", "where", "name"), ROWS, ids=[word for word, _, _ in ROWS])
def test_every_term_exists_in_the_code(word: str, where: str, name: str) -> None:
    path = PACKAGE / where
    assert path.exists(), f"{word}: there is no {where}"
    assert not name or name in names_of(path), f"{word}: {where} does not define {name}"


def test_no_class_name_is_defined_twice() -> None:
    defined = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        if path in FOREIGN or path.is_relative_to(PACKAGE / "client"):
            continue
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                defined[node.name].append(path.relative_to(PACKAGE).as_posix())
    assert {name: paths for name, paths in defined.items() if len(paths) > 1} == {}
