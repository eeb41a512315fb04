"""The contract of trainable models: every weight has a gradient, one batch can be overfitted, and weights survive saving and loading.

Shapes: B batch, S source, T target, V outputs.
"""

import math
from pathlib import Path

import torch
from safetensors.torch import load_model, save_model
from torch import Tensor
from torch.nn import functional as F

from contracts.cases import PAD, ModelCase, prefixes, sources

STEPS = 200
LEARNT = 0.05


def batch() -> tuple[Tensor, Tensor, Tensor]:
    """Sources [B, S], decoder inputs [B, T] and expected outputs [B, T]: each source backwards, padded."""
    source = sources((5, 3, 4, 2))
    target = torch.full_like(source, PAD)
    for row, ids in enumerate(source):
        words = ids[(ids != PAD) & (ids != 0)].flip(0)
        target[row, : len(words)] = words
        target[row, len(words)] = 0
    shifted = torch.cat([torch.full((len(target), 1), PAD), target[:, :-1]], dim=1)
    return source, shifted, target


def loss_of(model, source: Tensor, target_in: Tensor, target: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.cross_entropy(model(source, target_in).transpose(1, 2), target, ignore_index=PAD)


def uncertainty(target: Tensor) -> float:
    """The mean loss of who knows the batch by heart but not which of its rows it is in: what went before is all that tells."""
    after: dict[tuple[int, ...], list[int]] = {}
    for row in target.tolist():
        for place, token in enumerate(row):
            if token != PAD:
                after.setdefault(tuple(row[:place]), []).append(token)
    surprises = [-math.log(some.count(token) / len(some)) for some in after.values() for token in some]
    return sum(surprises) / len(surprises)


def gradients_are_finite_and_reach_every_parameter(case: ModelCase, directory: Path) -> None:
    model = case.random().train()
    loss_of(model, *batch()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


def it_learns_one_batch_by_heart(case: ModelCase, directory: Path) -> None:
    model = case.fresh().train()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    data = batch()
    learnt = LEARNT if "reading" in case.capabilities else LEARNT + uncertainty(data[-1])
    losses = []
    while len(losses) < STEPS and (not losses or losses[-1] > learnt):
        optimiser.zero_grad()
        loss = loss_of(model, *data)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[0] > 1.0, "it must not know the batch to begin with"
    assert losses[-1] <= learnt


@torch.no_grad()
def weights_survive_a_file(case: ModelCase, directory: Path) -> None:
    model, other = case.random(seed=1), case.random(seed=2)
    source, target_in = sources(), prefixes(4, 1, 5)[:, 0]
    expected = model(source, target_in)
    assert not torch.equal(other(source, target_in), expected)
    save_model(model, str(directory / "model.safetensors"))
    load_model(other, str(directory / "model.safetensors"))
    assert torch.equal(other(source, target_in), expected)


CHECKS = (
    gradients_are_finite_and_reach_every_parameter,
    it_learns_one_batch_by_heart,
    weights_survive_a_file,
)
