"""Which repository a worktree belongs to, by its path alone: the folder may be gone, or another machine's.

Agents and their managers keep worktrees either inside the repository (`<repo>/.claude/worktrees/<name>`), beside it
(`<repo>.worktrees/<name>`), or in a folder of their own, where the repository's name comes first or second.
"""

import os
import re

OWN_FOLDERS = {"vibe-kanban", ".vibe-kanban", "antigravity", "opencode", "conductor"}  # never inside a repository
REPOSITORY_SECOND = {".codex", "vibe-kanban", ".vibe-kanban", ".vibe-kanban-workspaces", "opencode"}  # <id>/<repo>
WORKTREES = {"worktrees", ".worktrees", "worktree"}
BESIDE = re.compile(r"(?P<repository>[^.].*)[.-]worktrees")  # VS Code's `<repo>.worktrees`, many people's `<repo>-worktrees`
COMBINED = re.compile(r"\.[\w-]+-(?:worktrees|workspaces)")  # `.claude-worktrees`
HOME = re.compile(r"(?:[A-Za-z]:|/mnt/[a-z])?(?:/var|/export|/data)?/(?:home|Users)/[^/]+|/root|~")
ID = re.compile(r"[0-9a-f]{4,}(?:-[0-9a-f]{4,})*", re.IGNORECASE)


def repository_of_worktree(cwd: str) -> str | None:
    """The name of the repository whose worktree `cwd` is, or lies in; None where the path is not a worktree's."""
    parts = cwd.replace("\\", "/").rstrip("/").split("/")
    for place, part in enumerate(parts[:-1]):
        if beside := BESIDE.fullmatch(part):
            return beside["repository"]
        if COMBINED.fullmatch(part) or part == ".conductor":
            return _repository(parts[:place], [part], parts[place + 1 :])
        if part in WORKTREES or (part == "workspaces" and parts[place - 1] == "conductor"):
            owner, keepers = _without_keepers(parts[:place])
            return _repository(owner, keepers, parts[place + 1 :]) if keepers or part[0] == "." or _is_home(owner) else None
    return None


def _without_keepers(parts: list[str]) -> tuple[list[str], list[str]]:
    """The folder that worktrees lie in, without those that only say whose they are: `.codex`, `.gemini/antigravity`."""
    end = len(parts)
    while end and (parts[end - 1].startswith(".") or parts[end - 1] in OWN_FOLDERS):
        end -= 1
    return parts[:end], parts[end:]


def _repository(owner: list[str], keepers: list[str], inside: list[str]) -> str | None:
    """Of a folder inside a repository, that repository; of one elsewhere, the part of the path that names it."""
    apart = _is_home(owner) or not OWN_FOLDERS.isdisjoint(keepers) or keepers == [".vibe-kanban-workspaces"]
    second_is_it = len(inside) > 1 and ID.fullmatch(inside[0]) is not None
    if not apart and not (second_is_it and ".codex" in keepers):
        return owner[-1] or None if owner else None
    if len(inside) > 1 and (second_is_it or not REPOSITORY_SECOND.isdisjoint(keepers)):
        return inside[1]
    return inside[0] or None


def _is_home(parts: list[str]) -> bool:
    folder = "/".join(parts)
    return HOME.fullmatch(folder) is not None or (bool(parts) and folder == os.environ.get("HOME"))
