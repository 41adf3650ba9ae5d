"""Reads patches: the envelope of `apply_patch`, unified diffs with git's headers, and SEARCH/REPLACE blocks."""

import re

from msgspec import Struct

MAX_PATCHED = 500  # files of one patch that are read

NO_FILE = "/dev/null"  # the other side of a created or deleted file
BEGIN = "*** Begin Patch"
ENVELOPE_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
MOVED = re.compile(r"\*\*\* (?:Move to|Rename to|Move File to): (.+)")
DIFF_HEADER = re.compile(
    r"^(?:--- .+\n\+\+\+ |diff --git |\*\*\* (?:Begin Patch|(?:Add|Update|Delete) File: ))", re.MULTILINE
)
GIT_HEADER = re.compile(r"diff --git (?:\"?a/(.+?)\"? \"?b/(.+?)\"?|(\S+) (\S+))$")
HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
BLOCK = re.compile(
    r"^[<-]{7}[ \t]*(?:SEARCH|ORIGINAL|HEAD|OLD)\b[^\n]*\n(?P<old>.*?)^={7}[ \t]*\r?\n(?P<new>.*?)"
    r"^[>+]{7}[ \t]*(?:REPLACE|UPDATED|NEW)\b",
    re.DOTALL | re.MULTILINE,
)
BLOCK_HINT = re.compile(r"^[<-]{7}[ \t]*(?:SEARCH|ORIGINAL|HEAD|OLD)\b", re.MULTILINE)
BLOCK_NOTES = re.compile(r"\A(?::(?:start|end)_line:[^\n]*\n)+(?:-{5,}\n)?|\A-{5,}\n")


class FilePatch(Struct, frozen=True):
    """What a patch does to one file. `lines` are its hunks, without headers of the file."""

    path: str
    operation: str  # created, changed or deleted
    lines: tuple[str, ...] = ()
    moved_to: str = ""


def holds_patch(text: str) -> bool:
    """Whether a text contains a patch whose files have headers."""
    return ("*** " in text or "+++ " in text or "diff --git " in text) and DIFF_HEADER.search(text) is not None


def read_patch(text: str) -> list[FilePatch]:
    """The files that a patch changes, in its order. An envelope is read if there is one, else a unified diff."""
    text = text.replace("\r\n", "\n")
    return read_envelope(text) if "*** " in text and ENVELOPE_FILE.search(text) else read_diff(text)


def read_envelope(text: str) -> list[FilePatch]:
    """The files of an `apply_patch` envelope."""
    files: list[FilePatch] = []
    operation, path, moved, lines = "", "", "", list[str]()

    def close() -> None:
        if operation:
            name = {"Add": "created", "Update": "changed", "Delete": "deleted"}[operation]
            files.append(FilePatch(path, name, tuple(lines), moved))

    start = text.find(BEGIN)
    for line in text[max(start, 0) :].split("\n"):
        if line.startswith("*** "):
            header = ENVELOPE_FILE.match(line)
            if header or line.startswith("*** End Patch"):
                close()
                operation, path, moved, lines = (header[1], header[2].strip(), "", []) if header else ("", "", "", [])
            elif renamed := MOVED.match(line):
                moved = renamed[1].strip()
        elif operation and line[:1] in {"+", "-", " ", "@"}:
            lines.append(line)
        if len(files) >= MAX_PATCHED:
            return files
    close()
    return files


def read_diff(text: str) -> list[FilePatch]:
    """The files of a unified diff."""
    reader = _DiffReader()
    for line in text.split("\n"):
        reader.read(line)
        if len(reader.files) >= MAX_PATCHED:
            break
    reader.close()
    return reader.files


class _DiffReader:
    """Reads a diff line by line. It counts the lines of a hunk, so a removed `-- x` is not taken for a header."""

    def __init__(self) -> None:
        self.files: list[FilePatch] = []
        self.old = self.new = self.moved = ""
        self.lines: list[str] = []
        self.old_left = self.new_left = 0  # lines of the current hunk that are still to come

    def close(self) -> None:
        """End the current file."""
        if self.old or self.new:
            self.files.append(_diffed_file(self.old, self.new, self.moved, self.lines))
        self.old = self.new = self.moved = ""
        self.lines = []

    def read(self, line: str) -> None:
        if self.old_left > 0 or self.new_left > 0:
            sign = line[:1]
            self.old_left -= sign in {"-", " ", ""}
            self.new_left -= sign in {"+", " ", ""}
            self.lines.append(line or " ")
        elif line.startswith("@@"):
            if hunk := HUNK.match(line):  # a model's hunk has no counts
                self.old_left, self.new_left = int(hunk[1] or 1), int(hunk[2] or 1)
            self.lines.append(line)
        elif not self._read_header(line) and self.lines and line[:1] in {"+", "-", " "}:
            self.lines.append(line)

    def _read_header(self, line: str) -> bool:
        if header := GIT_HEADER.match(line):
            self.close()
            self.old, self.new = header[1] or header[3], header[2] or header[4]
        elif line.startswith("--- "):
            if self.lines:
                self.close()
            self.old = _header_path(line[4:])
        elif line.startswith("+++ "):
            self.new = _header_path(line[4:])
        elif line.startswith("deleted file"):
            self.new = NO_FILE
        elif line.startswith("new file"):
            self.old = NO_FILE
        elif line.startswith("rename to "):
            self.moved = line[10:]
        else:
            return False
        return True


def _diffed_file(old: str, new: str, moved: str, lines: list[str]) -> FilePatch:
    if new == NO_FILE:
        return FilePatch(old, "deleted", tuple(lines))
    if old == NO_FILE:
        return FilePatch(new, "created", tuple(lines))
    if moved:
        return FilePatch(old, "changed", tuple(lines), moved)
    return FilePatch(new or old, "changed", tuple(lines))


def _header_path(text: str) -> str:
    """The path of a header line, without git's prefix and without a time."""
    path = text.split("\t", 1)[0].strip().strip('"')
    return path[2:] if path[:2] in {"a/", "b/"} else path


def hunk_lines(text: str) -> tuple[str, ...] | None:
    """The hunks of a diff without file headers; None if the text is not a diff."""
    lines = [line for line in text.replace("\r\n", "\n").split("\n") if not line.startswith(("--- ", "+++ ", "\\", "```"))]
    while lines and not lines[-1]:
        lines.pop()
    is_diff = any(line[:1] in {"+", "-"} for line in lines) and all(line[:1] in {"+", "-", " ", "@", ""} for line in lines)
    return tuple(line or " " for line in lines) if is_diff else None


def replace_blocks(text: str) -> list[tuple[str, str]]:
    """(old, new) text of each SEARCH/REPLACE block."""
    if not BLOCK_HINT.search(text):
        return []
    text = text.replace("\r\n", "\n")
    return [(BLOCK_NOTES.sub("", block["old"]), block["new"]) for block in BLOCK.finditer(text)]
