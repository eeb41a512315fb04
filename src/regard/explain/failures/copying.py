"""Check `copying`: source words that stand in the output and not in the reference.

copied = source words in the output that the reference lacks / source words. Names and words that both languages share are in the reference.
"""

from collections import Counter

from regard.explain.failures.findings import EXAMPLES, Example, Finding
from regard.explain.failures.statistics import graded, share, worst, worst_first
from regard.explain.failures.subject import TranslatorSubject
from regard.explain.failures.words import words

NAME, TITLE = "copying", "Copied and untranslated words"
LOOK, FAULT = 1.0, 5.0  # % of the source words
UNTRANSLATED_LOOK, UNTRANSLATED_FAULT = 0.5, 3.0  # % of the sentences
MOSTLY = 0.5  # the share of copied words from which a sentence counts as untranslated


def copying(subject: TranslatorSubject) -> Finding:
    """The share of source words that are copied though the reference does not have them."""
    sources, references = subject.texts.sources, subject.texts.references
    copied = total = 0
    untranslated, most_copied = 0, []
    outputs = subject.outputs(sources)
    for source, output, reference in zip(sources, outputs, references, strict=True):
        own = wrongly_copied(source, output, reference)
        size = len(words(source))
        copied, total = copied + len(own), total + size
        untranslated += bool(size) and len(own) >= MOSTLY * size
        if own:
            most_copied.append((len(own) / size, Example(source, output, reference, f"copied: {', '.join(own[:8])}")))
    most_copied.sort(key=lambda pair: -pair[0])
    numbers = (
        share("copied_words", "source words copied that the reference lacks", copied, total),
        share("untranslated", "sentences of which at least half is copied", untranslated, len(sources)),
    )
    grades = {
        "copied_words": graded(numbers[0].value, LOOK, FAULT),
        "untranslated": graded(numbers[1].value, UNTRANSLATED_LOOK, UNTRANSLATED_FAULT),
    }
    status = worst(*grades.values())
    told = f"{copied:,} of {total:,} source words are copied"
    verdict = f"{told}; {untranslated:,} of {len(sources):,} sentences stay untranslated"
    shown = tuple(example for _, example in most_copied[:EXAMPLES])
    return Finding(NAME, TITLE, status, verdict, worst_first(numbers, grades), examples=shown)


def wrongly_copied(source: str, output: str, reference: str) -> list[str]:
    """The source words that the output has more often than the reference."""
    extra = Counter(words(output))
    extra.subtract(words(reference))
    copied = []
    for word in words(source):
        if extra[word] > 0:
            extra[word] -= 1
            copied.append(word)
    return copied
