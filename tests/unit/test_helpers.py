"""What tests share lies in plain modules: a module of tests is nobody's helper."""

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]


def imported(path: Path) -> set[str]:
    """The modules that a file imports, and the names that it takes from them, with dots."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_no_module_imports_a_module_of_tests() -> None:
    of_tests = {".".join(path.relative_to(TESTS.parent).with_suffix("").parts) for path in TESTS.rglob("test_*.py")}
    assert of_tests
    assert {path.name: used for path in TESTS.rglob("*.py") if (used := imported(path) & of_tests)} == {}
