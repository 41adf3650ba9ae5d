"""Search quality: how well questions find their evidence, by mode and without each part of the ranking.

    make bench-quality
    .venv/bin/python bench/quality.py --locomo ../shared/bench --corpus ../shared/corpus
    .venv/bin/python bench/quality.py --quick          # pooled only, no ablations

There are two datasets. LoCoMo (Maharana et al., 2024): long conversations of two people, and questions with the turns that
contain the answer; `own` searches the question's own conversation, `pooled` all ten at once. Coding: questions about real
agent sessions, written by reading the sessions; questions/coding.jsonl has the questions and event ids. Both use the
product's own sync and search.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
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
    "without adjacent turns": msgspec.structs.replace(RANKING, beside=()),
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


class Dataset(Struct):
    """Questions, and the realms to search."""

    name: str
    questions: list[Question]
    realms: dict[str, LiveRealm]


# ---- the datasets


def locomo(data: Path, home: Path, *, pooled: bool) -> Dataset:
    """The LoCoMo dataset. Each conversation becomes an export of sessions: one speaker is the user, the other the agent."""
    samples = json.loads((data / "locomo10.json").read_text("utf-8"))
    documents = {sample["sample_id"]: list(_conversations(sample)) for sample in samples}
    pools = {"all": [part for parts in documents.values() for part in parts]} if pooled else documents
    realms = {name: _realm_of(home, f"locomo-{name}", parts) for name, parts in pools.items()}
    questions = [question for sample in samples for question in _questions(sample, "all" if pooled else sample["sample_id"])]
    return Dataset(f"LoCoMo {'pooled' if pooled else 'own'}", questions, realms)


def _conversations(sample: dict[str, Any]) -> Iterator[dict[str, Any]]:
    talk = sample["conversation"]
    for number in sorted(int(match[1]) for name in talk if (match := re.fullmatch(r"session_(\d+)", name))):
        began = time.strptime(talk[f"session_{number}_date_time"].replace(" on ", " "), "%I:%M %p %d %B, %Y")
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", began)
        turns = talk[f"session_{number}"]
        yield {
            "uuid": f"{sample['sample_id']}/D{number}",
            "name": "",
            "chat_messages": [_message(sample["sample_id"], turn, turns[0]["speaker"], stamp) for turn in turns],
        }


def _message(sample: str, turn: dict[str, Any], user: str, stamp: str) -> dict[str, Any]:
    picture = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return {
        "uuid": f"{sample}/{turn['dia_id']}",
        "sender": "human" if turn["speaker"] == user else "assistant",
        "text": f"{turn['speaker']}: {turn.get('text', '')}{picture}",
        "created_at": stamp,
    }


def _questions(sample: dict[str, Any], realm: str) -> Iterator[Question]:
    name, talk = sample["sample_id"], sample["conversation"]
    known = {turn["dia_id"] for part in talk.values() if isinstance(part, list) for turn in part}
    for item in sample["qa"]:
        places = [f"D{int(d)}:{int(t)}" for text in item.get("evidence") or [] for d, t in EVIDENCE.findall(text)]
        gold = [_event(f"{name}/{place}") for place in dict.fromkeys(places) if place in known]
        if gold:
            yield Question(item["question"], gold, str(item["category"]), realm)


def _event(key: str) -> str:
    return f"event:{event_id('claude-export', f'{key}.0').hex()}"


def _realm_of(home: Path, name: str, conversations: list[dict[str, Any]]) -> LiveRealm:
    path = home / f"{name}.json"
    path.write_text(json.dumps(conversations), "utf-8")
    return _synced(home, name, [path])


def coding(corpus: Path, home: Path) -> Dataset:
    folder = home / "corpus"
    if not folder.exists():
        subprocess.run([sys.executable, str(corpus / "unpack"), str(folder)], check=True)
    paths = sorted(path for path in folder.iterdir() if not path.name.startswith("_"))
    questions = [msgspec.json.decode(line, type=Question) for line in QUESTIONS.read_bytes().splitlines()]
    for question in questions:
        question.realm = "coding"
    return Dataset("Coding sessions", questions, {"coding": _synced(home, "coding", paths)})


def _synced(home: Path, name: str, paths: list[Path]) -> LiveRealm:
    realm = LiveRealm(Settings(home=home / "state"), name)
    env = {"HOME": str(home / "no-home")}
    sync(realm.folder, realm.settings, all_sources(), env, paths)
    with Distiller(realm.folder, realm.settings, env) as distiller:
        for _ in distiller.steps():
            pass
    return realm


# ---- measuring


def ranked_events(realm: LiveRealm, question: str, mode: Mode, ranking: Ranking) -> list[str]:
    """The ids of the events that a search for the question finds, best first."""
    with realm.open_archive() as reader:
        index = realm.text_index(reader)
        assert index is not None
        query, meaning, filters = parse(question), realm.semantic.vector_search("events"), Filters(kinds=DEFAULT_KIND_CODES)
        hits, _ = search(reader, index, meaning, query, filters, DEPTH, lambda: None, mode, ranking)
    return [f"event:{hit.event.id.hex()}" for hit in hits]


def measure(dataset: Dataset, mode: Mode, ranking: Ranking = RANKING) -> dict[str, float]:
    rows = []
    began = time.perf_counter()
    for question in dataset.questions:
        ranked = ranked_events(dataset.realms[question.realm], question.question, mode, ranking)
        rows.append(score_ranking(ranked, question.evidence))
    return {**mean(rows), "ms": (time.perf_counter() - began) * 1000 / len(rows)}


def print_table(title: str, rows: Iterable[tuple[str, dict[str, float]]]) -> None:
    names = ("R@1", "R@5", "R@10", "MRR", "nDCG@10", "ms")
    print(f"\n{title}\n  {'':28}" + "".join(f"{name:>9}" for name in names))
    for name, figures in rows:
        print(f"  {name:28}" + "".join(f"{figures[column]:9.3f}" for column in names))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--locomo", type=Path, default=HERE.parent.parent / "shared" / "bench")
    parser.add_argument("--corpus", type=Path, default=HERE.parent.parent / "shared" / "corpus")
    parser.add_argument("--cache", type=Path, help="keep the realms in this folder, for another run")
    parser.add_argument("--quick", action="store_true", help="pooled only, no ablations")
    parser.add_argument("--set", choices=("locomo", "coding"), help="measure only this dataset")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = arguments.cache or Path(scratch)
        home.mkdir(parents=True, exist_ok=True)
        for dataset in _datasets(arguments, home):
            run(dataset, quick=arguments.quick)


def _datasets(arguments: argparse.Namespace, home: Path) -> Iterator[Dataset]:
    if arguments.set != "coding":
        if (arguments.locomo / "locomo10.json").exists():
            yield locomo(arguments.locomo, home, pooled=True)
            if not arguments.quick:
                yield locomo(arguments.locomo, home, pooled=False)
        else:
            print(f"skipped: no locomo10.json in {arguments.locomo}")
    if arguments.set != "locomo":
        if (arguments.corpus / "unpack").exists():
            yield coding(arguments.corpus, home)
        else:
            print(f"skipped: no sessions in {arguments.corpus}")


def run(dataset: Dataset, *, quick: bool) -> None:
    modes = [(mode, measure(dataset, mode)) for mode in MODES]
    print_table(f"{dataset.name}, {len(dataset.questions):,} questions", modes)
    if not quick:
        ablations = ((name, measure(dataset, "both", ranking)) for name, ranking in ABLATIONS.items())
        print_table("both, without one part each", ablations)


if __name__ == "__main__":
    main()
