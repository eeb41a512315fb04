"""Check `length`: quality by length of the source, empty and overlong outputs, and several sentences as one input.

Overlong: more than twice the words of the reference and five. Joined: three sentences of the test set as one input, scored against their
joined references; the drop is from the same sentences translated one by one.
"""

from collections.abc import Sequence

from regard.explain.failures.findings import EXAMPLES, Example, Finding, Number, Table
from regard.explain.failures.statistics import graded, share, worst, worst_first
from regard.explain.failures.subject import TranslatorSubject

NAME, TITLE = "length", "Length"
BUCKETS = 4
TOGETHER = 3
LEAST = 5  # sentences of a bucket that is compared
EMPTY_LOOK, EMPTY_FAULT = 0.01, 1.0  # % of the outputs: a single one is worth a look
OVERLONG_LOOK, OVERLONG_FAULT = 0.5, 3.0  # %
LOOK, FAULT = 10.0, 25.0  # points of chrF between the best and the longest bucket, or lost by joining


def length(subject: TranslatorSubject) -> Finding:
    """Empty and overlong outputs, and how quality depends on the length of the input."""
    sources, references = subject.texts.sources, subject.texts.references
    outputs = subject.outputs(sources)
    empty = [place for place, output in enumerate(outputs) if not output.strip() and references[place].strip()]
    overlong = [place for place, output in enumerate(outputs) if is_overlong(output, references[place])]
    ratio = sum(len(output.split()) for output in outputs) / max(1, sum(len(text.split()) for text in references))
    rows = _buckets(sources, outputs, references)
    compared = [float(row[2]) for row in rows if row[1] >= LEAST]
    fall = max(compared) - compared[-1] if len(compared) > 1 else None
    joined = _joined(subject)
    numbers = (
        share("empty", "empty outputs", len(empty), len(sources)),
        share("overlong", "overlong outputs", len(overlong), len(sources)),
        Number("ratio", "words of the outputs / words of the references", ratio, "", count=len(sources)),
        Number("fall", "chrF of the best bucket of lengths minus that of the longest", fall, "points"),
        Number("joined_drop", f"chrF that {TOGETHER} sentences as one input cost", joined, "points"),
    )
    grades = {
        "empty": graded(numbers[0].value, EMPTY_LOOK, EMPTY_FAULT),
        "overlong": graded(numbers[1].value, OVERLONG_LOOK, OVERLONG_FAULT),
        "fall": graded(fall, LOOK, FAULT),
        "joined_drop": graded(joined, LOOK, FAULT),
    }
    parts = [f"{len(empty):,} empty, {len(overlong):,} overlong of {len(sources):,}"]
    if fall is not None:
        parts.append(f"long ones {fall:.1f} chrF below the best")
    if joined is not None:
        parts.append(f"{TOGETHER} at once cost {joined:.1f}")
    examples = [Example(sources[place], outputs[place], references[place], "empty") for place in empty]
    examples += [Example(sources[place], outputs[place], references[place], "overlong") for place in overlong]
    ordered = worst_first(numbers, grades)
    table = Table(("words of the source", "sentences", "chrF"), tuple(rows), "Quality by length")
    return Finding(
        NAME, TITLE, worst(*grades.values()), "; ".join(parts), ordered, (table,), tuple(examples[:EXAMPLES])
    )


def is_overlong(output: str, reference: str) -> bool:
    """Whether an output has more than twice the words of its reference, and five."""
    return len(output.split()) > 2 * len(reference.split()) + 5


def _buckets(sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]) -> list[tuple[str, int, float]]:
    """(words of the source, sentences, chrF) of about equally many sentences each, the shortest first."""
    from regard.metrics.translation import chrf

    order = sorted(range(len(sources)), key=lambda place: len(sources[place].split()))
    sizes = [len(sources[place].split()) for place in order]
    bounds = sorted({sizes[min(len(sizes) - 1, round(part * len(sizes) / BUCKETS))] for part in range(1, BUCKETS)})
    rows = []
    lowest = sizes[0]
    for bound in [*bounds, sizes[-1] + 1]:
        own = [place for place in order if lowest <= len(sources[place].split()) < bound]
        if own:
            highest = max(len(sources[place].split()) for place in own)
            label = f"{lowest} to {highest}" if highest > lowest else f"{lowest}"
            score = chrf([outputs[place] for place in own], [references[place] for place in own]).value
            rows.append((label, len(own), score))
        lowest = bound
    return rows


def _joined(subject: TranslatorSubject) -> float | None:
    """The chrF that joining sentences to one input costs; None: there are too few."""
    from regard.metrics.translation import chrf

    sources, references = subject.texts.sources, subject.texts.references
    count = len(sources) // TOGETHER
    if count < LEAST:
        return None
    groups = [range(number * TOGETHER, (number + 1) * TOGETHER) for number in range(count)]
    outputs = subject.outputs(sources)

    def joined(texts: Sequence[str]) -> list[str]:
        return [" ".join(texts[place] for place in group) for group in groups]

    together = subject.outputs(joined(sources))
    wanted = joined(references)
    return chrf(joined(outputs), wanted).value - chrf(together, wanted).value
