"""Gold regions of words: what they ask of attention, how boxes follow their picture, and which lines of a file are refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from regard.data.caption_config import CaptionData
from regard.data.caption_examples import CaptionExamples
from regard.data.captioned import prepare_captions
from regard.data.captions import read_captions
from regard.data.pictures import Fit, encoded_png, fitted, fitted_box
from regard.data.regions import region_attention
from regard.data.scenes.corpus import scene
from regard.errors import DataError
from regard.text.config import OneTextConfig

WORD = OneTextConfig(kind="word")


def test_attention_by_hand() -> None:
    """A picture of 4 x 8 pixels in 2 x 2 patches, of 2 x 4 pixels each."""
    regions = [
        np.array(
            [[0, 0, 0, 2, 4], [1, 0, 2, 4, 8], [9, 0, 0, 4, 8]]
        ),  # the first patch; half of the left; no such word
        np.array([[1, 1, 3, 2, 5], [1, 2, 7, 3, 8]]),  # one pixel in each of the upper patches, and one below
    ]
    table = region_attention(regions, [[0, 1, 1], [0, 1]], (2, 2), (4, 8))
    assert table.shape == (2, 4, 4)  # tokens with the end mark
    third = [2 / 12, 4 / 12, 2 / 12, 4 / 12]
    np.testing.assert_allclose(table[0], [[1, 0, 0, 0], third, third, [0, 0, 0, 0]], atol=1e-7)
    np.testing.assert_allclose(table[1], [[0] * 4, [1 / 3, 1 / 3, 0, 1 / 3], [0] * 4, [0] * 4], atol=1e-7)


def test_captions_without_regions_ask_for_nothing() -> None:
    assert not region_attention([np.zeros((0, 5))] * 2, [[0], [0, 0]], (3, 3), (9, 9)).any()


@pytest.mark.parametrize("fit", ["crop", "pad", "stretch"])
@pytest.mark.parametrize("size", [(40, 20), (12, 36), (30, 30), (64, 64)])
def test_a_box_follows_its_picture(fit: Fit, size: tuple[int, int]) -> None:
    """A white rectangle is fitted with its picture: outside of the fitted box everything is black, and the box is not larger."""
    random = np.random.default_rng(7)
    for _ in range(20):
        top, bottom = sorted(random.choice(size[0] + 1, 2, replace=False).tolist())
        left, right = sorted(random.choice(size[1] + 1, 2, replace=False).tolist())
        picture = np.zeros((*size, 1), dtype=np.uint8)
        picture[top:bottom, left:right] = 255
        seen = fitted(picture, 24, 24, 1, fit)[:, :, 0] > 127
        box = fitted_box((top, left, bottom, right), *size, 24, 24, fit)
        if box is None:
            assert not seen.any()
            continue
        assert 0 <= box[0] < box[2] <= 24
        assert 0 <= box[1] < box[3] <= 24
        assert not np.delete(seen, slice(box[0], box[2]), axis=0).any()
        assert not np.delete(seen, slice(box[1], box[3]), axis=1).any()
        if seen.any():
            rows, columns = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
            assert box[0] >= rows[0] - 1
            assert box[2] <= rows[-1] + 2
            assert box[1] >= columns[0] - 1
            assert box[3] <= columns[-1] + 2


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Two dozen pictures of 16 x 8 pixels: wider than high."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(24):
        (folder / f"{number}.png").write_bytes(encoded_png(np.full((8, 16, 3), 10 * number, dtype=np.uint8)))
    return folder


def described(number: int, caption: str, *regions: dict[str, object]) -> str:
    return json.dumps({"image": f"{number}.png", "caption": caption, "regions": list(regions)}) + "\n"


def test_own_captions_have_regions_in_the_fitted_picture(pictures: Path, tmp_path: Path) -> None:
    file = tmp_path / "captions.jsonl"
    cut = {"word": 0, "box": [0, 0, 4, 8]}  # left of the middle square, which is kept
    half = {"word": 1, "box": [4, 0, 8, 8]}
    file.write_text(described(0, "a dog", cut, half) + described(1, "b dog") + described(0, "c dog"), encoding="utf-8")
    valid = tmp_path / "valid.jsonl"
    valid.write_text(described(2, "a dog", half), encoding="utf-8")
    data = CaptionData(
        captions=str(file), images=str(pictures), valid_captions=str(valid), height=8, width=8, regions=True
    )
    prepared = prepare_captions(data, WORD, tmp_path / "cache")
    dog = ("dog", "named", ((0, 0, 8, 4),))
    assert prepared.valid.described[0].regions == ((("a", "other", ()), dog),)
    assert prepared.train.described[0].regions == ((("a", "named", ()), dog), ())
    examples = CaptionExamples(prepared.train, (2, 2), prepared.tokenizers.target, (0.0,) * 3, (1.0,) * 3)
    wanted = examples.batch([0, 1, 2], seed=1, epoch=0, readings=2).alignment
    assert wanted is not None
    assert wanted.shape == (6, 3, 4)
    first = prepared.train.pictures.tolist().index(0)
    assert wanted[first].tolist() == [[0.0] * 4, [0.5, 0.0, 0.5, 0.0], [0.0] * 4]
    assert wanted.sum() == 2.0  # of two readings
    assert (wanted[:3] == wanted[3:]).all()
    without = prepare_captions(data.model_copy(update={"regions": False}), WORD, tmp_path / "cache")
    assert without.train.regions is None


def test_scenes_have_regions_in_training_only_if_they_are_asked_for(tmp_path: Path) -> None:
    prepared = prepare_captions(CaptionData(scenes=5, regions=True), WORD, tmp_path / "cache")
    assert prepared.train.regions is not None
    for number in range(5):
        drawn = scene("train", number)
        boxes = [(place, *box) for place, word in enumerate(drawn.words("en")) for box in drawn.region(word)]
        [stored] = prepared.train.regions.of(np.array([number]))
        assert [tuple(row) for row in stored.tolist()] == boxes


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        ("7", "captions.jsonl:1: regions are a list of"),
        ("[3]", "captions.jsonl:1: regions are a list of"),
        ('[{"word": 2, "box": [0, 0, 1, 1]}]', "captions.jsonl:1: word 2 of a region is not among the 2 words, from 0"),
        ('[{"word": true, "box": [0, 0, 1, 1]}]', "captions.jsonl:1: word True of a region"),
        ('[{"word": 0, "box": [0, 0, 1]}]', r"captions.jsonl:1: a box of \[0, 0, 1\]"),
        ('[{"word": 0, "box": [0, 0, 1, NaN]}]', "captions.jsonl:1: a box of"),
        ('[{"word": 0, "box": [4, 0, 4, 9]}]', r"captions.jsonl:1: an empty box, \[4, 0, 4, 9\]"),
    ],
)
def test_bad_regions_are_named_with_their_line(pictures: Path, tmp_path: Path, regions: str, message: str) -> None:
    file = tmp_path / "captions.jsonl"
    file.write_text(f'{{"image": "0.png", "caption": "a dog", "regions": {regions}}}\n', encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_captions(file, pictures)


def test_regions_of_several_captions_and_no_regions_at_all_are_refused(pictures: Path, tmp_path: Path) -> None:
    file = tmp_path / "captions.jsonl"
    file.write_text('{"image": "0.png", "captions": ["a", "b"], "regions": []}\n', encoding="utf-8")
    with pytest.raises(DataError, match="regions of 2 captions; write a line for each"):
        read_captions(file, pictures)
    file.write_text(described(0, "a") + described(1, "b"), encoding="utf-8")
    data = CaptionData(captions=str(file), images=str(pictures), regions=True)
    with pytest.raises(DataError, match=r"captions\.jsonl: no regions, which data\.regions = true asks for"):
        prepare_captions(data, WORD, tmp_path / "cache")
