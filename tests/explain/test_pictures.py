"""Explanations of pictures: maps by hand, occlusion against the network itself, and the pages in a browser."""

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from explain.browser import BROWSER, dom_of, texts
from picture_files import LABELS, bars
from regard.bundle.pictures import PictureFormat
from regard.data.pictures import encoded_png, picture_of_bytes
from regard.errors import ConfigError
from regard.explain.picture_page import add_picture_views, write_picture_explanations
from regard.explain.pictures import explain_picture, rolled_out
from regard.explain.records import Report
from regard.explain.report import render
from regard.models.build import build_picture_classifier
from regard.models.config import VisionConfig
from regard.tasks.classify_images.classifier import PictureClassifier

FORM = PictureFormat(height=8, width=12, channels=1, mean=(0.4,), deviation=(0.2,))


def classifier(**options: Any) -> PictureClassifier:
    torch.manual_seed(2)
    config = VisionConfig(**{"patch": 4, **options}, layers=2, width=16, heads=2, feed_forward=24, dropout=0.0)
    network = build_picture_classifier(config, 8, 12, 1, 3).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    return PictureClassifier(network, FORM, LABELS)


def picture() -> np.ndarray:
    return np.random.default_rng(3).integers(0, 256, (8, 12, 1), dtype=np.uint8)


@pytest.mark.parametrize("options", [{}, {"tokenizer": "patches", "pooling": "class"}, {"pooling": "mean"}])
def test_maps_are_shares_and_the_label_is_that_of_the_network(options: dict[str, Any]) -> None:
    served = classifier(**options)
    found = explain_picture(served, picture())
    [expected] = served.classify([picture()])
    assert found.predicted == found.label == expected.label
    assert list(found.probabilities.values()) == pytest.approx(list(expected.probabilities.values()))
    assert found.heads is not None
    assert found.rollout is not None
    assert found.heads.shape == {"layer": 2, "head": 2, "row": 2, "column": 3}
    np.testing.assert_allclose(found.heads.values.sum(axis=(2, 3)), 1.0, rtol=1e-5)
    assert float(found.rollout.values.sum()) == pytest.approx(1.0)
    assert (found.pooling is not None) == ("pooling" not in options)
    assert (picture_of_bytes(base64.b64decode(found.png), "it") == picture()).all()


def test_occlusion_is_what_the_network_says_of_the_blanked_picture() -> None:
    served = classifier(tokenizer="patches")
    whole = picture()
    found = explain_picture(served, whole, label="standing")
    blanked = whole.copy()
    flat = np.sort(whole.reshape(-1))
    blanked[4:8, 4:8] = flat[(len(flat) - 1) // 2]  # the lower median, as torch has it
    before, after = (served.classify([one])[0].probabilities["standing"] for one in (whole, blanked))
    assert found.occlusion.values[1, 1] == pytest.approx(np.log(before) - np.log(after), abs=1e-4)
    assert found.label == "standing"


def test_occlusion_covers_the_pixels_of_a_patch_where_a_rest_is_left_out() -> None:
    """8 x 12 pixels in patches of 5: one row, two columns, and 3 and 2 pixels that no patch has."""
    served = classifier(tokenizer="patches", patch=5)
    whole = picture()
    found = explain_picture(served, whole, label="standing")
    flat = np.sort(whole.reshape(-1))
    for column in range(2):
        blanked = whole.copy()
        blanked[:5, 5 * column : 5 * column + 5] = flat[(len(flat) - 1) // 2]
        before, after = (served.classify([one])[0].probabilities["standing"] for one in (whole, blanked))
        assert found.occlusion.values[0, column] == pytest.approx(np.log(before) - np.log(after), abs=1e-4)


def test_rollout_by_hand() -> None:
    one = torch.tensor([[[1.0, 0.0], [0.5, 0.5]]])  # one head: the second token looks at both
    readers = torch.tensor([0.0, 1.0])
    # (A + I) / 2 = [[1, 0], [0.25, 0.75]]; twice: [1, 0] A' .. the second row of its square
    assert rolled_out([one, one], readers).tolist() == pytest.approx([0.25 + 0.75 * 0.25, 0.75 * 0.75])


def test_mixers_without_attention_have_no_maps() -> None:
    found = explain_picture(classifier(tokenizer="patches", mixer="hyena", pooling="mean"), picture())
    assert found.heads is None
    assert found.rollout is None
    assert np.abs(found.occlusion.values).max() > 0


def test_an_unknown_label_is_refused() -> None:
    with pytest.raises(ConfigError, match="label 'cat': the model knows blank, lying, standing"):
        explain_picture(classifier(), picture(), label="cat")


@pytest.mark.skipif(BROWSER is None, reason="neither chromium nor chromium-browser is on PATH")
def test_the_page_of_a_picture(tmp_path: Path) -> None:
    write_picture_explanations([explain_picture(classifier(), picture())], tmp_path / "page.html")
    dom = dom_of((tmp_path / "page.html").read_text(encoding="utf-8"), tmp_path)
    assert texts(dom, "h2") == ["What it said", "What matters", "Where it looks", "Every head"]
    captions = texts(dom, "figcaption")
    assert captions[:3] == ["occlusion, patch by patch", "rollout: all layers joined", "attention pooling"]
    assert captions[3:] == [f"layer {layer}, head {head}" for layer in (1, 2) for head in (1, 2)]
    assert dom.count('class="heat"') == 7


@pytest.mark.skipif(BROWSER is None, reason="neither chromium nor chromium-browser is on PATH")
def test_the_report_shows_wrong_pictures_and_the_confusion(tmp_path: Path) -> None:
    pictures, numbers = bars(6)
    rows = [
        {
            "picture": f"{n}.png",
            "expected": LABELS[label],
            "found": "lying",
            "probability": 0.5 + n / 20,
            "probability_of_expected": (0.5 + n / 20) if label == 1 else n / 40,
            "png": base64.b64encode(encoded_png(one)).decode("ascii"),
        }
        for n, (one, label) in enumerate(zip(pictures, numbers, strict=True))
    ]
    metrics = {"labels": list(LABELS), "confusion": [[0, 2, 0], [0, 2, 0], [0, 2, 0]], "accuracy": 1 / 3, "set": "test"}
    report = add_picture_views(Report(title="run", metrics=metrics), rows, None)
    assert report.pictures is not None
    assert [one.picture for one in report.pictures.worst] == ["0.png", "2.png", "3.png", "5.png"]
    assert {cell: one.picture for cell, one in report.pictures.cells.items()} == {
        "0,1": "3.png",
        "1,1": "4.png",
        "2,1": "5.png",
    }
    dom = dom_of(render(report), tmp_path)
    assert texts(dom, "figcaption")[0] == "lying 50 %is blank 0.0 %"
    assert dom.count('class="pixels"') == 4 + 3
