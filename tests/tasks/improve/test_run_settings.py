"""The settings of the models that are trained, of runs of which no model is trained here."""

import json
from pathlib import Path
from typing import Any

import pytest

from regard.data.pocket.corpus import pocket_split
from regard.data.prepare import prepare
from regard.errors import ConfigError
from regard.tasks.improve import texts
from regard.tasks.improve.arguments import ImproveArguments
from regard.tasks.improve.base_run import BaseRun
from regard.tasks.improve.plan import SUMMARY, TEXT, Facts, TrainStage, plan
from regard.tasks.improve.run_settings import refuse_training_back, settings_of
from regard.tasks.improve.texts import Monolingual, real_pairs, write_texts
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


FURTHER = TrainStage("forward-2", "forward", 8, 10, 1.0)


def test_a_further_model_holds_out_the_pairs_that_run_has_held_out(tmp_path: Path) -> None:
    base = run(train=TUNED, data={"src": "a", "tgt": "b", "replay": {"src": "c", "tgt": "d"}})
    values = settings(base, tmp_path, FURTHER, sets=("data.max_length=40",))
    data = TranslateSettings.parse(values).data
    text = tmp_path / TEXT
    assert (data.valid_src, data.valid_tgt) == (str(text / "valid.src"), str(text / "valid.tgt"))
    assert [(row.src, row.weight) for row in data.corpora] == [
        (str(text / "train.src"), 1.0),
        (str(text / "train-2.src"), 3.0),
    ]
    assert data.replay == base.settings.data.replay
    assert data.max_length == 40
    assert {name: values["train"][name] for name in ("start", "freeze")} == {"start": "base", "freeze": ["encoder"]}


def test_a_further_model_reads_the_files_of_run_if_none_of_their_pairs_are_held_out(tmp_path: Path) -> None:
    base = run(data={"src": "a", "tgt": "b", "valid_src": "v", "valid_tgt": "w", "test_src": "t", "test_tgt": "u"})
    wanted = base.settings.data.model_dump(mode="json") | {"test_src": None, "test_tgt": None}
    assert settings(base, tmp_path, FURTHER)["data"] == wanted


def test_a_further_model_learns_the_vocabulary_of_run(tmp_path: Path) -> None:
    """Also from half-empty pairs: models with other vocabularies make no ensemble."""
    split = pocket_split(train=150, valid=0, test=0).train
    rows = [*((pair.french, pair.english) for pair in split), ("", "quixotic zebras " * 30), ("", "")]
    for side, name in enumerate(("a.fr", "a.en")):
        (tmp_path / name).write_text("".join(f"{row[side]}\n" for row in rows), encoding="utf-8")
    files = {"src": str(tmp_path / "a.fr"), "tgt": str(tmp_path / "a.en")}
    base = run(data=files, text={"vocabulary": 300})
    config = base.settings
    first = prepare(config.data, config.text, tmp_path / "cache", lambda *_: None, None)
    with pytest.MonkeyPatch.context() as patch:
        sources, references = zip(*first.valid_pairs, strict=True)
        patch.setattr(texts, "validation_pairs", lambda run: (sources, references, None))
        write_texts(tmp_path / "out" / TEXT, base, Monolingual(), own=True)
    assert len(list(real_pairs(tmp_path / "out" / TEXT))) == 150 - len(sources)
    further = TranslateSettings.parse(settings_of(FURTHER, ImproveArguments(), base, tmp_path / "out"))
    again = prepare(further.data, further.text, tmp_path / "cache", lambda *_: None, None)
    assert again.valid_pairs == first.valid_pairs
    pieces = [one.tokenizers.source.vocabulary.pieces for one in (first, again)]
    assert pieces[0] == pieces[1]
