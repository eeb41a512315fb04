"""Check `repetition`: loops in the output, and outputs that run to the longest length.

A loop: the same 1 to 4 words at least three times in a row, though the reference has no such loop. For language models also the share of
repeated 4-grams, 1 - different / all, beside that of real text (Welleck et al. 2020).
"""

from collections.abc import Sequence

from regard.data.loops import loop_in
from regard.explain.failures.findings import EXAMPLES, Example, Finding, Number
from regard.explain.failures.statistics import graded, mean, share, worst, worst_first
from regard.explain.failures.subject import NotApplicableError, TranslatorSubject, WriterSubject
from regard.explain.failures.words import ngrams, words

NAME, TITLE = "repetition", "Repetition loops"
LOOK, FAULT = 0.5, 3.0  # % of the outputs of a translator
LANGUAGE_LOOK, LANGUAGE_FAULT = 5.0, 25.0  # % of the outputs of a language model, which loops more easily
SIZE = 4


def loop_of(text: str) -> str | None:
    """The first words that stand three times in a row; None: there are none."""
    return loop_in(words(text))


def repeated_share(text: str) -> float | None:
    """The share of 4-grams that repeat another, 0 to 1; None of a short text."""
    grams = ngrams(words(text), SIZE)
    return 1.0 - len(set(grams)) / len(grams) if grams else None


def repetition(subject: TranslatorSubject) -> Finding:
    """Loops in translations."""
    sources, references = subject.texts.sources, subject.texts.references
    translations = subject.translations(sources)
    loops = [
        None if loop_of(reference) else loop_of(one.text)
        for one, reference in zip(translations, references, strict=True)
    ]
    cut = [not one.finished for one in translations]
    examples = [
        Example(source, one.text, reference, f"repeats: {loop}" if loop else "runs to the longest length")
        for source, one, reference, loop, long in zip(sources, translations, references, loops, cut, strict=True)
        if loop or long
    ]
    numbers = (
        share("loops", "outputs with a loop", sum(map(bool, loops)), len(sources)),
        share("cut", "outputs that run to the longest length", sum(cut), len(sources)),
    )
    grades = {number.name: graded(number.value, LOOK, FAULT) for number in numbers}
    verdict = f"{sum(map(bool, loops)):,} of {len(sources):,} outputs repeat themselves, and {sum(cut):,} do not end"
    ordered = worst_first(numbers, grades)
    return Finding(NAME, TITLE, worst(*grades.values()), verdict, ordered, examples=tuple(examples[:EXAMPLES]))


def language_repetition(subject: WriterSubject) -> Finding:
    """Loops in the most probable continuations of a language model."""
    halves = subject.prompts(subject.texts.references)
    if not halves:
        raise NotApplicableError("the test text has no line of four words or more to continue")
    outputs = [one.text for one in subject.written([prompt for prompt, _ in halves])]
    loops = [loop_of(output) for output in outputs]
    examples = [
        Example(prompt, output, note=f"repeats: {loop}")
        for (prompt, _), output, loop in zip(halves, outputs, loops, strict=True)
        if loop
    ]
    empty = [prompt for (prompt, _), output in zip(halves, outputs, strict=True) if not output.strip()]
    examples += [Example(prompt, "", note="nothing, where the text goes on") for prompt in empty]
    numbers = (
        share("loops", "continuations with a loop", sum(map(bool, loops)), len(outputs)),
        _repeated("repeated", "repeated 4-grams in continuations", outputs, subject.options.seed),
        _repeated(
            "repeated_in_text", "repeated 4-grams in the test text", subject.texts.references, subject.options.seed
        ),
        share("empty", "empty continuations", len(empty), len(outputs)),
    )
    grades = {number.name: graded(number.value, LANGUAGE_LOOK, LANGUAGE_FAULT) for number in (numbers[0], numbers[-1])}
    verdict = (
        f"{sum(map(bool, loops)):,} of {len(outputs):,} continuations of the most probable tokens repeat themselves"
    )
    if empty:
        verdict += f", and {len(empty):,} are empty"
    ordered = worst_first(numbers, grades)
    return Finding(NAME, TITLE, worst(*grades.values()), verdict, ordered, examples=tuple(examples[:EXAMPLES]))


def _repeated(name: str, label: str, texts: Sequence[str], seed: int) -> Number:
    shares = [100.0 * value for value in map(repeated_share, texts) if value is not None]
    return mean(name, label, shares, "%", seed)
