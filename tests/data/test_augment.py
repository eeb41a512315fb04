"""Augmentation: by counter, so that a batch is the same whoever makes it; each change by hand; pictures and labels mixed alike."""

from pathlib import Path

import numpy as np
import pytest
import torch

from picture_files import bars
from regard.data.augment import OPERATIONS, augmented, blanked, draw
from regard.data.augment_config import AugmentConfig
from regard.data.config import ImageData
from regard.data.image_examples import ImageExamples
from regard.data.images import ImageCorpus, prepare_images

EVERYTHING = AugmentConfig(shift=2, flip=True, crop=0.3, operations=2, magnitude=0.7, mixup=0.4, cutout=3)
PICTURES = np.random.default_rng(5).integers(0, 256, (6, 7, 9, 3), dtype=np.uint8)


def draws(config: AugmentConfig, **values: float) -> np.ndarray:
    """Random numbers of six pictures that leave everything as it is, but for those given by their place."""
    table = np.full((6, config.draws), 0.5)
    table[:, 2] = 0.9  # not mirrored
    table[:, 3] = 0.0  # nothing cut away
    for place, value in values.items():
        table[:, int(place[1:])] = value
    return table


@pytest.fixture
def corpus(tmp_path: Path) -> ImageCorpus:
    pictures, labels = bars(40)
    np.savez(tmp_path / "a.npz", images=pictures, labels=labels)
    return prepare_images(ImageData(images=str(tmp_path / "a.npz")), tmp_path / "cache").train


def examples(corpus: ImageCorpus, config: AugmentConfig | None = EVERYTHING) -> ImageExamples:
    return ImageExamples(corpus, 3, 16, (0.4,), (0.2,), config)


def test_a_picture_does_not_depend_on_its_batch(corpus: ImageCorpus) -> None:
    made = examples(corpus)
    whole = made.batch([3, 11, 7, 20], seed=1, epoch=2)
    part = made.batch([7], seed=1, epoch=2)
    assert torch.equal(part.source[0], whole.source[2])
    assert whole.mixture is not None
    assert part.mixture is not None
    assert torch.equal(part.mixture[0], whole.mixture[2])
    assert not torch.equal(made.batch([7], seed=1, epoch=3).source, part.source)
    assert not torch.equal(made.batch([7], seed=2, epoch=2).source, part.source)


def test_two_readings_are_two_versions(corpus: ImageCorpus) -> None:
    both = examples(corpus).batch([4, 5], seed=1, epoch=0, readings=2).source
    assert both.shape == (4, 1, 8, 8)
    assert not torch.equal(both[:2], both[2:])


def test_an_epoch_has_every_picture_once_and_its_parts_are_even(corpus: ImageCorpus) -> None:
    made = examples(corpus)
    batches = made.plan(16 * 10, seed=1, epoch=0)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(corpus)))
    assert {len(batch) for batch in batches[:-1]} == {10}
    assert [len(part) for part in made.split(batches[0], 3, 1, 0)] == [4, 3, 3]
    again = made.plan(16 * 10, seed=1, epoch=1)
    assert not all(np.array_equal(one, other) for one, other in zip(batches, again, strict=True))


def test_a_mixture_is_the_mean_of_pictures_and_of_labels(corpus: ImageCorpus) -> None:
    config = AugmentConfig(shift=0, mixup=1.0)
    batch = examples(corpus, config).batch([2], seed=3, epoch=0)
    found = draw(config, 3, 0, np.array([2]))
    other, share = int(found.partner[0] * len(corpus)), float(found.share[0])
    plain = examples(corpus, None).batch([2, other], seed=0, epoch=0)
    torch.testing.assert_close(batch.source[0], share * plain.source[0] + (1 - share) * plain.source[1])
    expected = torch.zeros(3)
    expected[plain.target_out[0]] += share
    expected[plain.target_out[1]] += 1 - share
    assert batch.mixture is not None
    torch.testing.assert_close(batch.mixture[0], expected)
    assert 0.5 <= share <= 1.0


def test_without_augmentation_pixels_are_normalised(corpus: ImageCorpus) -> None:
    batch = examples(corpus, None).batch([5], seed=0, epoch=0)
    expected = (corpus.pixels[5, :, :, 0] / 255.0 - 0.4) / 0.2
    np.testing.assert_allclose(batch.source[0, 0].numpy(), expected, rtol=1e-5, atol=1e-5)
    assert batch.mixture is None


def test_nothing_drawn_changes_nothing() -> None:
    for config in (AugmentConfig(shift=0), AugmentConfig(shift=0, crop=0.5), AugmentConfig(shift=2, flip=True)):
        assert (augmented(config, PICTURES, draws(config)) == PICTURES).all(), config


@pytest.mark.parametrize("interpolated", [False, True])
def test_shift_and_flip_by_hand(interpolated: bool) -> None:
    config = AugmentConfig(
        shift=2, flip=True, crop=0.5 if interpolated else 0.0
    )  # a crop is interpolated, one of nothing exactly
    right = augmented(config, PICTURES, draws(config, _0=0.999, _1=0.5))
    assert (right[:, :, 2:] == PICTURES[:, :, :-2]).all()
    assert (right[:, :, :2] == 0).all()
    up = augmented(config, PICTURES, draws(config, _0=0.5, _1=0.0))
    assert (up[:, :-2] == PICTURES[:, 2:]).all()
    assert (augmented(config, PICTURES, draws(config, _2=0.1)) == PICTURES[:, :, ::-1]).all()


def test_a_crop_enlarges_a_part() -> None:
    config = AugmentConfig(shift=0, crop=0.75)
    blocks = np.zeros((6, 8, 8, 1), dtype=np.uint8)
    blocks[:, :4, :4] = 200
    corner = augmented(config, blocks, draws(config, _3=1.0, _4=0.0, _5=0.0))  # a quarter of the area, at the top left
    assert (corner[:, 1:7, 1:7] == 200).all()  # the border is blended with what is outside


def test_cutout_covers_a_square() -> None:
    config = AugmentConfig(shift=0, cutout=3)
    table = draws(config, _6=0.5, _7=0.0)
    pixels = blanked(config, torch.ones(6, 1, 8, 8), table)
    assert (pixels[0, 0] == 0).nonzero().tolist() == [[row, column] for row in (3, 4, 5) for column in (0, 1)]


@pytest.mark.parametrize("side", [1, 2, 3, 8, 9])
def test_cutout_has_as_many_pixels_as_it_says(side: int) -> None:
    config = AugmentConfig(shift=0, cutout=side)
    pixels = blanked(config, torch.ones(6, 1, 20, 24), draws(config, _6=0.5, _7=0.5))
    assert (pixels == 0).sum(dim=(1, 2, 3)).tolist() == [side * side] * 6


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name != "none"])
def test_every_operation_changes_the_picture_more_the_stronger_it_is(name: str) -> None:
    changes = []
    for amount in (0.0, 0.3, 1.0):
        config = AugmentConfig(shift=0, operations=1, magnitude=1.0)
        table = draws(config, _8=(OPERATIONS.index(name) + 0.5) / len(OPERATIONS), _9=0.5 + amount / 2)
        smooth = np.linspace(30, 220, 6 * 12 * 12).reshape(6, 12, 12, 1).astype(np.uint8)
        changed = augmented(config, smooth, table)
        changes.append(np.abs(changed.astype(int) - smooth.astype(int)).mean())
    assert changes[2] > 1.0
    if name != "autocontrast":  # it has no strength
        assert changes[0] < 0.05
        assert changes[0] <= changes[1] < changes[2]
