"""Edits settings files of agents in place. Only what is edited changes; the rest keeps its bytes."""

from recollect.setup.editing.document import (
    MISSING,
    Missing,
    NotEditable,
    Path,
    SettingsDocument,
    newline_of,
    path_text,
    value_at,
)
from recollect.setup.editing.json_document import JsonDocument
from recollect.setup.editing.toml_document import TomlDocument
from recollect.setup.editing.yaml_document import YamlDocument

__all__ = [
    "FORMATS",
    "MISSING",
    "Missing",
    "NotEditable",
    "Path",
    "SettingsDocument",
    "decode",
    "newline_of",
    "open_document",
    "path_text",
    "value_at",
]

FORMATS: dict[str, type[SettingsDocument]] = {"json": JsonDocument, "toml": TomlDocument, "yaml": YamlDocument}
BOM = "\ufeff"


def decode(content: bytes) -> tuple[str, str]:
    """The byte order mark, or an empty string, and the text after it."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotEditable(f"is not UTF-8 (byte {error.start + 1})") from error
    return (BOM, text[1:]) if text.startswith(BOM) else ("", text)


def open_document(format: str, text: str) -> SettingsDocument:
    """The document of a text. Raises `NotEditable` if it is invalid."""
    return FORMATS[format](text)
