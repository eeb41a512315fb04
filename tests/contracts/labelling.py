"""The contract of classifiers, taggers and masked language models: padding and the batch change nothing, every weight has a gradient, one
batch can be overfitted, and weights survive saving and loading.

Shapes: B texts, S tokens with the end mark, L labels.
"""

from pathlib import Path

import torch
from safetensors.torch import load_model, save_model
from torch import Tensor
from torch.nn import functional as F

from contracts.cases import LABELS, PAD, ModelCase, sources

TOLERANCE = {"rtol": 1e-5, "atol": 1e-5}
STEPS = 200
LEARNT = 0.05


def alone(model, source: Tensor) -> list[Tensor]:  # type: ignore[no-untyped-def]
    """The logits of each text, one at a time and without any padding: [L], of a tagger [S, L]."""
    return [model(row[row != PAD][None])[0] for row in source]


def assert_same(found: Tensor, expected: list[Tensor]) -> None:
    """Equal wherever there is a text; what a tagger says of padding is nobody's."""
    for row, logits in zip(found, expected, strict=True):
        torch.testing.assert_close(row if logits.dim() == 1 else row[: len(logits)], logits, **TOLERANCE)


@torch.no_grad()
def a_text_does_not_depend_on_its_batch(case: ModelCase, directory: Path) -> None:
    model, source = case.random(), sources()
    expected = alone(model, source)
    assert torch.cat(expected).std() > 0.1, "logits that are all alike would prove nothing"
    assert_same(model(source), expected)
    order = torch.tensor([2, 0, 3])
    assert_same(model(source[order]), [expected[row] for row in order.tolist()])


@torch.no_grad()
def padding_changes_nothing(case: ModelCase, directory: Path) -> None:
    model, source = case.random(), sources()
    more = torch.cat([source, torch.full((len(source), 4), PAD)], dim=1)
    assert_same(model(more), alone(model, source))


@torch.no_grad()
def every_token_matters(case: ModelCase, directory: Path) -> None:
    """Without this, ignoring the text would pass for independence of the batch."""
    model, source = case.random(), sources((5,))
    before = model(source)
    for place in range(5):
        other = source.clone()
        other[0, place] = 1 + other[0, place] % (PAD - 1)  # another token, neither end nor pad
        assert (model(other) - before).abs().max() > 1e-3, place


@torch.no_grad()
def the_order_matters(case: ModelCase, directory: Path) -> None:
    model = case.random()
    one, other = torch.tensor([[3, 7, 2, 9, 0]]), torch.tensor([[9, 2, 7, 3, 0]])
    assert (model(one) - model(other)).abs().max() > 1e-3


def batch(case: ModelCase) -> tuple[Tensor, Tensor]:
    """Texts [B, S] and their labels: [B], of a tagger [B, S], with -100 on padding."""
    source = sources((5, 3, 4, 2, 6, 1), seed=5)
    if "tagging" in case.capabilities:
        return source, (source % LABELS).masked_fill(source == PAD, -100)
    return source, torch.tensor([0, 1, 2, 0, 1, 2])


def loss_of(model, source: Tensor, labels: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.cross_entropy(model(source).flatten(0, -2), labels.flatten())


def gradients_are_finite_and_reach_every_parameter(case: ModelCase, directory: Path) -> None:
    model = case.random().train()
    loss_of(model, *batch(case)).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


def it_learns_one_batch_by_heart(case: ModelCase, directory: Path) -> None:
    model, data = case.fresh().train(), batch(case)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-2)
    losses: list[float] = []
    while len(losses) < STEPS and (not losses or losses[-1] > LEARNT):
        optimiser.zero_grad()
        loss = loss_of(model, *data)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[0] > 0.5, "it must not know the batch to begin with"
    assert losses[-1] <= LEARNT


@torch.no_grad()
def weights_survive_a_file(case: ModelCase, directory: Path) -> None:
    model, other = case.random(seed=1), case.random(seed=2)
    expected = model(sources())
    assert not torch.equal(other(sources()), expected)
    save_model(model, str(directory / "model.safetensors"))
    load_model(other, str(directory / "model.safetensors"))
    assert torch.equal(other(sources()), expected)


CHECKS = (
    a_text_does_not_depend_on_its_batch,
    padding_changes_nothing,
    every_token_matters,
    gradients_are_finite_and_reach_every_parameter,
    it_learns_one_batch_by_heart,
    weights_survive_a_file,
)
ORDER_CHECKS = (the_order_matters,)
