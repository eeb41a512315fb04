"""The directions of a translator: which languages it was trained to translate, and how a user chooses among them.

A source begins with the tag of its target language. The network knows nothing else of languages.
"""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import Field

from regard.bundle.config import Languages
from regard.data.corpus_config import Direction, direction_name
from regard.errors import ConfigError
from regard.settings import Settings
from regard.text.build import TokenizerPair
from regard.text.tagged import TaggedTokenizer, UntaggedTokenizer


class DirectionConfig(Settings):
    """A direction that a model was trained in."""

    source: str
    """The source language, a code such as `en`."""
    target: str
    """The target language, whose tag stands before a source."""
    pairs: int = Field(default=0, ge=0)
    """The pairs of the last training; 0: they were seen by the model that it started from."""
    characters_per_piece: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Mean characters of a source piece in the validation text."""

    @property
    def pair(self) -> Direction:
        """The two languages."""
        return self.source, self.target


class DirectionWarning(UserWarning):
    """The model was never trained in a direction that it is asked for."""


@dataclass(frozen=True)
class Directions:
    """The directions of a model, by which the choice of a user is checked. Without any, the model has one direction and no tags."""

    seen: tuple[DirectionConfig, ...]
    languages: Languages
    name: str = "this model"
    """The model in messages."""

    @property
    def pairs(self) -> tuple[Direction, ...]:
        """The directions that were seen in training."""
        if self.seen:
            return tuple(direction.pair for direction in self.seen)
        source, target = self.languages.source, self.languages.target
        return ((source, target),) if source and target else ()

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(direction.source for direction in self.seen))

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(direction.target for direction in self.seen))

    def undirected(self, tokenizers: TokenizerPair) -> TokenizerPair:
        """The tokenizers of a model whose target language is not chosen: they refuse sources, where there are several."""
        if not self.seen:
            return tokenizers
        source = UntaggedTokenizer(tokenizers.source, self.missing)
        return TokenizerPair(source, tokenizers.target, tokenizers.joint)

    def directed(self, tokenizers: TokenizerPair, target: str) -> TokenizerPair:
        """The tokenizers that put the tag of a target language before each source."""
        return TokenizerPair(TaggedTokenizer(tokenizers.source, target), tokenizers.target, tokenizers.joint)

    def missing(self) -> ConfigError:
        """The error of a target language that was not given."""
        return ConfigError(
            f"{self.name}: translates to {_listed(self.targets)}; say to which with --to (in Python to='{self.targets[0]}')"
        )

    def chosen(self, to: str | None, from_: str | None) -> Languages:
        """The languages of a choice. One that the model does not know is a `ConfigError`, one never seen together a warning."""
        if not self.seen:
            self._check_only(to, from_)
            return self.languages
        if to is None and len(self.targets) > 1:
            raise self.missing()
        target = self.targets[0] if to is None else to
        if target not in self.targets:
            raise ConfigError(f"{self.name}: does not translate to {target!r}, only to {_listed(self.targets, 'and')}")
        if from_ is not None and from_ not in (*self.sources, *self.targets):
            raise ConfigError(f"{self.name}: does not read {from_!r}, only {_listed(self.sources, 'and')}")
        if from_ == target:
            raise ConfigError(f"{self.name}: from {from_!r} to itself; give two languages")
        if from_ is not None and (from_, target) not in self.pairs:
            warnings.warn(
                f"{self.name}: was never trained from {from_} to {target}, so expect little; it was from "
                f"{', '.join(' to '.join(pair) for pair in self.pairs)}",
                DirectionWarning,
                stacklevel=4,
            )
        into = [direction.source for direction in self.seen if direction.target == target]
        return Languages(source=from_ or (into[0] if len(into) == 1 else None), target=target)

    def reads(self, languages: Languages) -> str | None:
        """The source languages of chosen languages, in words; None: not known."""
        if languages.source or not self.seen:
            return languages.source
        return _listed([one.source for one in self.seen if languages.target in (None, one.target)])

    def characters_per_piece(self, languages: Languages) -> float | None:
        """Mean characters of a source piece: the least of the source languages that are possible."""
        means = [
            one.characters_per_piece
            for one in self.seen
            if languages.source in (None, one.source) and languages.target in (None, one.target)
        ]
        return min((mean for mean in means if mean is not None), default=None)

    def _check_only(self, to: str | None, from_: str | None) -> None:
        """Refuse another language than those of a model with one direction."""
        for given, own, verb in ((to, self.languages.target, "translates to"), (from_, self.languages.source, "reads")):
            if given is None or given == own:
                continue
            if own is None:
                raise ConfigError(
                    f"{self.name}: has one direction, and does not say what it {verb}; leave {given!r} out"
                )
            raise ConfigError(f"{self.name}: {verb} {own!r} only, not {given!r}; leave it out")


def directions_of(config: object, name: str = "this model") -> Directions:
    """The directions of a bundle's config; those of other tasks have none."""
    seen = getattr(config, "directions", ())
    return Directions(tuple(seen), getattr(config, "languages", Languages()), name)


def common_languages(directions: Iterable[Direction]) -> Languages:
    """The source and the target language that all directions share; None where they differ."""
    sources, targets = (set(side) for side in zip(*directions, strict=True))
    return Languages(
        source=next(iter(sources)) if len(sources) == 1 else None,
        target=next(iter(targets)) if len(targets) == 1 else None,
    )


def merged_directions(base: Sequence[DirectionConfig], own: Sequence[DirectionConfig]) -> tuple[DirectionConfig, ...]:
    """The directions of a base model and of the training that started from it."""
    trained = {one.pair: one for one in own}
    kept = [trained.pop(one.pair, one.model_copy(update={"pairs": 0})) for one in base]
    return (*kept, *trained.values())


def names_of(directions: Iterable[Direction]) -> str:
    """Directions in one line."""
    return ", ".join(map(direction_name, directions))


def _listed(names: Sequence[str], word: str = "or") -> str:
    """Names in a sentence, each once."""
    *most, last = dict.fromkeys(names)
    return f"{', '.join(most)} {word} {last}" if most else last
