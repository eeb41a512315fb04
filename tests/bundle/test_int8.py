"""Weights in 8 bits: near the weights, and products that no processor cuts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from regard.bundle import ctranslate2 as conversion
from regard.bundle.int8 import quantised
from regard.bundle.weights import numpy_weights
from regard.tasks.load import load_served
from tasks.bundles import random_bundle


def in_16_bits(weights: np.ndarray, activations: np.ndarray) -> np.ndarray:
    """Each two neighbouring products added and cut to 16 bits, as `vpmaddubsw` does; then all added."""
    products = activations.astype(np.int64) * weights.astype(np.int64)
    pairs = products.reshape(*products.shape[:-1], -1, 2).sum(axis=-1)
    return np.clip(pairs, -(2**15), 2**15 - 1).sum(axis=-1)


@pytest.mark.parametrize("seed", range(3))
def test_no_activation_overflows_16_bits(seed: int) -> None:
    generator = np.random.default_rng(seed)
    weight = generator.standard_t(3, (64, 32)).astype(np.float32)
    weight[0], weight[1], weight[2] = 1.0, -1.0, 0.0
    whole, _ = quantised(weight)
    for activations in (np.where(whole > 0, 255, 1), np.where(whole < 0, 255, 1), generator.integers(1, 256, 32)):
        exact = (whole.astype(np.int64) * activations).sum(axis=-1)
        assert (in_16_bits(whole, np.broadcast_to(activations, whole.shape)) == exact).all()
    plain = np.rint(weight * 127 / np.abs(weight).max(axis=1, keepdims=True).clip(1e-9))
    assert (in_16_bits(plain, np.where(plain > 0, 255, 1)) != (plain * np.where(plain > 0, 255, 1)).sum(axis=-1)).any()


def test_weights_are_rounded_by_half_a_step_and_use_the_range() -> None:
    weight = np.array([[3.0, -3.0, 1.0, 0.5], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]], dtype=np.float32)
    whole, scales = quantised(weight)
    assert whole.tolist() == [[127, -127, 42, 21], [64, 64, 0, 0], [0, 0, 0, 0]]  # 63.5 is rounded to the even 64
    assert scales.tolist() == pytest.approx([127 / 3, 63.5, 1.0])
    random = np.random.default_rng(1).standard_normal((50, 31)).astype(np.float32)  # an odd number of inputs
    whole, scales = quantised(random)
    assert np.abs(whole / scales[:, None] - random).max() <= 0.5001 / scales.min()
    tiny, scale = quantised(np.full((1, 2), 1e-45, dtype=np.float32))
    assert np.isfinite(scale).all()
    assert np.abs(tiny).max() <= 127


SCORE = """
import json, sys
import ctranslate2
translator = ctranslate2.Translator(sys.argv[1], compute_type="int8", inter_threads=1, intra_threads=1)
sources, targets = json.loads(sys.argv[2])
print(*(number for scored in translator.score_batch(sources, targets) for number in scored.log_probs))
"""


def test_processors_without_vnni_compute_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network with equal large weights, whose products AVX2 cuts where a row has the usual scale. oneDNN is told what to use."""
    pytest.importorskip("ctranslate2")
    bundle = load_served(random_bundle(tmp_path / "bundle"), engine="ct2").bundle
    tensors = dict(numpy_weights(bundle))
    tensors |= {name: np.full_like(own, 0.3) for name, own in tensors.items() if name.endswith("up.weight")}
    monkeypatch.setattr(conversion, "numpy_weights", lambda _: tensors)
    pieces = [[*map(bundle.tokenizers.source.vocabulary.piece, range(first, first + 8))] for first in (2, 9, 17)]
    found = {}
    for name, quantise in {"ours": quantised, "usual": usual}.items():
        monkeypatch.setattr(conversion, "quantised", quantise)
        (tmp_path / name).mkdir()
        conversion.convert(bundle, "int8", tmp_path / name)
        command = [sys.executable, "-c", SCORE, str(tmp_path / name), json.dumps([pieces, pieces[::-1]])]
        for isa in ("DEFAULT", "AVX2"):
            environment = {**os.environ, "CT2_USE_MKL": "0", "ONEDNN_MAX_CPU_ISA": isa}
            output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
            found[name, isa] = np.array([*map(float, output.split())])
    change = {name: np.abs(found[name, "AVX2"] - found[name, "DEFAULT"]).max() for name in ("ours", "usual")}
    assert change["ours"] < 0.02  # other rounding of sums, then of activations
    assert change["usual"] == 0.0 or change["usual"] > 5 * change["ours"]  # 0: this processor has no VNNI


def usual(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest weight of a row is 127."""
    scales = 127.0 / np.abs(weight).max(axis=1).clip(1e-9)
    return np.rint(weight * scales[:, None]).astype(np.int8), scales.astype(np.float32)
