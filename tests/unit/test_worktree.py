"""A worktree belongs to its repository, in every folder where agents create it. The paths are real ones of agents."""

from pathlib import Path

import pytest

from recollect.project import project_of

PATHS = {
    # in a home folder
    "/Users/heron/.codex/worktrees/f06c/shed": "shed",
    "/home/heron/.codex/worktrees/stripe-custody/shed/src": "shed",
    "/home/heron/.codex/worktrees/paint-the-shed": "paint-the-shed",
    r"C:\Users\heron\.codex\worktrees\abe0\shed\docs": "shed",
    "/root/.codex/worktrees/f06c/shed": "shed",
    "/srv/heron/.codex/worktrees/f06c/shed": "shed",
    "/Users/heron/.cursor/worktrees/shed/jux": "shed",
    "/Users/heron/.cursor/worktrees/shed/e85Lc/src/route": "shed",
    "C:/Users/heron/.windsurf/worktrees/shed/shed-90665ca8": "shed",
    "/home/heron/.claude/worktrees/shed/brave-owl": "shed",
    "/home/heron/.claude-worktrees/shed/pedantic-moore": "shed",
    "/home/heron/.gemini/antigravity/worktrees/shed/paint_it/app": "shed",
    "/home/heron/.grok/worktrees/shed/subagent-019f8476": "shed",
    "/Users/heron/.superset/worktrees/shed/spectrum-witch": "shed",
    "/Users/heron/.copilot/worktrees/shed/task": "shed",
    "/Users/heron/.factory/worktrees/shed": "shed",
    "/Users/heron/conductor/workspaces/shed/lisbon": "shed",
    "/Users/heron/worktrees/shed/green": "shed",
    # in a folder of temporary files
    "/var/tmp/vibe-kanban/worktrees/caa8-paint-it/shed/web": "shed",
    "/private/var/folders/_w/abc/T/vibe-kanban/worktrees/ccad-paint-it/shed": "shed",
    "/tmp/vibe-kanban/worktrees/abc1-paint-it": "abc1-paint-it",
    "/home/heron/.vibe-kanban/worktrees/8331-2010/shed": "shed",
    "/home/heron/.vibe-kanban-workspaces/8331-2010/shed": "shed",
    "/home/heron/.local/share/opencode/worktree/6f85aebf461c84fa97e1d1570b32ec83fa191248/lucky-lagoon": "lucky-lagoon",
    # in or beside the repository
    "/work/shed/.claude/worktrees/brave-owl": "shed",
    "/home/heron/shed/.claude/worktrees/brave-owl/src": "shed",
    "/work/shed/.worktrees/2": "shed",
    "/work/shed/.git/worktrees/green": "shed",
    "/work/shed/.factory/worktrees/perf-2": "shed",
    "/work/shed/.gemini/worktrees/green": "shed",
    "/work/shed/.conductor/lisbon": "shed",
    "/work/shed.worktrees/copilot-worktree-2026-03-26T13-27-15": "shed",
    "/work/shed-worktrees/green/src": "shed",
    # not worktrees
    "/work/worktrees/shed": "shed",
    "/home/heron/shed": "shed",
    "/home/heron/worktrees": "worktrees",
    "/home/heron/.codex/worktrees": "worktrees",
    "/": "/",
}


@pytest.mark.parametrize("cwd", PATHS)
def test_a_worktree_belongs_to_its_repository(cwd: str) -> None:
    assert project_of(cwd) == PATHS[cwd]


def test_any_home_folder_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "heron"))
    assert project_of(str(tmp_path / "heron/.cursor/worktrees/shed/jux")) == "shed"
