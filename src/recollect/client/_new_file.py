"""A file that exists only once it is complete."""

import os
import tempfile
from pathlib import Path
from types import TracebackType

FilePath = str | os.PathLike[str]


class NewFile:
    """Writes a file beside its final place, and moves it there at the end. After an error nothing is left of it.

    Only its owner can read it: it has what agents read and wrote.

    If the place is a folder, the file gets the name that the server suggests.
    """

    def __init__(self, to: FilePath) -> None:
        self._to = Path(to)
        self._folder = self._to if self._to.is_dir() else self._to.parent
        self._name = "" if self._to.is_dir() else self._to.name
        descriptor, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=self._folder)
        self._file = os.fdopen(descriptor, "wb")
        self._part = Path(name)

    def write(self, part: bytes) -> None:
        self._file.write(part)

    def finish(self, name: str) -> None:
        """Give the complete file its name. `name` is the server's."""
        self._file.close()
        self._part.replace(self._folder / (self._name or Path(name).name))

    def __enter__(self) -> "NewFile":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()
        self._part.unlink(missing_ok=True)
