"""Shared test helpers are in plain modules; test modules are not imported."""

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]


def imports_of(path: Path) -> set[str]:
    """The modules that a file imports, and the names that it takes from them, with dots."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def test_no_module_imports_a_module_test_modules() -> None:
    test_modules = {".".join(path.relative_to(TESTS.parent).with_suffix("").parts) for path in TESTS.rglob("test_*.py")}
    assert test_modules
    assert {path.name: used for path in TESTS.rglob("*.py") if (used := imports_of(path) & test_modules)} == {}
