"""Exclusion by globs, projects and marker files works the same everywhere."""

import subprocess
import sys
from pathlib import Path

import pytest

from recollect.exclusion import MARKER, forget_markers, has_marker, is_excluded

NO_GLOBS: tuple[str, ...] = ()


@pytest.fixture(autouse=True)
def fresh() -> None:
    forget_markers()


@pytest.mark.parametrize("where", ["", "a", "a/b"])
def test_a_marker_file_excludes_its_folder_and_everything_below(tmp_path: Path, where: str) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / where / MARKER).touch()
    assert is_excluded(str(deep), None, NO_GLOBS, ())
    assert is_excluded(str(deep / "gone" / "too"), None, NO_GLOBS, ())
    assert not is_excluded(str(tmp_path.parent), None, NO_GLOBS, ())


@pytest.mark.parametrize("cwd", [None, "", "relative", "/no/such\0folder", "/" + "x/" * 40_000])
def test_a_path_that_cannot_be_a_folder_is_not_excluded(cwd: str | None) -> None:
    assert not is_excluded(cwd, None, NO_GLOBS, ())


def test_globs_match_a_folder_with_and_without_its_last_slash() -> None:
    assert is_excluded("/work/secret", None, ("/work/secret/*",), ())
    assert is_excluded("/work/secret", None, ("*/secret",), ())
    assert not is_excluded("/work/public", None, ("*/secret",), ())


def test_a_project_is_excluded_by_its_whole_name() -> None:
    assert is_excluded("/anywhere", "diary", NO_GLOBS, ("diary",))
    assert not is_excluded("/anywhere", "diary-app", NO_GLOBS, ("diary",))


def test_a_marker_is_seen_after_the_cache_is_cleared(tmp_path: Path) -> None:
    assert not has_marker(str(tmp_path))
    (tmp_path / MARKER).touch()
    assert not has_marker(str(tmp_path))
    forget_markers()
    assert has_marker(str(tmp_path))


@pytest.mark.process
def test_a_hook_can_import_it_without_the_heavy_part_of_the_standard_library() -> None:
    code = "import sys; import recollect.exclusion; print(*{'pathlib', 're', 'typing'} & set(sys.modules))"
    assert (
        subprocess.run(
            [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        == ""
    )
