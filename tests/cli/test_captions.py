"""`regard caption` and `regard explain` on pictures with captions, as a user runs them."""

from pathlib import Path

import pytest

from regard.data.pictures import encoded_png
from regard.data.scenes.corpus import scene

SMALL = [
    "--task=caption",
    *("--set", "data.scenes=24", "--set", "data.regions=true", "--set", "text.kind=word"),
    *("--set", "model.layers=1", "--set", "model.width=16", "--set", "model.heads=2", "--set", "model.feed_forward=16"),
    *("--set", "model.convolution_width=4", "--set", "train.max_steps=2", "--set", "train.validate_every=2"),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("captions")


@pytest.fixture
def captioning_run(command, home: Path) -> Path:
    if not (home / "run").exists():
        made = command("train", "--out", home / "run", *SMALL)
        assert made.code == 0, made.err
    return home / "run"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """A scene, a file of 0 bytes, a scene, and a file that is not there."""
    for name, number in (("a.png", 0), ("c.png", 1)):
        (tmp_path / name).write_bytes(encoded_png(scene("test", number).picture))
    (tmp_path / "b.png").write_bytes(b"")
    return [tmp_path / name for name in ("a.png", "b.png", "c.png", "d.png")]


def test_pictures_that_cannot_be_read_are_empty_lines(command, captioning_run: Path, files: list[Path]) -> None:
    result = command("caption", captioning_run, *files, "--max-length", "8")
    assert result.code == 2
    first, second, third, fourth = result.out.split("\n")[:4]
    assert (second, fourth) == ("", "")
    assert "b.png: a file of 0 bytes" in result.err
    assert "d.png: no such file" in result.err
    assert "here 2, are empty lines in the output" in result.err
    alone = command("caption", captioning_run, files[0], files[2], "--max-length", "8")
    assert (alone.code, alone.out) == (0, f"{first}\n{third}\n")
    piped = command("caption", captioning_run, "--max-length", "8", stdin="".join(f"{path}\n" for path in files))
    assert (piped.code, piped.out) == (2, result.out)
    assert "here 2, are empty lines" in piped.err


def test_a_caption_is_explained_and_other_options_are_refused(
    command, captioning_run: Path, files: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "page.html"
    given = ("explain", captioning_run, files[0])
    assert command(*given, "--target", "a red circle", "--beside", captioning_run, "--out", out).out == f"{out}\n"
    text = command(*given, "--target", "a red circle").out.splitlines()
    assert text[0] == "a red circle"
    assert [line.split("\t")[0] for line in text[2:]] == ["a", "red", "circle"]
    refused = command(*given, "--without", "cross.1.1")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "--without: is about sentences, and the model describes pictures; leave it out" in refused.err
