"""The Vision Transformer against timm's, its parts against torch and by hand, and its settings."""

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

import regard
from regard.errors import ConfigError
from regard.layers.dropout import Dropout
from regard.layers.norm import NORMS
from regard.layers.patches import ConvolutionalTokenizer, PatchFront, PatchProjection
from regard.layers.pooling import AttentionPooling
from regard.models.build import build_picture_classifier
from regard.models.config import VisionConfig
from regard.models.shapes import picture_classifier_shapes
from regard.models.vision import weights_from_timm
from regard.ops.loss import soft_cross_entropy
from regard.ops.positions import sinusoidal, sinusoidal_2d
from regard.ops.probe import Probe
from regard.tasks.classify_images.timm import import_timm
from timm_models import vision_transformer

PLAIN: dict[str, Any] = {
    "tokenizer": "patches",
    "patch": 4,
    "layers": 2,
    "width": 24,
    "heads": 3,
    "feed_forward": 48,
    "norm_epsilon": 1e-6,
}


@torch.no_grad()
@pytest.mark.parametrize("pooling", ["class", "mean"])
@pytest.mark.parametrize("channels", [1, 3])
def test_the_logits_are_those_of_timm(pooling: str, channels: int) -> None:
    if find_spec("timm") is None:
        pytest.skip("timm is not installed")
    torch.manual_seed(3)
    theirs = vision_transformer(
        img_size=(12, 20),
        patch_size=4,
        in_chans=channels,
        num_classes=7,
        embed_dim=24,
        depth=2,
        num_heads=3,
        mlp_ratio=2.0,
        class_token=pooling == "class",
        global_pool="token" if pooling == "class" else "avg",
    ).eval()
    for parameter in theirs.parameters():
        parameter += 0.1 * torch.randn_like(parameter)
    config = VisionConfig(**PLAIN, pooling=pooling, norm_place="tokens" if pooling == "class" else "pooled")
    ours = build_picture_classifier(config, 12, 20, channels, 7).eval()
    ours.load_state_dict(weights_from_timm(theirs.state_dict(), config))
    pictures = torch.randn(5, channels, 12, 20)
    expected = theirs(pictures)
    assert expected.std() > 0.05
    torch.testing.assert_close(ours(pictures), expected, rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_a_bundle_of_timms_weights_classifies_as_timm_does(tmp_path: Path) -> None:
    if find_spec("timm") is None:
        pytest.skip("timm is not installed")
    torch.manual_seed(4)
    sizes = {"img_size": 8, "patch_size": 4, "embed_dim": 24, "depth": 1, "num_heads": 2}
    theirs = vision_transformer(**sizes, num_classes=3).eval()
    for parameter in theirs.parameters():
        parameter += 0.2 * torch.randn_like(parameter)
    options: dict[str, Any] = {"labels": ["a", "b", "c"], "heads": 2, "height": 8, "width": 8}
    served = regard.load(import_timm(theirs.state_dict(), tmp_path / "bundle", **options))
    picture = np.random.default_rng(1).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    [found] = served.classify([picture])
    source = torch.from_numpy(picture / 255.0).float().permute(2, 0, 1)[None].sub(0.5).div(0.5)
    assert list(found.probabilities.values()) == pytest.approx(theirs(source).softmax(-1)[0].tolist(), abs=1e-4)
    with pytest.raises(ConfigError, match="2 labels for a network with 3 outputs"):
        import_timm(theirs.state_dict(), tmp_path / "none", **{**options, "labels": ["a", "b"]})
    with pytest.raises(ConfigError, match="have 17 tokens, and the network has positions for 5"):
        import_timm(theirs.state_dict(), tmp_path / "none", **{**options, "height": 16, "width": 16})
    with pytest.raises(ConfigError, match="not the state dict of a plain VisionTransformer"):
        import_timm({}, tmp_path / "none", **options)


def test_a_state_dict_that_does_not_fit_is_refused_by_name() -> None:
    config = VisionConfig(**PLAIN, pooling="class")
    with pytest.raises(ValueError, match="no tensor 'pos_embed' in the state dict of timm"):
        weights_from_timm({}, config)


def test_patches_are_a_strided_convolution_without_the_incomplete_ones() -> None:
    made = PatchProjection(channels=3, patch=4, width=6)
    pixels = torch.randn(2, 3, 10, 13)
    kernel = made.linear.weight.view(6, 3, 4, 4)
    expected = F.conv2d(pixels, kernel, made.linear.bias, stride=4).flatten(2).transpose(1, 2)
    torch.testing.assert_close(made(pixels), expected, rtol=1e-4, atol=1e-5)
    assert made.grid(10, 13) == (2, 3)


def test_the_convolutional_tokenizer_is_convolution_relu_and_maximum() -> None:
    made = ConvolutionalTokenizer(channels=1, inner=5, width=6, layers=2)
    torch_form = torch.nn.Sequential(
        *(
            part
            for convolution in made.convolutions
            for part in (convolution, torch.nn.ReLU(), torch.nn.MaxPool2d(3, stride=2, padding=1))
        )
    )
    pixels = torch.randn(2, 1, 9, 14)
    expected = torch_form(pixels)
    assert tuple(expected.shape[2:]) == made.grid(9, 14) == (3, 4)
    torch.testing.assert_close(made(pixels), expected.flatten(2).transpose(1, 2))


def test_two_dimensional_sinusoids_tell_row_and_column_apart() -> None:
    table = sinusoidal_2d(2, 3, 8)
    line = sinusoidal(torch.arange(3), 4)
    torch.testing.assert_close(table[1 * 3 + 2], torch.cat([line[1], line[2]]))
    torch.testing.assert_close(table[0], torch.tensor([0.0, 0, 1, 1, 0, 0, 1, 1]))
    assert table[1 * 3][0] == pytest.approx(math.sin(1))
    assert len({tuple(row) for row in table.tolist()}) == 6


def test_attention_pooling_by_hand() -> None:
    pooling = AttentionPooling(2)
    with torch.no_grad():
        pooling.query.copy_(torch.tensor([1.0, 0.0]))
    x = torch.tensor([[[0.0, 1.0], [math.log(3), 5.0]]])
    probe, real = Probe("weights"), torch.tensor([[True, True]])
    torch.testing.assert_close(pooling(x, real, probe), torch.tensor([[0.75 * math.log(3), 4.0]]))
    torch.testing.assert_close(probe["weights"], torch.tensor([[0.25, 0.75]]))
    padded = torch.cat([x, torch.full((1, 1, 2), 9.0)], dim=1)  # padding has no weight, whatever is in it
    torch.testing.assert_close(
        pooling(padded, torch.tensor([[True, True, False]]), probe), torch.tensor([[0.75 * math.log(3), 4.0]])
    )
    torch.testing.assert_close(probe["weights"], torch.tensor([[0.25, 0.75, 0.0]]))


def test_the_last_column_of_the_outputs_is_the_bias() -> None:
    network = build_picture_classifier(VisionConfig(layers=1, width=8, heads=2, feed_forward=8), 8, 8, 1, 3).eval()
    pixels = torch.randn(2, 1, 8, 8)
    before = network(pixels)
    with torch.no_grad():
        assert (network.output_table()[:, -1] == 0).all()
        network.output_table()[1, -1] += 2.5
    torch.testing.assert_close(network(pixels) - before, torch.tensor([[0.0, 2.5, 0.0]] * 2), rtol=1e-4, atol=1e-5)


def test_a_front_refuses_pictures_of_another_size() -> None:
    front = PatchFront(
        tokenizer=PatchProjection(channels=1, patch=2, width=4),
        height=4,
        width=6,
        hidden=4,
        positions="none",
        dropout=Dropout(0.0),
    )
    x, mask = front(torch.zeros(1, 1, 4, 6))
    assert (tuple(x.shape), bool(mask.all()), front.tokens) == ((1, 6, 4), True, 6)
    with pytest.raises(AssertionError, match=r"pictures of \(4, 4\)"):
        front(torch.zeros(1, 1, 4, 4))


def test_soft_cross_entropy_is_that_of_torch() -> None:
    torch.manual_seed(1)
    logits, expected = torch.randn(4, 5, dtype=torch.float64), torch.rand(4, 5, dtype=torch.float64)
    expected /= expected.sum(dim=1, keepdim=True)
    total, nll = soft_cross_entropy(logits, expected, 0.1)
    torch.testing.assert_close(total, F.cross_entropy(logits, expected, label_smoothing=0.1, reduction="sum"))
    torch.testing.assert_close(nll, F.cross_entropy(logits, expected, reduction="sum"))


@st.composite
def configs(draw: st.DrawFn) -> dict[str, Any]:
    """The settings of a small Vision Transformer of any make."""
    heads = draw(st.integers(1, 2))
    norm = draw(st.sampled_from(["pre", "post"]))
    return {
        "layers": draw(st.integers(1, 2)),
        "width": 4 * heads * draw(st.integers(1, 2)),
        "heads": heads,
        "feed_forward": draw(st.integers(1, 9)),
        "tokenizer": draw(st.sampled_from(["convolution", "patches"])),
        "convolutions": draw(st.integers(1, 3)),
        "convolution_width": draw(st.integers(1, 5)),
        "kernel": draw(st.sampled_from([1, 3, 5])),
        "patch": draw(st.integers(1, 5)),
        "positions": draw(st.sampled_from(["learned", "sinusoidal", "none"])),
        "pooling": draw(st.sampled_from(["attention", "mean", "max", "class"])),
        "norm": norm,
        "norm_place": draw(st.sampled_from(["tokens", "pooled"])) if norm == "pre" else "tokens",
        "norm_kind": draw(st.sampled_from(["layer", "rms"])),
        "activation": draw(st.sampled_from(["gelu", "swiglu"])),
        "mixer": draw(st.sampled_from(["attention", "linear"])),
    }


@settings(max_examples=40)
@given(configs(), st.integers(5, 9), st.integers(5, 9), st.sampled_from([1, 3]))
def test_the_shapes_of_the_settings_are_those_of_the_network(
    options: dict[str, Any], height: int, width: int, channels: int
) -> None:
    config = VisionConfig(**options)
    network = build_picture_classifier(config, height, width, channels, 3)
    built = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    assert picture_classifier_shapes(config, height, width, channels, 3) == built
    assert config.tokens(height, width) == network.front.tokens


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 10, "heads": 2, "positions": "sinusoidal"}, "must be a multiple of 4"),
        ({"width": 10, "heads": 3}, "model.width 10 does not divide by model.heads 3"),
        ({"norm": "post", "norm_place": "pooled"}, "has no last norm"),
    ],
)
def test_settings_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        VisionConfig(**options)


def test_a_picture_smaller_than_a_patch_is_refused() -> None:
    with pytest.raises(ValueError, match=r"model.patch 16 is larger than the pictures, 28 x 8"):
        VisionConfig(tokenizer="patches", patch=16).check_size(8, 28)
    with pytest.raises(ValueError, match=r"raise model\.convolutions"):
        VisionConfig(convolutions=1).check_size(1024, 1024)


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_every_norm_has_the_epsilon_of_the_settings(kind: str) -> None:
    config = VisionConfig(**{**PLAIN, "norm_epsilon": 3e-4}, norm_kind=kind)
    network = build_picture_classifier(config, 8, 8, 1, 3)
    norms = [module for module in network.modules() if isinstance(module, tuple(NORMS.values()))]
    assert len(norms) == 2 * 2 + 1
    assert {getattr(norm, "eps" if kind == "layer" else "epsilon") for norm in norms} == {3e-4}
