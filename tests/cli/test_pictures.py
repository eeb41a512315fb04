"""`regard train --images`, `classify`, `evaluate`, `explain`, `compare` and `sweep` on pictures, as a user runs them."""

import json
import os
from pathlib import Path

import pytest
from PIL import Image

from picture_files import LABELS, bars, claiming_png, write_folder

SMALL = [
    *("--set", "model.layers=1", "--set", "model.width=16", "--set", "model.heads=2", "--set", "model.feed_forward=24"),
    *("--set", "model.convolutions=1", "--set", "model.dropout=0", "--set", "train.max_steps=40"),
    *("--set", "train.batch_tokens=288", "--set", "train.warmup=3", "--set", "train.learning_rate=0.01"),
    *("--set", "train.adamw_factor=1", "--set", "train.validate_every=20"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("pictures") / "folder", count=90)


@pytest.fixture(scope="module")
def seeing_run(command, folder: Path) -> Path:  # type: ignore[no-untyped-def]
    out = folder.parent / "run"
    before = os.environ.get("REGARD_CACHE")
    os.environ["REGARD_CACHE"] = str(folder.parent / "cache")
    try:
        result = command("train", "--task", "classify", "--images", folder, "--out", out, *SMALL)
    finally:
        os.environ["REGARD_CACHE"] = before or ""
    assert result.code == 0, result.err
    assert "note: pictures of 8 x 8, grey: 16 tokens each" in result.err
    assert "validation set, 9 pictures: accuracy" in result.err
    return out


def test_pictures_are_labelled_from_arguments_and_from_stdin(command, seeing_run: Path, folder: Path) -> None:
    paths = [str(folder / "lying" / "001.png"), str(folder / "standing" / "002.png")]
    named = command("classify", seeing_run, *paths)
    assert named.code == 0, named.err
    assert [line.split("\t")[0] for line in named.out.splitlines()] == paths
    piped = command("classify", seeing_run, stdin="".join(f"{path}\n" for path in paths))
    assert piped.out == named.out
    rows = [json.loads(line) for line in command("classify", seeing_run, *paths, "--json").out.splitlines()]
    assert [row["label"] for row in rows] == [line.split("\t")[1] for line in named.out.splitlines()]
    assert set(rows[0]["probabilities"]) == set(LABELS)


def test_a_picture_that_cannot_be_read_is_an_empty_line_and_the_others_are_labelled(
    command, seeing_run: Path, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "zero.png").write_bytes(b"")
    claiming_png(tmp_path / "bomb.png", 60_000, 60_000)
    good = folder / "lying" / "001.png"
    result = command("classify", seeing_run, tmp_path / "zero.png", good, tmp_path / "bomb.png")
    first, second, third = result.out.splitlines()
    assert (result.code, first, third) == (2, "", "")
    assert second.startswith(f"{good}\t")
    assert "zero.png: a file of 0 bytes, which is no picture" in result.err
    assert "bomb.png: " in result.err
    assert "here 2, are empty lines in the output" in result.err
    assert "Traceback" not in result.err


def test_a_test_set_is_judged(command, seeing_run: Path, folder: Path, tmp_path: Path) -> None:
    values = json.loads(command("evaluate", seeing_run, "--images", folder, "--json").out)
    assert sum(map(sum, values["confusion"])) == 90
    right = sum(values["confusion"][place][place] for place in range(3))
    assert values["accuracy"] == pytest.approx(right / 90)
    assert command("evaluate", seeing_run, "--images", folder).out.startswith("accuracy ")
    odd = write_folder(tmp_path / "odd", count=3)
    (odd / "lying").rename(odd / "leaning")
    refused = command("evaluate", seeing_run, "--images", odd)
    assert refused.code == 2
    assert "no such label as 'leaning'; the labels are blank, lying, standing" in refused.err
    other = command("evaluate", seeing_run, "--data", folder)
    assert other.code == 2
    assert "classify_images" in other.err


def test_explanations_and_info(command, seeing_run: Path, folder: Path, tmp_path: Path) -> None:
    picture = folder / "standing" / "002.png"
    text = command("explain", seeing_run, picture)
    assert text.code == 0, text.err
    assert text.out.startswith(f"{picture}: ")
    assert "without this patch, log-probability of" in text.out
    data = tmp_path / "a.json"
    assert command("explain", seeing_run, picture, "--out", data, "--target", "lying").out == f"{data}\n"
    [one] = json.loads(data.read_text(encoding="utf-8"))["pictures"]
    assert one["label"] == "lying"
    assert one["heads"]["shape"] == [1, 2, 4, 4]
    assert command("explain", seeing_run, picture, "--out", tmp_path / "a.pdf").code == 2
    assert "--mask: is about sentences" in command("explain", seeing_run, picture, "--mask", "x").err
    for flag, value in (("--beam", "2"), ("--alpha", "0.5")):
        refused = command("explain", seeing_run, picture, flag, value)
        assert refused.code == 2
        assert f"{flag}: is about sentences, and the model classifies pictures; leave it out" in refused.err
    assert command("explain", seeing_run, picture, "--beam", "5").code == 0
    assert "label 'cat': the model knows" in command("explain", seeing_run, picture, "--target", "cat").err
    assert json.loads(command("info", seeing_run, "--json").out)["pictures"]["channels"] == 1


def test_a_classifier_of_texts_takes_no_pictures(command, tmp_path: Path) -> None:
    data = tmp_path / "data.tsv"
    data.write_text("fine\tgood\ndull\tbad\n" * 20, encoding="utf-8")
    changes = ("--set", "text.kind=word", "--set", "model.kind=bag", "--set", "train.max_epochs=1")
    assert command("train", "--task", "classify", "--data", data, "--out", tmp_path / "run", *changes).code == 0
    result = command("classify", tmp_path / "run", "a.png")
    assert result.code == 2
    assert "classifies texts; the text is piped" in result.err
    refused = command("explain", tmp_path / "run", "fine", "--beam", "2")
    assert refused.code == 2
    assert "--beam: " in refused.err
    assert "does not translate; this option is for translators" in refused.err


def test_runs_on_pictures_are_swept_and_compared(command, seeing_run: Path, folder: Path, tmp_path: Path) -> None:
    few = [word.replace("max_steps=40", "max_steps=4").replace("every=20", "every=4") for word in SMALL]
    given = ("--task", "classify", "--images", folder)
    swept = command("sweep", *given, "--out", tmp_path, *few, "--set", "model.pooling=attention,mean", "--dry-run")
    assert swept.code == 0, swept.err
    cells = [line for line in swept.out.splitlines() if "--images" in line]
    assert [f"model.pooling={pooling}" in line for pooling, line in zip(("attention", "mean"), cells, strict=True)] == [
        True
    ] * 2
    other = tmp_path / "other"
    assert command("train", *given, "--out", other, *few, "--set", "model.pooling=mean").code == 0
    compared = command("compare", seeing_run, other)
    assert compared.code == 0, compared.err
    assert "9 pictures of the validation set" in compared.out
    assert "accuracy" in compared.out


def test_a_corrupt_training_picture_is_named(command, folder: Path, tmp_path: Path) -> None:
    copy = write_folder(tmp_path / "copy", count=12)
    whole = (copy / "blank" / "000.png").read_bytes()
    (copy / "blank" / "000.png").write_bytes(whole[: len(whole) // 2])
    result = command("train", "--task", "classify", "--images", copy, "--out", tmp_path / "run", *SMALL)
    assert result.code == 2
    assert "000.png: a damaged picture" in result.err
    assert not (tmp_path / "run").exists()


def test_pictures_have_the_size_of_the_network(command, seeing_run: Path, tmp_path: Path) -> None:
    picture, _ = bars(1, side=20, channels=3)
    Image.fromarray(picture[0]).save(tmp_path / "large.png")
    [row] = [
        json.loads(line) for line in command("classify", seeing_run, tmp_path / "large.png", "--json").out.splitlines()
    ]
    assert row["resized"] == [20, 20]
