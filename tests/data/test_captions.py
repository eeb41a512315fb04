"""Files of captions: what they say, what is refused with its line, and how pictures and captions are prepared."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.data.caption_config import CaptionData
from regard.data.caption_examples import CaptionExamples
from regard.data.captioned import note_on_pictures, prepare_captions
from regard.data.captions import read_captions
from regard.data.pictures import encoded_png
from regard.data.scenes.corpus import scene, split_of
from regard.errors import ConfigError, DataError
from regard.text.config import OneTextConfig

WORD = OneTextConfig(kind="word")


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """A folder of twenty pictures, each of one shade of its own."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(20):
        shade = np.full((8, 8, 3), 10 * number, dtype=np.uint8)
        (folder / f"{number}.png").write_bytes(encoded_png(shade))
    return folder


def written(folder: Path, text: str, name: str = "captions.tsv") -> str:
    path = folder.parent / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_tsv_and_jsonl_say_the_same(pictures: Path) -> None:
    tsv = written(pictures, "1.png\ta dog\n0.png\ta cat\n\n1.png\tone dog\r\n")
    rows = [{"image": "1.png", "captions": ["a dog", "one  dog"]}, {"image": "0.png", "caption": "a cat"}]
    jsonl = written(pictures, "".join(json.dumps(row) + "\n" for row in rows), "captions.jsonl")
    packed = pictures.parent / "captions.tsv.gz"
    packed.write_bytes(gzip.compress(Path(tsv).read_bytes()))
    expected = [("1.png", ("a dog", "one dog"), 1), ("0.png", ("a cat",), 2)]
    for path in (tsv, jsonl, str(packed)):
        found = read_captions(path, pictures).pictures
        assert [(picture.path.name, picture.captions, picture.line) for picture in found] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.png\ta\n0.png\n", "captions.tsv:2: 1 column; each line must be picture<TAB>caption"),
        ("0.png\ta\tb\n", "captions.tsv:1: 3 columns; each line must be picture<TAB>caption"),
        ("0.png\ta\n0.png\t \n", "captions.tsv:2: an empty caption of '0.png'; write one, or leave the line out"),
        ("\ta\n", "captions.tsv:1: no picture; each line"),
        ("0.png\ta\nno.png\tb\n", "captions.tsv:2: no such picture as .*no.png; paths are relative to"),
        ("\n\n", "captions.tsv: no captions in it"),
    ],
)
def test_bad_columns_are_named_with_their_line(pictures: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_captions(written(pictures, text), pictures)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "captions.jsonl:1: not JSON"),
        ("[1]", "captions.jsonl:1: no text under 'image'"),
        ('{"image": 3, "caption": "a"}', "captions.jsonl:1: no text under 'image'"),
        ('{"image": "0.png"}', "captions.jsonl:1: '0.png' has no caption; write one, or leave the line out"),
        ('{"image": "0.png", "captions": []}', "captions.jsonl:1: '0.png' has no caption"),
        ('{"image": "0.png", "captions": ["a", ""]}', "captions.jsonl:1: an empty caption of '0.png'"),
        ('{"image": "0.png", "caption": 7}', "captions.jsonl:1: captions that are no texts"),
    ],
)
def test_bad_json_is_named_with_its_line(pictures: Path, line: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_captions(written(pictures, line + "\n", "captions.jsonl"), pictures)


def test_a_picture_keeps_its_captions_in_one_part_and_the_others_are_named(pictures: Path, tmp_path: Path) -> None:
    lines = "".join(f"{number}.png\tshade {number}\n{number}.png\tgrey {number}\n" for number in range(18))
    data = CaptionData(captions=written(pictures, lines), images=str(pictures))
    prepared = prepare_captions(data, WORD, tmp_path / "cache")
    names = [{Path(name).name for name in part.images.names} for part in (prepared.train, prepared.valid)]
    assert len(names[0]) == 17
    assert not names[0] & names[1]
    assert len(prepared.train) == 34
    assert note_on_pictures(prepared) == "2 pictures have no caption and are not used: 18.png, 19.png"
    for number, described in enumerate(
        prepared.train.described
    ):  # the pixels are those of the picture that is described
        shade = int(described.captions[0].split()[1])
        assert described.captions == (f"shade {shade}", f"grey {shade}")
        assert (prepared.train.images.pixels[number] == 10 * shade).all()
    again = prepare_captions(data, WORD, tmp_path / "cache")
    assert again.key == prepared.key
    other = prepare_captions(data.model_copy(update={"seed": 5}), WORD, tmp_path / "cache")
    assert other.key != prepared.key


def test_a_corrupt_picture_is_named(pictures: Path, tmp_path: Path) -> None:
    (pictures / "3.png").write_bytes((pictures / "3.png").read_bytes()[:40])
    data = CaptionData(captions=written(pictures, "3.png\ta\n4.png\tb\n5.png\tc\n"), images=str(pictures))
    with pytest.raises(DataError, match=r"3.png: .*damaged"):
        prepare_captions(data, WORD, tmp_path / "cache")


def test_several_corrupt_pictures_are_named_and_the_rest_counted(pictures: Path, tmp_path: Path) -> None:
    for number in range(8):
        (pictures / f"{number}.png").write_bytes(b"" if number % 2 else (pictures / f"{number}.png").read_bytes()[:40])
    lines = "".join(f"{number}.png\t{number}\n" for number in range(20))
    valid = written(pictures, "9.png\ta\n", "valid.tsv")
    data = CaptionData(captions=written(pictures, lines), images=str(pictures), valid_captions=valid)
    with pytest.raises(DataError, match="and 3 more pictures that cannot be read") as caught:
        prepare_captions(data, WORD, tmp_path / "cache")
    message = str(caught.value)
    assert "\n" not in message
    assert [f"{number}.png" in message for number in range(8)] == [True] * 5 + [False] * 3


def test_batches_by_hand(pictures: Path, tmp_path: Path) -> None:
    lines = "1.png\ta b\n1.png\tc\n2.png\ta\n"
    valid = written(pictures, "3.png\ta\n", "valid.tsv")
    data = CaptionData(captions=written(pictures, lines), images=str(pictures), valid_captions=valid)
    prepared = prepare_captions(data, WORD, tmp_path / "cache")
    vocabulary = prepared.tokenizers.target.vocabulary
    pad, end = vocabulary.pad, vocabulary.EOS
    a, b, c = (prepared.tokenizers.target.encode(word)[0] for word in "abc")
    examples = CaptionExamples(prepared.train, (2, 2), prepared.tokenizers.target, (0.0,) * 3, (1.0,) * 3)
    batch = examples.batch([0, 1, 2], seed=1, epoch=0)
    assert batch.target_in.tolist() == [[pad, a, b], [pad, c, pad], [pad, a, pad]]
    assert batch.target_out.tolist() == [[a, b, end], [c, end, pad], [a, end, pad]]
    assert batch.tokens == 7
    shades = torch.tensor([10, 10, 20]) / 255
    torch.testing.assert_close(batch.source, shades[:, None, None, None].expand(3, 3, 8, 8))
    twice = examples.batch([2, 0], seed=1, epoch=0, readings=2)
    torch.testing.assert_close(twice.source[:2], twice.source[2:])
    planned = [len(numbers) for numbers in examples.plan(10, seed=1, epoch=0)]
    assert sorted(planned) == [1, 2]  # a picture has 4 patches, and `plan` counts an end mark: two in ten


def test_batches_have_captions_of_all_lengths(tmp_path: Path) -> None:
    """The length of a caption tells what it says, such as its relation: batches by length would each have one of them."""
    prepared = prepare_captions(CaptionData(scenes=200), WORD, tmp_path / "cache")
    examples = CaptionExamples(prepared.train, (8, 8), prepared.tokenizers.target, (0.0,) * 3, (1.0,) * 3)
    batches = examples.plan(65 * 40, seed=1, epoch=0)
    assert [len(batch) for batch in batches] == [40] * 5
    assert all(len(set(prepared.train.lengths[batch].tolist())) >= 3 for batch in batches)


def test_scenes_are_prepared_with_regions_and_without_common_combinations(tmp_path: Path) -> None:
    prepared = prepare_captions(CaptionData(scenes=6, tgt_lang="fr"), WORD, tmp_path / "cache")
    assert prepared.test is not None
    assert prepared.language == "fr"
    for split, corpus in (("train", prepared.train), ("valid", prepared.valid), ("test", prepared.test)):
        assert len(corpus) == 6
        for number in range(6):
            drawn = scene(split, number)  # type: ignore[arg-type]
            assert split_of(drawn.combination) == split
            assert (corpus.images.pixels[number] == drawn.picture).all()
            described = corpus.described[number]
            assert described.captions == (drawn.caption("fr"),)
            words = () if split == "train" else drawn.words("fr")
            assert described.regions == (tuple((word.text, word.role, drawn.region(word)) for word in words),)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"images": "a"}, "images = 'a' needs captions"),
        ({"valid_captions": "a.tsv"}, "valid_captions = 'a.tsv' needs training captions"),
        ({"tgt_lang": "de"}, "the scenes have captions in en and fr"),
        ({"height": 32}, "scenes are 64 x 64"),
        ({"captions": "-"}, "captions are read from files"),
    ],
)
def test_settings_that_do_not_fit(given: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        CaptionData.parse(given)
