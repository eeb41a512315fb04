"""The contract of classifiers of pictures: the batch changes nothing, every patch matters, every weight has a gradient, one batch can be
overfitted, and weights survive saving and loading.

Shapes: B pictures, C channels, H height, W width, L labels.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_model, save_model
from torch import Tensor
from torch.nn import functional as F

from contracts.cases import LABELS, Build, ModelCase
from regard.models.build import build_picture_classifier
from regard.models.config import VisionConfig

PICTURE_SIZE = (8, 12)
STEPS = 150
LEARNT = 0.05


def pictures(count: int = 4, seed: int = 2) -> Tensor:
    """Random pictures [B, C, H, W]."""
    return torch.randn(count, 2, *PICTURE_SIZE, generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
def a_picture_does_not_depend_on_its_batch(case: ModelCase, directory: Path) -> None:
    model, source = case.random(), pictures()
    expected = torch.cat([model(row[None]) for row in source])
    assert expected.std() > 0.1, "logits that are all alike would prove nothing"
    torch.testing.assert_close(model(source), expected, rtol=1e-4, atol=1e-5)
    order = torch.tensor([2, 0, 3])
    torch.testing.assert_close(model(source[order]), expected[order], rtol=1e-4, atol=1e-5)


@torch.no_grad()
def every_part_of_the_picture_matters(case: ModelCase, directory: Path) -> None:
    model, source = case.random(), pictures(1)
    before = model(source)
    for row in range(0, PICTURE_SIZE[0], 4):
        for column in range(0, PICTURE_SIZE[1], 4):
            other = source.clone()
            other[0, :, row : row + 4, column : column + 4] += 2.0
            assert (model(other) - before).abs().max() > 1e-4, (row, column)


@torch.no_grad()
def places_matter_if_it_has_positions(case: ModelCase, directory: Path) -> None:
    """Patches that change places change the result; without positions, of whole patches, they do not."""
    model, source = case.random(), pictures(1)
    turned = source.flip(2).unflatten(2, (-1, 4)).flip(3).flatten(2, 3)  # rows of patches from below, each upright
    same = torch.allclose(model(turned), model(source), atol=1e-4)
    assert same == ("placeless" in case.capabilities)


def loss_of(model: Any, source: Tensor) -> Tensor:
    return F.cross_entropy(model(source), torch.arange(len(source)) % LABELS)


def gradients_are_finite_and_reach_every_parameter(case: ModelCase, directory: Path) -> None:
    model = case.random().train()
    loss_of(model, pictures(6)).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


def it_learns_one_batch_by_heart(case: ModelCase, directory: Path) -> None:
    model, source = case.fresh().train(), pictures(6)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses: list[float] = []
    while len(losses) < STEPS and (not losses or losses[-1] > LEARNT):
        optimiser.zero_grad()
        loss = loss_of(model, source)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[0] > 0.5, "it must not know the batch to begin with"
    assert losses[-1] <= LEARNT


@torch.no_grad()
def weights_survive_a_file(case: ModelCase, directory: Path) -> None:
    model, other = case.random(seed=1), case.random(seed=2)
    expected = model(pictures())
    assert not torch.equal(other(pictures()), expected)
    save_model(model, str(directory / "model.safetensors"))
    load_model(other, str(directory / "model.safetensors"))
    assert torch.equal(other(pictures()), expected)


CHECKS = (
    a_picture_does_not_depend_on_its_batch,
    every_part_of_the_picture_matters,
    places_matter_if_it_has_positions,
    gradients_are_finite_and_reach_every_parameter,
    it_learns_one_batch_by_heart,
    weights_survive_a_file,
)


def _seeing() -> Iterator[ModelCase]:
    size: dict[str, Any] = {"layers": 2, "width": 16, "heads": 2, "feed_forward": 24, "dropout": 0.0}
    patches = {"tokenizer": "patches", "patch": 4}
    variants: dict[str, dict[str, Any]] = {
        "compact": {"convolution_width": 6},
        "plain-class-token": {**patches, "pooling": "class"},
        "plain-mean-sinusoidal": {**patches, "pooling": "mean", "positions": "sinusoidal", "norm_place": "pooled"},
        "post-norm-max": {**patches, "norm": "post", "pooling": "max"},
        "linear-attention": {**patches, "mixer": "linear", "pooling": "mean", "norm_kind": "rms"},
        "without-positions": {**patches, "positions": "none"},
    }
    for name, options in variants.items():
        config = VisionConfig(**{**size, **options})
        capabilities = {"seeing", *(["placeless"] if name == "without-positions" else ())}
        yield ModelCase(f"vision-{name}", _seer(config), frozenset(capabilities))


def _seer(config: VisionConfig) -> Build:
    return lambda vocabulary: build_picture_classifier(config, *PICTURE_SIZE, 2, LABELS)


SEEING: tuple[ModelCase, ...] = tuple(_seeing())
"""Classifiers of pictures."""
