"""Check `numbers_names`: numbers and names that the reference keeps as they are in the source.

A number: digits, compared without separators. A name: a capitalised word that is not the first of its sentence and that the reference has,
too. What the reference writes in another way is not counted.
"""

import re
from collections import Counter
from collections.abc import Sequence

from regard.explain.failures.findings import EXAMPLES, Example, Finding
from regard.explain.failures.statistics import graded, share, worst
from regard.explain.failures.subject import NotApplicableError, TranslatorSubject
from regard.explain.failures.words import WORD, numbers

NAME, TITLE = "numbers_names", "Numbers and names"
LOOK, FAULT = 5.0, 15.0  # % that are lost
_SENTENCE_START = re.compile(r"(?:^|[.!?:…]\s+)\W*$")


def names(text: str) -> list[str]:
    """The capitalised words of a text but the first of its sentences."""
    return [
        match[0]
        for match in WORD.finditer(text)
        if match[0][0].isupper() and len(match[0]) > 1 and not _SENTENCE_START.search(text[: match.start()])
    ]


def numbers_names(subject: TranslatorSubject) -> Finding:
    """The share of numbers and names that the output has exactly as often as source and reference."""
    sources, references = subject.texts.sources, subject.texts.references
    kept, total = Counter[str](), Counter[str]()
    examples = []
    for source, output, reference in zip(sources, subject.outputs(sources), references, strict=True):
        lost = []
        for kind, read, present in (
            ("numbers", numbers, Counter(numbers(output))),
            ("names", names, Counter(WORD.findall(output))),
        ):
            in_reference = Counter(read(reference) if kind == "numbers" else WORD.findall(reference))
            for item in _in_both(read(source), in_reference):
                total[kind] += 1
                if present[item] > 0:
                    present[item] -= 1
                    kept[kind] += 1
                else:
                    lost.append(item)
        if lost:
            examples.append(Example(source, output, reference, f"lost: {', '.join(lost)}"))
    if not total:
        raise NotApplicableError("no number and no name of the sources stands in its reference as it is")
    both = sorted(
        (share(f"{kind}_kept", f"{kind} that are kept", kept[kind], total[kind]) for kind in ("numbers", "names")),
        key=lambda number: (number.value is None, number.value),
    )
    status = worst(*(graded(None if one.value is None else 100.0 - one.value, LOOK, FAULT) for one in both))
    told = [
        f"{kept[kind]:,} of {total[kind]:,} {kind} are kept" if total[kind] else f"there are no {kind}"
        for kind in ("numbers", "names")
    ]
    return Finding(NAME, TITLE, status, "; ".join(told), tuple(both), examples=tuple(examples[:EXAMPLES]))


def _in_both(items: Sequence[str], reference: Counter[str]) -> list[str]:
    """The items that the reference has, as often as both have them."""
    left, found = Counter(reference), []
    for item in items:
        if left[item] > 0:
            left[item] -= 1
            found.append(item)
    return found
