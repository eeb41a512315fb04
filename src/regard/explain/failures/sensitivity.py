"""Checks `sensitivity` and, of language models, `perturbed`: what small changes of the input do.

For each change: stability = chrF of the new outputs against the old ones, and drop = chrF against the references before minus after, with
a paired bootstrap. Sentences that a change leaves as they are do not count.
"""

import math
from collections.abc import Sequence

from regard.explain.failures.findings import EXAMPLES, Example, Finding, Number, Status, Table
from regard.explain.failures.perturbations import FORGIVABLE, OF_TEXT, in_words
from regard.explain.failures.statistics import graded_excess, worst, worst_first
from regard.explain.failures.subject import NotApplicableError, TranslatorSubject, WriterSubject

NAME, TITLE = "sensitivity", "Typos, case, punctuation, word order"
PERTURBED, PERTURBED_TITLE = "perturbed", "Perplexity of changed text"
LOOK, FAULT = 10.0, 25.0  # points of chrF that a change costs
RESAMPLES = 200
SHUFFLED = "times_shuffled_words"
NOTICED = 1.5  # times the perplexity, from which a language model notices shuffled words
LARGEST = 700.0  # nats a word whose exp is a number
FRAGILE = 20.0  # times the perplexity after one small change


def sensitivity(subject: TranslatorSubject) -> Finding:
    """The loss of quality for each change of the sources."""
    sources, references = subject.texts.sources, subject.texts.references
    numbers: list[Number] = []
    grades: dict[str, Status] = {}
    examples: list[tuple[float, Example]] = []
    rows: list[tuple[str | float | int | None, ...]] = []
    for name, change in FORGIVABLE.items():
        random = subject.random(f"{NAME} {name}")
        changed = [change(source, random) for source in sources]
        kept = [place for place, source in enumerate(sources) if changed[place] != source]
        if not kept:
            continue
        before = subject.outputs([sources[place] for place in kept])
        after = subject.outputs([changed[place] for place in kept])
        wanted = [references[place] for place in kept]
        stability, drop, scores = _compared(name, before, after, wanted, subject.options.seed)
        numbers += [drop, stability]
        grades[drop.name] = graded_excess(drop, LOOK, FAULT)
        rows.append((in_words(name), len(kept), *scores, drop.value, stability.value))
        examples += _worst_examples(name, [changed[place] for place in kept], before, after, wanted)
    if not numbers:
        raise NotApplicableError("no change of these sentences changes them: they have no letters")
    numbers.sort(key=lambda number: (number.unit != "points", -(number.value or 0.0)))
    examples.sort(key=lambda pair: pair[0])
    columns = ("change", "sentences", "chrF before", "chrF after", "drop", "stability")
    largest = numbers[0]
    numbers = list(worst_first(numbers, grades))
    most = numbers[0]
    rank = "cost most" if most is largest else "cost most of what is beyond chance"
    return Finding(
        NAME,
        TITLE,
        worst(*grades.values()),
        f"{in_words(most.name.removeprefix('drop_'))} {rank}: {most.text} of chrF",
        tuple(numbers),
        (Table(columns, tuple(rows), "Changes of the source"),),
        tuple(example for _, example in examples[:EXAMPLES]),
    )


def _compared(
    name: str, before: Sequence[str], after: Sequence[str], references: Sequence[str], seed: int
) -> tuple[Number, Number, tuple[float, float]]:
    """(stability, drop of chrF, (chrF before, chrF after))."""
    from regard.metrics.significance import confidence_interval, counted_metric, resampled_scores
    from regard.metrics.translation import chrf

    metric = counted_metric("chrf")
    counts = [metric.count(list(outputs), list(references)) for outputs in (before, after)]
    first, second = (metric.score(own.sum(axis=0)) for own in counts)
    resampled = resampled_scores(metric, counts, RESAMPLES, seed)
    interval = confidence_interval(resampled[0] - resampled[1])
    words = in_words(name)
    stable = chrf(after, before).value
    return (
        Number(
            f"stability_{name}",
            f"chrF of outputs after {words} against those before",
            stable,
            "chrF",
            count=len(before),
        ),
        Number(f"drop_{name}", f"chrF that {words} cost", first - second, "points", interval, len(before)),
        (first, second),
    )


def _worst_examples(
    name: str, changed: Sequence[str], before: Sequence[str], after: Sequence[str], references: Sequence[str]
) -> list[tuple[float, Example]]:
    """The two outputs that a change alters most."""
    from regard.metrics.translation import sentence_chrf

    ranked = sorted(
        (sentence_chrf(new, old), place)
        for place, (old, new) in enumerate(zip(before, after, strict=True))
        if new != old
    )
    return [
        (value, Example(changed[place], after[place], references[place], f"after {in_words(name)}"))
        for value, place in ranked[:2]
    ]


def perturbed(subject: WriterSubject) -> Finding:
    """The perplexity of a language model on changed text, as a multiple of that on the text itself."""
    texts = [text for text in subject.texts.references if len(text.split()) >= 3]
    if not texts:
        raise NotApplicableError("the test text has no line of three words or more")
    plain = _word_perplexity(subject, texts)
    numbers, rows = [], []
    for name, change in OF_TEXT.items():
        random = subject.random(f"{PERTURBED} {name}")
        changed = [change(text, random) for text in texts]
        if changed == texts:
            continue
        value = _word_perplexity(subject, changed)
        ratio = value / plain if math.isfinite(value / plain) else None
        numbers.append(
            Number(
                f"times_{name}", f"perplexity with {in_words(name)}, as a multiple", ratio, "times", count=len(texts)
            )
        )
        rows.append((in_words(name), plain, value if math.isfinite(value) else None, ratio))
    if not numbers:
        raise NotApplicableError("no change of the test text changes it: it has no letters, and no words to exchange")
    order = next((number for number in numbers if number.name == SHUFFLED), None)
    numbers.sort(key=lambda number: number is not order)
    small = [number for number in numbers if number is not order and number.value is not None]
    shuffled = None if order is None else order.value
    status: Status = "sound" if shuffled is None or shuffled >= NOTICED else "fault"
    worst_change = max(small, key=lambda number: number.value or 0.0, default=None)
    if status == "sound" and worst_change is not None and (worst_change.value or 0.0) >= FRAGILE:
        status = "look"
    if order is None:
        verdict = "there are no different words to shuffle"
    elif shuffled is None:
        verdict = "shuffled words have no probability"
    else:
        verdict = f"shuffled words have {_times(shuffled)} times the perplexity"
    if worst_change is not None:
        verdict += f"; {in_words(worst_change.name.removeprefix('times_'))} {_times(worst_change.value)} times"
    columns = ("change", "perplexity a word", "after", "times")
    return Finding(
        PERTURBED, PERTURBED_TITLE, status, verdict, tuple(numbers), (Table(columns, tuple(rows), "Changed text"),)
    )


def _times(value: float | None) -> str:
    """A multiple in words, which may be very large."""
    return "?" if value is None else f"{value:.1f}" if value < 1000 else f"{value:.2g}"


def _word_perplexity(subject: WriterSubject, texts: Sequence[str]) -> float:
    """exp of the mean -log p a word. The number of words is the same before and after most changes."""
    total = -sum(subject.logprobs(texts))
    nats = total / max(1, sum(len(text.split()) for text in texts))
    return math.inf if math.isinf(nats) else math.exp(min(LARGEST, nats))
