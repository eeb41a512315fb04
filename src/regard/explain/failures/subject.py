"""The model that is probed, as the checks see it: a translator or a language model, with the texts it is probed with.

Outputs are remembered, so that several checks may ask for the same ones. CTranslate2 translates and scores where it can; nothing here
needs torch by itself.
"""

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from regard.errors import RegardError
from regard.explain.failures.words import words

if TYPE_CHECKING:
    from regard.bundle.config import Languages
    from regard.engine.forced import ForcedScore
    from regard.explain.failures.templates import Template
    from regard.tasks.generate.generation import Generation
    from regard.tasks.translate.translation import Translation

MOST, BEAM, SEED = 200, 5, 1
PROBED_TASKS = ("translate", "generate")
WRITTEN_TOKENS = 48
"""Tokens that a language model writes after a prompt."""


class NotApplicableError(RegardError):
    """A check that does not apply to this model or these texts. The message is the reason."""


@dataclass(frozen=True)
class ProbeOptions:
    """How a model is probed."""

    most: int = MOST
    """Sentences of the test set that are used at most."""
    beam: int = BEAM
    """Hypotheses of the search of a translator."""
    seed: int = SEED
    """Decides the sample of sentences and every change that is made to them."""


@dataclass(frozen=True)
class TrainingText:
    """The text that a model was trained on, or its beginning. A language model has targets only."""

    sources: Sequence[str]
    targets: Sequence[str]
    name: str
    complete: bool = True

    @cached_property
    def target_counts(self) -> Counter[str]:
        """How often each word stands in the targets."""
        counts: Counter[str] = Counter()
        for target in self.targets:
            counts.update(words(target))
        return counts


@dataclass(frozen=True)
class ProbeTexts:
    """The texts that a model is probed with. Of a language model `references` are the lines of its test text, and there are no sources."""

    references: Sequence[str]
    name: str
    sources: Sequence[str] = ()
    training: TrainingText | None = None
    training_missing: str = "not given (--train-src F --train-tgt F)"
    """Why there is no training text."""
    other: Sequence[str] = ()
    """Text of another domain, in the language that is read."""
    templates: "Sequence[Template] | None" = None
    """The user's own templates; None: those that are built in."""
    pocket: bool = False
    """Whether the model was trained on the pocket corpus, and knows its words only."""


class TranslatesTexts(Protocol):
    """A translator as the checks use it: a `Translator`, or an object with these two methods."""

    languages: "Languages"

    def translate(self, texts: Sequence[str], *, beam: int) -> "Sequence[Translation]":
        """One translation for each text."""
        ...

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> "Sequence[ForcedScore]":
        """log p of each target given its source."""
        ...


class WritesTexts(Protocol):
    """A language model as the checks use it: a `Writer`, or an object with these two methods."""

    def generate(
        self, prompts: Sequence[str], *, sample: bool, max_length: int, top_p: float = 1.0, seed: int = 0
    ) -> "Sequence[Generation]":
        """A continuation of each prompt."""
        ...

    def score(self, texts: Sequence[str]) -> "Sequence[ForcedScore]":
        """log p of each text."""
        ...


class TranslatorSubject:
    """A translator that is probed."""

    def __init__(self, model: TranslatesTexts, texts: ProbeTexts, options: ProbeOptions) -> None:
        self.model, self.texts, self.options = model, texts, options
        self.source, self.target = (plain_code(code) for code in (model.languages.source, model.languages.target))
        pairs = getattr(getattr(model, "directions", None), "pairs", ())
        read = [self.source, *(plain_code(source) for source, target in pairs if plain_code(target) == self.target)]
        self.sources = frozenset(language for language in read if language is not None)
        """Every language that the model is known to read for its target."""
        self._translations: dict[str, Translation] = {}

    def translations(self, texts: Sequence[str]) -> "list[Translation]":
        """The translation of each text, made at its first use."""
        new = [text for text in dict.fromkeys(texts) if text not in self._translations]
        if new:
            with _without_warnings():
                made = self.model.translate(new, beam=self.options.beam)
            self._translations.update(zip(new, made, strict=True))
        return [self._translations[text] for text in texts]

    def outputs(self, texts: Sequence[str]) -> list[str]:
        """The text of each translation."""
        return [translation.text for translation in self.translations(texts)]

    def surprise(self, sources: Sequence[str], targets: Sequence[str]) -> list[float]:
        """-log p of each target given its source, in nats a token, the end mark included."""
        with _without_warnings():
            scored = self.model.score(sources, targets)
        return [-one.logprob / max(1, len(one.token_logprobs)) for one in scored]

    def confidence(self, texts: Sequence[str]) -> list[float]:
        """log p a token of each translation, as the search found it."""
        return [one.logprob / (len(one.tokens) + 1) for one in self.translations(texts)]

    def random(self, purpose: str) -> Random:
        """Random numbers for a purpose, the same at every call."""
        return Random(f"{self.options.seed} {purpose}")


class WriterSubject:
    """A language model that is probed."""

    def __init__(self, model: WritesTexts, texts: ProbeTexts, options: ProbeOptions, language: str | None) -> None:
        self.model, self.texts, self.options = model, texts, options
        self.target = plain_code(language)
        self._written: dict[tuple[str, bool], Generation] = {}

    def written(self, prompts: Sequence[str], *, sample: bool = False) -> "list[Generation]":
        """The continuation of each prompt: the most probable token at each step, or drawn."""
        new = [prompt for prompt in dict.fromkeys(prompts) if (prompt, sample) not in self._written]
        if new:
            drawing: dict[str, Any] = {"top_p": 0.95, "seed": self.options.seed} if sample else {}
            with _without_warnings():
                made = self.model.generate(new, sample=sample, max_length=WRITTEN_TOKENS, **drawing)
            self._written.update(zip([(prompt, sample) for prompt in new], made, strict=True))
        return [self._written[prompt, sample] for prompt in prompts]

    def logprobs(self, texts: Sequence[str]) -> list[float]:
        """log p of each text, without that of an end mark."""
        with _without_warnings():
            scored = self.model.score(texts)
        return [sum(one.token_logprobs[: one.tokens]) for one in scored]

    def prompts(self, texts: Sequence[str]) -> list[tuple[str, str]]:
        """(first half, second half) of each text that has at least four words."""
        halves = []
        for text in texts:
            parts = text.split()
            if len(parts) >= LEAST_WORDS:
                middle = len(parts) // 2
                halves.append((" ".join(parts[:middle]), " ".join(parts[middle:])))
        return halves

    def random(self, purpose: str) -> Random:
        """Random numbers for a purpose, the same at every call."""
        return Random(f"{self.options.seed} {purpose}")


LEAST_WORDS = 4  # of a text whose second half a language model writes


def plain_code(code: str | None) -> str | None:
    """A language code without its region."""
    return None if code is None else code.lower().replace("_", "-").split("-")[0]


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Without the warnings of long or strange input, which is what is probed with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
