"""Writes files that are there whole, or not at all."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.errors import BadRequest, StoreFault
from recollect.model import path_text


@contextmanager
def whole_file(path: Path) -> Iterator[Callable[[str], object]]:
    """A function that writes text to a draft beside `path`. The draft becomes the file when the block ends well.

    Raises `StoreFault`, with the path and the reason, if that is not possible. A device or a pipe is written directly.
    """
    if path.is_dir():
        raise BadRequest(f"{path_text(path)} is a folder. Name a file in it, such as {path_text(path / 'session.html')}.")
    try:
        if path.exists() and not path.is_file():
            with path.open("w", encoding="utf-8") as device:
                yield device.write
            return
        path = path.resolve()  # the file that a link names is replaced, not the link
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=".recollect-", delete=False
        ) as draft:
            try:
                yield draft.write
                draft.flush()
                Path(draft.name).replace(path)
            except BaseException:
                Path(draft.name).unlink(missing_ok=True)
                raise
    except OSError as reason:
        raise StoreFault(f"{path_text(path)} cannot be written: {reason.strerror or reason}.") from None
