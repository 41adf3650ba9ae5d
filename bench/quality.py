"""Search quality: how well questions find their evidence, by mode and without each part of the ranking.

    make bench-quality
    .venv/bin/python bench/quality.py --locomo ../shared/bench --corpus ../shared/corpus
    .venv/bin/python bench/quality.py --quick          # pooled only, no ablations

Two sets. LoCoMo (Maharana et al., 2024): long conversations of two people, questions with the turns that hold the answer;
`own` searches the question's own conversation, `pooled` all ten at once. Coding: questions over real agent sessions, written
by reading these, kept here as questions and event ids. Everything goes through the product's own sync and search.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from metrics import mean, score_ranking
from msgspec import Struct

from recollect.distil import Distiller
from recollect.index.filters import Filters
from recollect.ingest import sync
from recollect.live import LiveRealm
from recollect.model import DEFAULT_KIND_CODES, event_id
from recollect.search import Mode, parse, search
from recollect.search.ranking import RANKING, Ranking
from recollect.settings import Settings
from recollect.sources import all_sources

HERE = Path(__file__).parent
QUESTIONS = HERE / "questions" / "coding.jsonl"
EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
DEPTH = 20
MODES: tuple[Mode, ...] = ("text", "vector", "both")
ABLATIONS: dict[str, Ranking] = {
    "without presence": msgspec.structs.replace(RANKING, presence=0.0),
    "without names": msgspec.structs.replace(RANKING, name=1.0),
    "without its turn": msgspec.structs.replace(RANKING, turn=0.0),
    "without turns beside": msgspec.structs.replace(RANKING, beside=()),
    "without its session": msgspec.structs.replace(RANKING, session=0.0),
    "without its title": msgspec.structs.replace(RANKING, title=0.0),
    "without times": msgspec.structs.replace(RANKING, time=0.0),
    "without the boost of prompts and answers": msgspec.structs.replace(RANKING, conclusion=0.0),
    "words alone, no structure": msgspec.structs.replace(
        RANKING, presence=0.0, name=1.0, turn=0.0, beside=(), session=0.0, title=0.0, time=0.0, conclusion=0.0, meaning=0.0
    ),
}


class Question(Struct):
    """A question and the ids of the events that answer it."""

    question: str
    evidence: list[str]
    kind: str = ""
    realm: str = ""


class Set(Struct):
    """Questions, and the realms that they are asked of."""

    name: str
    questions: list[Question]
    realms: dict[str, LiveRealm]


# ---- the sets


def locomo(data: Path, home: Path, *, pooled: bool) -> Set:
    """Every conversation as an export of sessions: one speaker asks, the other answers."""
    samples = json.loads((data / "locomo10.json").read_text("utf-8"))
    documents = {sample["sample_id"]: list(_conversations(sample)) for sample in samples}
    pools = {"all": [part for parts in documents.values() for part in parts]} if pooled else documents
    realms = {name: _filled(home, f"locomo-{name}", parts) for name, parts in pools.items()}
    questions = [question for sample in samples for question in _questions(sample, "all" if pooled else sample["sample_id"])]
    return Set(f"LoCoMo {'pooled' if pooled else 'own'}", questions, realms)


def _conversations(sample: dict[str, Any]) -> Iterator[dict[str, Any]]:
    talk = sample["conversation"]
    for number in sorted(int(found[1]) for name in talk if (found := re.fullmatch(r"session_(\d+)", name))):
        began = time.strptime(talk[f"session_{number}_date_time"].replace(" on ", " "), "%I:%M %p %d %B, %Y")
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", began)
        turns = talk[f"session_{number}"]
        yield {
            "uuid": f"{sample['sample_id']}/D{number}",
            "name": "",
            "chat_messages": [_message(sample["sample_id"], turn, turns[0]["speaker"], stamp) for turn in turns],
        }


def _message(sample: str, turn: dict[str, Any], asks: str, stamp: str) -> dict[str, Any]:
    picture = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return {
        "uuid": f"{sample}/{turn['dia_id']}",
        "sender": "human" if turn["speaker"] == asks else "assistant",
        "text": f"{turn['speaker']}: {turn.get('text', '')}{picture}",
        "created_at": stamp,
    }


def _questions(sample: dict[str, Any], realm: str) -> Iterator[Question]:
    name, talk = sample["sample_id"], sample["conversation"]
    known = {turn["dia_id"] for part in talk.values() if isinstance(part, list) for turn in part}
    for item in sample["qa"]:
        places = [f"D{int(d)}:{int(t)}" for told in item.get("evidence") or [] for d, t in EVIDENCE.findall(told)]
        gold = [_event(f"{name}/{place}") for place in dict.fromkeys(places) if place in known]
        if gold:
            yield Question(item["question"], gold, str(item["category"]), realm)


def _event(key: str) -> str:
    return f"event:{event_id('claude-export', f'{key}.0').hex()}"


def _filled(home: Path, name: str, conversations: list[dict[str, Any]]) -> LiveRealm:
    path = home / f"{name}.json"
    path.write_text(json.dumps(conversations), "utf-8")
    return _synced(home, name, [path])


def coding(corpus: Path, home: Path) -> Set:
    folder = home / "corpus"
    if not folder.exists():
        subprocess.run([sys.executable, str(corpus / "unpack"), str(folder)], check=True)
    paths = sorted(path for path in folder.iterdir() if not path.name.startswith("_"))
    questions = [msgspec.json.decode(line, type=Question) for line in QUESTIONS.read_bytes().splitlines()]
    for question in questions:
        question.realm = "coding"
    return Set("Coding sessions", questions, {"coding": _synced(home, "coding", paths)})


def _synced(home: Path, name: str, paths: list[Path]) -> LiveRealm:
    realm = LiveRealm(Settings(home=home / "state"), name)
    env = {"HOME": str(home / "nobody")}
    sync(realm.folder, realm.settings, all_sources(), env, paths)
    with Distiller(realm.folder, realm.settings, env) as distiller:
        for _ in distiller.steps():
            pass
    return realm


# ---- asking


def ask(where: LiveRealm, question: str, mode: Mode, ranking: Ranking) -> list[str]:
    """The ids of the events that are found, best first."""
    with where.open_archive() as reader:
        index = where.text_index(reader)
        assert index is not None
        query, meaning, filters = parse(question), where.semantic.vector_search("events"), Filters(kinds=DEFAULT_KIND_CODES)
        found, _ = search(reader, index, meaning, query, filters, DEPTH, lambda: None, mode, ranking)
    return [f"event:{hit.event.id.hex()}" for hit in found]


def measure(dataset: Set, mode: Mode, ranking: Ranking = RANKING) -> dict[str, float]:
    rows = []
    began = time.perf_counter()
    for question in dataset.questions:
        rows.append(score_ranking(ask(dataset.realms[question.realm], question.question, mode, ranking), question.evidence))
    return {**mean(rows), "ms": (time.perf_counter() - began) * 1000 / len(rows)}


def table(title: str, rows: Iterable[tuple[str, dict[str, float]]], say: Callable[[str], None]) -> None:
    names = ("R@1", "R@5", "R@10", "MRR", "nDCG@10", "ms")
    say(f"\n{title}\n  {'':28}" + "".join(f"{name:>9}" for name in names))
    for name, figures in rows:
        say(f"  {name:28}" + "".join(f"{figures[column]:9.3f}" for column in names))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--locomo", type=Path, default=HERE.parent.parent / "shared" / "bench")
    parser.add_argument("--corpus", type=Path, default=HERE.parent.parent / "shared" / "corpus")
    parser.add_argument("--cache", type=Path, help="keep what was read here, for another run")
    parser.add_argument("--quick", action="store_true", help="pooled only, no ablations")
    parser.add_argument("--set", choices=("locomo", "coding"), help="only this one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = given.cache or Path(scratch)
        home.mkdir(parents=True, exist_ok=True)
        for dataset in _sets(given, home):
            run(dataset, quick=given.quick)


def _sets(given: argparse.Namespace, home: Path) -> Iterator[Set]:
    if given.set != "coding":
        if (given.locomo / "locomo10.json").exists():
            yield locomo(given.locomo, home, pooled=True)
            if not given.quick:
                yield locomo(given.locomo, home, pooled=False)
        else:
            print(f"skipped: no locomo10.json in {given.locomo}")
    if given.set != "locomo":
        if (given.corpus / "unpack").exists():
            yield coding(given.corpus, home)
        else:
            print(f"skipped: no sessions in {given.corpus}")


def run(dataset: Set, *, quick: bool) -> None:
    modes = [(mode, measure(dataset, mode)) for mode in MODES]
    table(f"{dataset.name}, {len(dataset.questions):,} questions", modes, print)
    if not quick:
        ablations = ((name, measure(dataset, "both", ranking)) for name, ranking in ABLATIONS.items())
        table("both, without one part each", ablations, print)


if __name__ == "__main__":
    main()
