"""Embeds texts by an OpenAI-compatible service: posts texts to `{url}/embeddings` and receives vectors.

If the service fails or its vectors are invalid, `EmbedderUnavailable` says what to check.
"""

import base64
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from recollect.embed.embedder import MAX_CHARACTERS, EmbedderUnavailable
from recollect.embed.sentences import Matrix, SentenceModel
from recollect.errors import BadSettings
from recollect.index.arrays import np, npt
from recollect.model_service import EXAMPLE_URL, ModelService
from recollect.settings import EmbeddingSettings

SECTION = "embedding"
BATCH = 64
FLOOR = 0.3  # fits the sentence transformers that most services run; a service does not report its own floor
PROBE = "probe"


class Item(Struct):
    """One vector: a list of numbers, or little-endian floats in base64."""

    embedding: list[float] | str
    index: int | None = None


class Response(Struct):
    data: list[Item]


RESPONSE = msgspec.json.Decoder(Response)


class EndpointModel(SentenceModel):
    """A service. The constructor sends one text, to learn the number of dimensions."""

    floor = FLOOR

    def __init__(self, settings: EmbeddingSettings, env: Mapping[str, str]) -> None:
        if not settings.url or not settings.name:
            missing = "name, the model to request" if settings.url else f"url, such as {EXAMPLE_URL}"
            raise BadSettings(f"The model `endpoint` needs embedding.{missing}.")
        self._service = ModelService(SECTION, settings.url, settings.key_env, env, settings.timeout_s, EmbedderUnavailable)
        self._model = settings.name
        self.name = f"endpoint:{self._service.public_url}#{settings.name}"
        self.dimensions = 0
        self.dimensions = self._request([PROBE]).shape[1]

    def embed(self, texts: Sequence[str]) -> Matrix:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        valid = [text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8") for text in texts]  # no lone surrogates
        indexes = [index for index, text in enumerate(valid) if text.strip()]  # services reject a blank text
        for start in range(0, len(indexes), BATCH):
            batch = indexes[start : start + BATCH]
            vectors[batch] = self._request([valid[index] for index in batch])
        return vectors

    def _request(self, texts: Sequence[str]) -> Matrix:
        """One row of length 1 per text, in the order of the texts."""
        response = self._service.post("/embeddings", {"model": self._model, "input": texts}, RESPONSE)
        return self._vectors(response.data, len(texts))

    def _vectors(self, items: Sequence[Item], count: int) -> Matrix:
        order = [index if item.index is None else item.index for index, item in enumerate(items)]
        if sorted(order) != list(range(count)):
            raise self._service.error(f"returned {len(items)} vectors, numbered {_first_few(order)}, for {count} texts")
        rows = [self._row(item) for item in items]
        dimensions = self.dimensions or len(rows[0])
        for row in rows:
            if len(row) != dimensions or not dimensions:
                raise self._service.error(f"returned {len(row)} numbers where {dimensions or 'some'} were expected")
        return self._normalised(np.stack(rows)[np.argsort(order)])

    def _row(self, item: Item) -> npt.NDArray[np.float64]:
        if not isinstance(item.embedding, str):
            return np.array(item.embedding, np.float64)
        try:
            return np.frombuffer(base64.b64decode(item.embedding, validate=True), "<f4").astype(np.float64)
        except ValueError as reason:
            raise self._service.error(f"returned a vector that is neither numbers nor base64 of them ({reason})") from reason

    def _normalised(self, rows: npt.NDArray[np.float64]) -> Matrix:
        if not np.isfinite(rows).all():
            raise self._service.error("returned numbers that are not finite")
        largest = np.abs(rows).max(axis=1, keepdims=True)
        rows = rows / np.where(largest > 0, largest, 1)  # so that no square overflows
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        return (rows / np.where(length > 0, length, 1)).astype(np.float32)


def _first_few(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:3])) + (", …" if len(numbers) > 3 else "") if numbers else "not at all"
