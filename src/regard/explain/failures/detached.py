"""Check `hallucination`: outputs that do not depend on their source.

source share of an output y of x = 1 - NLL(y|x) / mean over k of NLL(y|x_k), where x_k are sources with other outputs: the share of y's
surprise that its own source explains. 1: all of it; 0 or less: another source would do as well, so the output is detached. It needs
scores only, so any network and both engines have it. Outputs that several different sources share are counted, too.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import islice

from regard.explain.failures.findings import EXAMPLES, Example, Finding
from regard.explain.failures.statistics import graded, mean, share, worst, worst_first
from regard.explain.failures.subject import NotApplicableError, TranslatorSubject
from regard.explain.failures.words import words

NAME, TITLE = "hallucination", "Outputs detached from their source"
OTHERS = 2  # other sources that each output is scored with
DETACHED = 0.1  # a source share below it
LOOK, FAULT = 0.5, 3.0  # % of the outputs
SHARED_BY = 3  # different sources with one output


def hallucination(subject: TranslatorSubject) -> Finding:
    """How much of each output its source explains."""
    pairs = [
        (source, output, reference)
        for source, output, reference in zip(
            subject.texts.sources, subject.outputs(subject.texts.sources), subject.texts.references, strict=True
        )
        if output.strip()
    ]
    pairs = list({source: (source, output, reference) for source, output, reference in pairs}.values())
    if len(pairs) <= OTHERS:
        raise NotApplicableError(
            f"it needs more than {OTHERS} different sentences with an output, and there are {len(pairs)}"
        )
    sources, outputs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    own = subject.surprise(sources, outputs)
    foreign = [0.0] * len(pairs)
    order = list(range(len(pairs)))
    subject.random(NAME).shuffle(order)  # a rotation of a random order: no source meets its own output
    partners = {place: _partners(order, number, outputs) for number, place in enumerate(order)}
    for step in range(OTHERS):
        scored = subject.surprise([sources[partners[place][step]] for place in range(len(pairs))], outputs)
        foreign = [before + value / OTHERS for before, value in zip(foreign, scored, strict=True)]
    shares = [1.0 - mine / max(other, 1e-9) for mine, other in zip(own, foreign, strict=True)]
    detached = sorted((value, place) for place, value in enumerate(shares) if value < DETACHED)
    shared = _shared(sources, outputs)
    many = sum(len(own_sources) for own_sources in shared.values())
    numbers = (
        share("detached", f"outputs with a source share below {DETACHED}", len(detached), len(pairs)),
        mean(
            "source_share",
            "source share: surprise of the output that its source explains",
            shares,
            "",
            subject.options.seed,
        ),
        mean(
            "nats",
            "nats a token that the own source saves",
            [b - a for a, b in zip(own, foreign, strict=True)],
            "nats",
            subject.options.seed,
        ),
        share("shared_outputs", f"sources whose output at least {SHARED_BY} different sources share", many, len(pairs)),
    )
    examples = [
        Example(sources[place], outputs[place], pairs[place][2], f"source share {value:.2f}")
        for value, place in detached[:EXAMPLES]
    ]
    for output, own_sources in sorted(shared.items(), key=lambda item: -len(item[1])):
        examples.append(Example(own_sources[0], output, note=f"the same output for {len(own_sources)} sources"))
    grades = {number.name: graded(number.value, LOOK, FAULT) for number in (numbers[0], numbers[3])}
    average = numbers[1].value or 0.0
    told = f"sources explain {100.0 * average:.0f} % of their outputs' surprise"
    verdict = f"{told}; {len(detached):,} of {len(pairs):,} detached, {many:,} shared"
    return Finding(
        NAME, TITLE, worst(*grades.values()), verdict, worst_first(numbers, grades), examples=tuple(examples[:EXAMPLES])
    )


def _partners(order: Sequence[int], number: int, outputs: Sequence[str]) -> list[int]:
    """The next `OTHERS` places of the order. One whose output is the same explains it as well, so it is taken only if others lack."""
    following = [*order[number + 1 :], *order[:number]]
    others = islice((place for place in following if outputs[place] != outputs[order[number]]), OTHERS)
    chosen = list(others)
    same = (place for place in following if place not in chosen)
    return [*chosen, *islice(same, OTHERS - len(chosen))]


def _shared(sources: list[str], outputs: list[str]) -> dict[str, list[str]]:
    """Output -> the sources that have it, if at least `SHARED_BY` have. Sources that differ in case or punctuation only are one."""
    by_output: dict[str, dict[tuple[str, ...], str]] = defaultdict(dict)
    for source, output in zip(sources, outputs, strict=True):
        by_output[output].setdefault(tuple(words(source)), source)
    return {output: list(own.values()) for output, own in by_output.items() if len(own) >= SHARED_BY}
