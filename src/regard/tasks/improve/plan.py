"""The plan of `regard improve`: its stages as data, which of them are done, and how long they take. It runs nothing.

    DIR/plan.json  text/  reverse/  forward-2/ ..  round-1/back/ forward/ improved/ reverse/  round-2/ ..  judged/  improve.json

Every stage has a directory of its own below DIR. The plan is a function of the arguments and of facts that do not change, so that the same
command finds the same stages again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Literal

from regard.tasks.improve.arguments import ImproveArguments
from regard.tasks.runs import has_checkpoint, is_done, is_run

TEXT, JUDGED, RESULT, SUMMARY, TRANSLATIONS = "text", "judged", "improve.json", "summary.json", "translations.jsonl"
REVERSE = "reverse"
Direction = Literal["forward", "back"]
State = Literal["done", "begun", "left"]
LEAST_TRAINING = 0.5  # share of --minutes that is left for training, however long translating takes


@dataclass(frozen=True)
class Facts:
    """The facts on RUN and on the texts that the plan needs."""

    steps: int
    """Steps that RUN has made."""
    minutes: float
    """Minutes of training that they took."""
    seed: int
    pairs: int
    """Pairs of RUN's training text."""
    mono_tgt: int = 0
    """Sentences of --mono-tgt."""
    mono_src: int = 0
    seconds_per_sentence: float = 0.0
    """The time that RUN needs to translate a sentence."""


@dataclass(frozen=True)
class TextStage:
    """The run's own pairs, its held-out pairs and the other texts are written as files."""

    place: str = TEXT
    minutes: float = 0.0

    @property
    def doing(self) -> str:
        return "write the text"


@dataclass(frozen=True)
class TrainStage:
    """A model is trained."""

    place: str
    direction: Direction
    seed: int
    steps: int
    minutes: float
    """Estimated; the limit where `limited`."""
    added: tuple[str, ...] = ()
    """The places of the translations that are learned from beside the run's own pairs."""
    limited: bool = False
    """Whether minutes end the run instead of steps."""

    @property
    def improved(self) -> bool:
        """Whether it learns from translations of models, too."""
        return bool(self.added)

    @property
    def doing(self) -> str:
        towards = "source to target" if self.direction == "forward" else "target to source"
        limit = f"{self.minutes:.2g} minutes" if self.limited else f"{self.steps:,} steps"
        return f"train from {towards}, {limit}{', on all text' if self.added else ''}"


@dataclass(frozen=True)
class TranslateStage:
    """A text is translated, and the pairs filtered."""

    place: str
    direction: Direction
    models: tuple[str, ...]
    """The places of the models; several are an ensemble. Empty name: RUN itself."""
    own: bool
    """Whether the training text is translated."""
    mono: bool
    """Whether the other text of this direction is."""
    sentences: int
    minutes: float
    seed: int
    """Of random draws."""
    earlier: tuple[str, ...] = ()
    """Translations of the same round, whose pairs are not kept twice."""

    @property
    def doing(self) -> str:
        together = f" by {len(self.models)} models together" if len(self.models) > 1 else ""
        return f"translate {self.sentences:,} sentences {self.direction}{together}, and filter them"


@dataclass(frozen=True)
class JudgeStage:
    """RUN and the improved models are compared."""

    models: tuple[str, ...]
    place: str = JUDGED
    minutes: float = 0.0

    @property
    def doing(self) -> str:
        return "compare with RUN on held-out text"


Stage = TextStage | TrainStage | TranslateStage | JudgeStage


def plan(arguments: ImproveArguments, facts: Facts) -> tuple[Stage, ...]:
    """The stages in order. With `minutes`, what translating does not take is shared among the models by their steps."""
    stages = _stages(arguments, facts, None)
    if arguments.minutes is None:
        return stages
    translating = sum(stage.minutes for stage in stages if isinstance(stage, TranslateStage))
    left = max(LEAST_TRAINING * arguments.minutes, arguments.minutes - translating)
    steps = sum(stage.steps for stage in stages if isinstance(stage, TrainStage))
    return _stages(arguments, facts, left / steps)


def _stages(arguments: ImproveArguments, facts: Facts, minutes_per_step: float | None) -> tuple[Stage, ...]:
    """minutes_per_step: of a budget of minutes; None: the models have steps."""
    steps = _given_steps(arguments.sets) or facts.steps
    longer = _given_steps((*arguments.sets, *arguments.sets_improved)) or ceil(arguments.factor * facts.steps)

    def training(place: str, direction: Direction, number: int, steps: int, added: tuple[str, ...] = ()) -> TrainStage:
        limited = minutes_per_step is not None
        rate = facts.minutes / max(1, facts.steps) if minutes_per_step is None else minutes_per_step
        minutes = round(steps * rate, 3) if limited else steps * rate
        return TrainStage(place, direction, facts.seed + number, steps, minutes, added, limited)

    stages: list[Stage] = [TextStage()]
    forwards, backs = _first_models(arguments)
    for number, place in enumerate(backs):
        if place and not (number == 0 and arguments.reverse is not None):
            stages.append(training(place, "back", number, steps))
    stages += [training(place, "forward", number, steps) for number, place in enumerate(forwards) if place]
    improved: list[str] = []
    for turn in range(1, arguments.rounds + 1):
        home = f"round-{turn}"
        written = _translations(arguments, facts, home, forwards, backs)
        stages += written
        added = tuple(stage.place for stage in written)
        stages.append(training(f"{home}/improved", "forward", 0, longer, added))
        improved.append(f"{home}/improved")
        forwards = (f"{home}/improved",)
        if turn < arguments.rounds and arguments.translates_back:
            backs = (f"{home}/{REVERSE}",)
            stages.append(training(backs[0], "back", 0, longer, added))
    return (*stages, JudgeStage(tuple(improved)))


def _given_steps(sets: Sequence[str]) -> int | None:
    """The steps that `--set train.max_steps=N` gives a run; None: it says nothing. A value that is no number is refused elsewhere."""
    values = [text.strip() for key, _, text in (one.partition("=") for one in sets) if key.strip() == "train.max_steps"]
    return int(values[-1]) if values and values[-1].isdecimal() else None


def _first_models(arguments: ImproveArguments) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The places of the models of the first round, forward and back. The first one forward is RUN itself."""
    many = max(arguments.seeds, 1 + arguments.ensemble) if arguments.translates_forward else 1
    forwards = ("", *(f"forward-{number}" for number in range(2, many + 1)))
    backs = (REVERSE, *(f"{REVERSE}-{number}" for number in range(2, arguments.seeds + 1)))
    return forwards, backs if arguments.translates_back else ()


def _translations(
    arguments: ImproveArguments, facts: Facts, home: str, forwards: tuple[str, ...], backs: tuple[str, ...]
) -> list[TranslateStage]:
    """The translations of a round: back by each model, then forward by each model or by all together."""
    together = arguments.ensemble > 0 and len(forwards) > 1
    turns: list[tuple[Direction, tuple[str, ...], int]] = []
    if arguments.translates_back:
        turns += [("back", (model,), facts.mono_tgt) for model in backs]
    if arguments.translates_forward:
        groups = [forwards] if together else [(model,) for model in forwards]
        turns += [("forward", models, facts.mono_src) for models in groups]
    stages: list[TranslateStage] = []
    for direction, models, more in turns:
        number = 1 + sum(stage.direction == direction for stage in stages)
        sentences = more + (facts.pairs if arguments.translates_own else 0)
        minutes = sentences * facts.seconds_per_sentence * len(models) / 60.0
        stages.append(
            TranslateStage(
                place=f"{home}/{direction}{'' if number == 1 else f'-{number}'}",
                direction=direction,
                models=models,
                own=arguments.translates_own,
                mono=more > 0,
                sentences=sentences,
                minutes=minutes,
                seed=facts.seed + number - 1,
                earlier=tuple(stage.place for stage in stages),
            )
        )
    return stages


def state_of(stage: Stage, out: Path) -> State:
    """How far a stage has come, by its files. The comparison is made again whenever it is asked for."""
    home = out / stage.place
    if isinstance(stage, TrainStage):
        if is_run(home) and is_done(home):
            return "done"
        return "begun" if has_checkpoint(home) else "left"
    if isinstance(stage, JudgeStage):
        return "done" if (out / RESULT).exists() else "left"
    if (home / SUMMARY).exists():
        return "done"
    return "begun" if home.is_dir() and any(home.iterdir()) else "left"
