"""Check `rare_words`: how often words of the reference are in the output, by their frequency in the training text.

A word is right if the output has it as often as the reference. Without a training text the frequency is that in the references.
"""

from collections import Counter

from regard.explain.failures.findings import EXAMPLES, Example, Finding, Table
from regard.explain.failures.statistics import graded_excess, share, share_difference
from regard.explain.failures.subject import NotApplicableError, TranslatorSubject
from regard.explain.failures.words import words

Buckets = tuple[tuple[int, str], ...]
"""(least frequency, its name), the rarest first."""

NAME, TITLE = "rare_words", "Rare words"
BUCKETS: Buckets = (
    (0, "never"),
    (1, "1 to 9 times"),
    (10, "10 to 99 times"),
    (100, "100 to 999 times"),
    (1000, "1,000 times or more"),
)
TEST_BUCKETS: Buckets = ((1, "once"), (2, "2 to 4 times"), (5, "5 to 19 times"), (20, "20 times or more"))
RARE = {True: 10, False: 2}
"""Rarer words than this count as rare: in the training text, or (False) in the test set."""
LOOK, FAULT = 20.0, 40.0  # percentage points between frequent and rare words


def rare_words(subject: TranslatorSubject) -> Finding:
    """The accuracy of reference words in buckets of their frequency."""
    texts = subject.texts
    training = texts.training
    if training is not None:
        counts, buckets, where = training.target_counts, BUCKETS, training.name
    else:
        counts, buckets, where = (
            Counter(word for text in texts.references for word in words(text)),
            TEST_BUCKETS,
            "the references",
        )
    rare_below = RARE[training is not None]
    hits, sizes = Counter[str](), Counter[str]()
    rare, frequent = [0, 0], [0, 0]
    missing: list[tuple[int, Example]] = []
    for source, output, reference in zip(texts.sources, subject.outputs(texts.sources), texts.references, strict=True):
        present, lost = Counter(words(output)), []
        for word in words(reference):
            right = present[word] > 0
            present[word] -= 1
            name = next(label for least, label in reversed(buckets) if counts[word] >= least)
            sizes[name] += 1
            hits[name] += right
            group = rare if counts[word] < rare_below else frequent
            group[0] += right
            group[1] += 1
            if not right and counts[word] < rare_below:
                lost.append(word)
        if lost:
            missing.append(
                (min(counts[word] for word in lost), Example(source, output, reference, f"lacks {', '.join(lost[:6])}"))
            )
    if not rare[1] + frequent[1]:
        raise NotApplicableError("the references have no words")
    missing.sort(key=lambda pair: pair[0])
    gap = share_difference("gap", "accuracy of frequent minus rare words", tuple_of(frequent), tuple_of(rare))
    numbers = (
        share("rare", f"words seen fewer than {rare_below} times that are right", *rare),
        share("frequent", "other words that are right", *frequent),
        gap,
    )
    rows = tuple((label, sizes[label], 100.0 * hits[label] / sizes[label]) for _, label in buckets if sizes[label])
    verdict = f"{numbers[0].text} of {rare[1]:,} rare words are right, {numbers[1].text} of others (by {where})"
    if not rare[1]:
        verdict = f"there are no rare words; {numbers[1].text} of the others are right (by {where})"
    return Finding(
        NAME,
        TITLE,
        graded_excess(gap, LOOK, FAULT),
        verdict,
        numbers if rare[1] else (numbers[1], numbers[0], gap),
        (Table(("seen", "words", "right %"), rows, f"Frequency in {where}"),),
        tuple(example for _, example in missing[:EXAMPLES]),
    )


def tuple_of(counts: list[int]) -> tuple[int, int]:
    """(hits, count)."""
    return counts[0], counts[1]
