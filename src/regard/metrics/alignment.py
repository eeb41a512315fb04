"""Word alignments: sets of links in Pharaoh notation, two of them joined, and how far a predicted one is from a gold one. It finds none."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from regard.errors import DataError

Links = frozenset[tuple[int, int]]
"""(source word, target word), both counted from 0."""

Joint = Literal["both", "either", "grow-diag"]
"""Which links of two alignments are kept: those of both, of either, or those of both and what grows from them."""

_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))

_TOKEN = re.compile(r"([0-9]{1,9})([-p?])([0-9]{1,9})", re.ASCII)


def parse_pharaoh(line: str) -> tuple[Links, Links]:
    """The sure links of `0-0 1p2 3-1`, and the possible ones, the sure among them. `i-j` is sure; `ipj` or `i?j` is possible."""
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


def joined(one: Links, other: Links, rule: Joint) -> Links:
    """Of two alignments of the same pair, as from source to target and from target to source, one."""
    if rule == "grow-diag":
        return _grown(one & other, one | other)
    return one & other if rule == "both" else one | other


def _grown(links: Links, either: Links) -> Links:
    """The links, and those of either that touch one and join a word that has none (Koehn et al. 2003)."""
    found = set(links)
    while True:
        sources, targets = {source for source, _ in found}, {target for _, target in found}
        beside = {(source + x, target + y) for source, target in found for x, y in _NEIGHBOURS}
        new = {link for link in (beside & either) - found if link[0] not in sources or link[1] not in targets}
        if not new:
            return frozenset(found)
        found.add(min(new))


@dataclass(frozen=True)
class AlignmentScore:
    """Of a whole corpus, each in 0 to 1."""

    aer: float
    precision: float
    recall: float


def alignment_error_rate(
    predicted: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links] | None = None
) -> AlignmentScore:
    """Och & Ney (2003), with A predicted, S sure and P possible links, counted over all sentences:

    precision = |A∩P| / |A|,  recall = |A∩S| / |S|,  AER = 1 - (|A∩S| + |A∩P|) / (|A| + |S|).

    Sure links are possible ones whether listed there or not; without `possible`, only they are. Of nothing, all is right.
    """
    possible = sure if possible is None else possible
    if not len(predicted) == len(sure) == len(possible):
        raise DataError(
            f"{len(predicted)} predicted alignments for {len(sure)} sure and {len(possible)} possible ones: give one for each sentence"
        )
    right = allowed = guessed = wanted = 0
    for found, certain, acceptable in zip(predicted, sure, possible, strict=True):
        right += len(found & certain)
        allowed += len(found & (acceptable | certain))
        guessed += len(found)
        wanted += len(certain)
    return AlignmentScore(
        aer=1.0 - _share(right + allowed, guessed + wanted),
        precision=_share(allowed, guessed),
        recall=_share(right, wanted),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
