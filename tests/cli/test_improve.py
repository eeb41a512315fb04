"""`regard improve` on tiny models: the stages in order, interrupted at each, the same command twice, and what is refused.

Most models are trained by a stand-in that leaves a copy of a finished run. One test trains them.
"""

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.bundle.locate import find_bundle
from regard.cli.improving import PLAN, Improver, improver
from regard.data.pocket.corpus import pocket_split
from regard.errors import RegardError
from regard.settings import merged
from regard.tasks.fine_tuning import run_settings
from regard.tasks.improve import base_run
from regard.tasks.improve.arguments import ImproveArguments, JudgingArguments
from regard.tasks.improve.plan import RESULT, TrainStage
from regard.tasks.improve.run_settings import settings_of
from regard.tasks.improve.texts import read_lines, read_sides
from regard.tasks.translate.directions import DirectionConfig

LENIENT = ("unfinished", "repetition", "ratio", "copy", "language", "encoding", "length", "near-duplicate")
JUDGING = JudgingArguments(beam=1, resamples=20)


def arguments(**given: Any) -> ImproveArguments:
    """Arguments that keep what a model writes that has learned nothing."""
    return ImproveArguments.parse({"without": LENIENT, "beam": 1, **given})


class StandIn:
    """Trains nothing: copies a run."""

    def __init__(self, run: Path) -> None:
        self.run, self.trained, self.settings = run, [], []  # type: Path, list[str], list[dict[str, Any]]

    def __call__(self, values: dict[str, Any], out: Path, where: str) -> None:
        self.trained.append(out.name)
        self.settings.append(values)
        run_settings(values, where)  # they are sound
        shutil.copytree(self.run, out)


def stopping_at(number: int) -> Callable[[str], None]:
    """A listener that interrupts when a stage begins."""

    def tell(line: str) -> None:
        if line.startswith(f"stage {number} of") and "finished before" not in line:
            raise KeyboardInterrupt

    return tell


def silent(line: str) -> None:
    """A listener that does nothing."""


def contents(out: Path) -> dict[str, bytes]:
    """The files of all stages but for those of runs and times."""
    names = ("text/*", "round-*/back*/*", "round-*/forward*/*", "judged/*", PLAN)
    return {str(path.relative_to(out)): path.read_bytes() for name in names for path in sorted(out.glob(name))}


@pytest.fixture
def call(small_run: Path, tmp_path: Path) -> Callable[..., Improver]:
    def make(name: str = "out", judging: JudgingArguments = JUDGING, **given: Any) -> Improver:
        return improver(small_run, arguments(**given), judging, tmp_path / name)

    return make


def test_interrupted_at_every_stage_it_ends_the_same(
    call: Callable[..., Improver], small_run: Path, tmp_path: Path
) -> None:
    once, in_parts = StandIn(small_run), StandIn(small_run)
    whole = call("whole").run(once, silent)
    assert once.trained == ["reverse", "improved"]
    parts = call("parts")
    for number in range(1, len(parts.stages) + 1):
        with pytest.raises(KeyboardInterrupt):
            call("parts").run(in_parts, stopping_at(number))
        assert [state == "done" for state in parts.states()] == [n < number for n in range(1, len(parts.stages) + 1)]
    rest = call("parts").run(in_parts, silent)
    assert in_parts.trained == once.trained  # nothing twice
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    assert rest.texts == whole.texts
    assert set(parts.states()) == {"done"}
    before = (tmp_path / "parts" / RESULT).read_bytes()
    assert call("parts").run(in_parts, silent).to_dict() == rest.to_dict()  # the same command again changes nothing
    assert (tmp_path / "parts" / RESULT).read_bytes() == before
    assert next(one.bleu.value for one in rest.texts[0].systems) == [one.bleu.value for one in rest.texts[0].systems][1]
    assert rest.texts[0].gain.p_value == 1.0  # the stand-in is RUN


def test_an_interrupted_filter_keeps_the_translations(
    call: Callable[..., Improver], small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regard.cli import improving

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(improving, "filter_translations", interrupted)
        with pytest.raises(KeyboardInterrupt):
            call().run(StandIn(small_run), silent)
    written = tmp_path / "out/round-1/back/translations.jsonl"
    before = written.stat().st_mtime_ns
    assert call().states()[2] == "begun"
    call().run(StandIn(small_run), silent)
    assert written.stat().st_mtime_ns == before


def test_the_texts_hold_out_what_is_tested_on(call: Callable[..., Improver], small_run: Path, tmp_path: Path) -> None:
    split = pocket_split(train=60, valid=60, test=60)
    train, valid, test = (
        [(pair.french, pair.english) for pair in part] for part in (split.train, split.valid, split.test)
    )
    more = [pair.english for pair in pocket_split(train=30, valid=0, test=0, seed=5).train]
    lines = [*more, more[0], valid[0][1], test[0][1], "", train[0][1]]
    (tmp_path / "mono.en").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (tmp_path / "other.fr").write_text("le chat\n", encoding="utf-8")
    (tmp_path / "other.en").write_text(f"{more[1]}\n", encoding="utf-8")
    other = JUDGING.model_copy(
        update={"other_src": str(tmp_path / "other.fr"), "other_ref": str(tmp_path / "other.en")}
    )
    made = call(judging=other, mono_tgt=str(tmp_path / "mono.en"), own_text=True)
    result = made.run(StandIn(small_run), silent)
    text = tmp_path / "out/text"
    assert read_sides(text / "train.src", text / "train.tgt") == train
    assert read_sides(text / "valid.src", text / "valid.tgt") == valid
    held_out = {line for _, line in (*valid, *test)} | {more[1]}
    own = [english for _, english in train]
    wanted = [line for line in dict.fromkeys(more) if line not in held_out and line not in own]
    assert read_lines(text / "read.tgt") == own + wanted
    assert read_lines(text / "read.src") == [french for french, _ in train]
    assert [one.name for one in result.texts] == ["validation", "other"]  # and not test
    assert len(read_lines(tmp_path / "out/judged/other.RUN.txt")) == 1


def test_held_out_text_that_comes_too_late_is_refused(
    call: Callable[..., Improver], small_run: Path, tmp_path: Path
) -> None:
    english = [pair.english for pair in pocket_split(train=30, valid=0, test=0, seed=5).train]
    (tmp_path / "mono.en").write_text("".join(f"{line}\n" for line in english), encoding="utf-8")
    (tmp_path / "other.fr").write_text("le chat\n", encoding="utf-8")
    (tmp_path / "other.en").write_text(f"{english[1]}\n", encoding="utf-8")
    files = {"other_src": str(tmp_path / "other.fr"), "other_ref": str(tmp_path / "other.en")}
    late = JUDGING.model_copy(update=files)
    for name, more in (("mono", {"mono_tgt": str(tmp_path / "mono.en")}), ("own", {})):
        with pytest.raises(KeyboardInterrupt):
            call(name, **more).run(StandIn(small_run), stopping_at(2))
        call(name, **more).refuse_changes()
    with pytest.raises(RegardError, match=r"--other-src: this text was not left out of --mono-.*another --out"):
        call("mono", late, mono_tgt=str(tmp_path / "mono.en")).refuse_changes()
    call("own", late).refuse_changes()  # nothing was read that it could have been left out of
    with pytest.raises(KeyboardInterrupt):
        call("early", late, mono_tgt=str(tmp_path / "mono.en")).run(StandIn(small_run), stopping_at(2))
    call("early", late, mono_tgt=str(tmp_path / "mono.en")).refuse_changes()
    call("early", mono_tgt=str(tmp_path / "mono.en")).refuse_changes()


def test_the_settings_of_each_model(call: Callable[..., Improver], small_run: Path, tmp_path: Path) -> None:
    stand_in = StandIn(small_run)
    made = call(
        seeds=2, sets=("train.batch_tokens=128",), sets_improved=("model.layers=2",), real_weight=2.0, factor=1.5
    )
    made.run(stand_in, silent)
    assert stand_in.trained == ["reverse", "reverse-2", "forward-2", "improved"]
    reverse, second, forward, improved = stand_in.settings
    text = tmp_path / "out/text"
    assert [reverse["data"][name] for name in ("src", "valid_tgt", "src_lang", "tgt_lang")] == [
        *(str(text / "train.tgt"), str(text / "valid.src")),
        *("en", "fr"),
    ]
    assert [values["train"]["seed"] for values in stand_in.settings] == [2, 3, 3, 2]  # RUN has 2
    assert [values["train"]["max_steps"] for values in stand_in.settings] == [12, 12, 12, 18]
    assert {values["train"]["batch_tokens"] for values in stand_in.settings} == {128}
    assert (second["model"]["layers"], improved["model"]["layers"]) == (1, 2)
    assert forward["data"]["pocket"] == 60  # the text of RUN, and so its vocabulary
    rows = improved["data"]["corpora"]
    assert rows[0] == {"src": str(text / "train.src"), "tgt": str(text / "train.tgt"), "weight": 2.0}
    places = ["round-1/back", "round-1/forward"]  # the stand-in's further seeds say nothing new
    assert [row["src"] for row in rows[1:]] == [str(tmp_path / "out" / place / "kept.src") for place in places]
    assert "test_src" not in improved["data"]


def test_from_run_and_minutes(call: Callable[..., Improver], small_run: Path) -> None:
    made = call(from_run=True, minutes=3.0)
    with pytest.raises(KeyboardInterrupt):
        made.run(StandIn(small_run), stopping_at(2))
    stages = [stage for stage in made.stages if isinstance(stage, TrainStage)]
    for place in stages[1].added:
        (made.out / place).mkdir(parents=True)
        (made.out / place / "summary.json").write_text(json.dumps({"kept": 1}), encoding="utf-8")
    reverse, improved = (settings_of(stage, made.arguments, made.base, made.out)["train"] for stage in stages)
    assert reverse["start"] is None
    assert improved["start"] == str(small_run.resolve())
    assert improved["learning_rate"] == reverse["learning_rate"] / 2
    assert (reverse["max_steps"], improved["max_steps"]) == (None, None)
    assert improved["minutes"] == pytest.approx(2 * reverse["minutes"], abs=0.002)


@pytest.mark.slow
def test_ensembles_draws_and_rounds(call: Callable[..., Improver], small_run: Path, tmp_path: Path) -> None:
    stand_in = StandIn(small_run)
    result = call(ensemble=1, sample=True, rounds=2).run(stand_in, silent)
    assert stand_in.trained == ["reverse", "forward-2", "improved", "reverse", "improved"]
    assert [one.system for one in result.texts[0].systems] == ["RUN", "round-1/improved", "round-2/improved"]
    assert result.model == tmp_path / "out/round-2/improved"
    drawn, searched = (
        [json.loads(line)["translation"] for line in read_lines(tmp_path / f"out/{place}/translations.jsonl")]
        for place in ("round-1/back", "round-1/forward")
    )
    assert len(drawn) == len(searched) == 60


def test_trained(command: Callable[..., Any], small_run: Path, tmp_path: Path) -> None:
    """The command as it is, with real training, and the Python function on what it has left."""
    options = [part for name in LENIENT for part in ("--without", name)]
    budget = ("--set", "train.max_steps=4", "--beam", "1", "--resamples", "20")
    first = command("improve", small_run, "--out", tmp_path / "out", *options, *budget)
    assert first.code == 0, first.err
    assert "round-1/improved" in first.out
    assert f"stage 6 of 6: {tmp_path / 'out/judged'}" in first.err
    plan = command("improve", small_run, "--out", tmp_path / "out", *options, *budget, "--dry-run")
    assert [line.split()[-2] for line in plan.out.splitlines()[3:9]] == ["done"] * 6
    record = json.loads((tmp_path / "out" / RESULT).read_text(encoding="utf-8"))
    assert set(record["minutes"]) == {
        "text",
        "reverse",
        "round-1/back",
        "round-1/forward",
        "round-1/improved",
        "judged",
    }
    result = regard.improve(
        small_run, tmp_path / "out", without=LENIENT, sets=["train.max_steps=4"], beam=1, resamples=20, progress=False
    )
    assert result.to_dict() == record
    assert regard.load(result.model).languages.source == "fr"
    config = json.loads((result.model / "config.json").read_text(encoding="utf-8"))
    assert [row["weight"] for row in config["data"]["corpora"]] == [1.0, 1.0, 1.0]


def complaint(result: Any) -> str:
    """The one line of a refusal."""
    assert (result.code, result.out) == (2, "")
    [line] = result.err.splitlines()
    return str(line)


def test_refusals(command: Callable[..., Any], small_run: Path, tmp_path: Path) -> None:
    def refused(*more: object, run: Path = small_run, out: object = tmp_path / "out") -> str:
        line = complaint(command("improve", run, "--out", out, *more))
        assert not (tmp_path / "out").exists()
        return line

    unfinished = tmp_path / "unfinished"
    shutil.copytree(small_run, unfinished)
    (unfinished / "metrics.json").unlink()
    (tmp_path / "empty").write_text("\n", encoding="utf-8")
    french = [pair.french for pair in pocket_split(train=40, valid=0, test=0).train]
    (tmp_path / "a.fr").write_text("".join(f"{line}\n" for line in french), encoding="utf-8")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").write_text("", encoding="utf-8")
    [checkpoint] = (small_run / "checkpoints").glob("*12")
    assert "no such directory" in refused(run=tmp_path / "nowhere")
    assert "a bundle, not a run" in refused(run=checkpoint)
    assert f"not finished; finish it first: regard resume {unfinished}" in refused(run=unfinished)
    assert "inside of RUN" in refused(out=small_run / "x")
    assert "it holds mine, and no plan.json" in refused(out=tmp_path / "full")
    assert "sentences look like fr" in refused("--mono-tgt", tmp_path / "a.fr")
    assert "no sentences in it" in refused("--mono-src", tmp_path / "empty")
    assert "no such file" in refused("--mono-src", tmp_path / "none")
    assert "did you mean 'train.max_steps'" in refused("--set", "train.max_stps=1")
    assert "decides train.seed itself; leave it out, or see --seeds" in refused("--set", "train.seed=1")
    assert "it reads fr, not en" in refused("--reverse", small_run)
    assert "go together" in refused("--other-src", tmp_path / "a.fr")
    assert "tokenize = 'words': not one of 13a" in refused("--tokenize", "words")
    assert "--out DIR is missing" in complaint(command("improve", small_run))


def test_runs_of_other_kinds(command: Callable[..., Any], small_run: Path, tmp_path: Path) -> None:
    def refused(name: str, changes: dict[str, Any]) -> str:
        shutil.copytree(small_run, tmp_path / name)
        path = tmp_path / name / "config.json"
        path.write_text(json.dumps(merged(json.loads(path.read_text(encoding="utf-8")), changes)), encoding="utf-8")
        return complaint(command("improve", tmp_path / name, "--out", tmp_path / "out", "--dry-run"))

    assert "its task is to generate, and only translators are improved" in refused("writer", {"task": "generate"})
    several = refused("both", {"data": {"both": True}})
    assert "a run of 2 directions (fr-en, en-fr); give a run of one direction" in several
    tuned = refused("tuned", {"train": {"start": str(small_run)}})
    assert "give a model from target to source with --reverse DIR" in tuned
    piped = refused("piped", {"data": {"pairs": "-"}})
    assert "its text came from standard input and cannot be read again" in piped


def test_a_run_from_a_base_of_several_directions(small_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = base_run.open_bundle(find_bundle(small_run), verify=False)
    directions = (DirectionConfig(source="fr", target="en"), DirectionConfig(source="en", target="fr"))
    several = dataclasses.replace(opened, config=opened.config.model_copy(update={"directions": directions}))
    monkeypatch.setattr(base_run, "open_bundle", lambda *_, **__: several)
    with pytest.raises(RegardError, match=r"its model has several directions \(fr-en, en-fr\); give a run of a model"):
        base_run.read_base_run(small_run)


def test_changed_arguments_are_refused(call: Callable[..., Improver], small_run: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        call().run(StandIn(small_run), stopping_at(2))
    with pytest.raises(RegardError, match=r"begun with other arguments \(--beam 1 -> 3\); give the same ones to go on"):
        call(beam=3).run(StandIn(small_run), silent)
    again = call(judging=JUDGING.model_copy(update={"resamples": 30})).run(StandIn(small_run), silent)
    assert again.record.judging.resamples == 30  # how it is judged may change


def test_a_failed_stage_leaves_the_others(call: Callable[..., Improver], small_run: Path) -> None:
    lines: list[str] = []
    with pytest.raises(RegardError, match="no translation is left"):
        call(without=[], min_score=-0.0001).run(StandIn(small_run), lines.append)
    assert call(without=[], min_score=-0.0001).states()[:3] == ["done", "done", "begun"]
    assert [line.split(":")[0] for line in lines] == [f"stage {number} of 6" for number in (1, 2, 3)]
