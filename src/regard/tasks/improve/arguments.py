"""The arguments of `regard improve`, and what may change between two calls with the same directory. It opens no model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import Field, field_validator, model_validator

from regard.data.corpus_config import MOST_WEIGHT
from regard.data.filters import FILTERS
from regard.metrics.translation import TOKENIZERS
from regard.search.checks import LARGEST_TEMPERATURE
from regard.search.options import MOST_HYPOTHESES, SearchOptions
from regard.settings import Settings

OWN_FILTERS = {
    "unfinished": "the translation ran to the longest length",
    "score": "the model gives its translation a low probability: --min-score",
    "repetition": "1 to 4 words three times in a row, where the source has no such loop",
}
"""Name -> what it finds: the filters of translations, asked before those of `regard data clean`."""


class ImproveArguments(Settings):
    """The arguments of `regard improve` that decide what is trained."""

    mono_tgt: str | None = None
    """Text in the target language, one sentence a line, which is translated back."""
    mono_src: str | None = None
    """Text in the source language, which is translated forward."""
    own_text: bool = False
    """Whether both models also translate the training text. Without other text they do in any case."""
    reverse: str | None = None
    """A finished run or bundle from target to source, in place of one that is trained."""
    seeds: int = Field(default=1, ge=1, le=32)
    """Models of each direction that translate, with a seed each."""
    ensemble: int = Field(default=0, ge=0, le=32)
    """Further models from source to target, which translate forward together with RUN."""
    rounds: int = Field(default=1, ge=1, le=32)
    """How often the text is translated and a model trained on it; from the second round on by the improved models."""
    factor: float = Field(default=2.0, gt=0, le=1_000)
    """Steps of the improved model, as a multiple of those of RUN."""
    minutes: float | None = Field(default=None, gt=0)
    """Minutes of training and translating in all, in place of steps."""
    from_run: bool = False
    """Whether the improved model starts from RUN's weights."""
    real_weight: float = Field(default=1.0, gt=0, le=MOST_WEIGHT)
    """How often each pair of the run's own text is seen in an epoch."""
    beam: int = Field(default=5, ge=1, le=MOST_HYPOTHESES)
    """Hypotheses of the search that translates."""
    sample: bool = False
    """Whether translations back are drawn instead of searched."""
    temperature: float = Field(default=1.0, gt=0, le=LARGEST_TEMPERATURE)
    """Of the draws."""
    min_score: float | None = Field(default=None, le=0)
    """Least log-probability a token of a translation."""
    without: tuple[str, ...] = ()
    """Filters that are not asked."""
    language_check: bool = True
    """Whether text in another language is refused, and pairs in another language are dropped."""
    sets: tuple[str, ...] = ()
    """`KEY=VALUE` for every run that is trained."""
    sets_improved: tuple[str, ...] = ()
    """`KEY=VALUE` for the improved model alone."""
    device: str = "cpu"
    """Where translations are made."""

    @field_validator("without")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        known = [*OWN_FILTERS, *(name for name in FILTERS if name not in ("unreadable", "misaligned", "model"))]
        for name in names:
            if name not in known:
                raise ValueError(f"{name!r} is no filter; they are {', '.join(known)}")
        return names

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.temperature != 1.0 and not self.sample:
            raise ValueError(f"temperature = {self.temperature:g}: only for draws; add --sample, or leave it out")
        if self.sample and not self.translates_back:
            raise ValueError(
                "sample: translations back are drawn, and there are none; give --mono-tgt, or leave it out"
            )
        if self.ensemble and not self.translates_forward:
            raise ValueError(
                f"ensemble = {self.ensemble}: it translates forward, and nothing is; give --mono-src, or --own-text"
            )
        if self.ensemble and self.seeds > 1:
            raise ValueError(f"ensemble = {self.ensemble} and seeds = {self.seeds} exclude each other; leave one out")
        if self.reverse is not None and not self.translates_back:
            raise ValueError(
                f"reverse = {self.reverse!r}: nothing is translated back; give --mono-tgt, or leave it out"
            )
        return self

    @property
    def translates_own(self) -> bool:
        """Whether the training text is translated in both directions."""
        return self.own_text or (self.mono_tgt is None and self.mono_src is None)

    @property
    def translates_back(self) -> bool:
        """Whether a model from target to source is needed."""
        return self.translates_own or self.mono_tgt is not None

    @property
    def translates_forward(self) -> bool:
        """Whether models from source to target translate."""
        return self.translates_own or self.mono_src is not None

    def search(self, *, back: bool, seed: int) -> SearchOptions:
        """How the text is translated. seed: of the draws."""
        if back and self.sample:
            return SearchOptions(sample=True, temperature=self.temperature, seed=seed)
        return SearchOptions(beam=self.beam)


class JudgingArguments(Settings):
    """The text on which the improved model is compared with RUN. It may change from call to call."""

    other_src: str | None = None
    """Source side of a held-out text of another kind."""
    other_ref: str | None = None
    """Its translation."""
    test: bool = False
    """Whether the test text of RUN's settings is read too."""
    tokenize: str = "13a"
    """How BLEU cuts words."""
    beam: int = Field(default=5, ge=1, le=MOST_HYPOTHESES)
    """Hypotheses of the search."""
    resamples: int = Field(default=1000, ge=1, le=100_000)
    """Test sets that the paired bootstrap draws."""

    @field_validator("tokenize")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in TOKENIZERS:
            raise ValueError(f"not one of {', '.join(TOKENIZERS)}")
        return name

    @model_validator(mode="after")
    def _both_sides(self) -> Self:
        if (self.other_src is None) != (self.other_ref is None):
            raise ValueError("--other-src and --other-ref go together: give both, or neither")
        return self


def read_arguments(given: Mapping[str, Any]) -> tuple[ImproveArguments, JudgingArguments]:
    """The arguments of a call, by their names; what else is given is left out. None: the default. A path may stand for its name."""
    values = {name: str(value) if isinstance(value, Path) else value for name, value in given.items()}
    own, judging = (
        {name: values[name] for name in group.model_fields if values.get(name) is not None}
        for group in (ImproveArguments, JudgingArguments)
    )
    return ImproveArguments.parse(own, "improve"), JudgingArguments.parse(judging, "improve")


FLAGS = {"run": "RUN", "sets": "--set", "sets_improved": "--set-improved", "language_check": "--no-language-check"}
"""Name of an argument -> its flag, where the name does not tell it."""


def flag_of(name: str) -> str:
    """The flag of an argument, such as `--mono-tgt`."""
    return FLAGS.get(name, f"--{name.replace('_', '-')}")


FILES = ("mono_tgt", "mono_src", "reverse")
"""Arguments that name files: their content is compared, not their names."""


def stored_arguments(arguments: ImproveArguments, digests: Mapping[str, str]) -> dict[str, Any]:
    """The arguments as plan.json keeps them: with hashes in place of the names of files. Where translations are made is left out."""
    values = arguments.model_dump(mode="json", exclude={*FILES, "device"})
    return {**values, **dict.fromkeys(FILES), **digests}


def changed_arguments(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The arguments that differ from those of the first call, as `--beam 5 -> 4`. More rounds are no change, but of a budget of minutes."""
    changed = []
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name), now.get(name)
        goes_on = name == "rounds" and now.get("minutes") is None
        if old != new and not goes_on:
            changed.append(f"{flag_of(name)} {_text(old)} -> {_text(new)}")
    return changed


def _text(value: Any) -> str:
    if value in (None, []):
        return "none"
    text = " ".join(value) if isinstance(value, list) else str(value)
    return f"{text[:12]}.." if len(text) == 64 and text.isalnum() else text  # a hash
