"""A sentence transformer from a folder of the user's: `model.onnx`, and `tokenizer.json` beside it.

Which inputs a model wants it says itself. Its output is either one row for every piece of a text, of which the mean is
taken, or one for every text already.
"""

import hashlib
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from recollect.embed import LONGEST, Unavailable
from recollect.embed._sentences import Matrix, SentenceModel
from recollect.errors import BadSettings
from recollect.index.arrays import np, npt
from recollect.settings import EmbeddingSettings

MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"
WHOLE = "sentence_embedding"  # the output that some models have beside the one of pieces: already pooled as they want it
BATCH = 32
MOST_PIECES = 1_024  # of a batch: on one thread larger ones are slower, and of 32 long texts they take over a gigabyte
PIECES = 256  # of a text: what most sentence transformers were trained on, and time grows with the square of it
PROBE = ("probe", "A text of some more words, so that one of the two is padded.")
DATA = ("_data", ".data")  # how the names of files end in which large models keep their numbers, beside them
PADS = ("[PAD]", "<pad>")
FATAL = 4  # onnxruntime writes to standard error what it then raises
FLOOR = 0.3  # all-MiniLM-L6-v2, LoCoMo: 6 in 100 questions and texts at random reach it, and 86 in 100 that belong together


class OnnxModel(SentenceModel):
    """A model and its tokenizer, held in memory. Runs on one thread, so that other work is not starved."""

    floor = FLOOR

    def __init__(self, settings: EmbeddingSettings) -> None:
        if not settings.path:
            raise BadSettings(f"embedding.path is missing: a folder with {MODEL} and {TOKENIZER}.")
        path = Path(settings.path).expanduser()
        self._path = path / MODEL if path.is_dir() else path
        tokenizer = self._path.with_name(TOKENIZER)
        data = [path for end in DATA if (path := self._path.with_name(self._path.name + end)).exists()]
        self.name = f"onnx:{_digest(self._path, tokenizer, *data)}"
        self._tokenizer, self._pad = _read_tokenizer(tokenizer)
        self._session = _open_session(self._path)
        self._inputs: dict[str, Any] = {put.name: _number_type(put.type) for put in self._session.get_inputs()}
        self._output = _output_of([put.name for put in self._session.get_outputs()])
        self.dimensions = self._run([self._pieces(text) for text in PROBE]).shape[1]

    def embed(self, texts: Sequence[str]) -> Matrix:
        found = np.zeros((len(texts), self.dimensions), np.float32)
        pieces = [self._pieces(text) for text in texts]
        for batch in _batches([len(own) for own in pieces]):
            rows = self._run([pieces[place] for place in batch])
            if rows.shape[1] != self.dimensions:
                raise self._odd(f"{rows.shape[1]} numbers for a text where {self.dimensions} were expected")
            found[batch] = rows
        return found

    def _pieces(self, text: str) -> Sequence[int]:
        """The ids of a text; none where it has only marks of beginning and end, which would be given a meaning."""
        valid = text[:LONGEST].encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair is no text
        try:
            encoding = self._tokenizer.encode(valid)
        except Exception as reason:  # the library raises nothing narrower
            raise Unavailable(f"The tokenizer beside {self._path} cannot be used ({reason}).") from reason
        return () if all(encoding.special_tokens_mask) else encoding.ids

    def _run(self, texts: Sequence[Sequence[int]]) -> Matrix:
        """One row of length 1 for every text."""
        width = max(len(pieces) for pieces in texts)
        ids = np.full((len(texts), width), self._pad, np.int64)
        mask = np.zeros((len(texts), width), np.int64)
        for row, pieces in enumerate(texts):
            ids[row, : len(pieces)] = pieces
            mask[row, : len(pieces)] = 1
        known = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        if unknown := self._inputs.keys() - known:
            raise self._odd(f"it wants {', '.join(sorted(unknown))}, and only {', '.join(known)} can be given")
        try:
            (output,) = self._session.run(
                [self._output], {name: known[name].astype(of) for name, of in self._inputs.items()}
            )
        except Exception as reason:  # the library's errors have no other parent
            raise self._odd(f"it failed: {reason}; check that {TOKENIZER} belongs to it") from reason
        return self._of_length_one(self._pooled(np.asarray(output), mask))

    def _pooled(self, output: npt.NDArray[Any], mask: npt.NDArray[np.int64]) -> Matrix:
        if output.dtype.kind != "f":
            raise self._odd(f"its output {self._output} is of type {output.dtype}")
        output = output.astype(np.float32, copy=False)
        if output.ndim == 3 and output.shape[:2] == mask.shape and output.shape[2]:
            weights = mask[:, :, None].astype(np.float32)
            pooled: Matrix = (output * weights).sum(axis=1) / weights.sum(axis=1)
            return pooled
        if output.ndim == 2 and output.shape[0] == mask.shape[0] and output.shape[1]:
            return output
        raise self._odd(f"for texts of shape {mask.shape} its output {self._output} has the shape {output.shape}")

    def _of_length_one(self, rows: Matrix) -> Matrix:
        length: Matrix = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(length).all():
            raise self._odd("it gave numbers that are not finite")
        length[length == 0] = 1
        return rows / length

    def _odd(self, why: str) -> Unavailable:
        return Unavailable(f"The model {self._path} cannot be used as a sentence transformer: {why}.")


def _digest(*paths: Path) -> str:
    """What the vectors depend on, in a few letters: another file means other vectors."""
    digest = hashlib.blake2b(digest_size=8)
    for path in paths:
        try:
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, hashlib.blake2b).digest())
        except OSError as reason:
            raise Unavailable(
                f"{path} cannot be read ({reason.strerror}); embedding.path must be a folder with {MODEL} and {TOKENIZER}."
            ) from reason
    return digest.hexdigest()


def _read_tokenizer(path: Path) -> tuple[Tokenizer, int]:
    """The tokenizer, which cuts but does not pad, and the id to pad with."""
    try:
        tokenizer = Tokenizer.from_str(path.read_text("utf-8"))
    except Exception as reason:  # the library raises nothing narrower
        raise Unavailable(f"The tokenizer {path} cannot be read ({reason}); fetch it again.") from reason
    pads = (tokenizer.token_to_id(pad) for pad in PADS)
    pad = tokenizer.padding["pad_id"] if tokenizer.padding else next((pad for pad in pads if pad is not None), 0)
    tokenizer.no_padding()
    tokenizer.enable_truncation(PIECES)
    return tokenizer, pad


def _open_session(path: Path) -> Any:
    try:
        onnxruntime = import_module("onnxruntime")  # an extra, and slow to load
    except ImportError as reason:
        raise Unavailable(
            f"The package `onnxruntime`, which runs {path.name}, cannot be loaded ({reason}): pip install 'recollect[onnx]'."
        ) from reason
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = FATAL
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as reason:  # the library's errors have no other parent
        raise Unavailable(f"The model {path} cannot be opened ({reason}); fetch it again.") from reason


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The places of all texts that have pieces. Those of like length go together, so that little is padding."""
    batch: list[int] = []
    for place in sorted((place for place, length in enumerate(lengths) if length), key=lengths.__getitem__):
        if len(batch) == BATCH or (len(batch) + 1) * lengths[place] > MOST_PIECES:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _number_type(declared: str) -> Any:
    return np.int32 if declared == "tensor(int32)" else np.int64


def _output_of(names: Sequence[str]) -> str:
    """The pooled output where there is one, else the first: the last hidden state comes before what is derived from it."""
    return WHOLE if WHOLE in names else names[0]
