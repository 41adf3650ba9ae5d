"""Loads a module of the store without the package, whose imports take 60 ms: for hooks and for completion in a shell."""

from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType


def store_module(name: str) -> ModuleType:
    """A module of `recollect.store`: `injection`, `sqlite/lockless`. It must import the standard library only."""
    path = Path(__file__).parent / "store" / f"{name}.py"
    module = ModuleType(f"recollect.store.{name.replace('/', '.')}")
    SourceFileLoader(module.__name__, str(path)).exec_module(module)
    return module
