"""A file is sent as it is over REST, and inside JSON by surfaces that send nothing else."""

import asyncio
import json
from tempfile import TemporaryFile

from msgspec.json import decode
from msgspec.structs import replace

from recollect.operations.answer_file import CHUNK, AnswerFile, with_content
from recollect.operations.operation import json_reply
from recollect.surfaces.http.responses import response_of

TABLE = "day,usd\n2026-03-01,1.20\n"


def test_rest_sends_the_file_with_its_media_type_and_a_file_name() -> None:
    reply = replace(json_reply({"data": {}}), file=AnswerFile.of("text/csv", "usage.csv", TABLE))
    response = response_of(reply)

    async def body() -> bytes:
        return b"".join([bytes(chunk) async for chunk in response.body_iterator])  # type: ignore[attr-defined]

    assert asyncio.run(body()).decode() == TABLE
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert response.headers["content-disposition"] == 'attachment; filename="usage.csv"'


def test_json_has_the_whole_text_beside_its_description() -> None:
    answer = with_content(
        json.dumps({"data": {"format": "csv"}, "warnings": []}).encode(), AnswerFile.of("text/csv", "a", TABLE)
    )
    assert decode(answer) == {"data": {"format": "csv", "content": TABLE}, "warnings": []}


def test_a_long_file_is_read_in_chunks_and_closed() -> None:
    file = TemporaryFile()  # noqa: SIM115 - it closes itself
    file.write(b"a" * (CHUNK + 1))
    file.seek(0)
    assert [len(chunk) for chunk in AnswerFile("text/plain", "a.txt", file).chunks()] == [CHUNK, 1]
    assert file.closed
