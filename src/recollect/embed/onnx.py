"""Runs a sentence transformer from a folder of the user with `model.onnx` and `tokenizer.json`.

The model declares its inputs. Its output has one row per text, or one row per token; rows of tokens are averaged.
The packages that run it (`onnxruntime`, `tokenizers`) are in the extra `onnx`: it installs 14 packages, 111 MB.
"""

import hashlib
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from recollect.embed.embedder import MAX_CHARACTERS, EmbedderUnavailable
from recollect.embed.sentences import Matrix, SentenceModel
from recollect.errors import BadSettings
from recollect.index.arrays import np, npt
from recollect.settings import EmbeddingSettings

MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"
POOLED = "sentence_embedding"  # the output of models that pool their tokens; preferred to an output per token
BATCH = 32
MAX_BATCH_TOKENS = 1_024  # larger batches are slower on one thread, and 32 long texts take over a gigabyte
MAX_TEXT_TOKENS = 256  # most sentence transformers were trained on that many; time grows with the square
PROBE = ("probe", "A text of some more words, so that one of the two is padded.")
DATA = ("_data", ".data")  # suffixes of the files in which large models store their weights
PAD_TOKENS = ("[PAD]", "<pad>")
FATAL = 4  # log level: at lower levels, onnxruntime also prints every error that it raises
FLOOR = 0.3  # all-MiniLM-L6-v2 on LoCoMo: 6 % of random pairs reach it, and 86 % of questions with their evidence


class OnnxModel(SentenceModel):
    """A model and its tokenizer in memory. It runs on one thread and leaves the others to the rest of the program."""

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
        self._inputs: dict[str, Any] = {node.name: _number_type(node.type) for node in self._session.get_inputs()}
        self._output = _output_of([node.name for node in self._session.get_outputs()])
        self.dimensions = self._run([self._tokenize(text) for text in PROBE]).shape[1]

    def embed(self, texts: Sequence[str]) -> Matrix:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        tokens = [self._tokenize(text) for text in texts]
        for batch in _batches([len(ids) for ids in tokens]):
            rows = self._run([tokens[index] for index in batch])
            if rows.shape[1] != self.dimensions:
                raise self._error(f"{rows.shape[1]} numbers for a text where {self.dimensions} were expected")
            vectors[batch] = rows
        return vectors

    def _tokenize(self, text: str) -> Sequence[int]:
        """The token ids of a text; none for a blank text, because its start and end marks would get a vector."""
        valid = text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")  # a lone surrogate is not valid text
        try:
            encoding = self._tokenizer.encode(valid)
        except Exception as reason:  # the library raises nothing narrower
            raise EmbedderUnavailable(f"The tokenizer beside {self._path} cannot be used ({reason}).") from reason
        return () if all(encoding.special_tokens_mask) else encoding.ids

    def _run(self, texts: Sequence[Sequence[int]]) -> Matrix:
        """One row of length 1 per text."""
        width = max(len(tokens) for tokens in texts)
        ids = np.full((len(texts), width), self._pad, np.int64)
        mask = np.zeros((len(texts), width), np.int64)
        for row, tokens in enumerate(texts):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        if unknown := self._inputs.keys() - inputs:
            raise self._error(f"it needs {', '.join(sorted(unknown))}, and only {', '.join(inputs)} are available")
        try:
            (output,) = self._session.run(
                [self._output], {name: inputs[name].astype(number_type) for name, number_type in self._inputs.items()}
            )
        except Exception as reason:  # the library's errors have no other parent
            raise self._error(f"it failed: {reason}; check that {TOKENIZER} belongs to it") from reason
        return self._normalised(self._pooled(np.asarray(output), mask))

    def _pooled(self, output: npt.NDArray[Any], mask: npt.NDArray[np.int64]) -> Matrix:
        if output.dtype.kind != "f":
            raise self._error(f"its output {self._output} is of type {output.dtype}")
        output = output.astype(np.float32, copy=False)
        if output.ndim == 3 and output.shape[:2] == mask.shape and output.shape[2]:
            weights = mask[:, :, None].astype(np.float32)
            pooled: Matrix = (output * weights).sum(axis=1) / weights.sum(axis=1)
            return pooled
        if output.ndim == 2 and output.shape[0] == mask.shape[0] and output.shape[1]:
            return output
        raise self._error(f"for texts of shape {mask.shape} its output {self._output} has the shape {output.shape}")

    def _normalised(self, rows: Matrix) -> Matrix:
        length: Matrix = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(length).all():
            raise self._error("it returned numbers that are not finite")
        length[length == 0] = 1
        return rows / length

    def _error(self, why: str) -> EmbedderUnavailable:
        return EmbedderUnavailable(f"The model {self._path} cannot be used as a sentence transformer: {why}.")


def _digest(*paths: Path) -> str:
    """A short hash of the files that the vectors depend on."""
    digest = hashlib.blake2b(digest_size=8)
    for path in paths:
        try:
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, hashlib.blake2b).digest())
        except OSError as reason:
            raise EmbedderUnavailable(
                f"{path} cannot be read ({reason.strerror}); embedding.path must be a folder with {MODEL} and {TOKENIZER}."
            ) from reason
    return digest.hexdigest()


def _read_tokenizer(path: Path) -> tuple[Any, int]:
    """The tokenizer, which truncates but does not pad, and the id to pad with."""
    tokenizers = _import("tokenizers")
    try:
        tokenizer = tokenizers.Tokenizer.from_str(path.read_text("utf-8"))
    except Exception as reason:  # the library raises nothing narrower
        raise EmbedderUnavailable(f"The tokenizer {path} cannot be read ({reason}); fetch it again.") from reason
    pads = (tokenizer.token_to_id(pad) for pad in PAD_TOKENS)
    pad = tokenizer.padding["pad_id"] if tokenizer.padding else next((pad for pad in pads if pad is not None), 0)
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TEXT_TOKENS)
    return tokenizer, pad


def _import(name: str) -> Any:
    """A package of the extra `onnx`. Importing both takes 0.2 s, so no other module imports them."""
    try:
        return import_module(name)
    except ImportError as reason:
        raise EmbedderUnavailable(
            f"The model `onnx` needs the package `{name}`, which cannot be loaded ({reason}): "
            "pip install 'recollect-agents[onnx]'."
        ) from reason


def _open_session(path: Path) -> Any:
    onnxruntime = _import("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = FATAL
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as reason:  # the library's errors have no other parent
        raise EmbedderUnavailable(f"The model {path} cannot be opened ({reason}); fetch it again.") from reason


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Batches of the indexes of all texts that have tokens. Texts of similar length share a batch, to reduce padding."""
    batch: list[int] = []
    for index in sorted((index for index, length in enumerate(lengths) if length), key=lengths.__getitem__):
        if len(batch) == BATCH or (len(batch) + 1) * lengths[index] > MAX_BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _number_type(declared: str) -> Any:
    return np.int32 if declared == "tensor(int32)" else np.int64


def _output_of(names: Sequence[str]) -> str:
    """The pooled output if there is one, else the first output: the last hidden state precedes derived outputs."""
    return POOLED if POOLED in names else names[0]
