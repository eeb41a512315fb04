"""The settings of the runs that `regard improve` trains: those of RUN, with other text, seeds and limits."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.errors import ConfigError, DataError
from regard.settings import override, read_json
from regard.tasks.improve.arguments import ImproveArguments
from regard.tasks.improve.base_run import BaseRun
from regard.tasks.improve.plan import REVERSE, SUMMARY, TEXT, Stage, TrainStage
from regard.tasks.improve.texts import SIDES, real_corpora
from regard.training.config import FINE_TUNING

WARM_RATE = 0.5
"""The learning rate of a model that starts from RUN's weights, as a share of RUN's."""


def settings_of(stage: TrainStage, arguments: ImproveArguments, base: BaseRun, out: Path) -> dict[str, Any]:
    """The settings of a run. The text that it names has been written by earlier stages."""
    values = base.settings.model_dump(mode="json")
    train = values["train"]
    train |= {"seed": stage.seed, "max_steps": stage.steps, "max_epochs": None, "minutes": None}
    if stage.limited:
        train |= {"max_steps": None, "minutes": stage.minutes}
    again = stage.direction == "forward" and not stage.improved  # RUN with another seed: the same text and vocabulary
    if again and not _holds_out(base):
        values["data"] |= {"test_src": None, "test_tgt": None}
        return override(values, _own_sets(stage, arguments))
    replay = values["data"]["replay"] if again else None
    values["data"] = _data(stage, arguments, base, out) | ({} if replay is None else {"replay": replay})
    for name in ("alignment_weight", "alignment_layer"):  # of alignments that the new text lacks
        train.pop(name, None)
    if (
        stage.direction == "back"
    ):  # from nothing: RUN's base is of the other direction, and parts of a random network stay free
        train |= {"start": None, "freeze": [], "lora": None, "layer_decay": 1.0}
        values["text"]["grow"] = None
    elif arguments.from_run:
        train |= {"start": str(base.path.resolve()), "learning_rate": WARM_RATE * train["learning_rate"], **FINE_TUNING}
    return override(values, _own_sets(stage, arguments))


def refuse_training_back(base: BaseRun, stages: Sequence[Stage], arguments: ImproveArguments) -> None:
    """Refuse to train a model from target to source with the settings of a fine-tuned run, which has no base in that direction."""
    places = [stage.place for stage in stages if isinstance(stage, TrainStage) and stage.direction == "back"]
    if base.settings.train.start is None or not places:
        return
    if places[0] == REVERSE:
        fix = "give a model from target to source with --reverse DIR"
    else:
        fix = f"leave out {'--seeds' if arguments.seeds > 1 else '--rounds'}"
    raise ConfigError(
        f"{base.path}: it was fine-tuned from {base.settings.train.start}, and {places[0]} would have to learn the other direction "
        f"from its text alone; {fix}"
    )


def _holds_out(base: BaseRun) -> bool:
    """Whether RUN was validated on pairs of its training files. Which ones depends on the files and on data.max_length."""
    data = base.settings.data
    return bool(data.training_corpora) and data.valid_src is None and data.valid_pairs is None


def _own_sets(stage: TrainStage, arguments: ImproveArguments) -> tuple[str, ...]:
    return (*arguments.sets, *(arguments.sets_improved if stage.improved else ()))


def _data(stage: TrainStage, arguments: ImproveArguments, base: BaseRun, out: Path) -> dict[str, Any]:
    """The table `data`: the run's own pairs and what models have added, in the direction of the stage."""
    text, old = out / TEXT, base.settings.data
    weight = arguments.real_weight if stage.improved else 1.0
    rows = [
        {**_files(stage, corpus.file(text, SIDES[0]), corpus.file(text, SIDES[1])), "weight": corpus.weight * weight}
        for corpus in real_corpora(text)
    ]
    new = [place for place in stage.added if read_json(out / place / SUMMARY)["kept"]]
    if stage.added and not new:
        raise DataError(
            f"{out / stage.added[0]}: the models say nothing that the text of the run lacks; give other text"
        )
    rows += [_files(stage, *(out / place / f"kept.{side}" for side in SIDES)) for place in new]
    alone = len(rows) == 1  # then its weight means nothing
    if alone:
        rows[0].pop("weight", None)
    valid = _files(stage, *(text / f"valid.{side}" for side in SIDES))
    source, target = base.languages if stage.direction == "forward" else base.languages[::-1]
    return {
        **(rows[0] if alone else {"corpora": rows}),
        **{f"valid_{side}": path for side, path in valid.items()},
        **{name: code for name, code in (("src_lang", source), ("tgt_lang", target)) if code is not None},
        "max_length": old.max_length,
        "seed": old.seed,
    }


def _files(stage: TrainStage, source: Path, target: Path) -> dict[str, Any]:
    """Both sides of a corpus as the model of the stage reads them."""
    sides = (source, target) if stage.direction == "forward" else (target, source)
    return dict(zip(SIDES, map(str, sides), strict=True))


DECIDED = {"task": "train RUN with it", "train.seed": "see --seeds", "train.start": "see --from-run"}
"""Settings that `regard improve` decides itself -> what to do instead. Those of the text are among them."""


def refuse_own_settings(arguments: ImproveArguments) -> None:
    """Refuse settings that `regard improve` decides itself."""
    for assignment in (*arguments.sets, *arguments.sets_improved):
        key = assignment.partition("=")[0].strip()
        advice = DECIDED.get(key)
        if key.startswith("data.") and key != "data.max_length":
            advice = "train RUN with it"
        if advice is not None:
            raise ConfigError(f"--set {assignment}: `regard improve` decides {key} itself; leave it out, or {advice}")
