"""Runs on pictures through the same loop: learning, exact resuming with all augmentation, training further, serving, and mistakes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import regard
from picture_files import LABELS, bars, write_folder
from regard.errors import BundleError, ConfigError, DataError, InputTypeError
from regard.tasks.classify_images.evaluate import evaluate_pictures
from regard.tasks.classify_images.evaluate import test_from_flags as from_flags
from regard.tasks.classify_images.settings import ClassifyImagesBundle
from regard.tasks.fine_tuning import run_settings
from regard.tasks.load import load_picture_classifier, load_translator
from regard.training.events import Started
from training.runs import assert_same_run, run, stop_after

EVERYTHING = {"shift": 1, "flip": True, "crop": 0.2, "operations": 1, "mixup": 0.3, "cutout": 2}


def settings(home: Path, count: int = 60) -> dict[str, Any]:
    """A run of a few steps on bars."""
    pictures, labels = bars(count)
    np.savez(home / "bars.npz", images=pictures, labels=np.array(LABELS)[labels])
    return {
        "task": "classify",
        "data": {"images": str(home / "bars.npz")},
        "augment": {"shift": 1},
        "model": {"layers": 1, "width": 16, "heads": 2, "feed_forward": 24, "convolutions": 1, "dropout": 0.0},
        "train": {
            "max_steps": 30,
            "batch_tokens": 16 * 18,
            "validate_every": 15,
            "save_every": 5,
            "warmup": 3,
            "learning_rate": 0.01,
            "adamw_factor": 1.0,
        },
    }


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("pictures")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(home / "cache"))
        result, _ = run(settings(home, 240), home / "run", max_steps=90)
    assert result.metrics is not None
    assert result.metrics["accuracy"] >= 0.9
    return home / "run"


def test_it_tells_new_pictures_apart(trained: Path, tmp_path: Path) -> None:
    model = regard.load(trained)
    pictures, numbers = bars(30, seed=9)
    right = [one.label == LABELS[label] for one, label in zip(model.classify(list(pictures)), numbers, strict=True)]
    assert np.mean(right) >= 0.9
    paths = []
    for number, picture in enumerate(pictures[:4]):
        paths.append(tmp_path / f"{number}.png")
        Image.fromarray(picture[:, :, 0]).save(paths[-1])
    by_path = model.classify([str(paths[0]), paths[1], pictures[2], pictures[3][:, :, 0] / 255.0])
    by_array = model.classify(list(pictures[:4]))
    for one, other in zip(by_path, by_array, strict=True):
        assert list(one.probabilities.values()) == pytest.approx(list(other.probabilities.values()), abs=1e-6)
    assert by_path[0].picture == str(paths[0])
    assert sum(by_path[0].probabilities.values()) == pytest.approx(1.0)
    assert by_path[0].resized is None
    [large] = model.classify([np.repeat(np.repeat(pictures[0], 2, 0), 2, 1)])
    assert large.resized == (16, 16)
    assert "PictureClassifier: classify_images, vit" in repr(model)
    assert model.classify([]) == []


def test_a_stopped_run_resumes_to_the_same_bits(tmp_path: Path) -> None:
    whole = {**settings(tmp_path), "augment": EVERYTHING}
    small = {"max_steps": 12, "validate_every": 6, "save_every": 4}
    run(whole, tmp_path / "straight", **small)
    with pytest.raises(KeyboardInterrupt):
        run(whole, tmp_path / "stopped", stop_after(7), **small)
    run(whole, tmp_path / "stopped", **small)
    assert_same_run(tmp_path / "stopped", tmp_path / "straight")


def test_it_is_trained_further(trained: Path, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "more", count=30, side=10)
    further = {"task": "classify", "data": {"images": str(folder)}, "train": {"start": str(trained), "max_steps": 2}}
    result, events = run(further, tmp_path / "run")
    assert result.metrics is not None
    assert result.metrics["accuracy"] >= 0.6  # pictures of another size, read as the base reads them
    [notes] = [" ".join(event.notes) for event in events if isinstance(event, Started)]
    before, after = load_picture_classifier(trained), load_picture_classifier(tmp_path / "run")
    assert after.pictures == before.pictures
    assert "had another size (10 x 10) and were resized" in notes
    assert f"it starts as {trained}" in notes
    with pytest.raises(ConfigError, match=r"data\.height = 16: training starts from"):
        run_settings({**further, "data": {"images": str(folder), "height": 16}})
    other = tmp_path / "other"
    for label in ("cat", "dog"):
        (other / label).mkdir(parents=True)
        for number in range(3):
            Image.new("L", (8, 8), 40 * number).save(other / label / f"{number}.png")
    with pytest.raises(
        ConfigError, match="tells blank, lying, standing apart, and the pictures have the labels cat, dog"
    ):
        run({**further, "data": {"images": str(other)}}, tmp_path / "none")


def test_numbers_of_a_test_set_have_the_names_of_the_training(tmp_path: Path) -> None:
    """The outputs are in the order of the alphabet, the numbers in that of data.label_names."""
    names = ("T-shirt", "trouser", "pullover")
    whole = settings(tmp_path)
    pictures, numbers = bars(240)
    np.savez(tmp_path / "numbers.npz", images=pictures, labels=numbers)
    whole["data"] = {"images": str(tmp_path / "numbers.npz"), "label_names": list(names)}
    run(whole, tmp_path / "run", max_steps=90)
    served = load_picture_classifier(tmp_path / "run")
    assert served.labels == ("T-shirt", "pullover", "trouser")
    test = from_flags(served, {"images": str(tmp_path / "numbers.npz"), "resamples": 0})
    assert test.expected == [names[number] for number in numbers]
    assert evaluate_pictures(served, test).metrics["accuracy"] >= 0.9
    assert served.bundle is not None
    served.bundle = replace(served.bundle, config=served.bundle.config.model_copy(update={"label_names": ()}))
    with pytest.raises(DataError, match=r"numbers.npz: label '0' is a number.*T-shirt, pullover, trouser.*label_names"):
        from_flags(served, {"images": str(tmp_path / "numbers.npz"), "resamples": 0})


def test_a_bundle_without_names_of_numbers_is_read(trained: Path) -> None:
    config = load_picture_classifier(trained).bundle.config.model_dump(mode="json")  # type: ignore[union-attr]
    del config["label_names"]
    assert ClassifyImagesBundle.model_validate(config).label_names == ()


def test_notes_tell_what_was_done_to_the_pictures(tmp_path: Path) -> None:
    from regard.tasks.table import TASKS

    whole = settings(tmp_path)
    pictures, labels = bars(20)
    np.savez(tmp_path / "rare.npz", images=pictures, labels=np.append(labels[:-1], 7))
    whole["data"] = {"images": str(tmp_path / "rare.npz"), "height": 12}
    objective: Any = TASKS["classify_images"].objective(run_settings(whole), None, lambda *_: None)
    size, resized, single = objective.notes
    assert size == "pictures of 12 x 12, grey: 36 tokens each"
    assert resized.startswith("18 of the 18 training pictures had another size (8 x 8) and were resized")
    assert single.startswith("only one training picture has the label '7'")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": {"kind": "word"}}, "text has no meaning for task 'classify_images'|text.*no such"),
        ({"model": {"kind": "bag"}}, "model.kind 'bag' cannot do task 'classify_images'; set model.kind to 'vit'"),
        ({"augment": {"mixup": 0.2}, "train": {"consistency": 1.0}}, "exclude each other"),
        (
            {"model": {"tokenizer": "patches", "patch": 40}, "data": {"height": 8, "images": "a"}},
            "larger than the pictures",
        ),
        ({"data": {"images": "-"}}, "not from standard input"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        run_settings({**settings(tmp_path), **changes})


def test_pictures_smaller_than_a_patch_are_refused_with_the_file(tmp_path: Path) -> None:
    whole = settings(tmp_path)
    with pytest.raises(ConfigError, match=r"bars.npz: model.patch 40 is larger than the pictures, 8 x 8"):
        run({**whole, "model": {"tokenizer": "patches", "patch": 40}}, tmp_path / "run")


def test_other_inputs_and_other_models_are_refused(trained: Path) -> None:
    model = load_picture_classifier(trained)
    with pytest.raises(InputTypeError, match=r"expected a list of pictures, not one picture: write \['a.png'\]"):
        model.classify("a.png")
    with pytest.raises(InputTypeError, match=r"pictures\[0\] is of type int"):
        model.classify([3])
    with pytest.raises(
        BundleError, match="its task is to classify_images, not to translate; use `regard classify DIR PICTURE"
    ):
        load_translator(trained)


def test_without_images_classify_means_texts() -> None:
    with pytest.raises(ConfigError, match="task 'classify' needs labelled texts"):
        run_settings({"task": "classify"})
    with pytest.raises(ConfigError, match=r"data\.images has no meaning for task 'translate'.*'classify_images'"):
        run_settings({"data": {"images": "a"}})
