"""Embedding models: the bundled static model, an ONNX model in a file, and a service at an address."""

import base64
import json
import shutil
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from recollect.embed import MAX_CHARACTERS, Embedder, EmbedderUnavailable, open_embedder
from recollect.embed import static as static_module
from recollect.embed.endpoint import BATCH, EndpointModel
from recollect.embed.onnx import MAX_TEXT_TOKENS, OnnxModel
from recollect.embed.static import FOLDER, VOCABULARY, WEIGHTS, StaticModel
from recollect.errors import BadSettings
from recollect.settings import EmbeddingSettings


def equal_weight(word: str) -> float:
    return 1.0


def question(model: Embedder, text: str) -> Any:
    return model.embed_question(text, equal_weight)


# The static model


@pytest.fixture(scope="module")
def static() -> StaticModel:
    return StaticModel()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the two files that the static model reads."""
    for name in (WEIGHTS, VOCABULARY):
        shutil.copy(FOLDER / name, tmp_path / name)
    return tmp_path


def test_static_vectors_have_length_one(static: StaticModel) -> None:
    rows = static.embed(["login fails", "def getUserName(): ...", "x" * 10 + " paint"])
    assert (rows.shape, rows.dtype) == ((3, 256), np.dtype(np.float32))
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("text", ["", " \n", "12 345", "the of and", "a" * 25])
def test_a_text_without_words_is_all_zeros(static: StaticModel, text: str) -> None:
    assert not static.embed([text]).any()
    assert question(static, text) is None


def test_an_empty_list_of_texts_gives_no_rows(static: StaticModel) -> None:
    assert static.embed([]).shape == (0, 256)


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        ("login fails", "cannot sign in", "paint the garage"),
        ("delete the file", "remove this document", "birthday party for grandmother"),
        ("the server crashed", "our backend went down", "a recipe for apple pie"),
    ],
)
def test_texts_with_the_same_meaning_are_closer_than_others(static: StaticModel, one: str, same: str, other: str) -> None:
    rows = static.embed([one, same, other])
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.1


@pytest.mark.parametrize("word", ["xyzzyplugh", "zqxjkvb", "qwertyuiop", "quail", "hoopoe"])
def test_a_word_without_a_reliable_vector_is_unknown(static: StaticModel, word: str) -> None:
    assert not static.knows(word)


@pytest.mark.parametrize("word", ["login", "Authentication", "webhook", "deadlock", "kubernetes", "refactoring"])
def test_words_and_compounds_of_words_are_known(static: StaticModel, word: str) -> None:
    assert static.knows(word)


@pytest.mark.parametrize("word", ["foldervole", "webhook", "MoonFish", "moonfish", "dashboard"])
def test_a_word_with_known_parts_is_a_compound(static: StaticModel, word: str) -> None:
    assert static.is_compound(word)


@pytest.mark.parametrize("word", ["login", "refactoring", "serialization", "latency", "quail", "xyzzyplugh", ""])
def test_inflected_words_and_unknown_words_are_not_compounds(static: StaticModel, word: str) -> None:
    assert not static.is_compound(word)


def test_a_rare_word_of_a_question_counts_for_more(static: StaticModel) -> None:
    (garage,) = static.embed(["garage"])
    by_weight = static.embed_question("paint garage", {"paint": 1.0, "garage": 5.0}.__getitem__)
    assert by_weight is not None
    assert by_weight @ garage > question(static, "paint garage") @ garage


def test_only_the_beginning_of_a_long_text_is_embedded(static: StaticModel) -> None:
    beginning = "login " * (MAX_CHARACTERS // 6 + 1)
    assert np.array_equal(*static.embed([beginning, beginning + "garage " * 500]))


def test_the_vector_of_a_text_does_not_depend_on_earlier_texts(static: StaticModel, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["login fails", "cannot sign in", "paint the garage", "remove this document", "login garage", "sign"]
    expected = np.concatenate([StaticModel().embed([text]) for text in texts])
    assert np.array_equal(static.embed(texts), expected)
    monkeypatch.setattr(static_module, "TABLE_ROWS", 5)  # words: the table is full after the second text
    small = StaticModel()
    for _ in range(3):
        assert np.array_equal(small.embed(texts), expected)
        assert np.array_equal(np.concatenate([small.embed([text]) for text in reversed(texts)]), expected[::-1])


@pytest.mark.parametrize("name", [WEIGHTS, VOCABULARY])
@pytest.mark.parametrize("content", [None, b"", b"garbage" * 100, b"\xff" * 4096], ids=["missing", "empty", "text", "bytes"])
def test_the_error_names_an_unreadable_file_of_the_static_model(package: Path, name: str, content: bytes | None) -> None:
    (package / name).unlink() if content is None else (package / name).write_bytes(content)
    with pytest.raises(EmbedderUnavailable, match=str(package / name)):
        StaticModel(package)


@pytest.mark.parametrize("name", [WEIGHTS, VOCABULARY])
@pytest.mark.parametrize("part", [0.01, 0.5, 0.999])
def test_the_error_names_a_truncated_file_of_the_static_model(package: Path, name: str, part: float) -> None:
    whole = (package / name).read_bytes()
    (package / name).write_bytes(whole[: int(len(whole) * part)])
    with pytest.raises(EmbedderUnavailable, match=str(package / name)):
        StaticModel(package)


@pytest.mark.parametrize(
    "header",
    [
        {},
        [],
        {"w": {"dtype": "F32", "shape": [4, 256]}},
        {"w": {"dtype": "F16", "shape": [4, 8]}},
        {"w": {"dtype": "F16", "shape": [4]}},
        {"w": {"dtype": "F16", "shape": ["4", 256]}},
        {"w": {"dtype": "F16", "shape": [-4, 256]}},
        {"w": []},
        {"w": {"dtype": "F16", "shape": [4, 256]}, "v": {}},
    ],
)
def test_weights_of_another_shape_are_refused(package: Path, header: Any) -> None:
    encoded = json.dumps(header).encode()
    (package / WEIGHTS).write_bytes(struct.pack("<Q", len(encoded)) + encoded + bytes(4 * 256 * 2))
    with pytest.raises(EmbedderUnavailable, match=str(package / WEIGHTS)):
        StaticModel(package)


# A model in a file

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "login", "fails", "paint", "garage"]
TABLE = np.random.default_rng(7).normal(size=(len(WORDS), 8)).astype(np.float32)


def write_tokenizer(folder: Path, marks: bool = True) -> None:
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    if marks:
        tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.enable_padding(length=12)  # as in the files of sentence transformers
    tokenizer.save(str(folder / "tokenizer.json"))


def write_model(
    folder: Path,
    nodes: Sequence[onnx.NodeProto] = (),
    inputs: Mapping[str, int] | None = None,
    outputs: Mapping[str, int] | None = None,
    table: Any = TABLE,
) -> None:
    """Write a graph that looks every token up in a table: `last_hidden_state` is [texts, tokens, 8]."""
    shape = ["batch", "sequence"]
    lookup = helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])
    inputs = inputs or {"input_ids": TensorProto.INT64, "attention_mask": TensorProto.INT64}
    outputs = outputs or {"last_hidden_state": TensorProto.FLOAT}
    graph = helper.make_graph(
        [lookup, *nodes],
        "lookup",
        [helper.make_tensor_value_info(name, kind, shape) for name, kind in inputs.items()],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()],
        [numpy_helper.from_array(table, "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (folder / "model.onnx").write_bytes(model.SerializeToString())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_tokenizer(tmp_path)
    write_model(tmp_path)
    return tmp_path


def open_onnx(path: Path) -> OnnxModel:
    return OnnxModel(EmbeddingSettings(model="onnx", path=str(path)))


def normalised(row: Any) -> Any:
    return row / np.linalg.norm(row)


def mean_of(*words: str) -> Any:
    return normalised(TABLE[[WORDS.index(word) for word in words]].mean(axis=0))


def test_a_vector_is_the_mean_of_the_tokens_without_the_padding(folder: Path) -> None:
    model = open_onnx(folder)
    rows = model.embed(["login fails", "paint", "paint the garage"])
    assert (model.dimensions, rows.dtype, 0 < model.floor < 1) == (8, np.dtype(np.float32), True)
    assert rows[0] == pytest.approx(mean_of("[CLS]", "login", "fails", "[SEP]"), abs=1e-6)
    assert rows[1] == pytest.approx(mean_of("[CLS]", "paint", "[SEP]"), abs=1e-6)
    assert rows[2] == pytest.approx(mean_of("[CLS]", "paint", "[UNK]", "garage", "[SEP]"), abs=1e-6)


def test_rows_are_in_the_order_of_the_texts_over_many_batches(folder: Path) -> None:
    model = open_onnx(folder)
    texts = [
        " ".join(WORDS[4 + (place + step) % 4] for step in range(place % 9 * (1 + place % 2 * 30))) for place in range(100)
    ]
    assert model.embed(texts) == pytest.approx(np.concatenate([model.embed([text]) for text in texts]), abs=1e-6)


def test_a_text_is_cut_at_the_maximum_of_tokens_and_keeps_its_end_token(folder: Path) -> None:
    (row,) = open_onnx(folder).embed(["garage " * MAX_TEXT_TOKENS + "login"])
    assert row == pytest.approx(mean_of("[CLS]", *["garage"] * (MAX_TEXT_TOKENS - 2), "[SEP]"), abs=1e-5)


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_a_model_in_a_file_gives_zeros_for_a_blank_text(folder: Path, text: str) -> None:
    model = open_onnx(folder)
    rows = model.embed([text, "login"])
    assert not rows[0].any() and rows[1].any()
    assert question(model, text) is None
    assert np.array_equal(question(model, "login"), model.embed(["login"])[0])


def test_a_model_in_a_file_accepts_an_empty_list_and_invalid_text(folder: Path) -> None:
    model = open_onnx(folder)
    assert model.embed([]).shape == (0, 8)
    assert np.array_equal(model.embed(["login \ud800"]), model.embed(["login ?"]))


def test_the_path_may_be_the_model_file_itself(folder: Path) -> None:
    (folder / "model.onnx").rename(folder / "minilm.onnx")
    assert open_onnx(folder / "minilm.onnx").dimensions == 8


def test_changed_model_files_change_the_name_of_the_model(folder: Path) -> None:
    names = {open_onnx(folder).name, open_onnx(folder).name}
    assert len(names) == 1 and names.pop().startswith("onnx:")
    before = open_onnx(folder).name
    write_model(folder, table=TABLE + 1)
    changed = open_onnx(folder).name
    write_tokenizer(folder, marks=False)
    with_other_tokenizer = open_onnx(folder).name
    (folder / "model.onnx_data").write_bytes(b"numbers of a large model")
    assert len({before, changed, with_other_tokenizer, open_onnx(folder).name}) == 4


def test_a_pooled_output_is_used_unchanged(folder: Path) -> None:
    """The vector of the first token, if the model was trained to pool so; preferred to the output of all tokens."""
    first = [
        helper.make_node("Constant", [], ["zero"], value=numpy_helper.from_array(np.array(0), "zero")),
        helper.make_node("Gather", ["last_hidden_state", "zero"], ["sentence_embedding"], axis=1),
    ]
    pooled, tokens = {"sentence_embedding": TensorProto.FLOAT}, {"last_hidden_state": TensorProto.FLOAT}
    for outputs in (pooled, tokens | pooled):
        write_model(folder, first, outputs=outputs)
        assert open_onnx(folder).embed(["login"])[0] == pytest.approx(mean_of("[CLS]"), abs=1e-6)


@pytest.mark.parametrize("kind", [TensorProto.INT64, TensorProto.INT32])
@pytest.mark.parametrize("others", [(), ("attention_mask",), ("token_type_ids", "attention_mask")])
def test_a_model_gets_the_inputs_that_it_declares(folder: Path, kind: int, others: Sequence[str]) -> None:
    write_model(folder, inputs=dict.fromkeys(("input_ids", *others), kind))
    assert open_onnx(folder).embed(["paint"])[0] == pytest.approx(mean_of("[CLS]", "paint", "[SEP]"), abs=1e-6)


def test_half_precision_is_converted_to_single_precision(folder: Path) -> None:
    write_model(folder, table=TABLE.astype(np.float16), outputs={"last_hidden_state": TensorProto.FLOAT16})
    rows = open_onnx(folder).embed(["paint"])
    assert rows.dtype == np.float32
    assert rows[0] == pytest.approx(mean_of("[CLS]", "paint", "[SEP]"), abs=1e-3)


NODES: dict[str, tuple[onnx.NodeProto, int]] = {
    "shape": (helper.make_node("Flatten", ["last_hidden_state"], ["odd"], axis=0), TensorProto.FLOAT),
    "type": (helper.make_node("ArgMax", ["last_hidden_state"], ["odd"]), TensorProto.INT64),
    "not finite": (helper.make_node("Log", ["last_hidden_state"], ["odd"]), TensorProto.FLOAT),
}


@pytest.mark.parametrize("why", NODES)
def test_a_model_with_another_output_is_refused(folder: Path, why: str) -> None:
    node, kind = NODES[why]
    write_model(folder, [node], outputs={"odd": kind})
    with pytest.raises(EmbedderUnavailable, match=rf"(?s){folder / 'model.onnx'}.*{why}"):
        open_onnx(folder)


def test_a_model_with_other_inputs_is_refused(folder: Path) -> None:
    write_model(folder, inputs={"input_ids": TensorProto.INT64, "pixel_values": TensorProto.INT64})
    with pytest.raises(EmbedderUnavailable, match="pixel_values"):
        open_onnx(folder)


def test_a_tokenizer_of_another_model_is_an_error_and_prints_nothing(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_model(folder, table=TABLE[:1])  # of one word
    with pytest.raises(EmbedderUnavailable, match=r"check that tokenizer\.json belongs to it"):
        open_onnx(folder)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("content", [None, b"", b"garbage" * 100, b"{}"], ids=["missing", "empty", "text", "object"])
def test_the_error_names_an_unreadable_file_of_a_model(folder: Path, name: str, content: bytes | None) -> None:
    (folder / name).unlink() if content is None else (folder / name).write_bytes(content)
    with pytest.raises(EmbedderUnavailable, match=str(folder / name)):
        open_onnx(folder)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_the_error_names_a_truncated_file_of_a_model(folder: Path, name: str, part: float) -> None:
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[: int(len(whole) * part)])
    with pytest.raises(EmbedderUnavailable, match=str(folder / name)):
        open_onnx(folder)


def test_the_error_names_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match=str(tmp_path / "nowhere")):
        open_onnx(tmp_path / "nowhere")


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_without_a_package_of_the_extra_the_message_says_how_to_install_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(EmbedderUnavailable, match=r"pip install 'recollect-agents\[onnx\]'"):
        open_onnx(folder)


def test_a_model_in_a_file_needs_a_path() -> None:
    with pytest.raises(BadSettings, match=r"embedding\.path"):
        OnnxModel(EmbeddingSettings(model="onnx"))


# A model behind an address


@dataclass
class Reply:
    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


Serve = Callable[[list[str]], Reply]


@dataclass
class Service:
    """An embeddings service on this machine: each test sets its answers; the service stores its requests."""

    url: str
    serve: Serve
    requests: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    authorization: list[str | None] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)  # lets slow answers end

    def open(self, env: Mapping[str, str] | None = None, **settings: Any) -> EndpointModel:
        return EndpointModel(
            EmbeddingSettings(**({"model": "endpoint", "url": self.url, "name": "mini"} | settings)), env or {}
        )


def vector_of(text: str) -> list[float]:
    return [float(len(text)), float(text.count("a")), 1.0, -2.5]


def items(texts: list[str]) -> list[dict[str, Any]]:
    return [{"object": "embedding", "index": place, "embedding": vector_of(text)} for place, text in enumerate(texts)]


def reply(data: Any) -> Reply:
    return Reply(json.dumps({"object": "list", "data": data, "usage": {"total_tokens": 1}}).encode())


def good_reply(texts: list[str]) -> Reply:
    return reply(items(texts))


def then(*replies: Serve) -> Serve:
    """One reply after the other; the last one repeats."""
    left = list(replies)
    return lambda texts: (left.pop(0) if len(left) > 1 else left[0])(texts)


def always(status: int, body: bytes = b"", **headers: str) -> Serve:
    return lambda texts: Reply(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            stub.requests.append(request)
            stub.paths.append(self.path)
            stub.authorization.append(self.headers["Authorization"])
            answer = stub.serve(request["input"])
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """Print nothing: in some tests the client disconnects early."""

    with Server(("127.0.0.1", 0), Handler) as server:
        stub = Service(f"http://127.0.0.1:{server.server_port}/v1", good_reply)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield stub
        stub.released.set()
        server.shutdown()
        thread.join()


def expected_rows(texts: Sequence[str]) -> Any:
    return np.array([normalised(np.array(vector_of(text))) for text in texts])


def test_texts_are_posted_and_vectors_of_length_one_come_back(service: Service) -> None:
    model = service.open()
    rows = model.embed(["banana", "plum"])
    assert rows == pytest.approx(expected_rows(["banana", "plum"]), abs=1e-6)
    assert (model.dimensions, rows.dtype, 0 < model.floor < 1) == (4, np.dtype(np.float32), True)
    assert service.requests[-1] == {"model": "mini", "input": ["banana", "plum"]}
    assert service.paths == ["/v1/embeddings"] * 2


def test_many_texts_go_in_batches_and_keep_their_order(service: Service) -> None:
    texts = ["a" * (1 + place % 50) for place in range(2 * BATCH + 1)]
    assert service.open().embed(texts) == pytest.approx(expected_rows(texts), abs=1e-6)
    assert [len(request["input"]) for request in service.requests] == [1, BATCH, BATCH, 1]


def test_an_answer_may_come_in_any_order(service: Service) -> None:
    texts = ["a", "bb", "aaa", "dddd", "eeeee"]
    service.serve = lambda texts: reply([items(texts)[place] for place in (2, 0, 1, 4, 3) if place < len(texts)])
    assert service.open().embed(texts) == pytest.approx(expected_rows(texts), abs=1e-6)


def test_an_answer_may_omit_the_numbers_of_its_items(service: Service) -> None:
    service.serve = lambda texts: reply([{"embedding": vector_of(text)} for text in texts])
    assert service.open().embed(["a", "bb"]) == pytest.approx(expected_rows(["a", "bb"]), abs=1e-6)


def test_an_answer_may_be_in_base64(service: Service) -> None:
    service.serve = lambda texts: reply(
        [{"index": 0, "embedding": base64.b64encode(np.array(vector_of(text), "<f4").tobytes()).decode()} for text in texts]
    )
    assert service.open().embed(["banana"]) == pytest.approx(expected_rows(["banana"]), abs=1e-6)


def test_a_blank_text_is_not_sent(service: Service) -> None:
    model = service.open()
    rows = model.embed(["", "plum", " \n", "x" * 0])
    assert [row.any() for row in rows] == [False, True, False, False]
    assert question(model, " ") is None
    assert np.array_equal(question(model, "plum"), rows[1])
    assert [request["input"] for request in service.requests] == [["probe"], ["plum"], ["plum"]]
    assert model.embed([]).shape == (0, 4)


def test_a_text_is_sent_complete_or_cut_and_always_as_valid_utf_8(service: Service) -> None:
    service.open().embed(["ab\ud800", "x" * (MAX_CHARACTERS + 1)])
    assert service.requests[-1]["input"] == ["ab?", "x" * MAX_CHARACTERS]


def test_the_key_is_sent_and_shown_nowhere(service: Service) -> None:
    model = service.open({"OPENAI_API_KEY": "sk-secret\n"})
    assert service.authorization == ["Bearer sk-secret"]
    assert "sk-secret" not in model.name
    service.serve = always(400, b'{"error": "no such thing for sk-secret, or for anyone"}')
    with pytest.raises(EmbedderUnavailable, match="or for anyone") as error:
        model.embed(["plum"])
    assert "sk-secret" not in str(error.value)


def test_without_a_key_no_authorization_is_sent(service: Service) -> None:
    service.open({"OPENAI_API_KEY": "sk-secret"}, key_env="ANOTHER_KEY")
    assert service.authorization == [None]


def test_credentials_of_an_address_are_sent_and_shown_nowhere(service: Service) -> None:
    url = service.url.replace("//", "//me:pass%20word@") + "/?token=abc"
    model = service.open({"OPENAI_API_KEY": "of another service"}, url=url)
    assert model.name == f"endpoint:{service.url}#mini"
    assert service.paths == ["/v1/embeddings?token=abc"]
    assert service.authorization == ["Basic " + base64.b64encode(b"me:pass word").decode()]
    service.serve = always(500, b"pass word and pass%20word and token=abc are wrong")
    with pytest.raises(EmbedderUnavailable, match=f"{service.url} .* are wrong") as error:
        model.embed(["plum"])
    assert not [secret for secret in ("me:", "pass", "abc") if secret in str(error.value)]


def too_few(texts: list[str]) -> Reply:
    return reply(items(texts)[:-1])


def repeated_index(texts: list[str]) -> Reply:
    return reply([item | {"index": 0} for item in items(texts)])


def vectors_of_dimension(count: int) -> Serve:
    return lambda texts: reply([{"index": place, "embedding": [1.0] * count} for place in range(len(texts))])


def same_embedding(embedding: Any) -> Serve:
    return lambda texts: reply([{"index": place, "embedding": embedding} for place in range(len(texts))])


BAD: dict[str, tuple[Serve, str]] = {
    "too few": (too_few, "returned 1 vectors, numbered 0, for 2 texts"),
    "none": (same_embedding([]), "returned 0 numbers where 4 were expected"),
    "one number twice": (repeated_index, "returned 2 vectors, numbered 0, 0, for 2 texts"),
    "more": (lambda texts: good_reply([*texts, "plum"]), "returned 3 vectors, numbered 0, 1, 2, for 2 texts"),
    "another dimension": (vectors_of_dimension(3), "returned 3 numbers where 4 were expected"),
    "mixed": (lambda texts: reply([*items(texts)[:-1], {"index": 1, "embedding": [1.0]}]), "returned 1 numbers where 4"),
    "NaN": (same_embedding([1.0, float("nan"), 1.0, 1.0]), "instead of the expected JSON"),
    "NaN in base64": (same_embedding(base64.b64encode(np.full(4, np.nan, "<f4").tobytes()).decode()), "not finite"),
    "null": (same_embedding([1.0, None, 1.0, 1.0]), "instead of the expected JSON .*null"),
    "broken base64": (same_embedding("AAA"), "neither numbers nor base64"),
    "odd base64": (same_embedding("AAAA"), "neither numbers nor base64"),
    "not JSON": (always(200, b"<html>It works!</html>"), "instead of the expected JSON .*It works.*embedding.url"),
    "not UTF-8": (always(200, b'{"data": [{"embedding": "\xff"}]}'), "instead of the expected JSON"),
    "deep": (always(200, b'{"x":' + b"[" * 100_000), "instead of the expected JSON"),
    "an error with status 200": (always(200, b'{"error": "no"}'), "instead of the expected JSON .*data"),
    "nothing": (always(200), "instead of the expected JSON"),
    "400": (always(400, b'{"error": "input\n too long"}'), r'HTTP 400 .*"input too long".*check embedding.name'),
    "401": (always(401), "HTTP 401: check the key in the environment variable OPENAI_API_KEY"),
    "404": (always(404, b"no model \x1b[31mmini"), r"HTTP 404 \(no model \[31mmini\): check embedding.url.* and embedding.name"),
    "429": (always(429), "HTTP 429: too many requests"),
    "500": (always(500), "HTTP 500: look into the log"),
    "503": (always(503), "HTTP 503: look into the log"),
    "302": (always(302, Location="http://127.0.0.1:9/elsewhere"), "HTTP 302: it redirects"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_the_error_for_a_bad_answer_says_the_reason_and_the_address(service: Service, case: str) -> None:
    service.serve, sentence = BAD[case]
    bad, service.serve = service.serve, good_reply
    model = service.open()
    service.serve = bad
    with pytest.raises(EmbedderUnavailable, match=f"(?s){service.url} .*{sentence}"):
        model.embed(["plum", "banana"])
    assert len(service.requests) == 2  # the probe, and one try


@pytest.mark.parametrize("serve", [always(401), always(200, b"[]"), vectors_of_dimension(0), too_few])
def test_an_unusable_service_is_an_error_when_it_is_opened(service: Service, serve: Serve) -> None:
    service.serve = serve
    with pytest.raises(EmbedderUnavailable, match=service.url):
        service.open()


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_service_gets_one_retry_at_the_time_that_it_names(service: Service, status: int) -> None:
    busy = always(status, Retry_After="0")
    service.serve = then(good_reply, busy, good_reply)
    model = service.open()
    assert model.embed(["plum"]).any()
    service.serve = busy
    with pytest.raises(EmbedderUnavailable, match=f"HTTP {status}"):
        model.embed(["plum"])
    assert len(service.requests) == 1 + 2 + 2


@pytest.mark.parametrize("after", ["3600", "21", "-1", "nan", "soon", "Wed, 21 Oct 2099 07:28:00 GMT"])
def test_the_wait_for_a_busy_service_is_limited(service: Service, after: str) -> None:
    service.serve = always(429, Retry_After=after)
    with pytest.raises(EmbedderUnavailable, match="HTTP 429"):
        service.open()
    assert len(service.requests) == 1


def test_all_vectors_get_length_one_except_zeros(service: Service) -> None:
    vectors = {"probe": [1.0, 0.0], "large": [3e300, -4e300], "small": [3e-300, 4e-300], "zero": [0, 0]}
    service.serve = lambda texts: reply([{"embedding": vectors[text]} for text in texts])
    model = service.open()
    assert model.embed(["large", "small", "zero"]) == pytest.approx(np.array([[0.6, -0.8], [0.6, 0.8], [0, 0]]), abs=1e-6)
    assert question(model, "zero") is None


def test_a_slow_service_times_out(service: Service) -> None:
    def slow(texts: list[str]) -> Reply:
        service.released.wait(30)
        return good_reply(texts)

    service.serve = slow
    with pytest.raises(EmbedderUnavailable, match=rf"{service.url} did not answer within 0\.1 s.*embedding\.timeout_s"):
        service.open(timeout_s=0.1)


def test_a_service_that_answers_byte_by_byte_times_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        is_done = threading.Event()

        def drip() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
                while not is_done.wait(0.02):
                    connection.sendall(b" ")

        thread = threading.Thread(target=drip)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        with pytest.raises(EmbedderUnavailable, match=r"did not answer within 0\.2 s"):
            EndpointModel(EmbeddingSettings(model="endpoint", url=url, name="mini", timeout_s=0.2), {})
        is_done.set()
        thread.join()


@pytest.mark.parametrize(
    "answer", [b"", b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"]
)
def test_the_error_names_a_server_that_hangs_up_or_does_not_speak_http(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hang_up() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(answer)

        thread = threading.Thread(target=hang_up)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        with pytest.raises(EmbedderUnavailable, match=f"{url} cannot be reached"):
            EndpointModel(EmbeddingSettings(model="endpoint", url=url, name="mini"), {})
        thread.join()


def test_the_error_names_a_service_that_is_down() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
    with pytest.raises(EmbedderUnavailable, match=rf"{url} cannot be reached .*check that it runs"):
        EndpointModel(EmbeddingSettings(model="endpoint", url=url, name="mini"), {})


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"name": "mini"}, r"embedding\.url"),
        ({"url": "http://127.0.0.1/v1"}, r"embedding\.name"),
        ({"url": "http://127.0.0.1/v1", "name": ""}, r"embedding\.name"),
        ({"url": "http://127.0.0.1/v1", "name": "mini", "timeout_s": 0}, r"embedding\.timeout_s"),
        ({"url": "http://127.0.0.1/v1", "name": "mini", "timeout_s": float("nan")}, r"embedding\.timeout_s"),
    ],
)
def test_the_settings_of_an_endpoint_must_be_complete(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadSettings, match=sentence):
        EndpointModel(EmbeddingSettings(model="endpoint", **settings), {})


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://me:secret@host/v1",
        "127.0.0.1:8080/v1",
        "http://",
        "http:///v1",
        "http://host:port/v1",
        "http://host:99999/v1",
        "http://[::1/v1",
        "http://me:secret@host/v 1",
        "http://me:secret@host/v1\r\nX: y",
        "http://höst/v1",
    ],
)
def test_only_http_and_https_addresses_are_accepted(url: str) -> None:
    with pytest.raises(BadSettings, match="must be an http or https address") as error:
        EndpointModel(EmbeddingSettings(model="endpoint", url=url, name="mini"), {})
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("key", ["sk-söcret", "sk-one\r\nX-Two: sk"])
def test_the_error_for_an_invalid_key_does_not_show_the_key(key: str) -> None:
    with pytest.raises(BadSettings, match="OPENAI_API_KEY") as error:
        EndpointModel(EmbeddingSettings(model="endpoint", url="http://127.0.0.1:9/v1", name="mini"), {"OPENAI_API_KEY": key})
    assert "sk-" not in str(error.value)


# The choice of the model


def test_the_settings_choose_the_model(folder: Path, service: Service) -> None:
    assert isinstance(open_embedder(EmbeddingSettings(), {}), StaticModel)
    assert isinstance(open_embedder(EmbeddingSettings(model="onnx", path=str(folder)), {}), OnnxModel)
    assert isinstance(open_embedder(EmbeddingSettings(model="endpoint", url=service.url, name="mini"), {}), EndpointModel)
    assert open_embedder(EmbeddingSettings(model="none"), {}) is None
