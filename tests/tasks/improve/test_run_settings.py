"""The settings of the models that are trained, of runs of which no model is trained here."""

import json
from pathlib import Path
from typing import Any

import pytest

from regard.errors import ConfigError
from regard.tasks.improve.arguments import ImproveArguments
from regard.tasks.improve.base_run import BaseRun
from regard.tasks.improve.plan import SUMMARY, TEXT, Facts, TrainStage, plan
from regard.tasks.improve.run_settings import refuse_training_back, settings_of
from regard.tasks.translate.settings import TranslateSettings

TUNED: dict[str, Any] = {"start": "base", "freeze": ["encoder"], "lora": {"rank": 4}, "layer_decay": 0.9}
FACTS = Facts(steps=10, minutes=1.0, seed=7, pairs=60, mono_tgt=5, mono_src=5)
CORPORA = [
    {"name": "train", "pairs": 9, "weight": 1.0},
    {"name": "train-2", "pairs": 9, "weight": 3.0},
]


def run(**settings: Any) -> BaseRun:
    return BaseRun(Path("run"), TranslateSettings.parse(settings), ("fr", "en"), "", 10, 1.0, 60, 0.0)


def settings(base: BaseRun, out: Path, stage: TrainStage, **arguments: Any) -> dict[str, Any]:
    (out / TEXT).mkdir()
    (out / TEXT / SUMMARY).write_text(json.dumps({"corpora": CORPORA}), encoding="utf-8")
    return settings_of(stage, ImproveArguments.parse(arguments), base, out)


@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        ({}, "reverse would have to learn .*; give a model from target to source with --reverse DIR"),
        ({"reverse": "x", "rounds": 2}, "round-1/reverse would .*; leave out --rounds"),
        ({"reverse": "x", "seeds": 2}, "reverse-2 would .*; leave out --seeds"),
        ({"reverse": "x"}, None),
        ({"mono_src": "x", "rounds": 2}, None),
    ],
)
def test_a_fine_tuned_run_trains_no_model_back(arguments: dict[str, Any], fix: str | None) -> None:
    given = ImproveArguments.parse(arguments)
    stages = plan(given, FACTS)
    refuse_training_back(run(), stages, given)  # of a run from nothing any is
    tuned = run(train=TUNED)
    if fix is None:
        refuse_training_back(tuned, stages, given)
        return
    with pytest.raises(ConfigError, match=f"run: it was fine-tuned from base, and {fix}"):
        refuse_training_back(tuned, stages, given)


def test_a_model_back_has_no_settings_of_fine_tuning(tmp_path: Path) -> None:
    base = run(train=TUNED, text={"grow": 100}, data={"src": "a", "tgt": "b", "replay": {"src": "c", "tgt": "d"}})
    values = settings(base, tmp_path, TrainStage("reverse", "back", 7, 10, 1.0))
    nothing = TranslateSettings.parse({})
    assert {name: values["train"][name] for name in TUNED} == nothing.train.model_dump(mode="json", include={*TUNED})
    assert values["text"]["grow"] is None
    assert "replay" not in values["data"]
    TranslateSettings.parse(values)
