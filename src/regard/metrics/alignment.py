"""Word alignments as sets of links: Pharaoh notation, symmetrisation, and the error rate. It aligns nothing itself."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from regard.errors import DataError

Links = frozenset[tuple[int, int]]
"""Set of (source word, target word), both counted from 0."""

Joint = Literal["both", "either", "grow-diag"]
"""Rule of symmetrisation: intersection (both), union (either), or grow-diag (Koehn et al. 2003)."""

_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))

_TOKEN = re.compile(r"([0-9]{1,9})([-p?])([0-9]{1,9})", re.ASCII)


def parse_pharaoh(line: str) -> tuple[Links, Links]:
    """(sure links, possible links) of a line such as `0-0 1p2 3-1`. `i-j` is sure; `ipj` or `i?j` is possible.

    Sure links are among the possible ones.
    """
    sure, possible = set(), set()
    for token in line.split():
        match = _TOKEN.fullmatch(token)
        if match is None:
            raise DataError(
                f"alignment link {token[:40]!r}: write source-target, as in 0-1, or 0p1 where it is only possible"
            )
        link = (int(match[1]), int(match[3]))
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return frozenset(sure), frozenset(possible)


def to_pharaoh(links: Links) -> str:
    """The links as `0-0 1-2`, sorted."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def flipped(links: Links) -> Links:
    """The same links as (target word, source word)."""
    return frozenset((target, source) for source, target in links)


def joined(forward: Links, backward: Links, rule: Joint) -> Links:
    """Symmetrise two alignments of a sentence pair: source to target, and target to source."""
    if rule == "grow-diag":
        return _grown(forward & backward, forward | backward)
    return forward & backward if rule == "both" else forward | backward


def _grown(links: Links, either: Links) -> Links:
    """Grow-diag: add links of `either` that neighbour a link and have an unaligned word (Koehn et al. 2003)."""
    grown = set(links)
    while True:
        sources, targets = {source for source, _ in grown}, {target for _, target in grown}
        neighbours = {(source + x, target + y) for source, target in grown for x, y in _NEIGHBOURS}
        new = {link for link in (neighbours & either) - grown if link[0] not in sources or link[1] not in targets}
        if not new:
            return frozenset(grown)
        grown.add(min(new))


@dataclass(frozen=True)
class AlignmentScore:
    """Alignment error rate, precision and recall of a corpus, each 0 to 1."""

    aer: float
    precision: float
    recall: float


def alignment_error_rate(
    predicted: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links] | None = None
) -> AlignmentScore:
    """Alignment error rate (Och & Ney 2003), with A predicted, S sure and P possible links, counted over all sentences:

    precision = |A∩P| / |A|,  recall = |A∩S| / |S|,  AER = 1 - (|A∩S| + |A∩P|) / (|A| + |S|).

    Sure links are always possible; without `possible`, no others are. 0 / 0 is 1.
    """
    possible = sure if possible is None else possible
    if not len(predicted) == len(sure) == len(possible):
        raise DataError(
            f"{len(predicted)} predicted alignments for {len(sure)} sure and {len(possible)} possible ones: give one for each sentence"
        )
    sure_hits = possible_hits = predicted_links = gold_links = 0
    for links, sure_links, possible_links in zip(predicted, sure, possible, strict=True):
        sure_hits += len(links & sure_links)
        possible_hits += len(links & (possible_links | sure_links))
        predicted_links += len(links)
        gold_links += len(sure_links)
    return AlignmentScore(
        aer=1.0 - _share(sure_hits + possible_hits, predicted_links + gold_links),
        precision=_share(possible_hits, predicted_links),
        recall=_share(sure_hits, gold_links),
    )


def mass_on_gold(weights: Sequence[Sequence[Sequence[float]]], gold: Sequence[Links]) -> float:
    """The mean share of a target word's weight that lies on its gold source words, over all target words that have some; 0 if none has.

    weights: [target words][source words] of each pair.
    """
    shares: list[float] = []
    for rows, links in zip(weights, gold, strict=True):
        for target, row in enumerate(rows):
            sources = [source for source, other in links if other == target]
            if sources:
                shares.append(sum(row[source] for source in sources if source < len(row)))
    return sum(shares) / len(shares) if shares else 0.0


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
