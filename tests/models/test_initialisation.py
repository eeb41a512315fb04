"""Initial weights: each parameter has the distribution that format 1 gave it, by formula and beside stored initial tensors."""

import json
import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from regard.bundle.format1 import tensor_name
from regard.models.build import build_translator
from regard.models.config import RecurrentConfig, TransformerConfig

HOME = Path(__file__).parent.parent / "format1"
TRANSLATORS = sorted(path.parent.name for path in HOME.glob("translate-*/initial.safetensors"))


def xavier(rows: int, columns: int) -> float:
    """The standard deviation of Xavier's uniform distribution."""
    return math.sqrt(2.0 / (rows + columns))


def assert_drawn(tensor: Tensor, std: float, name: str) -> None:
    """Mean zero and this standard deviation, to five standard errors."""
    count = tensor.numel()
    assert abs(tensor.mean().item()) < 5.0 * std / math.sqrt(count), name
    assert tensor.std().item() == pytest.approx(std, rel=5.0 / math.sqrt(2.0 * count)), name


def test_a_transformer_by_formula() -> None:
    torch.manual_seed(0)
    config = TransformerConfig(
        layers=1, width=64, heads=2, feed_forward=96, positions="learned", score="additive", tie=False
    )
    network = build_translator(config, 300, 200, joint=False)
    for name, parameter in network.named_parameters():
        if "embedding" in name:
            assert not parameter[-1].any(), name  # pad
            assert_drawn(parameter[:-1], 64**-0.5, name)
        elif name == "output":
            assert_drawn(parameter, 64**-0.5, name)
        elif name.endswith("positions.table"):
            assert_drawn(parameter, 0.02, name)
        elif name.endswith("score.vector"):
            assert_drawn(parameter, 32**-0.5, name)
        elif parameter.dim() == 2:
            assert_drawn(parameter, xavier(*parameter.shape), name)
        else:
            assert torch.equal(parameter, torch.full_like(parameter, float(name.endswith("norm.weight")))), name


def test_scales_of_scores_and_biases_of_distance_begin_at_zero() -> None:
    for score, weight in (("cosine", "log_strength"), ("gaussian", "log_variance")):
        config = TransformerConfig(layers=1, width=16, heads=2, feed_forward=16, score=score, positions="relative")
        network = build_translator(config, 20, 20, joint=True)
        zero = [p for name, p in network.named_parameters() if name.endswith((weight, "_bias.table"))]
        assert len(zero) == 3 + 2
        assert not any(parameter.any() for parameter in zero)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("feeding", [True, False])
def test_a_recurrent_network_by_formula(cell: str, feeding: bool) -> None:
    torch.manual_seed(0)
    gates = {"rnn": 1, "gru": 3, "lstm": 4}[cell]
    config = RecurrentConfig(cell=cell, width=48, layers=2, input_feeding=feeding, tie=False)
    network = build_translator(config, 300, 200, joint=False)
    for name, parameter in network.named_parameters():
        gated = ".layers." in name or ".cell." in name or ".cells." in name
        if "embedding" in name or name == "output" or name.endswith("score.vector"):
            assert_drawn(parameter[:-1] if "embedding" in name else parameter, 48**-0.5, name)
        elif parameter.dim() == 2:
            for gate in parameter.chunk(gates if gated else 1):
                assert_drawn(gate, xavier(*gate.shape), name)
        else:
            expected = torch.zeros_like(parameter)
            if cell == "lstm" and gated and (".bias_ih" in name or name.endswith("hidden.bias")):
                expected.chunk(4)[1].fill_(1.0)
            assert torch.equal(parameter, expected), name


def test_convolutions_are_xaviers() -> None:
    torch.manual_seed(0)
    config = RecurrentConfig(encoder="convolutional", width=32, kernel=5)
    network = build_translator(config, 300, 200, joint=False)
    [convolution] = network.encoder.convolutions
    assert_drawn(convolution.weight, math.sqrt(2.0 / (5 * (32 + 64))), "convolution")
    assert not convolution.bias.any()


@pytest.mark.parametrize("name", TRANSLATORS)
def test_beside_the_initial_tensors_of_format_1(name: str) -> None:
    """The same names, and for each tensor the same spread; what was constant is equal."""
    torch.manual_seed(0)
    stored = {tensor_name(old): tensor for old, tensor in load_file(HOME / name / "initial.safetensors").items()}
    settings = json.loads((HOME / name / "config.json").read_text(encoding="utf-8"))["model"]
    kind = TransformerConfig if settings["kind"] == "transformer" else RecurrentConfig
    config = kind(**{name: value for name, value in settings.items() if name in kind.model_fields})
    source, target = stored["source.embedding.weight"], stored["target.embedding.weight"]
    network = build_translator(config, len(source), len(target), joint=torch.equal(source, target))
    tensors = network.state_dict()
    assert tensors.keys() == stored.keys()
    for key, before in stored.items():
        now = tensors[key]
        assert now.shape == before.shape
        if before.unique().numel() <= 2:
            assert torch.equal(now, before), key
        else:  # two draws of one distribution
            error = before.std().item() / math.sqrt(before.numel())
            assert now.std().item() == pytest.approx(before.std().item(), abs=6.0 * error), key
            assert abs((now.mean() - before.mean()).item()) < 8.0 * error, key
