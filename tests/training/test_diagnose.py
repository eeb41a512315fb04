"""Gradients, weights and updates by part of the network: by hand, against the optimisers, and without a trace in what is trained."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from regard.models.build import build_translator
from regard.models.config import RecurrentConfig, TransformerConfig
from regard.settings import merged
from regard.tasks.run import train_run
from regard.tasks.settings import parse_settings
from regard.training.config import TrainConfig
from regard.training.diagnose import Diagnosis, parts
from regard.training.events import Diagnosed, Event, Step
from regard.training.optimizer import Optimizer

SIZES = TransformerConfig(layers=2, width=16, heads=2, feed_forward=32, dropout=0.0)
DECODER_BLOCK = ("mixer", "cross", "feed_forward")


class Toy(nn.Module):
    """Numbers that floats hold exactly: a table of (3, 4), a sublayer of (6, 8) and its norm of (0)."""

    def __init__(self) -> None:
        super().__init__()
        self.output = nn.Parameter(torch.tensor([3.0, 4.0]))
        block = nn.Module()
        block.mixer = nn.Module()
        block.mixer.weight = nn.Parameter(torch.tensor([6.0, 8.0]))
        block.around_mixer = nn.Module()
        block.around_mixer.norm = nn.Parameter(torch.tensor([0.0]))
        self.encoder = nn.ModuleList([block])
        self.encoder_bias = nn.Parameter(torch.zeros(1))

    def give_gradients(self) -> None:
        self.output.grad = torch.tensor([8.0, 6.0])
        self.encoder[0].mixer.weight.grad = torch.tensor([2.0, 4.0])  # type: ignore[union-attr]
        self.encoder[0].around_mixer.norm.grad = torch.tensor([4.0])  # type: ignore[union-attr]
        self.encoder_bias.grad = torch.tensor([2.0])


def step(network: nn.Module, optimizer: Optimizer, rate: float, clip: float = math.inf) -> Diagnosis:
    """What the loop does between the backward pass and the event."""
    diagnosis = Diagnosis(network)
    torch.nn.utils.clip_grad_norm_(network.parameters(), clip)
    optimizer.step(rate)
    return diagnosis


def backward(network: nn.Module) -> None:
    network.zero_grad()
    torch.manual_seed(3)
    network(torch.randint(1, 19, (4, 6)), torch.randint(1, 19, (4, 5))).logsumexp(-1).sum().backward()


def test_sgd_by_hand() -> None:
    """The update is the rate times the gradient, exactly: an eighth of lengths 2, 6 and 10."""
    network = Toy()
    optimizer = Optimizer(network, TrainConfig(optimizer="sgd", momentum=0.0))
    network.give_gradients()
    norms = step(network, optimizer, rate=0.125).norms()
    assert [(part.name, part.gradient, part.weight, part.update, part.ratio) for part in norms] == [
        ("encoder_bias", 2.0, 0.0, 0.25, math.inf),
        ("encoder.0.mixer", 6.0, 10.0, 0.75, 0.075),
        ("output", 10.0, 5.0, 1.25, 0.25),
    ]


def test_momentum_and_decay_count_as_update() -> None:
    """The second step moves by rate (g + m g + decay w): 1/8 (1 + 1/2) g without decay, and 1/8 of 1/4 w without gradient."""
    network = Toy()
    optimizer = Optimizer(network, TrainConfig(optimizer="sgd", momentum=0.5))
    for _ in range(2):
        network.give_gradients()
        norms = step(network, optimizer, rate=0.125).norms()
    assert norms[-1].update == 1.25 * 1.5

    network = Toy()
    optimizer = Optimizer(network, TrainConfig(optimizer="sgd", momentum=0.0, weight_decay=0.25))
    for parameter in network.parameters():
        parameter.grad = torch.zeros_like(parameter)
    norms = step(network, optimizer, rate=0.125).norms()
    lengths = [(part.gradient, part.update, part.ratio) for part in norms]
    assert lengths[1:] == [(0.0, 0.3125, 1 / 32), (0.0, 0.15625, 1 / 32)]


def test_gradients_are_those_before_clipping() -> None:
    network = Toy()
    optimizer = Optimizer(network, TrainConfig(optimizer="sgd", momentum=0.0))
    network.give_gradients()
    norms = step(network, optimizer, rate=1.0, clip=1.0).norms()
    assert [part.gradient for part in norms] == [2.0, 6.0, 10.0]
    assert math.hypot(*(part.update for part in norms)) == pytest.approx(1.0, rel=1e-5)


def test_a_parameter_without_a_gradient_counts_as_zero() -> None:
    network = Toy()
    norms = step(network, Optimizer(network, TrainConfig(optimizer="sgd")), rate=1.0).norms()
    assert [(part.gradient, part.update) for part in norms] == [(0.0, 0.0)] * 3


def test_adam_moves_every_number_by_the_rate_at_first() -> None:
    """Kingma and Ba 2015: the first step is g / |g|, so the update of n numbers has length rate sqrt(n), whatever the gradient."""
    network = build_translator(SIZES, 20, 20, joint=True)
    optimizer = Optimizer(network, TrainConfig(optimizer="adam"))
    backward(network)
    norms = {part.name: part for part in step(network, optimizer, rate=1e-3).norms()}
    moved = sum(int((p.grad.abs() > 1e-6).sum()) for p in parts(network)["decoder.1.feed_forward"])
    assert norms["decoder.1.feed_forward"].update == pytest.approx(1e-3 * moved**0.5, rel=1e-2)


def test_muon_moves_a_matrix_by_its_shape() -> None:
    """The update is 0.2 sqrt(longer side) times an orthogonal matrix, whose 4 singular values are near 1: the gradient's size is gone."""
    network = nn.ModuleDict({"up": nn.Linear(9, 4, bias=False)})
    optimizer = Optimizer(network, TrainConfig(optimizer="muon"))
    torch.manual_seed(0)
    network["up"].weight.grad = 1e3 * torch.randn(4, 9)
    [part] = step(network, optimizer, rate=1e-3).norms()
    assert part.gradient > 1e3
    assert 0.7 < part.update / (1e-3 * 0.2 * 9**0.5 * 4**0.5) < 1.2


@pytest.mark.parametrize("kind", ["muon", "adamw", "adam", "sgd"])
def test_every_optimiser_against_the_weights_themselves(kind: str) -> None:
    """The numbers equal those of one long vector, taken by plain subtraction; the parts make up the whole."""
    network = build_translator(SIZES, 20, 20, joint=False)
    optimizer = Optimizer(network, TrainConfig(optimizer=kind, weight_decay=0.01))
    for _ in range(3):
        backward(network)
        before = {name: parameter.detach().clone() for name, parameter in network.named_parameters()}
        gradients = {name: parameter.grad.clone() for name, parameter in network.named_parameters()}
        norms = {part.name: part for part in step(network, optimizer, rate=1e-2, clip=1.0).norms()}
    after = dict(network.named_parameters())
    for part, prefixes in {
        "encoder.1.mixer": ("encoder.1.mixer.", "encoder.1.around_mixer."),
        "source.embedding": ("source.embedding.",),
        "decoder.1.feed_forward": ("decoder.1.feed_forward.", "decoder.1.around_feed_forward.", "decoder_norm."),
    }.items():
        names = [name for name in before if name.startswith(prefixes)]
        assert norms[part].gradient == pytest.approx(_length([gradients[name] for name in names]), rel=1e-5)
        assert norms[part].weight == pytest.approx(_length([before[name] for name in names]), rel=1e-5)
        moved = _length([after[name] - before[name] for name in names])
        assert norms[part].update == pytest.approx(moved, rel=1e-5)
        assert norms[part].ratio == pytest.approx(moved / norms[part].weight, rel=1e-5)
    whole = math.hypot(*(part.update for part in norms.values()))
    assert whole == pytest.approx(_length([after[name] - before[name] for name in before]), rel=1e-5)


def test_parts_from_input_to_output() -> None:
    blocks = [f"encoder.{n}.{what}" for n in (0, 1) for what in ("mixer", "feed_forward")]
    others = [f"decoder.{n}.{what}" for n in (0, 1) for what in DECODER_BLOCK]
    tied = parts(build_translator(SIZES, 20, 20, joint=True))
    assert list(tied) == ["embedding", *blocks, *others]
    config = {"tie": False, "positions": "learned", "max_positions": 8, "norm": "post"}
    free = parts(build_translator(SIZES.model_copy(update=config), 20, 30, joint=False))
    source, target = ["source.embedding", "source.positions"], ["target.embedding", "target.positions"]
    assert list(free) == [*source, *blocks, *target, *others, "output"]
    biased = parts(build_translator(SIZES.model_copy(update={"positions": "relative"}), 20, 30, joint=False))
    assert list(biased)[:2] == ["source.embedding", "encoder_bias"]


def test_parts_of_a_recurrent_network() -> None:
    """By layer, whatever reads or writes: attention of the last state stands before the layer that it feeds."""
    ends = ["target.embedding", "decoder.attention", "decoder.0", "decoder.1", "decoder.2", "decoder.readout", "output"]
    for changes in ({}, {"input_feeding": True}, {"cell": "gru", "bidirectional": False}, {"encoder": "convolutional"}):
        sizes = RecurrentConfig(width=8, layers=2, decoder_layers=3, tie=False, **changes)
        network = build_translator(sizes, 20, 30, joint=False)
        widened = ["encoder.widen"] if changes.get("encoder") else []
        assert list(parts(network)) == ["source.embedding", *widened, "encoder.0", "encoder.1", "bridge", *ends]
    plain = build_translator(RecurrentConfig(width=8, layers=2, attention=False, tie=False), 20, 30, joint=False)
    assert list(parts(plain))[1:3] == ["encoder.0", "encoder.1"]
    assert list(parts(plain))[-4:] == ["decoder.0", "decoder.1", "decoder.readout", "output"]


def test_a_recurrent_layer_holds_its_own_weights() -> None:
    network = build_translator(RecurrentConfig(width=8, layers=2, tie=False), 20, 30, joint=False)
    named = {parameter: name for name, parameter in network.named_parameters()}
    held = {part: sorted(named[p] for p in parameters) for part, parameters in parts(network).items()}
    tensors = [f"{kind}_{of}" for kind in ("bias", "weight") for of in ("hh", "ih")]
    assert held["encoder.1"] == sorted(f"encoder.stack.layers.{t}_l1{way}" for t in tensors for way in ("", "_reverse"))
    assert held["decoder.0"] == [f"decoder.cell.{name}" for name in ("hidden.bias", "hidden.weight", "inputs.weight")]
    assert held["decoder.1"] == sorted(f"decoder.above.layers.{name}_l0" for name in tensors)


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("sizes", [SIZES, RecurrentConfig(width=8, layers=3)], ids=["transformer", "recurrent"])
def test_every_parameter_has_one_part(joint: bool, sizes: TransformerConfig | RecurrentConfig) -> None:
    network = build_translator(sizes, 20, 20, joint=joint)
    found = [parameter for parameters in parts(network).values() for parameter in parameters]
    assert len(found) == len(set(found))
    assert set(found) == set(network.parameters())


def test_parts_of_a_deep_stack_are_counted_and_not_spelled() -> None:
    network = build_translator(SIZES.model_copy(update={"layers": 11}), 20, 20, joint=True)
    numbers = [int(part.split(".")[1]) for part in parts(network) if part.startswith("encoder.")]
    assert numbers == sorted(numbers)


def test_what_is_not_known_comes_last_in_its_own_order() -> None:
    network = nn.ModuleDict({"zeta": nn.Linear(2, 2), "output": nn.Linear(2, 2), "alpha": nn.Linear(2, 2)})
    assert list(parts(network)) == ["output", "zeta", "alpha"]


@pytest.mark.parametrize("kind", ["muon", "adamw", "adam", "sgd"])
def test_a_diagnosed_run_trains_the_same_weights(settings: dict[str, Any], tmp_path: Path, kind: str) -> None:
    def run(name: str, every: int) -> list[Event]:
        events: list[Event] = []
        changes = {"train": {"diagnose_every": every, "optimizer": kind, "max_steps": 7, "clip": 0.5}}
        train_run(parse_settings(merged(settings, changes)), tmp_path / name, [events.append])
        return events

    assert not [event for event in run("off", 0) if isinstance(event, Diagnosed)]
    events = run("on", 3)
    found = [event for event in events if isinstance(event, Diagnosed)]
    steps = {event.step: event for event in events if isinstance(event, Step)}
    assert [event.step for event in found] == [3, 6]
    for event in found:  # the length of all parts together is what the step itself tells
        together = math.hypot(*(part.gradient for part in event.parts))
        assert together == pytest.approx(steps[event.step].gradient_norm, rel=1e-5)
    for name in ("model.safetensors", "optimiser.safetensors"):
        on, off = (load_file(tmp_path / which / "checkpoints/step-00000007" / name) for which in ("on", "off"))
        assert on.keys() == off.keys()
        assert all(torch.equal(on[key], off[key]) for key in on)


def test_the_log_and_tensorboard_hold_the_numbers(settings: dict[str, Any], tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events: list[Event] = []
    changes = {"train": {"diagnose_every": 4}, "model": {"positions": "relative"}}
    train_run(parse_settings(merged(settings, changes)), tmp_path / "run", [events.append])
    told = [event.to_json() for event in events if isinstance(event, Diagnosed)]
    lines = (tmp_path / "run/log.jsonl").read_text(encoding="utf-8").splitlines()
    logged = [record for record in map(json.loads, lines) if record["event"] == "diagnosed"]
    assert [record["step"] for record in logged] == [4, 8, 12]
    assert logged == json.loads(json.dumps(told))
    assert logged[0]["parts"][0].keys() == {"name", "gradient", "weight", "update", "ratio"}
    board = accumulator.EventAccumulator(str(tmp_path / "run/tensorboard"))
    board.Reload()
    for number, part in enumerate(logged[0]["parts"]):
        for tag, field in {"gradient_norm": "gradient", "weight_norm": "weight", "update_ratio": "ratio"}.items():
            written = [scalar.value for scalar in board.Scalars(f"{tag}/{part['name']}")]
            assert written == pytest.approx([record["parts"][number][field] for record in logged], rel=1e-6)


def test_a_zero_table_is_logged_without_a_ratio(settings: dict[str, Any], tmp_path: Path) -> None:
    """Relative positions begin at zero: no number says how far they moved for their size, and JSON holds null."""
    changes = {"train": {"diagnose_every": 1, "max_steps": 2}, "model": {"positions": "relative"}}
    train_run(parse_settings(merged(settings, changes)), tmp_path / "run")
    lines = (tmp_path / "run/log.jsonl").read_text(encoding="utf-8").splitlines()
    first, second = [record["parts"] for record in map(json.loads, lines) if record["event"] == "diagnosed"]
    ratios = [{part["name"]: part["ratio"] for part in parts}["encoder_bias"] for parts in (first, second)]
    assert ratios[0] is None
    assert ratios[1] > 0.0


def _length(tensors: list[torch.Tensor]) -> float:
    return torch.cat([tensor.detach().flatten() for tensor in tensors]).double().norm().item()
