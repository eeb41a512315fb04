"""Check `memorised`: training sentences that the model repeats instead of reading its input.

Of a translator: one word of a training source is replaced by another training word; reproduced = the output is still exactly the training
target. The same is done with test sentences, where the output may still equal that of the unchanged sentence. excess = the first minus the
second, so a model that ignores a word everywhere is not called a memoriser.

Of a language model: the first half of a training text is continued; verbatim = at least `WORDS` words (all, if there are fewer) of the true
second half come out. The same is done with test texts.
"""

from collections.abc import Sequence
from random import Random

from regard.explain.failures.findings import EXAMPLES, Example, Finding
from regard.explain.failures.statistics import graded, graded_excess, share, share_difference
from regard.explain.failures.subject import (
    LEAST_WORDS,
    NotApplicableError,
    TrainingText,
    TranslatorSubject,
    WriterSubject,
)
from regard.explain.failures.words import WORD, words

NAME, TITLE = "memorised", "Memorised training sentences"
LOOK, FAULT = 5.0, 20.0  # percentage points more than with unseen sentences
LETTERS = 4  # of a word that is replaced
WORDS = 8  # words of a training text that count as verbatim


def memorised(subject: TranslatorSubject) -> Finding:
    """Exact training targets for training sources with one word changed."""
    texts = subject.texts
    training = _training(subject)
    random = subject.random(NAME)
    pairs = list(zip(training.sources, training.targets, strict=True))
    sample = random.sample(pairs, min(len(pairs), 20 * subject.options.most))
    fillers = sorted({word for source, _ in sample for word in WORD.findall(source) if len(word) >= LETTERS})
    targets = {words_of(target) for target in training.targets}
    seen = _altered([source for source, _ in sample], fillers, random, subject.options.most)
    known = dict(sample)
    outputs = subject.outputs([changed for _, changed in seen])
    exact = [
        (source, changed, output)
        for (source, changed), output in zip(seen, outputs, strict=True)
        if output.strip() == known[source].strip()
    ]
    unseen = _altered(texts.sources, fillers, random, subject.options.most)
    before = subject.outputs([source for source, _ in unseen])
    after = subject.outputs([changed for _, changed in unseen])
    unmoved = sum(old == new for old, new in zip(before, after, strict=True))
    if not seen:
        raise NotApplicableError("no training source has four words, one of them to be replaced")
    excess = share_difference("excess", "reproduced minus unmoved", (len(exact), len(seen)), (unmoved, len(unseen)))
    copies = sum(words_of(output) in targets for output in before)
    numbers = (
        share("reproduced", "training targets that come out though the source was changed", len(exact), len(seen)),
        excess,
        share("unmoved", "test sentences whose output stays the same after such a change", unmoved, len(unseen)),
        share(
            "in_training", "outputs of those test sentences, unchanged, that are training targets", copies, len(before)
        ),
    )
    status = graded_excess(excess, LOOK, FAULT) if unseen else graded(numbers[0].value, LOOK, FAULT)
    told = f"{len(exact):,} of {len(seen):,} training targets for changed sources"
    verdict = f"{told}; {unmoved:,} of {len(unseen):,} test outputs stay the same"
    examples = [Example(changed, output, note=f"the training source is: {source}") for source, changed, output in exact]
    return Finding(NAME, TITLE, status, verdict, numbers, examples=tuple(examples[:EXAMPLES]))


def words_of(text: str) -> str:
    """A text without case, punctuation and spacing."""
    return " ".join(words(text))


def _training(subject: TranslatorSubject | WriterSubject) -> TrainingText:
    training = subject.texts.training
    if training is None or not training.targets:
        raise NotApplicableError(f"the training text is needed, and it is {subject.texts.training_missing}")
    return training


def _altered(sources: Sequence[str], fillers: Sequence[str], random: Random, most: int) -> list[tuple[str, str]]:
    """(source, the same with one word replaced) of at most `most` sources."""
    altered = []
    for source in dict.fromkeys(sources):
        places = [match for match in WORD.finditer(source) if len(match[0]) >= LETTERS]
        if len(source.split()) < LEAST_WORDS or not places:
            continue
        place = random.choice(places)
        others = [word for word in random.sample(fillers, min(len(fillers), 8)) if word.lower() != place[0].lower()]
        if others:
            other = others[0].capitalize() if place[0][0].isupper() else others[0]
            altered.append((source, source[: place.start()] + other + source[place.end() :]))
        if len(altered) == most:
            break
    return altered


def language_memorised(subject: WriterSubject) -> Finding:
    """Training texts that a language model continues word for word."""
    training = _training(subject)
    random = subject.random(NAME)
    most = subject.options.most
    learned = [line for line in dict.fromkeys(training.targets) if len(line.split()) >= LEAST_WORDS]
    halves = subject.prompts(random.sample(learned, min(len(learned), most)))
    unseen = subject.prompts([line for line in subject.texts.references if line not in set(learned)])
    if not halves:
        raise NotApplicableError("no training text has four words or more")
    outputs = [one.text for one in subject.written([prompt for prompt, _ in halves])]
    verbatim = [
        (prompt, output, rest)
        for (prompt, rest), output in zip(halves, outputs, strict=True)
        if is_verbatim(output, rest)
    ]
    others = [one.text for one in subject.written([prompt for prompt, _ in unseen])]
    by_chance = sum(is_verbatim(output, rest) for (_, rest), output in zip(unseen, others, strict=True))
    excess = share_difference(
        "excess", "verbatim, training minus test texts", (len(verbatim), len(halves)), (by_chance, len(unseen))
    )
    numbers = (
        share(
            "verbatim",
            f"training texts continued word for word ({WORDS} words, or to the end)",
            len(verbatim),
            len(halves),
        ),
        excess,
        share("verbatim_test", "test texts continued word for word", by_chance, len(unseen)),
    )
    status = graded_excess(excess, LOOK, FAULT) if unseen else graded(numbers[0].value, LOOK, FAULT)
    told = f"{len(verbatim):,} of {len(halves):,} training texts are continued word for word"
    verdict = f"{told}, and {by_chance:,} of {len(unseen):,} test texts"
    examples = tuple(Example(prompt, output, rest, "as in training") for prompt, output, rest in verbatim[:EXAMPLES])
    return Finding(NAME, TITLE, status, verdict, numbers, examples=examples)


def is_verbatim(output: str, rest: str) -> bool:
    """Whether an output begins with the first words of the true rest: `WORDS` of them, or all if there are fewer."""
    wanted = words(rest)[:WORDS]
    return bool(wanted) and words(output)[: len(wanted)] == wanted
