"""Captioners: exact resume, fine-tuning, every search on pixels, scores by several references, and where words look."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard import load
from regard.bundle.config import AlignmentConfig
from regard.cli.explain import explain as explain_command
from regard.data.pictures import encoded_png
from regard.data.regions import WordRegion
from regard.data.scenes.corpus import scene
from regard.errors import ConfigError, DataError, InputTypeError, SearchError
from regard.search.options import SearchOptions
from regard.tasks.caption.caption import WordMaps
from regard.tasks.caption.captioner import Captioner
from regard.tasks.caption.evaluate import CaptionTest, evaluate_captioner, reference_lists
from regard.tasks.caption.looking import pointing, word_maps
from regard.tasks.load import load_captioner
from regard.tasks.settings import parse_settings
from training.runs import run, steps, stop_after

SETTINGS: dict[str, Any] = {
    "task": "caption",
    "data": {"scenes": 24},
    "text": {"kind": "word"},
    "model": {"layers": 1, "width": 16, "heads": 2, "feed_forward": 16, "convolution_width": 4, "dropout": 0.1},
    "train": {"max_steps": 4, "batch_tokens": 400, "validate_every": 4, "save_every": 2, "warmup": 1, "select": "loss"},
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run of a few steps, whose captions are nonsense."""
    home = tmp_path_factory.mktemp("captioner")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(home / "cache"))
        run(SETTINGS, home / "run")
        yield home / "run"


@pytest.fixture(scope="module")
def captioner(trained: Path) -> Captioner:
    return load_captioner(trained)


@pytest.fixture(scope="module")
def pictures() -> list[np.ndarray]:
    return [scene("test", number).picture for number in range(5)]


def test_the_bias_of_the_outputs_is_kept(tmp_path: Path) -> None:
    run({**SETTINGS, "model": {**SETTINGS["model"], "output_bias": True}}, tmp_path / "run")
    network: Any = load_captioner(tmp_path / "run").network
    assert network.output_bias.abs().max() > 0


def test_options_about_sentences_are_refused_by_what_the_model_does(trained: Path) -> None:
    with pytest.raises(ConfigError, match="--prefix: is about sentences, and the model describes pictures; leave it"):
        explain_command(trained, "a.png", prefix=["a"])


def test_a_run_that_is_interrupted_goes_on_to_the_same_bit(trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(SETTINGS, out, stop_after(3))
    run(SETTINGS, out)
    weights = [sorted((path / "checkpoints").rglob("model.safetensors"))[-1].read_bytes() for path in (trained, out)]
    assert weights[0] == weights[1]


def test_a_run_starts_from_another(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model.width = 32: training starts from"):
        run({**SETTINGS, "model": {"width": 32}}, tmp_path / "no", start=str(trained))
    settings = {name: value for name, value in SETTINGS.items() if name in ("task", "data")}
    finished, _ = run(settings, tmp_path / "further", **{**SETTINGS["train"], "start": str(trained)})
    assert finished.metrics is not None
    assert steps(tmp_path / "further")[-1][0] == 4
    base, further = load_captioner(trained), load_captioner(tmp_path / "further")
    assert further.tokenizer.vocabulary == base.tokenizer.vocabulary
    assert further.pictures == base.pictures


def test_a_path_an_array_and_numbers_from_0_to_1_are_one_picture(
    captioner: Captioner, pictures: list[np.ndarray], tmp_path: Path
) -> None:
    file = tmp_path / "a.png"
    file.write_bytes(encoded_png(pictures[0]))
    found = captioner.caption([file, str(file), pictures[0], pictures[0] / 255.0])
    assert len({(caption.text, round(caption.logprob, 4)) for caption in found}) == 1
    assert [caption.picture for caption in found] == [str(file), str(file), "picture 3", "picture 4"]


def test_a_caption_does_not_depend_on_its_batch(captioner: Captioner, pictures: list[np.ndarray]) -> None:
    together = captioner.caption(pictures, beam=3)
    for picture, expected in zip(pictures, together, strict=True):
        [alone] = captioner.caption([picture], beam=3)
        assert alone.text == expected.text
        assert alone.logprob == pytest.approx(expected.logprob, abs=1e-4)
    assert [caption.text for caption in captioner.caption(pictures, beam=3, batch=2)] == [
        caption.text for caption in together
    ]


def test_the_score_of_a_search_is_that_of_teacher_forcing(captioner: Captioner, pictures: list[np.ndarray]) -> None:
    read = captioner.read(pictures)
    found = captioner.search(read, SearchOptions(beam=4, max_length=12))
    scores = captioner.score(read, [caption.text for caption in found])
    for caption, score in zip(found, scores, strict=True):
        if caption.finished:
            assert caption.logprob == pytest.approx(score.logprob, abs=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        {"beam": 1},
        {"beam": 4, "nbest": 3},
        {"beam": 4, "groups": 2, "nbest": 2},
        {"sample": True, "top_p": 0.9, "seed": 3, "nbest": 2},
        {"mbr": 4, "seed": 2},
        {"exact": True, "max_length": 3, "node_limit": 50},
        {"beam": 3, "coverage": 0.2},
        {"beam": 3, "no_repeat": 2, "min_length": 3},
    ],
    ids=lambda options: "-".join(options),
)
def test_every_search_of_the_house(captioner: Captioner, pictures: list[np.ndarray], options: Any) -> None:
    options = {"max_length": 8, **options}
    found = captioner.caption(pictures[:2], **options)
    again = captioner.caption(pictures[:2], **options)
    assert [caption.text for caption in found] == [caption.text for caption in again]
    for caption in found:
        assert len(caption.alternatives) == (options.get("nbest", 1) if options.get("nbest", 1) > 1 else 0)
        assert len(caption.tokens) <= options["max_length"]
        assert caption.logprob < 0.0


def test_what_is_asked_for_is_there(captioner: Captioner, pictures: list[np.ndarray]) -> None:
    [found] = captioner.caption(pictures[:1], beam=4, prefixes=["two red"], phrases=[["above a"]], max_length=9)
    assert found.text.startswith("two red")
    assert "above a" in found.text
    assert not found.unmet
    with pytest.raises(SearchError, match="a captioner has none"):
        captioner.caption(pictures[:1], shortlist=True)


def test_what_is_no_picture_is_refused(captioner: Captioner, tmp_path: Path) -> None:
    (tmp_path / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    with pytest.raises(DataError, match=r"bad\.png"):
        captioner.caption([tmp_path / "bad.png"])
    with pytest.raises(DataError, match=r"no-such\.png"):
        captioner.caption(["no-such.png"])
    with pytest.raises(InputTypeError, match="must be a list"):
        captioner.caption("a.png")
    with pytest.raises(InputTypeError, match="picture 1: of type int"):
        captioner.caption([3])  # type: ignore[list-item]
    with pytest.raises(DataError, match=r"picture 1: an array of shape \[4\]"):
        captioner.caption([np.zeros(4)])


def test_several_references() -> None:
    """The best one counts for exact match; a picture with fewer has no further ones."""
    assert reference_lists([("a", "b"), ("c",)]) == [["a", "c"], ["b", ""]]


def test_evaluation_counts_any_reference(captioner: Captioner, pictures: list[np.ndarray]) -> None:
    read = captioner.read(pictures[:2])
    said = [caption.text for caption in captioner.search(read, SearchOptions(beam=5))]
    result = evaluate_captioner(captioner, CaptionTest(read, [("something else", said[0]), ("nothing like it",)]))
    assert result.metrics["exact_match"] == 0.5
    assert result.metrics["references"] == 2
    assert result.rows[0]["references"] == ["something else", said[0]]
    assert result.metrics["pointing"] is None


def test_maps_are_the_attention_of_the_heads(captioner: Captioner, pictures: list[np.ndarray]) -> None:
    """[layers, heads, tokens, patches] by hand: the mean of the heads, the tokens of a word averaged, each map scaled to 1."""
    caption = "a red circle on the left"
    read = captioner.read(pictures[:1])
    [ids] = captioner.encode([caption])
    generator = torch.Generator().manual_seed(1)
    stack = torch.rand(2, 3, len(ids) + 1, 64, generator=generator)
    maps = word_maps(stack, ids, captioner.tokenizer, (8, 8), AlignmentConfig(heads=((1, 2),)))
    assert maps.words == caption.split()
    expected = stack[1, 2, 2] / stack[1, 2, 2].sum()
    torch.testing.assert_close(maps.weights[2].flatten(), expected.double())
    [looked] = captioner.look(read, [caption])
    torch.testing.assert_close(looked.weights.sum(dim=(1, 2)), torch.ones(6, dtype=torch.float64))
    assert looked.weights.shape == (6, 8, 8)


def test_pointing_by_hand() -> None:
    """Two of three judged words peak inside; chance is the mean share of patches inside."""
    weights = torch.zeros(4, 8, 8)
    for word, (row, column) in enumerate([(0, 0), (1, 1), (7, 7), (3, 3)]):
        weights[word, row, column] = 1.0
    words = ["red", "circle", "above", "square"]
    regions = [
        WordRegion("red", "colour", ((0, 0, 16, 16),)),  # 2 x 2 patches, the peak inside
        WordRegion("circle", "shape", ((0, 0, 16, 16),)),  # inside
        WordRegion("above", "relation", ((0, 0, 64, 64),)),  # not judged
        WordRegion("square", "shape", ((32, 32, 64, 64),)),  # 4 x 4 patches, the peak outside
    ]
    found = pointing([WordMaps(words, weights)], [regions])
    assert found is not None
    assert (found.hits, found.words) == (2, 3)
    assert found.chance == pytest.approx((4 + 4 + 16) / 64 / 3)
    assert pointing([WordMaps(words, weights)], [regions], roles=("count",)) is None


def test_the_files_of_a_run(trained: Path) -> None:
    metrics = json.loads((trained / "metrics.json").read_text())
    assert metrics["captions"] == 24
    assert 0.0 <= metrics["pointing"] <= 1.0
    assert 0.0 < metrics["pointing_chance"] < 0.3
    rows = [json.loads(line) for line in (trained / "captions.jsonl").read_text().splitlines()]
    assert [row["reference"] for row in rows] == [scene("test", number).caption("en") for number in range(24)]


def test_an_explanation_has_a_map_for_each_word(trained: Path, pictures: list[np.ndarray], tmp_path: Path) -> None:
    model = load(trained)
    explanation = model.explain(pictures[0], caption="a red circle above a blue square")
    assert explanation.given
    assert list(explanation.picture.words) == ["a", "red", "circle", "above", "a", "blue", "square"]
    assert explanation.heads.shape == {"layer": 1, "head": 2, "word": 7, "row": 8, "column": 8}
    np.testing.assert_allclose(
        explanation.picture.maps.values,
        explanation.heads.values[0].mean(axis=0)
        / explanation.heads.values[0].mean(axis=0).sum(axis=(1, 2), keepdims=True),
        rtol=1e-5,
    )
    for suffix in ("html", "json", "png"):
        explanation.save(tmp_path / f"page.{suffix}")
        assert (tmp_path / f"page.{suffix}").stat().st_size > 1000
    data = json.loads((tmp_path / "page.json").read_text())
    assert data["explanations"][0]["picture"]["words"] == ["a", "red", "circle", "above", "a", "blue", "square"]


def test_a_head_is_trained_to_look_at_regions(tmp_path: Path, pictures: list[np.ndarray]) -> None:
    """Overfitted, the head points; the other one, which nobody told, does so less; resuming is exact."""
    settings = {
        **SETTINGS,
        "data": {"scenes": 24, "regions": True},
        "train": {
            **SETTINGS["train"],
            "alignment_weight": 1.0,
            "max_steps": 60,
            "validate_every": 60,
            "save_every": 20,
        },
    }
    finished, _ = run(settings, tmp_path / "run")
    captioner = load_captioner(tmp_path / "run")
    assert captioner.attention == AlignmentConfig(heads=((0, 0),))
    scenes = [scene("train", number) for number in range(24)]
    read = captioner.read([one.picture for one in scenes])
    regions = [tuple(WordRegion(w.text, w.role, one.region(w)) for w in one.words("en")) for one in scenes]
    shares = []
    for head in (0, 1):
        maps = captioner.look(read, [one.caption("en") for one in scenes], settings=AlignmentConfig(heads=((0, head),)))
        found = pointing(maps, regions)
        assert found is not None
        shares.append(found.share)
    assert shares[0] > 2.5 * found.chance
    assert shares[0] > shares[1]
    with pytest.raises(KeyboardInterrupt):
        run(settings, tmp_path / "killed", stop_after(41))
    run(settings, tmp_path / "killed")
    weights = [
        sorted((tmp_path / name / "checkpoints").rglob("model.safetensors"))[-1].read_bytes()
        for name in ("run", "killed")
    ]
    assert weights[0] == weights[1]
    assert finished.metrics is not None


@pytest.mark.parametrize(
    ("data", "train", "message"),
    [
        ({}, {"alignment_weight": 0.2}, "train.alignment_weight 0.2 is for data.regions; give them"),
        ({}, {"alignment_layer": 0}, "train.alignment_layer 0 is for data.regions; give them"),
        ({"regions": True}, {"alignment_layer": 4}, "train.alignment_layer 4 is not among the 4 decoder layers"),
    ],
)
def test_settings_of_regions_that_do_not_fit(data: dict[str, Any], train: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_settings({"task": "caption", "data": data, "train": train})
