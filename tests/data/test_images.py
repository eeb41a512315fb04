"""Labelled pictures: every form gives the same corpus, prepared once; and what users get wrong."""

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from picture_files import LABELS, bars, write_folder, write_idx
from regard.data.config import ImageData
from regard.data.images import prepare_images
from regard.data.picture_sources import open_pictures
from regard.errors import DataError


def forms(home: Path) -> dict[str, Path]:
    """The same 30 pictures in every form."""
    pictures, numbers = bars(30)
    folder = write_folder(home / "folder")
    paths = {"folder": folder, "npz": home / "a.npz", "keras": home / "b.npz", "tsv": home / "c.tsv"}
    np.savez(paths["npz"], images=pictures[..., 0], labels=np.array(LABELS)[numbers])
    np.savez_compressed(
        paths["keras"],
        x_train=pictures,
        y_train=numbers[:, None],
        x_test=pictures[:3],
        y_test=numbers[:3],
        label_names=LABELS,
    )
    lines = [f"folder/{LABELS[label]}/{number:03}.png\t{LABELS[label]}\n" for number, label in enumerate(numbers)]
    paths["tsv"].write_text("".join(lines), encoding="utf-8")
    idx = home / "idx"
    idx.mkdir()
    write_idx(idx / "train-images-idx3-ubyte", pictures[..., 0])
    write_idx(idx / "train-labels-idx1-ubyte", numbers.astype(np.uint8))
    for path in list(idx.iterdir()):
        Path(f"{path}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    return {**paths, "idx": idx, "idx file": idx / "train-images-idx3-ubyte.gz"}


def test_every_form_gives_the_same_pictures_and_labels(tmp_path: Path) -> None:
    pictures, numbers = bars(30)
    expected = sorted((LABELS[label], picture.tobytes()) for label, picture in zip(numbers, pictures, strict=True))
    for name, path in forms(tmp_path).items():
        source = open_pictures(path, "train")
        labels = [LABELS[int(label)] for label in source.labels] if "idx" in name else list(source.labels)
        assert sorted((labels[n], source.read(n).tobytes()) for n in range(len(source))) == expected, name
    assert len(open_pictures(tmp_path / "b.npz", "test")) == 3


def test_pictures_are_prepared_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = ImageData(images=str(write_folder(tmp_path / "f")))
    first = prepare_images(data, tmp_path / "cache")
    monkeypatch.setattr("regard.data.images._build", None)  # it must not be built again
    again = prepare_images(data, tmp_path / "cache")
    assert again.key == first.key
    assert (again.train.pixels == first.train.pixels).all()
    assert (again.labels, again.held_out, len(again.train), len(again.valid)) == (LABELS, True, 27, 3)
    assert again.train.names[0].endswith(".png")


def test_the_statistics_are_those_of_the_training_pictures(tmp_path: Path) -> None:
    prepared = prepare_images(ImageData(images=str(write_folder(tmp_path / "f", channels=3))), tmp_path / "cache")
    values = prepared.train.pixels / 255.0
    np.testing.assert_allclose(prepared.mean, values.mean(axis=(0, 1, 2)))
    np.testing.assert_allclose(prepared.deviation, values.std(axis=(0, 1, 2)))


def test_a_changed_picture_is_prepared_again(tmp_path: Path) -> None:
    data = ImageData(images=str(write_folder(tmp_path / "f")))
    before = prepare_images(data, tmp_path / "cache").key
    Image.new("L", (8, 8), 7).save(tmp_path / "f" / LABELS[0] / "000.png")
    assert prepare_images(data, tmp_path / "cache").key != before


def test_pictures_of_other_sizes_are_resized_and_counted(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "f")
    Image.new("RGB", (40, 20), (9, 9, 9)).save(folder / LABELS[0] / "wide.png")
    prepared = prepare_images(ImageData(images=str(folder), valid_images=str(folder)), tmp_path / "cache")
    assert prepared.train.shape == (8, 8, 3)  # the most frequent size; one is in colour
    assert prepared.train.resized == {"40 x 20": 1}
    small = ImageData(images=str(folder), height=4, width=6, colour=False)
    assert prepare_images(small, tmp_path / "cache").train.shape == (4, 6, 1)
    large = write_folder(tmp_path / "large", count=6, side=128)
    assert prepare_images(ImageData(images=str(large)), tmp_path / "cache").train.shape == (64, 64, 1)


def test_labels_that_are_numbers_sort_as_numbers_and_may_have_names(tmp_path: Path) -> None:
    pictures, _ = bars(24)
    np.savez(tmp_path / "a.npz", images=pictures, labels=np.arange(24) % 12)
    data = ImageData(images=str(tmp_path / "a.npz"))
    assert prepare_images(data, tmp_path / "cache").labels == tuple(map(str, range(12)))
    names = tuple("abcdefghijkl")
    assert prepare_images(data.model_copy(update={"label_names": names}), tmp_path / "cache").labels == names
    with pytest.raises(DataError, match=r"label '4', but data.label_names has 4 names, for the numbers 0 to 3"):
        prepare_images(data.model_copy(update={"label_names": names[:4]}), tmp_path / "cache")


def test_a_label_that_occurs_once_stays_in_training(tmp_path: Path) -> None:
    pictures, numbers = bars(21)
    np.savez(tmp_path / "a.npz", images=pictures, labels=np.append(numbers[:-1], 7))
    prepared = prepare_images(ImageData(images=str(tmp_path / "a.npz")), tmp_path / "cache")
    rare = prepared.labels.index("7")
    assert (prepared.train.labels == rare).sum() == 1
    assert rare not in prepared.valid.labels


MISTAKES = {
    "no labels": ({"images": np.zeros((2, 4, 4), np.uint8)}, "it needs images and labels, or x_train and y_train"),
    "unequal": ({"images": np.zeros((2, 4, 4)), "labels": np.zeros(3, int)}, "2 pictures and labels of shape"),
    "shape": ({"images": np.zeros((2, 4)), "labels": np.zeros(2, int)}, "has the shape"),
    "fractions": ({"images": np.zeros((2, 4, 4)), "labels": np.zeros(2)}, "labels of type float64"),
    "infinite": ({"images": np.full((2, 4, 4), np.inf), "labels": np.zeros(2, int)}, "infinite or not a number"),
    "objects": ({"images": np.array([None, 1]), "labels": np.zeros(2, int)}, "not an array of numbers"),
    "one label": ({"images": np.zeros((2, 4, 4), np.uint8), "labels": np.zeros(2, int)}, "only one label, '0'"),
    "no pictures": ({"images": np.zeros((0, 4, 4), np.uint8), "labels": np.zeros(0, int)}, "no labelled pictures"),
    "all once": ({"images": np.zeros((2, 4, 4), np.uint8), "labels": np.arange(2)}, "none can be held out"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_arrays_that_do_not_fit_are_refused(name: str, tmp_path: Path) -> None:
    arrays, message = MISTAKES[name]
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError, match=f"a.npz.*{message}"):
        prepare_images(ImageData(images=str(tmp_path / "a.npz")), tmp_path / "cache")


def test_files_that_are_no_pictures_are_refused(tmp_path: Path) -> None:
    folder, cache = write_folder(tmp_path / "f"), tmp_path / "cache"
    cases = {"missing": "no such file or folder", "odd.csv": "of no known form"}
    (tmp_path / "odd.csv").write_text("x", encoding="utf-8")
    for name, message in cases.items():
        with pytest.raises(DataError, match=message):
            open_pictures(tmp_path / name, "train")
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(DataError, match=r"bad.npz: a damaged .npz file"):
        open_pictures(tmp_path / "bad.npz", "train")
    (tmp_path / "a.tsv").write_text("f/blank/000.png\tblank\nf/none.png\tblank\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"a.tsv:2: no such picture as .*none.png"):
        open_pictures(tmp_path / "a.tsv", "train")
    (tmp_path / "b.tsv").write_text("f/blank/000.png\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"b.tsv:1: no path or no label"):
        open_pictures(tmp_path / "b.tsv", "train")
    (folder / LABELS[1] / "broken.png").write_bytes(b"")
    with pytest.raises(DataError, match=r"broken.png: a file of 0 bytes"):
        prepare_images(ImageData(images=str(folder)), cache)
    flat = tmp_path / "flat"
    flat.mkdir()
    Image.new("L", (8, 8)).save(flat / "a.png")
    with pytest.raises(DataError, match="1 pictures, but in no folder of a class"):
        open_pictures(flat, "train")


def test_damaged_and_unusual_compressions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, images=np.zeros((20, 8, 8), np.uint8), labels=np.arange(20) % 2)
    content = bytearray(path.read_bytes())
    place = content.index(b"images.npy")
    content[place + 30 : place + 50] = b"\xff" * 20
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a.npz: a damaged .npz file"):
        open_pictures(path, "train")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("images.npy", b"x")
        archive.writestr("labels.npy", b"x")
    with pytest.raises(DataError, match=r"a.npz: images: compressed in another way"):
        open_pictures(path, "train")


def test_damaged_idx_files_are_refused(tmp_path: Path) -> None:
    images, labels = tmp_path / "x-images-idx3-ubyte", tmp_path / "x-labels-idx1-ubyte"
    write_idx(images, np.zeros((2, 3, 3), np.uint8))
    with pytest.raises(DataError, match="no file of labels x-labels-idx1-ubyte beside it"):
        open_pictures(images, "train")
    write_idx(labels, np.array([0, 1], np.uint8))
    assert len(open_pictures(images, "train")) == 2
    images.write_bytes(images.read_bytes()[:-1])
    with pytest.raises(DataError, match=r"claims a shape of \[2, 3, 3\] and has 17 bytes"):
        open_pictures(images, "train")
    images.write_bytes(b"\0\0\x0d\x03" + bytes(12))
    with pytest.raises(DataError, match="not an idx file of bytes with 3 or 4 dimensions"):
        open_pictures(images, "train")
