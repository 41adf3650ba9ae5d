"""An answer that is a file, not JSON: a page, a transcript, a table."""

from collections.abc import Iterator
from io import BytesIO
from typing import Any, BinaryIO, cast

import msgspec
from msgspec import Struct

CHUNK = 65_536  # bytes that are sent at once


class AnswerFile(Struct, frozen=True):
    """A file with its media type. It is read once, then it is closed."""

    media_type: str  # such as `text/csv`; the text is UTF-8
    file_name: str  # the name under which a browser saves it; ASCII without quotes
    body: BinaryIO
    headers: dict[str, str] = {}  # more HTTP headers

    @classmethod
    def of(cls, media_type: str, file_name: str, text: str) -> "AnswerFile":
        """A short file."""
        return cls(media_type, file_name, cast(BinaryIO, BytesIO(text.encode())))

    def chunks(self) -> Iterator[bytes]:
        with self.body:
            while chunk := self.body.read(CHUNK):
                yield chunk

    def text(self) -> str:
        with self.body:
            return self.body.read().decode()


def with_content(answer: bytes, file: AnswerFile) -> bytes:
    """An answer in JSON that also has the file's text, as `data.content`, for surfaces that only send JSON."""
    decoded: dict[str, Any] = msgspec.json.decode(answer)
    decoded["data"] = {**decoded["data"], "content": file.text()}
    return msgspec.json.encode(decoded)
