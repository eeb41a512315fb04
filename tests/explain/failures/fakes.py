"""Translators and language models that have one fault each, or none: objects with the two methods that the checks call."""

import math
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from regard.bundle.config import Languages
from regard.engine.forced import ForcedScore
from regard.explain.failures.findings import Finding
from regard.explain.failures.subject import ProbeOptions, ProbeTexts, TrainingText, TranslatorSubject, WriterSubject
from regard.tasks.generate.generation import Generation
from regard.tasks.translate.translation import Translation

NOUNS = ("hund", "katze", "vogel", "pferd", "fisch", "baum", "blume", "stein", "wolke", "lampe", "tisch", "stuhl")
VERBS = ("schläft", "wartet", "singt", "fällt", "leuchtet")
PLACES = ("hier", "dort", "draußen", "oben", "unten")
ENGLISH = dict(
    zip(
        (*NOUNS, *VERBS, *PLACES, "der", "und", "kleine", "alte"),
        (
            *("dog", "cat", "bird", "horse", "fish", "tree", "flower", "stone", "cloud", "lamp", "table", "chair"),
            *("sleeps", "waits", "sings", "falls", "shines", "here", "there", "outside", "above", "below"),
            *("the", "and", "small", "old"),
        ),
        strict=True,
    )
)
WORD = re.compile(r"[^\W\d_]+")


def by_dictionary(source: str) -> str:
    """Every known word replaced, whatever its case; others, numbers and names stay."""

    def english(match: re.Match[str]) -> str:
        word = ENGLISH.get(match[0].lower(), match[0])
        return word.capitalize() if match[0][0].isupper() else word

    return WORD.sub(english, source)


SOURCES = tuple(
    f"{('Der kleine', 'Der alte', 'Der')[number % 3]} {NOUNS[number % 12]} und der {NOUNS[(5 * number + 1) % 12]} "
    f"{VERBS[number % 5]} {PLACES[(number // 3) % 5]}."
    for number in range(36)
)
REFERENCES = tuple(map(by_dictionary, SOURCES))


@dataclass
class FakeTranslator:
    """A translator of a function. log p of a target is high if it shares words with what the function makes of its source."""

    translation: Callable[[str], str]
    languages: Languages = field(default_factory=lambda: Languages(source="de", target="en"))
    finished: Callable[[str], bool] = lambda output: True
    confidence: Callable[[str], float] = lambda source: -0.1
    """log p a token of the output for a source."""
    reads: bool = True
    """Whether its scores depend on the source."""

    def translate(self, texts: Sequence[str], *, beam: int) -> list[Translation]:
        made = []
        for text in texts:
            output = self.translation(text)
            tokens = output.split()
            logprob = self.confidence(text) * (len(tokens) + 1)
            made.append(Translation(text, output, logprob, tokens, logprob, finished=self.finished(output)))
        return made

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[ForcedScore]:
        scores = []
        for source, target in zip(sources, targets, strict=True):
            wanted = set(self.translation(source).lower().split()) if self.reads else set()
            logprobs = [-0.05 if word.lower() in wanted else -5.0 for word in target.split()]
            scores.append(ForcedScore(sum(logprobs) - 0.05, 0.0, len(logprobs), [*logprobs, -0.05], truncated=False))
        return scores


@dataclass
class FakeWriter:
    """A language model of two functions."""

    continuation: Callable[[str, bool], str] = lambda prompt, sample: "and so on"
    logprob: Callable[[str], float] = lambda text: -1.0 * len(text.split())
    languages: Languages = field(default_factory=lambda: Languages(target="en"))

    def generate(
        self, prompts: Sequence[str], *, sample: bool, max_length: int, top_p: float = 1.0, seed: int = 0
    ) -> list[Generation]:
        texts = [self.continuation(prompt, sample) for prompt in prompts]
        return [
            Generation(prompt, text, text.split(), -1.0, -1.0, finished=True)
            for prompt, text in zip(prompts, texts, strict=True)
        ]

    def score(self, texts: Sequence[str]) -> list[ForcedScore]:
        return [ForcedScore(self.logprob(text), 0.0, 1, [self.logprob(text)], truncated=False) for text in texts]


def texts(**changes: object) -> ProbeTexts:
    """The test set of German sentences."""
    values: dict[str, object] = {"references": REFERENCES, "sources": SOURCES, "name": "made.de", **changes}
    return ProbeTexts(**values)  # type: ignore[arg-type]


def found(
    check: Callable[[TranslatorSubject], Finding],
    model: FakeTranslator,
    probed: ProbeTexts | None = None,
    most: int = 200,
) -> Finding:
    """The findings of a check in a translator."""
    return check(TranslatorSubject(model, probed or texts(), ProbeOptions(most=most)))


def found_in_writer(check: Callable[[WriterSubject], Finding], model: FakeWriter, probed: ProbeTexts) -> Finding:
    """The findings of a check in a language model of English."""
    return check(WriterSubject(model, probed, ProbeOptions(), "en"))


def training(sources: Sequence[str], targets: Sequence[str]) -> TrainingText:
    """A training text."""
    return TrainingText(sources, targets, "training.txt")


def chance(text: str) -> float:
    """A number from 0 to 1 that a text decides."""
    return zlib.crc32(text.encode()) / 2**32


SOUND = FakeTranslator(
    by_dictionary, confidence=lambda source: -0.1 if set(WORD.findall(source.lower())) <= set(ENGLISH) else -4.0
)
"""Translates every word that it knows, copies others, and is unsure of these."""
IMPOSSIBLE = -math.inf
