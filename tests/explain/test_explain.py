"""An explanation says what the model did: every number is held against another way to get it."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from explain.models import KINDS, explained, trained_model
from regard.bundle.config import AlignmentConfig
from regard.errors import ConfigError, DataError
from regard.explain.arrays import NamedArray
from regard.explain.document import TEXT_LIMIT
from regard.explain.explanation import Explanation
from regard.explain.sentence_page import limit_computation, render_sentences, to_data, write_explanations
from regard.tasks.translate.translator import Translator

TEXT = "la pomme dort"


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_seen_is_what_is_translated(kind: str) -> None:
    model = trained_model(kind)
    [translation] = model.translate([TEXT])
    seen = model.explain(TEXT, parts=())
    assert seen.target.text == translation.text
    assert list(seen.target.tokens) == [*translation.tokens, "</s>"]
    assert translation.finished
    assert seen.logprob == pytest.approx(translation.logprob, abs=1e-5)  # the search's, without a probe
    [score] = model.score([TEXT], ["the cat"])
    forced = model.explain(TEXT, target="the cat", parts=())
    assert forced.token_logprobs.values == pytest.approx(score.token_logprobs, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_attention_of_every_layer_and_head(kind: str) -> None:
    seen = trained_model(kind).explain(TEXT, target="the cat is red", parts=("computation",))
    expected = {"transformer": {"encoder", "decoder", "cross"}, "recurrent": {"cross"}, "no attention": set()}
    same = {"relative": "transformer", "additive": "transformer", "prefix": "transformer", "input feeding": "recurrent"}
    names = same.get(kind, kind)
    assert set(seen.attention) == set(seen.computation) == expected[names]
    sides = {"encoder": ("source", "source"), "decoder": ("target", "target"), "cross": ("target", "source")}
    for name, weights in seen.attention.items():
        query, key = (len(getattr(seen, side).tokens) for side in sides[name])
        layers, heads = (2, 2) if names == "transformer" else (1, 1)
        assert weights.shape == {"layer": layers, "head": heads, "query": query, "key": key}
        whole = weights.values.sum(axis=-1)
        if kind == "prefix" and name != "encoder":  # one softmax over the source and the past
            whole = sum(seen.attention[part].values.sum(axis=-1) for part in ("decoder", "cross"))
        np.testing.assert_allclose(whole, 1.0, atol=1e-6)
    if "decoder" in seen.attention:
        assert np.triu(seen.attention["decoder"].values, k=1).max() == 0.0  # nobody looks ahead


@pytest.mark.parametrize("kind", ["transformer", "relative", "recurrent", "input feeding"])
def test_a_step_can_be_computed_again_from_its_numbers(kind: str) -> None:
    model = trained_model(kind)
    seen = model.explain(TEXT, target="the cat is red", parts=("computation",))
    for name, steps in seen.computation.items():
        weights = seen.attention[name].values
        if kind in ("transformer", "relative"):
            width = steps.query.values.shape[-1]
            dots = np.einsum("lhtd,lhsd->lhts", steps.query.values, steps.keys.values) / np.sqrt(width)
            np.testing.assert_allclose(steps.scores.values, dots, atol=1e-4)
        softmax = torch.softmax(torch.from_numpy(steps.masked.values), dim=-1).numpy()
        np.testing.assert_allclose(weights, softmax, atol=1e-6)
        np.testing.assert_allclose(steps.context.values, weights @ steps.values.values, atol=1e-5)
        if steps.joined is not None and steps.output is not None:
            joined = steps.context.values.transpose(0, 2, 1, 3).reshape(steps.joined.values.shape)
            np.testing.assert_array_equal(steps.joined.values, joined)
            network = model.network
            block = network.decoder[0] if name != "encoder" else network.encoder[0]  # type: ignore[attr-defined]
            attention = block.cross if name == "cross" else block.mixer
            with torch.no_grad():
                output = attention.output(torch.from_numpy(joined[0]).double())
            np.testing.assert_allclose(steps.output.values[0], output, atol=1e-4)


def test_the_likeliest_tokens_of_each_step() -> None:
    model = trained_model()
    seen = model.explain(TEXT, parts=())
    tokens = seen.outputs.tokens
    greedy = model.explain(TEXT, beam=1, parts=())
    assert [row[0] for row in greedy.outputs.tokens] == list(greedy.target.tokens)
    assert (np.diff(seen.outputs.probabilities.values, axis=1) <= 0).all()
    np.testing.assert_allclose(np.exp(seen.token_logprobs.values), seen.outputs.said.values, rtol=1e-5)
    assert len(tokens) == len(seen.target.tokens)


def test_searches_side_by_side() -> None:
    model = trained_model()
    greedy, wide, best = model.explain(TEXT, beam=3, parts=("searches",)).searches
    assert (greedy.name, wide.name, best.name) == ("greedy", "beam", "exact")
    assert wide.score >= greedy.score - 1e-9 or not wide.finished
    assert best.logprob >= wide.logprob - 1e-9 or not best.finished
    for search, options in ((greedy, {"beam": 1}), (wide, {"beam": 3}), (best, {"exact": True, "beam": 3})):
        [found] = model.translate([TEXT], **options)
        assert (search.text, search.tokens) == (found.text, found.tokens)
        assert search.score == pytest.approx(found.score, abs=1e-5)
        [winner] = [node for node in search.tree.nodes if node.state == "best"]
        assert winner.score == pytest.approx(search.score, abs=1e-5)
    assert best.proved
    assert best.nodes == sum(node.bound is not None for node in best.tree.nodes)


def test_the_model_s_own_way_to_align_comes_first() -> None:
    model = trained_model()
    own = explained(
        Translator(model.network, model.tokenizers, alignment=AlignmentConfig(heads=((1, 0),), links="both"))
    )
    maps = own.explain(TEXT, target="the cat", parts=()).alignments
    assert list(maps) == ["picked", "attention", "norm", "zeroing"]
    [expected] = own.align([TEXT], ["the cat"])
    assert maps["picked"].links == expected.links
    np.testing.assert_allclose(maps["picked"].weights, expected.weights)


def test_a_mistake_is_named() -> None:
    model = trained_model()
    with pytest.raises(DataError, match="nothing to explain"):
        model.explain("  ")
    with pytest.raises(ConfigError, match="not one of computation"):
        model.explain(TEXT, parts=("colours",))  # type: ignore[arg-type]
    with pytest.raises(DataError, match="the target has"):
        explained(Translator(model.network, model.tokenizers, max_tokens=9)).explain("la", target="the cat " * 9)


def test_named_axes() -> None:
    array = NamedArray(("layer", "head"), np.array([[1.0, 2.0], [3.0, 5.0]], dtype=np.float32))
    assert float(array.at(head=1, layer=0)) == 2.0
    assert array.at(layer=1).axes == ("head",)
    assert np.asarray(array.mean("head")).tolist() == [1.5, 4.0]
    with pytest.raises(KeyError, match="no axis 'query'"):
        array.at(query=0)
    with pytest.raises(ValueError, match="2 dimensions"):
        NamedArray(("layer",), array.values)


@pytest.fixture(scope="module")
def explanation() -> Explanation:
    return trained_model().explain(TEXT, target="the cat is red")


def test_the_json_holds_every_number(explanation: Explanation, tmp_path: Path) -> None:
    write_explanations([explanation], tmp_path / "data.json")
    [read] = json.loads((tmp_path / "data.json").read_text(encoding="utf-8"))["explanations"]
    for name, weights in explanation.attention.items():
        found = read["attention"][name]
        assert found["axes"] == ["layer", "head", "query", "key"]
        np.testing.assert_array_equal(np.array(found["values"], dtype=np.float32), weights.values)
        hidden = np.array(read["computation"][name]["masked"]["values"], dtype=float)  # null: minus infinity
        np.testing.assert_array_equal(np.isnan(hidden), np.isinf(explanation.computation[name].masked.values))
    assert read["source"]["words"] == ["la", "pomme", "dort"]
    assert read["logprob"] == explanation.logprob


def test_the_json_holds_a_long_text_whole_and_a_page_its_beginning(explanation: Explanation) -> None:
    text = "la pomme " * 1000
    long = replace(explanation, source=replace(explanation.source, text=text))
    assert to_data([long])["explanations"][0]["source"]["text"] == text
    assert to_data([long], packed=True)["explanations"][0]["source"]["text"] == text[: TEXT_LIMIT - 1] + "…"


def test_packed_numbers_are_the_same(explanation: Explanation) -> None:
    import base64

    [packed] = to_data([explanation], packed=True)["explanations"]
    found = packed["computation"]["decoder"]["masked"]
    values = np.frombuffer(base64.b64decode(found["float32"]), "<f4").reshape(found["shape"])
    np.testing.assert_array_equal(values, explanation.computation["decoder"].masked.values)


def test_a_page_of_a_long_sentence_keeps_the_last_layer(
    explanation: Explanation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.explain.sentence_page.COMPUTATION_NUMBERS", 100)
    kept = limit_computation(explanation).computation["cross"]
    assert list(kept.layers) == [1]
    np.testing.assert_array_equal(kept.query.values[0], explanation.computation["cross"].query.values[1])


def test_a_notebook_shows_the_page(explanation: Explanation) -> None:
    shown = explanation._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert shown.count("<") == 2  # all of the page is escaped


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_figures(explanation: Explanation, tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    write_explanations([explanation, explanation], tmp_path / f"figure{suffix}")
    start = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}[suffix]
    assert (tmp_path / f"figure{suffix}").read_bytes().startswith(start)


def test_a_figure_of_any_text(tmp_path: Path) -> None:
    """No glyph for it, a sign of mathematics, or a name that would be one: it is drawn all the same."""
    pytest.importorskip("matplotlib")
    seen = trained_model("recurrent").explain("la 🍎 $x_1 שלום", parts=(), name="$\\alpha")
    write_explanations([seen, seen], tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").stat().st_size > 1000


def test_another_suffix_is_refused(explanation: Explanation, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"written as \.html"):
        write_explanations([explanation], tmp_path / "page.docx")


def test_the_page_holds_the_data(explanation: Explanation) -> None:
    page = render_sentences([explanation])
    assert '"format":1' in page
    assert "la pomme dort · regard" in page
