"""`ServedModels`: the models of a server by name, and the way from one language to another, through a third where no model goes directly.

A set of models never changes. A reload makes a new one; a request keeps the set that it began with.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from regard.bundle.config import Languages
from regard.data.corpus_config import Direction
from regard.data.detection import Detector, detector
from regard.errors import ConfigError
from regard.serve.detection import own_pieces
from regard.serve.errors import NotFoundError, RequestError
from regard.serve.served_terms import NO_TERMS, owned_terms
from regard.serve.settings import ServeSettings
from regard.tasks.load import loaded, open_given
from regard.tasks.translate.directions import Directions
from regard.tasks.translate.terms.guided import Terms
from regard.tasks.translate.translator import Translator

_PAIR = re.compile(r"[^\s-]{2,20}-\S{2,20}")


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model that is served."""

    name: str
    task: str
    served: Any
    """A `Translator`, `Writer`, `Classifier`, `Tagger`, `PictureClassifier`, `Captioner`, `Forecaster` or `Filler`."""
    languages: tuple[Direction, ...]
    """(source, target) of each direction of a translator."""


@dataclass(frozen=True)
class Step:
    """A translation by one model, in one of its directions."""

    model: ServedModel
    source: str
    target: str
    translator: Translator
    """The model, which reads sources in this direction."""
    terms: Terms | None = None
    """What the owner of the server protects, and the glossary of this direction."""


@dataclass(frozen=True)
class Route:
    """The way from one language to another: one step, or two through a language that models share."""

    steps: tuple[Step, ...]


class ServedModels:
    """The models of a server."""

    def __init__(self, models: Sequence[ServedModel], terms: Mapping[Direction, Terms] = NO_TERMS) -> None:
        """terms: of each direction that has any."""
        self._models = {model.name: model for model in models}
        assert len(self._models) == len(models), "names_of makes them unique"
        self._steps: dict[Direction, Step] = {}
        self._own: dict[tuple[str, str, str], Step] = {}
        for model in models:
            for source, target in model.languages:
                several = bool(model.served.directions.seen)
                translator = model.served.towards(target, source) if several else model.served
                step = Step(model, source, target, translator, terms.get((source, target)))
                self._own[model.name, source, target] = step
                self._steps.setdefault((source, target), step)
        self._routes = self._with_pivots()

    @classmethod
    def load(cls, paths: Sequence[Path], settings: ServeSettings) -> "ServedModels":
        """Open and load the models of bundles or runs. The first of several models for a direction serves it."""
        models, names = [], names_of(paths)
        _check_languages(settings.languages, list(names))
        for name, path in names.items():
            bundle = open_given(path)
            served = loaded(bundle, settings.device, settings.engine, settings.precision)
            task = bundle.config.task
            languages = _directions(name, served, settings.languages) if task == "translate" else ()
            if task == "translate":
                served.directions = _served_directions(name, served.directions, languages)
            models.append(ServedModel(name, task, served, languages))
        return cls(models, owned_terms(settings, [direction for model in models for direction in model.languages]))

    def all(self) -> list[ServedModel]:
        """Every model, in the order of the command line."""
        return list(self._models.values())

    def named(self, name: str) -> ServedModel:
        """The model of a name."""
        if name not in self._models:
            raise NotFoundError(f"no model {name!r}; there are {', '.join(self._models)}")
        return self._models[name]

    def of_task(self, task: str) -> list[ServedModel]:
        """The models of a task."""
        return [model for model in self._models.values() if model.task == task]

    @property
    def sources(self) -> dict[str, list[str]]:
        """Source language -> the languages that it can be translated to."""
        found: dict[str, list[str]] = {}
        for source, target in sorted(self._routes):
            found.setdefault(source, []).append(target)
        return found

    @cached_property
    def detector(self) -> Detector:
        """The detector of languages, built at the first use."""
        return detector(list(self.sources), own_pieces(self.all()))

    def translator(self, source: str, target: str) -> Route:
        """The way from one language to another. A language that no model has is named."""
        route = self._routes.get((source, target))
        if route is not None:
            return route
        targets = {target for _, target in self._routes}
        for language, known in ((source, self.sources), (target, targets)):
            if language not in known:
                raise RequestError(f"{language} is not supported")
        raise RequestError(f"{target} is not available as a target language from {source}")

    def step(self, name: str, source: str, target: str) -> Step:
        """A direction of the model of a name. It is the same object each time, so that requests for it share batches."""
        return self._own[name, source, target]

    def prepare(self, settings: ServeSettings) -> None:
        """Load the weights of every model, so that no request waits for them."""
        for model in self._models.values():
            if isinstance(model.served, Translator):
                model.served.prepare(settings.search())
        self.detector.detect([])

    def _with_pivots(self) -> dict[Direction, Route]:
        """The route of each direction: direct, else through the first language that both sides share."""
        routes = {direction: Route((step,)) for direction, step in self._steps.items()}
        for (source, middle), first in self._steps.items():
            for (other, target), second in self._steps.items():
                if middle == other and source != target:
                    routes.setdefault((source, target), Route((first, second)))
        return routes


def names_of(paths: Sequence[Path]) -> dict[str, Path]:
    """The name of each model: the last part of its path, with a number where two are the same."""
    names: dict[str, Path] = {}
    for path in paths:
        plain = path.resolve().name or "model"
        name, number = plain, 1
        while name in names:
            number += 1
            name = f"{plain}-{number}"
        names[name] = path
    return names


def _served_directions(name: str, own: Directions, languages: Sequence[Direction]) -> Directions:
    """The directions of a translator as clients know it: by its served name, not its path, and in the languages of the settings."""
    if own.seen:
        return replace(own, name=name)
    [(source, target)] = languages
    return replace(own, name=name, languages=Languages(source=source, target=target))


def _check_languages(given: Mapping[str, str], names: Sequence[str]) -> None:
    """Refuse languages of a model that is not served, and what is no pair."""
    for name, pair in given.items():
        if name not in names:
            raise ConfigError(f"languages.{name}: no such model is served; there is {', '.join(names)}")
        if not _PAIR.fullmatch(pair):
            raise ConfigError(
                f"languages.{name} = {pair!r}: no pair of languages; write the codes with a dash, as in fr-en"
            )


def _directions(name: str, translator: Translator, given: Mapping[str, str]) -> tuple[Direction, ...]:
    """The directions of a translator: its own, else those that the settings give."""
    own = translator.directions.pairs
    if own:
        return own
    source, _, target = given.get(name, "").partition("-")
    if not source:
        raise ConfigError(
            f"{name}: the model does not say its languages; give them: "
            f'--set languages.{name}=fr-en, or [languages] {name} = "fr-en" in serve.toml'
        )
    return ((source, target),)
