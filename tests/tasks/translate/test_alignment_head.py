"""A head of attention that is trained towards given alignments: what it costs, whom the cost reaches, and that nothing else changes."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.bundle.config import AlignmentConfig
from regard.data.batches import Batch
from regard.data.examples import PairExamples
from regard.data.prepare import Prepared, prepare
from regard.errors import ConfigError
from regard.metrics.alignment import alignment_error_rate
from regard.models.build import build_translator
from regard.models.network import EncoderDecoder
from regard.settings import merged
from regard.tasks.aligned_head import AlignedHead
from regard.tasks.alignment_loss import AlignmentLoss
from regard.tasks.load import load_translator
from regard.tasks.settings import parse_settings
from regard.tasks.translate.objective import TranslateObjective
from regard.training.loss import batch_loss
from regard.training.objective import StepInfo
from regard.training.resume import resumed_job
from training.runs import EVERYTHING, assert_same_run, logged, run, steps, stop_after

CPU = torch.device("cpu")


@pytest.fixture
def aligned(settings: dict[str, Any], tmp_path: Path) -> dict[str, Any]:
    """The small run, whose targets are the sources backwards, with the links that say so."""
    lines = [" ".join(f"{word}-{i % 4 - word}" for word in range(1 + i % 4)) for i in range(120)]
    (tmp_path / "links").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return merged(settings, {"data": {"alignments": str(tmp_path / "links")}})


class Tiny:
    """Two layers in double precision without dropout, and batches with alignments."""

    def __init__(self, settings: dict[str, Any], home: Path, **model: Any) -> None:
        config = parse_settings(merged(settings, {"model": model}))
        self.prepared: Prepared = prepare(config.data, config.text, home / "corpora")
        sizes = len(self.prepared.tokenizers.source.vocabulary), len(self.prepared.tokenizers.target.vocabulary)
        torch.manual_seed(1)
        network = build_translator(config.model, *sizes, joint=self.prepared.tokenizers.joint)
        assert isinstance(network, EncoderDecoder)
        self.network = network.double().eval()

    def batch(self, *numbers: int, readings: int = 1) -> Batch:
        examples = PairExamples(self.prepared.train, self.prepared.tokenizers, links=self.prepared.train_links)
        return examples.batch(numbers, 1, 0, readings)

    def head(self, batch: Batch, layer: int = 0) -> Tensor:
        head = AlignmentLoss(AlignedHead(layer, shift=True))
        probe = head.probe()
        self.network.hidden(batch.source, batch.target_in.repeat(len(batch.source) // len(batch.target_in), 1), probe)
        return head.of(probe, batch)


def test_the_cost_reaches_one_head_and_what_is_below_it(aligned: dict[str, Any], tmp_path: Path) -> None:
    tiny = Tiny(aligned, tmp_path, layers=3)
    batch = tiny.batch(*range(8))
    tiny.head(batch, layer=1).backward()
    gradients = {name: value.grad for name, value in tiny.network.named_parameters() if value.grad is not None}
    for side in ("query", "key"):
        first, second = gradients[f"decoder.1.cross.{side}.weight"].chunk(2)
        assert first.abs().max() > 1e-6
        assert second.abs().max() == 0.0
    assert gradients["decoder.0.cross.value.weight"].abs().max() > 1e-8
    assert gradients["encoder.0.mixer.value.weight"].abs().max() > 1e-8
    untouched = ("decoder.1.cross.value.", "decoder.1.cross.output.", "decoder.2.mixer.")
    assert all(
        name not in gradients or gradients[name].abs().max() == 0.0
        for name, _ in tiny.network.named_parameters()
        if name.startswith(untouched)
    )


@pytest.mark.parametrize("kind", ["transformer", "recurrent", "prefix"])
def test_padding_and_a_second_reading_change_nothing(aligned: dict[str, Any], tmp_path: Path, kind: str) -> None:
    if kind == "recurrent":
        aligned["model"] = {"kind": "recurrent", "width": 16}
    elif kind == "prefix":
        aligned = merged(aligned, {"model": {"kind": kind}, "text": {"joint": True}})
    tiny = Tiny(aligned, tmp_path)
    lengths = tiny.prepared.train.source_lengths
    short, long = int(lengths.argmin()), int(lengths.argmax())
    assert lengths[short] < lengths[long]
    alone = [tiny.head(tiny.batch(number)) for number in (short, long)]
    assert all(cost > 0.0 for cost in alone)
    torch.testing.assert_close(tiny.head(tiny.batch(short, long)), alone[0] + alone[1])
    torch.testing.assert_close(tiny.head(tiny.batch(short, long, readings=2)), alone[0] + alone[1])


def test_looking_on_changes_neither_the_loss_nor_its_gradient(aligned: dict[str, Any], tmp_path: Path) -> None:
    tiny = Tiny(aligned, tmp_path, layers=2)
    batch, parameters = tiny.batch(*range(8)), list(tiny.network.parameters())
    found = []
    for probe in (None, AlignmentLoss(AlignedHead(0, shift=True)).probe()):
        loss, nll = batch_loss(tiny.network, batch, 0.1, CPU, probe=probe)
        found.append((loss, nll, *torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True)))
    torch.testing.assert_close(found[0], found[1])


@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
def test_the_gradients_of_two_are_those_of_one(aligned: dict[str, Any], tmp_path: Path, kind: str) -> None:
    """In double precision, with sentences that have more links on one side of the cut than on the other."""
    model = {"dropout": 0.0} if kind == "transformer" else {"kind": "recurrent", "width": 16, "dropout": 0.0}
    config = parse_settings({**aligned, "model": {**aligned["model"], **model} if kind == "transformer" else model})
    prepared = prepare(config.data, config.text, tmp_path / "corpora")
    found = []
    try:
        for workers in (1, 2):
            torch.set_num_threads(workers)
            job, _ = resumed_job(config, tmp_path / str(workers), TranslateObjective(config, prepared), CPU)
            assert job.workers == workers
            job.network.double()
            with job.team() as team:
                sums = team.gradient(StepInfo(0, 0, 1), [np.array([0, 1, 2, 7, 11, 30])])
                team.norm()
                found.append((sums, [p.grad.clone() for p in job.network.parameters() if p.grad is not None]))
    finally:
        torch.set_num_threads(1)
    (alone, expected), (together, gradients) = found
    assert alone.parts["alignment"] > 0.0
    assert together.tokens == alone.tokens
    assert together.parts["alignment"] == pytest.approx(alone.parts["alignment"], rel=1e-12)
    assert together.loss == pytest.approx(alone.loss, rel=1e-12)
    for mine, theirs in zip(gradients, expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-9)


def test_without_weight_all_is_as_without_alignments(
    settings: dict[str, Any], aligned: dict[str, Any], tmp_path: Path
) -> None:
    run(settings, tmp_path / "none")
    run(aligned, tmp_path / "off", alignment_weight=0.0)
    assert_same_run(tmp_path / "off", tmp_path / "none")
    assert not any("alignment" in step for step in logged(tmp_path / "off", "step"))
    assert load_translator(tmp_path / "off", CPU, engine="torch").alignment == AlignmentConfig()


def test_a_run_logs_it_remembers_it_and_resumes_to_the_last_bit(aligned: dict[str, Any], tmp_path: Path) -> None:
    run(aligned, tmp_path / "straight", alignment_weight=0.5, **EVERYTHING)
    with pytest.raises(KeyboardInterrupt):
        run(aligned, tmp_path / "broken", stop_after(7), alignment_weight=0.5, **EVERYTHING)
    run(aligned, tmp_path / "broken", alignment_weight=0.5, **EVERYTHING)
    assert_same_run(tmp_path / "broken", tmp_path / "straight")
    costs = [step["alignment"] for step in logged(tmp_path / "straight", "step")]
    assert costs == [step["alignment"] for step in logged(tmp_path / "broken", "step")]
    assert all(math.isfinite(cost) and cost > 0.0 for cost in costs)
    model = load_translator(tmp_path / "straight", CPU, engine="torch")
    assert model.alignment == AlignmentConfig(heads=((0, 0),), shift=True)
    run(aligned, tmp_path / "lighter", alignment_weight=0.25, **EVERYTHING)
    assert steps(tmp_path / "lighter") != steps(tmp_path / "straight")


@pytest.mark.parametrize(
    ("changes", "head"),
    [
        ({"model": {"layers": 4}}, (2, True)),
        ({"model": {"layers": 1}}, (0, True)),
        ({"model": {"layers": 4, "decoder_layers": 6}}, (4, True)),
        ({"model": {"layers": 4}, "train": {"alignment_layer": 3}}, (3, True)),
        ({"model": {"layers": 4}, "train": {"alignment_weight": 0}}, None),
        ({"model": {"layers": 4}, "data": {"alignments": None}}, None),
        ({"model": {"kind": "recurrent", "layers": 3}}, (0, False)),
        ({"model": {"kind": "prefix", "layers": 3}}, (1, True)),
    ],
)
def test_which_head(changes: dict[str, Any], head: tuple[int, bool] | None) -> None:
    assert parse_settings(merged({"data": {"alignments": "gold"}}, changes)).aligned_head == head


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"train": {"alignment_layer": 1}}, "train.alignment_layer 1 is for data.alignments; give them"),
        ({"train": {"alignment_weight": 1.0}}, "train.alignment_weight 1.0 is for data.alignments; give them"),
        (
            {"data": {"alignments": "gold"}, "train": {"alignment_layer": 1, "alignment_weight": 0}},
            "train.alignment_layer 1 has no meaning with train.alignment_weight 0",
        ),
        (
            {"data": {"alignments": "gold"}, "train": {"alignment_layer": 4}},
            "train.alignment_layer 4 is not among the 4 decoder layers that attend",
        ),
        (
            {"data": {"alignments": "gold"}, "model": {"kind": "recurrent", "attention": False}},
            "data.alignments train attention, of which this model has none",
        ),
        ({"task": "generate", "data": {"text": "a", "alignments": "b", "src": "c", "tgt": "d"}}, "has no meaning"),
    ],
)
def test_settings_that_do_not_fit(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_settings(values)
    assert message in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "share"), [("transformer", 0.5), ("recurrent", 0.85)])
def test_the_head_learns_to_align(tmp_path: Path, kind: str, share: float) -> None:
    """On sentences that it was not trained on, beside the same head of a model that was not told of alignments."""
    settings = {
        "data": {"pocket": 1000, "alignments": "gold"},
        "text": {"kind": "word"},
        "model": {"layers": 2, "width": 48, "heads": 4, "feed_forward": 96, "dropout": 0.0},
        "train": {"max_steps": 150, "validate_every": 1000, "save_every": 1000, "warmup": 20},
    }
    if kind == "recurrent":
        settings["model"] = {"kind": kind, "layers": 1, "width": 48, "dropout": 0.0}
    error_rates = {}
    for weight in (0.5, 0.0):
        trained, _ = run(settings, tmp_path / str(weight), alignment_weight=weight)
        assert isinstance(trained.objective, TranslateObjective)
        pairs, gold = trained.objective.prepared.test_pairs, trained.objective.prepared.test_alignments
        assert pairs is not None
        assert gold is not None
        model = load_translator(tmp_path / str(weight), CPU, engine="torch")
        head = AlignmentConfig(heads=((0, 0),), shift=kind == "transformer")
        found = model.align([source for source, _ in pairs], [target for _, target in pairs], settings=head)
        error_rates[weight] = alignment_error_rate([frozenset(one.links) for one in found], gold).aer
        if weight:
            assert trained.metrics is not None
            assert trained.metrics["aer"] == pytest.approx(error_rates[weight])
    assert error_rates[0.5] < share * error_rates[0.0], error_rates
