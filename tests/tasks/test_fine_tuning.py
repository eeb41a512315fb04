"""Fine-tuning: a run takes over the weights, vocabulary and architecture of another model, on any new text."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from regard.bundle.config import AlignmentConfig
from regard.bundle.locate import find_bundle
from regard.bundle.manifest import write_manifest
from regard.bundle.opened import WEIGHTS
from regard.bundle.rewriting import rewrite_config
from regard.bundle.tensors import write_tensors
from regard.errors import BundleError, ConfigError, RegardError, TrainError
from regard.settings import merged
from regard.tasks.bundles import load_bundle, open_bundle, read_config
from regard.tasks.fine_tuning import base_of, run_settings
from regard.tasks.run import train_run
from regard.tasks.settings import parse_settings, read_settings
from regard.tasks.sweep import grid, is_done, places
from regard.text.config import TextConfig
from regard.training.checkpoint import checkpoint_name
from regard.training.config import TrainConfig
from regard.training.events import Event, Started, Step, Validated
from training.runs import assert_same_run, kept, logged, pointed, run, small_settings, steps, stop_after

STILL = {"learning_rate": 1e-9, "max_steps": 3}  # so that what comes out is what went in


def without(settings: dict[str, Any], *tables: str) -> dict[str, Any]:
    return {name: table for name, table in settings.items() if name not in tables}


@pytest.fixture
def other(tmp_path: Path) -> dict[str, Any]:
    """Text of the same task with letters and words of its own."""
    lines = [f"wxyz {'zw' * (n % 3 + 1)} {n}" for n in range(40)]
    (tmp_path / "other.xx").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (tmp_path / "other.yy").write_text("".join(f"{line.upper()}\n" for line in lines), encoding="utf-8")
    return {"data": {"src": str(tmp_path / "other.xx"), "tgt": str(tmp_path / "other.yy")}}


def settings_of(task: str, home: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of a run, and the data of another run to fine-tune it on."""
    words = [f"{'fine' if n % 2 else 'dull'} {'film' * (n % 3)} {n}" for n in range(60)]
    (home / "text.txt").write_text("".join(f"{line}\n" for line in words), encoding="utf-8")
    (home / "other.txt").write_text("".join(f"another {line}\n" for line in words), encoding="utf-8")
    for name, kinds in (("labelled.tsv", ("bad", "good")), ("relabelled.tsv", ("bad", "good"))):
        rows = "".join(f"{name[0]} {line}\t{kinds[n % 2]}\n" for n, line in enumerate(words))
        (home / name).write_text(rows, encoding="utf-8")
    train = {"max_steps": 6, "batch_tokens": 128, "validate_every": 3, "save_every": 3, "warmup": 2, "samples": 1}
    model = {"kind": "recurrent", "layers": 1, "width": 16}
    if task == "generate":
        data, more = {"text": str(home / "text.txt")}, {"text": str(home / "other.txt")}
    else:
        data, more = {"labelled": str(home / "labelled.tsv")}, {"labelled": str(home / "relabelled.tsv")}
    common = {"task": task, "train": train}
    return {**common, "data": data, "text": {"kind": "char"}, "model": model}, {**common, "data": more}


def assert_taken_over(base: Path, further: Path) -> None:
    first, second = (load_bundle(find_bundle(path)) for path in (base, further))
    assert second.config.model == first.config.model
    assert second.tokenizers.source.vocabulary.pieces == first.tokenizers.source.vocabulary.pieces
    for (name, one), two in zip(first.model.state_dict().items(), second.model.state_dict().values(), strict=True):
        torch.testing.assert_close(two, one, msg=name, atol=1e-6, rtol=0)


def test_a_translator_is_taken_over_with_its_vocabulary(tmp_path: Path, other: dict[str, Any]) -> None:
    settings = small_settings(tmp_path)
    run(settings, tmp_path / "base")
    train = merged(settings["train"], {**STILL, "start": str(tmp_path / "base")})
    _, events = run({**other, "train": train}, tmp_path / "further")
    assert_taken_over(tmp_path / "base", tmp_path / "further")
    [started] = [event for event in events if isinstance(event, Started)]
    assert any(str(tmp_path / "base") in note for note in started.notes)
    assert not any("text.vocabulary" in note for note in started.notes)


def test_a_vocabulary_that_is_asked_for_in_vain_is_told(tmp_path: Path, other: dict[str, Any]) -> None:
    settings = small_settings(tmp_path)
    run(settings, tmp_path / "base")
    train = merged(settings["train"], {**STILL, "start": str(tmp_path / "base")})
    size = len(load_bundle(find_bundle(tmp_path / "base")).tokenizers.source.vocabulary)

    def told(text: dict[str, Any]) -> list[str]:
        out = tmp_path / "-".join(f"{name}{value}" for name, value in text.items())
        _, events = run({**other, "text": text, "train": train}, out)
        [started] = [event for event in events if isinstance(event, Started)]
        return [note.partition(":")[0] for note in started.notes if note.startswith("text.")]

    default = TextConfig().vocabulary
    assert told({"vocabulary": default}) == [f"text.vocabulary = {default} is not looked at"]
    assert told({"sample": 9, "character_coverage": 1.0}) == ["text.sample = 9 is not looked at"]
    assert told({"vocabulary": size}) == []


@pytest.mark.parametrize(("task", "model"), [("generate", {}), ("classify", {}), ("classify", {"kind": "bag"})])
def test_other_tasks_are_taken_over_too(task: str, model: dict[str, Any], tmp_path: Path) -> None:
    settings, further = settings_of(task, tmp_path)
    settings["model"] = model or settings["model"]
    run(settings, tmp_path / "base")
    run(further, tmp_path / "further", **STILL, start=str(tmp_path / "base"))
    assert_taken_over(tmp_path / "base", tmp_path / "further")


def test_it_knows_what_the_first_run_learned_and_learns_more(tmp_path: Path) -> None:
    settings = small_settings(tmp_path)
    run(settings, tmp_path / "base", max_steps=60)
    _, events = run(without(settings, "text", "model"), tmp_path / "further", start=str(tmp_path / "base"))
    _, fresh = run(settings, tmp_path / "fresh")
    first, nothing = (next(one.nll for one in told if isinstance(one, Step)) for told in (events, fresh))
    assert first < 0.8 * nothing


def test_a_run_that_was_stopped_goes_on_from_its_own_checkpoint(tmp_path: Path, other: dict[str, Any]) -> None:
    settings = small_settings(tmp_path)
    run(settings, tmp_path / "base")
    further = {**other, "train": merged(settings["train"], {"start": str(tmp_path / "base")})}
    run(further, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(further, tmp_path / "cut", stop_after(8))
    run(further, tmp_path / "cut")
    assert steps(tmp_path / "cut") == steps(tmp_path / "whole")


def test_the_base_is_measured_first_as_its_own_run_measured_it(tmp_path: Path) -> None:
    settings = small_settings(tmp_path)
    run(settings, tmp_path / "base")
    _, events = run(without(settings, "text", "model"), tmp_path / "further", start=str(tmp_path / "base"))
    first = next(event for event in events if isinstance(event, Step | Validated))
    assert isinstance(first, Validated)
    assert (first.step, first.best) == (0, True)
    by_step = {checkpoint_name(one["step"]): one for one in logged(tmp_path / "base", "validated")}
    before, after = by_step[pointed(tmp_path / "base", "best")], logged(tmp_path / "further", "validated")[0]
    assert [after[name] for name in ("loss", "bleu", "chrf")] == pytest.approx(
        [before[name] for name in ("loss", "bleu", "chrf")]
    )
    assert after["samples"] == before["samples"]


@pytest.mark.parametrize("changes", [{}, {"ema": 0.5}, {"average": 3, "keep": 3}], ids=["plain", "ema", "average"])
def test_a_base_that_nothing_beats_stays_the_best(tmp_path: Path, changes: dict[str, Any]) -> None:
    settings = small_settings(tmp_path)
    run(settings, tmp_path / "base", max_steps=60, save_every=60)
    harmful = {"start": str(tmp_path / "base"), "learning_rate": 3.0, "select": "loss", "keep": 1, **changes}
    result, events = run(without(settings, "text", "model"), tmp_path / "further", **harmful)
    validations = [(event.step, event.best) for event in events if isinstance(event, Validated)]
    assert validations == [(0, True), (5, False), (10, False), (12, False)]
    assert pointed(tmp_path / "further", "best") == checkpoint_name(0)
    assert {"step-00000000", "step-00000012"} <= set(kept(tmp_path / "further"))
    assert result.metrics is not None
    assert result.metrics["model"] == checkpoint_name(0)
    served, base = (load_bundle(find_bundle(tmp_path / name)).model.state_dict() for name in ("further", "base"))
    assert all(torch.equal(served[name], base[name]) for name in base)


def test_a_base_that_is_beaten_goes_like_any_checkpoint(tmp_path: Path) -> None:
    settings = small_settings(tmp_path)
    run(settings, tmp_path / "base", max_steps=2)
    run(without(settings, "text", "model"), tmp_path / "further", start=str(tmp_path / "base"), select="loss")
    assert pointed(tmp_path / "further", "best") != checkpoint_name(0)
    assert "step-00000000" not in kept(tmp_path / "further")


@pytest.mark.parametrize(
    ("rate", "ema"),
    [
        pytest.param(8e-3, 0.0, id="beaten"),
        pytest.param(3.0, 0.5, id="best-ema"),
        pytest.param(8e-3, 0.5, id="beaten-ema", marks=pytest.mark.slow),
        pytest.param(3.0, 0.0, id="best", marks=pytest.mark.slow),
    ],
)
def test_a_run_cut_at_its_base_goes_on_as_if_it_had_not(tmp_path: Path, rate: float, ema: float) -> None:
    settings = small_settings(tmp_path)
    run(settings, tmp_path / "base", max_steps=20)
    further = without(settings, "text", "model")
    changes = {"start": str(tmp_path / "base"), "learning_rate": rate, "ema": ema, "select": "loss"}
    run(further, tmp_path / "whole", **changes)

    def stop_before_the_base_is_saved(event: Event) -> None:
        if isinstance(event, Validated):
            raise KeyboardInterrupt

    for listener in (stop_before_the_base_is_saved, stop_after(1), stop_after(8)):
        with pytest.raises(KeyboardInterrupt):
            run(further, tmp_path / "cut", listener, **changes)
    run(further, tmp_path / "cut", **changes)
    assert_same_run(tmp_path / "cut", tmp_path / "whole")
    validated = [[one["step"] for one in logged(tmp_path / name, "validated")] for name in ("cut", "whole")]
    assert validated[0] == validated[1] == [0, 5, 10, 12]


def test_the_warm_up_of_fine_tuning_gives_way_to_what_is_given(tmp_path: Path) -> None:
    def warm_up(**given: Any) -> tuple[int, bool, float]:
        config = TrainConfig.model_validate(given)
        assert TrainConfig.model_validate(config.model_dump(mode="json")) == config
        return config.warmup, config.full_warmup, config.learning_rate

    assert warm_up() == (200, False, 8e-3)
    assert warm_up(start="base") == (100, True, 8e-3)
    assert warm_up(start="base", optimizer="adamw") == (100, True, 1e-3)
    assert warm_up(start="base", learning_rate=8e-3) == (200, False, 8e-3)
    assert warm_up(start="base", warmup=7) == (7, False, 8e-3)
    assert warm_up(start="base", full_warmup=False) == (100, False, 8e-3)
    assert warm_up(start="base", schedule="noam") == (200, False, 1.0)
    settings = small_settings(tmp_path)
    run(settings, tmp_path / "base")
    train = {"start": str(tmp_path / "base"), "max_steps": 4, "batch_tokens": 120}
    run({"data": settings["data"], "train": train}, tmp_path / "further")
    rates = [one["learning_rate"] for one in logged(tmp_path / "further", "step")]
    assert rates == pytest.approx([8e-3 * step / 100 * (5 - step) / 4 for step in (1, 2, 3, 4)])


def test_a_base_that_is_no_number_is_refused(tmp_path: Path) -> None:
    settings = small_settings(tmp_path)
    run(settings, tmp_path / "base", max_steps=2)
    directory = find_bundle(tmp_path / "base")
    stored = load_file(directory / WEIGHTS)
    for value, error, message in (
        (torch.nan, BundleError, "holds what is not a number"),
        (1e38, TrainError, "train.start = .*: its validation loss is nan; start from another model"),  # it overflows
    ):
        write_tensors(directory / WEIGHTS, {name: torch.full_like(weight, value) for name, weight in stored.items()})
        write_manifest(directory)
        with pytest.raises(error, match=message):
            run(without(settings, "text", "model"), tmp_path / "further", start=str(tmp_path / "base"))


def test_what_cannot_be_taken_over_is_refused(tmp_path: Path) -> None:
    settings = small_settings(tmp_path)
    base = tmp_path / "base"
    run(settings, base)
    plain = merged(without(settings, "text", "model"), {"train": {"start": str(base)}})

    def complaint(changes: dict[str, Any]) -> str:
        with pytest.raises(RegardError) as caught:
            run_settings(merged(plain, changes))
        return str(caught.value)

    where = f"training starts from {base}, where it is"
    assert complaint({"model": {"width": 128}}) == f"model.width = 128: {where} 16; leave it out"
    assert complaint({"model": {"preset": "base"}}) == f"model.preset = 'base': {where} 'tiny'; leave it out"
    assert (
        complaint({"model": {"kind": "recurrent"}}) == f"model.kind = 'recurrent': {where} 'transformer'; leave it out"
    )
    assert complaint({"text": {"kind": "char"}}) == f"text.kind = 'char': {where} 'bpe'; leave it out"
    assert complaint({"text": {"lowercase": True}}) == f"text.lowercase = True: {where} False; leave it out"
    assert complaint({"task": "forecast"}) == (
        f"train.start = '{base}': a model for task 'translate', which has nothing in common with one for 'forecast'; "
        "start from one for the same task"
    )
    assert complaint({"data": {"text": "book.txt"}}) == (
        f"train.start = '{base}': a model for task 'translate', which does not look at data.text; leave it out, "
        "or set task to 'generate' or 'pretrain'"
    )
    assert complaint({"task": "translate", "data": {"text": "book.txt"}}) == (
        "config: data.text has no meaning for task 'translate'; leave it out, or set task to 'generate' or 'pretrain'"
    )
    for task in ("translat", ["translate"]):
        assert (
            "'translate', 'generate', 'classify', 'classify_images', 'caption', 'forecast' or 'pretrain'"
            in complaint({"task": task})
        )
    with pytest.raises(ConfigError, match=r"model.width = 128: training starts from .* where it is 16; leave it out"):
        base_of(parse_settings({"task": "generate", "data": {"text": "book.txt"}, "train": {"start": str(base)}}))
    none = str(tmp_path / "none")
    assert complaint({"train": {"start": none}}).startswith(f"train.start: {none}: no such directory")


def test_what_the_base_was_trained_with_may_be_repeated(tmp_path: Path) -> None:
    settings = small_settings(tmp_path)
    run(settings, tmp_path / "base")
    start = {"train": {"start": str(tmp_path / "base")}}
    repeated = run_settings(merged(settings, start))
    assert (repeated.model.layers, repeated.text.dropout) == (1, 0.2)
    assert run_settings(merged(read_settings(tmp_path / "base" / "config.json"), start)) == repeated
    filled = run_settings(merged(without(settings, "text", "model"), merged(start, {"model": {"dropout": 0.5}})))
    assert filled.model == repeated.model.model_copy(update={"dropout": 0.5})
    assert filled.text.kind == repeated.text.kind


def test_a_sweep_of_runs_that_start_from_a_model_goes_on(tmp_path: Path) -> None:
    settings = small_settings(tmp_path)
    run(settings, tmp_path / "base")
    values = merged(without(settings, "text", "model"), {"train": {"start": str(tmp_path / "base"), "max_steps": 2}})
    [cell] = grid(values, ["train.seed=3"])
    [place] = places([cell], tmp_path / "cells")
    train_run(cell.config, place)
    assert places(grid(values, ["train.seed=3"]), tmp_path / "cells") == [place]
    assert is_done(place)


def test_a_way_to_align_is_kept(tmp_path: Path, other: dict[str, Any]) -> None:
    settings = small_settings(tmp_path)
    run(settings, tmp_path / "base")
    directory = find_bundle(tmp_path / "base")
    known = AlignmentConfig(heads=((0, 1),), links="both")
    rewrite_config(open_bundle(directory), read_config(directory).model_copy(update={"alignment": known}))
    run(other, tmp_path / "further", start=str(tmp_path / "base"), max_steps=1)
    assert read_config(find_bundle(tmp_path / "further")).alignment == known


def test_a_tagger_is_not_taken_for_a_classifier_of_texts(tmp_path: Path) -> None:
    (tmp_path / "tagged.tsv").write_text("they\tP\ncan\tV\n\n" * 10, encoding="utf-8")
    settings, _ = settings_of("classify", tmp_path)
    tagging = {**settings, "data": {"labelled": str(tmp_path / "tagged.tsv"), "labels_of": "token"}}
    run(tagging, tmp_path / "base")
    further = {"data": {"labelled": str(tmp_path / "tagged.tsv")}, "train": {"start": str(tmp_path / "base")}}
    assert run_settings(further).data.labels_of == "token"
    with pytest.raises(ConfigError, match=r"data.labels_of = 'text': training starts from .* where it is 'token'"):
        run_settings(merged(further, {"data": {"labels_of": "text"}}))


def test_a_counted_model_is_refused(tmp_path: Path) -> None:
    settings, further = settings_of("generate", tmp_path)
    run({**settings, "model": {"kind": "markov", "order": 1}}, tmp_path / "base")
    with pytest.raises(ConfigError, match="a model that was counted is not trained further"):
        run(further, tmp_path / "further", start=str(tmp_path / "base"))


def test_a_bag_of_words_keeps_its_labels(tmp_path: Path) -> None:
    settings, further = settings_of("classify", tmp_path)
    run({**settings, "model": {"kind": "bag"}}, tmp_path / "base")
    (tmp_path / "relabelled.tsv").write_text("fine\tgood\ndull\tsad\n" * 10, encoding="utf-8")
    with pytest.raises(ConfigError, match="tells bad, good apart, and the texts have the labels good, sad"):
        run(further, tmp_path / "further", start=str(tmp_path / "base"))
    assert not (tmp_path / "further").exists()
