"""Text for a model that is to align the Hansards with gold links (WPT03), from text of another kind.

    python benchmarks/hansards.py words en < train.en > words/train.en      # and fr
    python benchmarks/hansards.py longer --src words/train.en --tgt words/train.fr --links train.links --out longer

`words` writes text as the Hansards do, so that a model and an aligner meet words they know: in lower case; words and punctuation marks
stand alone; elisions and contractions are written out (`l'ordre` as `le ordre`, `don't` as `do not`), also where French would have said
`la`. A line stays a line.

`longer` makes pairs of two to five pairs with their links, beside some that stay alone: a model that has read short sentences only does
not find its way in long ones. The mark between two of them is kept, taken out, or made a comma. It writes src, tgt and links.
"""

import argparse
import random
import re
import sys
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import NamedTuple

from regard.data.alignments import read_links
from regard.data.readers import read_pairs
from regard.metrics.alignment import Links, to_pharaoh

Rules = Sequence[tuple[str, str]]

ENDS = (".", "?", "!")

MARKS: Rules = [("[’‘]", "'"), ("[\u00ad\u200b]", ""), ("[\u00a0\u202f]", " "), ("[–—]", "--")]
APART: Rules = [  # a point that is part of an abbreviation or a number stays
    (r"(--|[^\w\s'.,:-])", r" \1 "),
    (r"(\w)-(?=\w)", r"\1 - "),
    (r"([.,:])(?=\D|$)(?<!\bmr\.)(?<!\bmrs\.)(?<!\bdr\.)(?<!\bst\.)(?<!\bhon\.)", r" \1 "),
]
ENGLISH: Rules = [
    (r"\bwon't\b", "will not"),
    (r"\bcan't\b", "cannot"),
    (r"\bshan't\b", "shall not"),
    (r"(\w)n't\b", r"\1 not"),
    (r"\blet's\b", "let us"),
    (r"\b(it|he|she|that|what|there|who|where|how|here)'s\b", r"\1 is"),
    (r"'m\b", " am"),
    (r"'re\b", " are"),
    (r"'ve\b", " have"),
    (r"'ll\b", " will"),
    (r"'d\b", " would"),
    (r"'s\b", " 's"),
]
FRENCH: Rules = [
    (r"\baujourd'hui\b", "aujourd' hui"),
    (r"\bs'(?=ils?\b)", "si "),
    (r"\b([cdjlmnst]|qu|quelqu|jusqu|lorsqu|puisqu|quoiqu)'(?=\w)", r"\1e "),
]


def main() -> None:
    """The part that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    parts.add_parser("words").add_argument("language", choices=["en", "fr"])
    longer = parts.add_parser("longer")
    for name in ("--src", "--tgt", "--links", "--out"):
        longer.add_argument(name, type=Path, required=True)
    longer.add_argument("--alone", type=float, default=0.35, help="share of the pairs that also stay alone")
    longer.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if asked.part == "words":
        language = {"en": ENGLISH, "fr": FRENCH}[asked.language]
        for line in sys.stdin.buffer:
            print(as_hansards(line.decode(), language))
        return
    text = list(read_pairs(asked.src, asked.tgt))
    links = (sure for sure, _ in read_links(asked.links, text))
    pairs = [Aligned(source.split(), target.split(), some) for (source, target), some in zip(text, links, strict=True)]
    made = longer_pairs(pairs, asked.alone, random.Random(asked.seed))
    asked.out.mkdir(parents=True, exist_ok=True)
    for name, told in (
        ("src", lambda pair: " ".join(pair.source)),
        ("tgt", lambda pair: " ".join(pair.target)),
        ("links", lambda pair: to_pharaoh(pair.links)),
    ):
        (asked.out / name).write_text("".join(f"{told(pair)}\n" for pair in made), encoding="utf-8")


def as_hansards(line: str, language: Rules) -> str:
    """One line rewritten."""
    text = line.strip().lower()
    for pattern, replacement in [*MARKS, *language, *APART]:
        text = re.sub(pattern, replacement, text)
    return " ".join(text.split())


class Aligned(NamedTuple):
    """Two sides in words, and the links between them."""

    source: list[str]
    target: list[str]
    links: Links


def longer_pairs(pairs: list[Aligned], alone: float, chance: random.Random) -> list[Aligned]:
    """Each pair once in a longer one, and some alone too, in any order."""
    made, first, order = chance.sample(pairs, int(alone * len(pairs))), 0, chance.sample(pairs, len(pairs))
    while first < len(order):
        size = chance.randint(2, 5)
        made.append(reduce(lambda one, other: _after(one, other, chance.random()), order[first : first + size]))
        first += size
    chance.shuffle(made)
    return made


def _after(one: Aligned, other: Aligned, draw: float) -> Aligned:
    """Two pairs as one."""
    source, target, links = one
    if source[-1:] and target[-1:] and source[-1] in ENDS and target[-1] in ENDS and draw < 0.8:
        source, target = source[:-1], target[:-1]
        links = frozenset(link for link in links if link[0] < len(source) and link[1] < len(target))
        if draw < 0.4:
            links |= {(len(source), len(target))}
            source, target = [*source, ","], [*target, ","]
    moved = {(first + len(source), second + len(target)) for first, second in other.links}
    return Aligned(source + other.source, target + other.target, links | moved)


if __name__ == "__main__":
    main()
