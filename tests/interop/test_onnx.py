"""Exports to ONNX, run by onnxruntime: the same logits, and the same texts by greedy and beam search."""

import ast
import json
import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import regard
from documented import ROOT, blocks
from interop.language_models import language_model
from regard.bundle.bundle import save_bundle
from regard.bundle.config import VocabularySizes
from regard.errors import BundleError
from regard.interop import onnx_graph
from regard.layers.attention import project_source
from regard.models.blocks import attention_layers
from regard.models.build import build_classifier
from regard.models.config import SCORE_TRAITS
from regard.search.options import SearchOptions
from regard.search.run import run_search
from regard.tasks.classify.settings import ClassifyBundle
from tasks.bundles import TEXTS, random_bundle

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

NETWORKS: list[dict[str, Any]] = [
    *({"positions": kind} for kind in ("sinusoidal", "rotary", "learned", "relative")),
    *({"score": kind, "positions": "rotary"} for kind in ("dot", "cosine", "gaussian")),
    *({"score": kind} for kind in ("general", "concat", "additive", "mahalanobis", "latent", "parameter_free")),
    {"score": "additive", "score_width": 5},
    {"norm": "post", "activation": "swiglu"},
    {"norm_kind": "rms", "activation": "geglu"},
    {"norm": "post", "norm_kind": "rms", "activation": "gelu"},
    {"activation": "gelu_tanh", "tie": False, "output_bias": True},
    {"joint": False, "embedding_norm": True, "scale_embedding": False, "activation": "silu"},
    {"joint": False, "tie": False, "text": "unigram"},
    {"mixer": "window", "window": 5},
    {"encoder_mixer": "window", "window": 3, "score": "gaussian"},
    {"source_end": False, "norm_epsilon": 1e-3},
]
assert {row.get("score", "scaled_dot") for row in NETWORKS} == {*SCORE_TRAITS} - {"location"}, "every score has a graph"
IDS = ["-".join(map(str, row.values())) for row in NETWORKS]


@dataclass
class OnnxState:
    """The cache of every hypothesis, and its source."""

    past: dict[str, NDArray[np.float32]]
    fixed: dict[str, NDArray[Any]]
    hypotheses: int

    def reorder(self, sentences: torch.Tensor, parents: torch.Tensor) -> "OnnxState":
        rows = (sentences[:, None] * self.hypotheses + parents).flatten().numpy()
        past, fixed = ({name: value[rows] for name, value in part.items()} for part in (self.past, self.fixed))
        return OnnxState(past, fixed, parents.shape[1])


class OnnxStepper:
    """The exported graphs as our searches ask for them."""

    end_token = 0

    def __init__(self, directory: Path) -> None:
        config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
        self.start_token: int = config["decoder_start_token_id"]
        self.encoder = onnxruntime.InferenceSession(directory / config["encoder"]) if "encoder" in config else None
        self.decoder = onnxruntime.InferenceSession(directory / config["decoder"])

    def read(self, source: NDArray[np.int64], mask: NDArray[np.int64]) -> OnnxState:
        fixed: dict[str, NDArray[Any]] = {}
        if self.encoder is not None:
            names = [value.name for value in self.encoder.get_outputs()]
            given = {"input_ids": source, "attention_mask": mask}
            fixed = dict(zip(names, self.encoder.run(None, given), strict=True)) | {"encoder_attention_mask": mask}
        shapes = {value.name: value.shape for value in self.decoder.get_inputs() if ".decoder." in value.name}
        past = {name: np.zeros((len(source), at[1], 0, at[3]), np.float32) for name, at in shapes.items()}
        return OnnxState(past, fixed, 1)

    def feed(self, tokens: NDArray[np.int64], state: OnnxState) -> tuple[NDArray[np.float32], OnnxState]:
        answer = self.decoder.run(None, {"input_ids": tokens, **state.fixed, **state.past})
        names = [value.name.replace("present", "past_key_values") for value in self.decoder.get_outputs()]
        past = dict(zip(names, answer, strict=True))
        logits = past.pop("logits")
        return logits, OnnxState(past, state.fixed, state.hypotheses)

    def start(self, source: torch.Tensor, prefix: torch.Tensor | None = None) -> OnnxState:
        assert prefix is None
        return self.read(source.numpy(), np.ones(source.shape, np.int64))

    def step(
        self, tokens: torch.Tensor, state: OnnxState, record: bool = False
    ) -> tuple[torch.Tensor, OnnxState, None]:
        logits, new = self.feed(tokens.reshape(-1, 1).numpy(), state)
        return torch.from_numpy(logits).view(*tokens.shape, -1), new, None


@pytest.mark.parametrize("settings", NETWORKS, ids=IDS)
def test_the_same_logits_in_one_pass_and_step_by_step(settings: dict[str, Any], tmp_path: Path) -> None:
    path = random_bundle(tmp_path / "b", **settings)
    regard.export(path, tmp_path / "onnx", to="onnx")
    model, stepper = regard.load(path, engine="torch"), OnnxStepper(tmp_path / "onnx")
    rows = [[*ids, 0] for ids in model.tokenizers.source.encode_batch(TEXTS[:3])]
    pads = (model.tokenizers.source.vocabulary.pad, model.tokenizers.target.vocabulary.pad)
    source = np.full((3, max(map(len, rows))), pads[0])
    for row, ids in zip(source, rows, strict=True):
        row[: len(ids)] = ids
    mask = (source != pads[0]).astype(np.int64)
    if settings.get("source_end") is False:
        mask[source == 0] = 0
    drawn = np.random.default_rng(1).integers(2, pads[1], (3, 11))
    target = np.concatenate([np.full((3, 1), pads[1]), drawn], axis=1)
    with torch.inference_mode():
        expected = model.network(torch.from_numpy(source), torch.from_numpy(target)).numpy()
    state = stepper.read(source, mask)
    found = []
    for first, last in ((0, 4), (4, 5), (5, 6), (6, 12)):
        logits, state = stepper.feed(target[:, first:last], state)
        found.append(logits)
    np.testing.assert_allclose(np.concatenate(found, axis=1), expected, atol=1e-4, rtol=1e-4)


def test_far_positions_are_as_exact_as_near_ones(tmp_path: Path) -> None:
    """Sinusoids at position 20,000 in single precision would be wrong by 1e-3."""
    for kind in ("sinusoidal", "rotary"):
        path = random_bundle(tmp_path / kind, positions=kind)
        regard.export(path, tmp_path / f"{kind}-onnx", to="onnx")
        encoder = onnxruntime.InferenceSession(tmp_path / f"{kind}-onnx" / "encoder_model.onnx")
        network = regard.load(path, engine="torch").network
        source = torch.randint(2, 300, (1, 1500), generator=torch.Generator().manual_seed(1))
        with torch.inference_mode():
            states, _ = network.encode(source)
            expected, _ = project_source(attention_layers(network.decoder), states)[0]
        keys = encoder.run(
            ["past_key_values.0.encoder.key"],
            {"input_ids": source.numpy(), "attention_mask": np.ones(source.shape, np.int64)},
        )[0]
        np.testing.assert_allclose(keys, expected.numpy(), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("settings", [{}, {"positions": "relative", "joint": False}, {"score": "additive"}])
def test_the_same_texts_by_our_beam_over_onnxruntime(settings: dict[str, Any], tmp_path: Path) -> None:
    path = random_bundle(tmp_path / "b", ending=3.0, **settings)
    regard.export(path, tmp_path / "onnx", to="onnx")
    model, stepper = regard.load(path, engine="torch"), OnnxStepper(tmp_path / "onnx")
    options = SearchOptions(beam=4, nbest=2, alpha=0.6)
    for text in TEXTS[:6]:
        ids = model.tokenizers.source.encode(text)
        limits = [2 * len(ids) + 10]
        [found] = run_search(
            stepper, torch.tensor([[*ids, 0]]), options, limits=limits, numbers=[0], source_lengths=[len(ids)]
        )
        expected = model.translate([text], beam=4, nbest=2, alpha=0.6)[0]
        assert [model.tokenizers.target.decode(one.tokens) for one in found] == [
            one.text for one in expected.alternatives
        ]
        assert found[0].score == pytest.approx(expected.score, abs=1e-4)


def script() -> str:
    [block] = [one for one in blocks(ROOT / "docs" / "interop.md") if one.mark == "file: translate_onnx.py"]
    return block.text


@pytest.mark.parametrize("settings", [{}, {"joint": False, "source_end": False}, {"text": "unigram"}])
def test_the_script_of_the_page_gives_the_same_greedy_texts(settings: dict[str, Any], tmp_path: Path) -> None:
    path = random_bundle(tmp_path / "b", ending=4.0, **settings)
    regard.export(path, tmp_path / "onnx", to="onnx")
    (tmp_path / "translate_onnx.py").write_text(script(), encoding="utf-8")
    texts = [*TEXTS[:6], "", "  zwei   Bäume 🙂  "]
    answer = subprocess.run(
        [sys.executable, str(tmp_path / "translate_onnx.py"), str(tmp_path / "onnx")],
        input="".join(f"{text}\n" for text in texts),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    expected = regard.load(path, engine="torch").translate(texts, beam=1)
    # sentencepiece keeps what our decoding drops from invalid bytes and control characters
    assert [" ".join(line.split()) for line in answer.stdout.split("\n")[:-1]] == [one.text for one in expected]


def test_the_script_needs_three_packages() -> None:
    imports = [node for node in ast.walk(ast.parse(script())) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in imports}
    assert names - set(sys.stdlib_module_names) == {"numpy", "onnxruntime", "sentencepiece"}


def random_tokenizers(path: Path) -> Any:
    return regard.load(random_bundle(path.with_name(f"{path.name}-base"))).tokenizers


@pytest.mark.parametrize(
    "settings", [{"positions": "learned"}, {"positions": "relative", "norm": "post"}, {"tie": False}]
)
def test_a_language_model_has_the_same_logits(settings: dict[str, Any], tmp_path: Path) -> None:
    path = language_model(tmp_path / "lm", **settings)
    regard.export(path, tmp_path / "onnx", to="onnx")
    network, stepper = regard.load(path).network, OnnxStepper(tmp_path / "onnx")
    tokens = torch.randint(2, 300, (2, 20), generator=torch.Generator().manual_seed(1))
    tokens[:, 0] = stepper.start_token
    with torch.inference_mode():
        expected = network(torch.zeros(2, 0, dtype=torch.long), tokens).numpy()
    state = stepper.read(np.zeros((2, 0), np.int64), np.zeros((2, 0), np.int64))
    first, state = stepper.feed(tokens[:, :9].numpy(), state)
    second, _ = stepper.feed(tokens[:, 9:].numpy(), state)
    np.testing.assert_allclose(np.concatenate([first, second], axis=1), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("pooling", "labels_of", "pooler"),
    [
        ("mean", "text", False),
        ("max", "text", True),
        ("class", "text", True),
        ("attention", "text", False),
        ("mean", "token", False),
    ],
)
def test_a_classifier_has_the_same_logits(pooling: str, labels_of: Any, pooler: bool, tmp_path: Path) -> None:
    tokenizers = random_tokenizers(tmp_path / "c")
    size = len(tokenizers.source.vocabulary)
    model = {"layers": 2, "width": 32, "heads": 4, "feed_forward": 48, "pooling": pooling, "kind": "transformer"}
    model |= {"pooler": pooler, "output_bias": pooler}
    config = ClassifyBundle.parse(
        {
            "task": "classify",
            "model": model,
            "vocabulary": VocabularySizes(source=size, target=size, joint=True),
            "labels": ("a", "b", "c"),
            "labels_of": labels_of,
        }
    )
    torch.manual_seed(3)
    network = build_classifier(config.model, size, 3, tagging=labels_of == "token")
    if pooler:
        torch.nn.init.normal_(network.get_parameter("output_bias"))
    if pooling == "attention":
        torch.nn.init.normal_(network.get_parameter("attention_pooling.query"))
    save_bundle(tmp_path / "c", network.state_dict(), config, tokenizers)
    regard.export(tmp_path / "c", tmp_path / "onnx", to="onnx")
    session = onnxruntime.InferenceSession(tmp_path / "onnx" / "model.onnx")
    source = torch.randint(2, 300, (3, 9), generator=torch.Generator().manual_seed(1))
    source[1, 6:] = size - 1
    read = (source != size - 1).long()
    with torch.inference_mode():
        expected = network.eval()(source).numpy()
    found = session.run(None, {"input_ids": source.numpy(), "attention_mask": read.numpy()})[0]
    kept = read.bool().numpy() if labels_of == "token" else slice(None)
    np.testing.assert_allclose(found[kept], expected[kept], atol=1e-4, rtol=1e-4)
    assert json.loads((tmp_path / "onnx" / "config.json").read_text())["labels"] == ["a", "b", "c"]


def test_large_weights_are_in_a_file_beside_the_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = random_bundle(tmp_path / "b")
    regard.export(path, tmp_path / "inside", to="onnx")
    monkeypatch.setattr(onnx_graph, "LONGEST_FILE", 1000)
    regard.export(path, tmp_path / "outside", to="onnx")
    assert (tmp_path / "outside" / "encoder_model.onnx.data").stat().st_size > 10_000
    read, mask = np.array([[5, 6, 0]]), np.ones((1, 3), np.int64)
    keys = [OnnxStepper(tmp_path / name).read(read, mask).fixed for name in ("inside", "outside")]
    assert all((keys[0][name] == keys[1][name]).all() for name in keys[0])
    assert not math.isnan(keys[0]["past_key_values.0.encoder.key"].sum())


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({"kind": "recurrent"}, "train with model.kind = 'transformer'"),
        ({"kind": "prefix"}, "train with model.kind = 'transformer'"),
        ({"mixer": "hyena"}, "train with model.mixer = 'attention'"),
        ({"encoder_mixer": "linformer", "positions": "sinusoidal"}, "train with model.mixer = 'attention'"),
        ({"text": "char"}, "train with text.kind = 'bpe'"),
    ],
)
def test_what_has_no_graph_is_refused_with_the_setting_to_train_with(
    settings: dict[str, Any], advice: str, tmp_path: Path
) -> None:
    path = random_bundle(tmp_path / "b", **settings)
    with pytest.raises(BundleError, match=advice):
        regard.export(path, tmp_path / "onnx", to="onnx")
    assert not (tmp_path / "onnx").exists()
