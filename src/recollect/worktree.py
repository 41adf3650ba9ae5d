"""Finds the repository of a worktree by the path only, because the folder may not exist on this machine.

Agents and their managers put worktrees into the repository (`<repo>/.claude/worktrees/<name>`), beside it
(`<repo>.worktrees/<name>`), or into a separate folder. There, the name of the repository comes first or second.
"""

import os
import re

MANAGER_FOLDERS = {"vibe-kanban", ".vibe-kanban", "antigravity", "opencode", "conductor"}  # never inside a repository
REPOSITORY_SECOND = {".codex", "vibe-kanban", ".vibe-kanban", ".vibe-kanban-workspaces", "opencode"}  # <id>/<repo>
WORKTREES = {"worktrees", ".worktrees", "worktree"}
BESIDE = re.compile(r"(?P<repository>[^.].*)[.-]worktrees")  # VS Code's `<repo>.worktrees`, many people's `<repo>-worktrees`
COMBINED = re.compile(r"\.[\w-]+-(?:worktrees|workspaces)")  # `.claude-worktrees`
HOME = re.compile(r"(?:[A-Za-z]:|/mnt/[a-z])?(?:/var|/export|/data)?/(?:home|Users)/[^/]+|/root|~")
ID = re.compile(r"[0-9a-f]{4,}(?:-[0-9a-f]{4,})*", re.IGNORECASE)


def repository_of_worktree(cwd: str) -> str | None:
    """The name of the repository if `cwd` is a worktree or inside one, else None."""
    parts = cwd.replace("\\", "/").rstrip("/").split("/")
    for index, part in enumerate(parts[:-1]):
        if beside := BESIDE.fullmatch(part):
            return beside["repository"]
        if COMBINED.fullmatch(part) or part == ".conductor":
            return _repository(parts[:index], [part], parts[index + 1 :])
        if part in WORKTREES or (part == "workspaces" and parts[index - 1] == "conductor"):
            owner, agent_folders = _split_agent_folders(parts[:index])
            return (
                _repository(owner, agent_folders, parts[index + 1 :])
                if agent_folders or part[0] == "." or _is_home(owner)
                else None
            )
    return None


def _split_agent_folders(parts: list[str]) -> tuple[list[str], list[str]]:
    """Split off the last folders if they only name an agent: `.codex`, `.gemini/antigravity`."""
    end = len(parts)
    while end and (parts[end - 1].startswith(".") or parts[end - 1] in MANAGER_FOLDERS):
        end -= 1
    return parts[:end], parts[end:]


def _repository(owner: list[str], agent_folders: list[str], inside: list[str]) -> str | None:
    """The folder that contains the worktrees folder, or the part below it that names the repository."""
    is_in_manager_folder = not MANAGER_FOLDERS.isdisjoint(agent_folders)
    is_outside = _is_home(owner) or is_in_manager_folder or agent_folders == [".vibe-kanban-workspaces"]
    has_id_first = len(inside) > 1 and ID.fullmatch(inside[0]) is not None
    if not is_outside and not (has_id_first and ".codex" in agent_folders):
        return owner[-1] or None if owner else None
    if len(inside) > 1 and (has_id_first or not REPOSITORY_SECOND.isdisjoint(agent_folders)):
        return inside[1]
    return inside[0] or None


def _is_home(parts: list[str]) -> bool:
    folder = "/".join(parts)
    return HOME.fullmatch(folder) is not None or (bool(parts) and folder == os.environ.get("HOME"))
