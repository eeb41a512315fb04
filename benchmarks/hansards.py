"""Text written as the Hansards with gold word alignments (WPT03) write it, so that a model and an aligner meet words they know.

    python benchmarks/hansards.py en < train.en > words/train.en
    python benchmarks/hansards.py fr < train.fr > words/train.fr

Lower case; words and punctuation marks stand alone; elisions and contractions are written out (`l'ordre` as `le ordre`, `don't` as
`do not`), also where French would have said `la`: so do the Hansards. A line stays a line.
"""

import re
import sys
from collections.abc import Sequence

Rules = Sequence[tuple[str, str]]

MARKS: Rules = [("[’‘]", "'"), ("[\u00a0\u202f\u200b\u00ad]", " "), ("[–—]", "--")]
APART: Rules = [  # a point that is part of an abbreviation or a number stays
    (r"(--|[^\w\s'.,:-])", r" \1 "),
    (r"(\w)-(?=\w)", r"\1 - "),
    (r"([.,:])(?=\D|$)(?<!\bmr.)(?<!\bmrs.)(?<!\bdr.)(?<!\bst.)(?<!\bhon.)", r" \1 "),
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
    """From standard input to standard output."""
    language = {"en": ENGLISH, "fr": FRENCH}[sys.argv[1]]
    for line in sys.stdin.buffer:
        print(as_hansards(line.decode(), language))


def as_hansards(line: str, language: Rules) -> str:
    """One line rewritten."""
    text = line.strip().lower()
    for pattern, replacement in [*MARKS, *language, *APART]:
        text = re.sub(pattern, replacement, text)
    return " ".join(text.split())


if __name__ == "__main__":
    main()
