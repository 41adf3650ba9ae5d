"""What setup changed in a settings file, and how each change is reverted in a file that has been edited since."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from recollect.setup.editing import Missing, Path, SettingsDocument, value_at
from recollect.setup.program import hook_parts, runs_recollect


class Change(Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """One change in a settings file."""

    path: tuple[str, ...]

    def revert(self, document: SettingsDocument) -> SettingsDocument:
        """The document without this change. What a person changed there since stays."""
        raise NotImplementedError


class Added(Change, frozen=True, kw_only=True, tag="added", omit_defaults=True):
    """A key that was not there."""

    value: Any
    containers: int = 0
    """How many objects above it were created for it."""

    def revert(self, document: SettingsDocument) -> SettingsDocument:
        value = value_at(document.value, self.path)
        is_ours = value == self.value or (isinstance(value, dict) and runs_recollect(words_in(value)))
        return _remove(document, self.path, self.containers) if is_ours else document


class Replaced(Change, frozen=True, kw_only=True, tag="replaced", omit_defaults=True):
    """A key that had another value."""

    before: str
    """The text of the old value."""
    value: Any

    def revert(self, document: SettingsDocument) -> SettingsDocument:
        return document.put_raw(self.path, self.before) if value_at(document.value, self.path) == self.value else document


class Base(Change, frozen=True, kw_only=True, tag="base", omit_defaults=True):
    """A key that every file of its kind has. It stays as long as the file contains anything else."""

    value: Any

    def revert(self, document: SettingsDocument) -> SettingsDocument:
        return document.remove(self.path) if document.value == {self.path[0]: self.value} else document


class HookAdded(Change, frozen=True, kw_only=True, tag="hook", omit_defaults=True):
    """A hook that was added to a list."""

    event: str
    containers: int = 0

    def revert(self, document: SettingsDocument) -> SettingsDocument:
        found = next(hook_commands(document, self.path, self.event), None)
        if found is None:
            return document
        item, *inner = found[len(self.path) :]
        group = value_at(document.value, (*self.path, item))
        inner_hooks = group.get("hooks") if isinstance(group, dict) else None
        if isinstance(inner_hooks, list) and len(inner_hooks) > 1:
            return document.remove((*self.path, item, *inner[:2]))
        return _remove(document, (*self.path, item), self.containers)


class HookReplaced(Change, frozen=True, kw_only=True, tag="hook_replaced", omit_defaults=True):
    """A hook that ran this program by another command."""

    event: str
    before: str
    value: str

    def revert(self, document: SettingsDocument) -> SettingsDocument:
        for path in hook_commands(document, self.path, self.event):
            if value_at(document.value, path) == self.value:
                return document.put(path, self.before)
        return document


Changes = list[Added | Replaced | Base | HookAdded | HookReplaced]


def revert_all(document: SettingsDocument, changes: Changes) -> SettingsDocument:
    """The document without any of these changes."""
    bases = [change for change in changes if isinstance(change, Base)]
    others = [change for change in reversed(changes) if not isinstance(change, Base)]
    for change in [*others, *bases]:
        document = change.revert(document)
    return document


def hook_commands(document: SettingsDocument, path: Path, event: str) -> Iterator[tuple[str | int, ...]]:
    """The paths of the commands in a list of hooks that run this program for an event."""
    items = value_at(document.value, path)
    for position, item in enumerate(items if isinstance(items, list) else ()):
        for inner in _strings(item):
            parts = hook_parts(value_at(item, inner))
            if parts is not None and parts[0] == event:
                yield (*path, position, *inner)


def words_in(value: Any) -> list[str]:
    """All strings in a value, apart from the names of keys."""
    return [str(value_at(value, path)) for path in _strings(value)]


def _strings(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _strings(inner, (*path, step))


def missing_containers(document: SettingsDocument, path: Path) -> int:
    """How many objects above a path do not exist yet."""
    return sum(isinstance(value_at(document.value, path[:length]), Missing) for length in range(1, len(path)))


def _remove(document: SettingsDocument, path: Path, containers: int) -> SettingsDocument:
    """Remove a path, and the containers above it that were created for it, if they are empty."""
    document = document.remove(path)
    for _ in range(containers):
        path = path[:-1]
        if value_at(document.value, path) not in ({}, []):
            break
        document = document.remove(path)
    return document
