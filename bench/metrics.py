"""Quality of a ranking: recall, MRR and nDCG."""

import math
from collections.abc import Iterable, Sequence

CUTS = (1, 5, 10, 20)


def score_ranking(ranked: Sequence[str], evidence: Sequence[str]) -> dict[str, float]:
    """The scores of one question: recall at several depths, the first hit's reciprocal rank, and nDCG with binary gain."""
    order, gold = list(dict.fromkeys(ranked)), set(evidence)
    recall = {f"R@{cut}": len(gold.intersection(order[:cut])) / len(gold) for cut in CUTS}
    places = [place for place, item in enumerate(order[:10]) if item in gold]
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(gold))))
    return {
        **recall,
        "MRR": 1 / (places[0] + 1) if places else 0.0,
        "nDCG@10": sum(1 / math.log2(place + 2) for place in places) / ideal,
    }


def mean(rows: Iterable[dict[str, float]]) -> dict[str, float]:
    listed = list(rows)
    return {name: sum(row[name] for row in listed) / len(listed) for name in listed[0]} if listed else {}
