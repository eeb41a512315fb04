"""CTranslate2's engine beside the torch one, the reference: the same bundle, the same sentences, the same answers."""

import itertools
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.bundle import ctranslate2 as conversion
from regard.engine import ct2
from regard.engine.fast import FastPath
from regard.engine.input_length import TruncationWarning
from regard.engine.runner import Runner
from regard.errors import BundleError, ConfigError, ResourceError, SearchError
from regard.files import cache_directory
from regard.search.expansion import Expansion
from regard.search.options import SearchOptions
from regard.tasks.load import load_served
from regard.tasks.translate.translation import Translation
from regard.tasks.translate.translator import Translator
from tasks.bundles import TEXTS, random_bundle

pytest.importorskip("ctranslate2")

TIE = 1e-4  # where two candidates are closer, either engine may take either
NETWORKS = [
    {"norm": "pre", "positions": "sinusoidal", "activation": "relu", "joint": True, "ending": 3.0},
    {"norm": "post", "positions": "sinusoidal", "activation": "gelu", "joint": False, "ending": 2.0},
    {"norm": "pre", "positions": "learned", "activation": "silu", "joint": True, "tie": False, "ending": 0.0},
    {"norm": "post", "positions": "learned", "activation": "swiglu", "joint": False, "tie": False, "ending": 1.5},
    {"norm": "pre", "positions": "rotary", "activation": "swiglu", "joint": True, "ending": 1.5},
    {"norm": "post", "positions": "relative", "activation": "relu", "joint": True, "ending": 2.0},
]

ONLY_TORCH: list[dict[str, Any]] = [
    {"sample": True},
    {"mbr": 2},
    {"exact": True},
    {"groups": 5},
    {"length_form": "wu"},
    {"coverage": 0.2},
    {"stop": "first"},
    {"stop": "safe"},
    {"stop_after": 3},
    {"exhaustive": True, "max_length": 1},
    {"min_length": 2},
    {"no_repeat": 2},
    {"suppress": ["<unk>"]},
    {"prefixes": ["the", ""]},
    {"phrases": [[], ["cat"]]},
]


def smallest_gap(model: Translator, text: str, beam: int) -> float:
    """Between neighbours among the candidates of any step of the search."""
    gaps = [1.0]

    def watch(step: Expansion) -> None:
        gaps.extend((step.logprobs[:, :-1] - step.logprobs[:, 1:]).flatten().tolist())

    model.watch(text, watch, SearchOptions(beam=beam, alpha=1.0))
    return min(gaps)


def assert_same(model: Translator, expected: list[Translation], found: list[Translation], beam: int) -> None:
    assert len(expected) == len(found)
    others = 0
    for one, other in zip(expected, found, strict=True):
        pairs = list(zip(one.alternatives or (one,), other.alternatives or (other,), strict=True))
        if all((a.tokens, a.finished) == (b.tokens, b.finished) for a, b in pairs):
            for a, b in pairs:
                assert (a.source, a.text, a.truncated) == (b.source, b.text, b.truncated)
                assert b.logprob == pytest.approx(a.logprob, rel=3e-6, abs=TIE)  # a sum in float32
                assert b.score == pytest.approx(a.score, rel=3e-6, abs=TIE)
        else:
            others += 1
            scores = sorted(a.score for a, _ in pairs)
            tied = any(high - low < TIE for low, high in itertools.pairwise(scores))
            assert tied or smallest_gap(model, one.source, beam) < TIE, (one, other)
    assert others <= len(expected) // 10


@pytest.fixture(
    scope="module",
    params=NETWORKS,
    ids=lambda network: f"{network['norm']}-{network['positions']}-{network['activation']}",
)
def engines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Translator, Translator]:
    path = random_bundle(tmp_path_factory.mktemp("bundle") / "b", **request.param)
    return load_served(path, engine="torch"), load_served(path, engine="ct2")


@pytest.mark.parametrize(("beam", "nbest"), [(1, 1), (2, 1), (5, 1), (5, 5)])
def test_both_engines_say_the_same(engines: tuple[Translator, Translator], beam: int, nbest: int) -> None:
    reference, model = engines
    texts = [*TEXTS[:8], "", "  ", f"{TEXTS[8]} {TEXTS[9]}"]
    for alpha in (0.0, 0.6, 1.0, 2.0):
        options = {"beam": beam, "alpha": alpha, "nbest": nbest}
        expected = reference.translate(texts, **options)
        assert_same(reference, expected, model.translate(texts, **options), beam)
        assert expected[8].text == expected[9].text == ""
    assert len({len(one.tokens) for one in expected}) > 2


def test_reserved_pieces_are_pieces_of_both_engines_and_no_text(tmp_path: Path) -> None:
    path = random_bundle(tmp_path / "b", reserved=True, ending=0.5)
    reference, model = load_served(path, engine="torch"), load_served(path, engine="ct2")
    expected = reference.translate(TEXTS, beam=1)
    assert_same(reference, expected, model.translate(TEXTS, beam=1), 1)
    tokenizer = reference.tokenizers.target
    reserved = set(tokenizer.vocabulary.reserved.names)
    holding = [one for one in expected if reserved & set(one.tokens)]
    assert holding, "random weights write some"
    for one in holding:
        others = [piece for piece in one.tokens if piece not in reserved]
        assert one.text == tokenizer.decode(tokenizer.vocabulary.ids_of(others))


@pytest.mark.parametrize("max_length", [1, 2, 5])
@pytest.mark.parametrize(("beam", "nbest"), [(1, 1), (3, 1), (3, 3)])
def test_outputs_that_are_cut(engines: tuple[Translator, Translator], beam: int, nbest: int, max_length: int) -> None:
    reference, model = engines
    for alpha in (0.0, 1.0):
        options = {"beam": beam, "alpha": alpha, "nbest": nbest, "max_length": max_length}
        expected = reference.translate(TEXTS[:10], **options)
        assert_same(reference, expected, model.translate(TEXTS[:10], **options), beam)
    assert any(not one.finished for one in expected)


@pytest.mark.parametrize("max_length", [None, 3])
def test_scores_that_nobody_looks_at_change_nothing_else(
    engines: tuple[Translator, Translator], max_length: int | None
) -> None:
    _, model = engines
    options = SearchOptions(beam=1, max_length=max_length)
    scored, unscored = model.search(TEXTS[:10], options), model.search(TEXTS[:10], options, scores=False)
    assert [(one.text, one.tokens, one.finished) for one in unscored] == [
        (one.text, one.tokens, one.finished) for one in scored
    ]
    assert all(math.isfinite(one.logprob) for one in scored)
    assert all(math.isnan(one.logprob) and math.isnan(one.score) for one in unscored)


def test_each_text_has_its_own_limit_in_a_shared_batch(tmp_path: Path) -> None:
    """Without an end, every output is as long as its text allows."""
    path = random_bundle(tmp_path / "b", ending=-9.0)
    texts = [TEXTS[0], TEXTS[0].split()[0], f"{TEXTS[1]} {TEXTS[2]}"]
    for beam in (1, 3):
        expected = load_served(path, engine="torch").translate(texts, beam=beam)
        found = load_served(path, engine="ct2").translate(texts, beam=beam)
        assert [len(one.tokens) for one in found] == [len(one.tokens) for one in expected]
        assert len({len(one.tokens) for one in found}) == 3
        assert not any(one.finished for one in found)


def test_a_text_that_is_too_long_is_cut_at_the_same_place(tmp_path: Path) -> None:
    path = random_bundle(tmp_path / "b", positions="learned")  # which reach 90 tokens
    texts = ["le chat dort " * 60, TEXTS[0]]
    with pytest.warns(TruncationWarning, match="longer than 89 tokens"):
        expected = load_served(path, engine="torch").translate(texts, beam=2, max_length=1000)
    with pytest.warns(TruncationWarning, match="longer than 89 tokens"):
        found = load_served(path, engine="ct2").translate(texts, beam=2, max_length=1000)
    assert [one.truncated for one in found] == [True, False]
    assert [one.tokens for one in found] == [one.tokens for one in expected]


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "relative"])
def test_every_distance_counts_the_same(tmp_path: Path, positions: str) -> None:
    """Sources and outputs past the last bucket of a relative bias, 128 tokens away."""
    path = random_bundle(tmp_path / "b", positions=positions, ending=-9.0)
    texts = [" ".join(TEXTS[:count]) for count in (1, 3, 20)]
    reference, model = load_served(path, engine="torch"), load_served(path, engine="ct2")
    assert len(reference.tokenizers.source.encode(texts[-1])) > 200
    expected, found = (one.translate(texts, beam=1, max_length=200) for one in (reference, model))
    assert [len(one.tokens) for one in found] == [200] * 3
    assert_same(reference, expected, found, 1)


def test_batches_and_workers_change_nothing(engines: tuple[Translator, Translator]) -> None:
    _, model = engines
    assert model.bundle is not None
    alone = ct2.Ct2Search(model.bundle, "float32", workers=1)
    expected = model.translate(TEXTS, beam=3)
    some = [model.translate([text], beam=3)[0] for text in TEXTS]
    model._searcher.fast, before = FastPath(alone), model._searcher.fast
    others = model.translate(TEXTS, beam=3, batch_tokens=40)
    model._searcher.fast = before
    assert [one.text for one in some] == [one.text for one in others] == [one.text for one in expected]


def test_alignment_comes_from_the_network(engines: tuple[Translator, Translator]) -> None:
    [expected], [found] = (one.translate(TEXTS[:1], beam=2) for one in engines)
    assert found.alignment == expected.alignment


def test_int8_is_close(tmp_path: Path) -> None:
    path = random_bundle(tmp_path / "b", ending=5.0)
    exact, coarse = (load_served(path, engine="ct2", precision=precision) for precision in ("float32", "int8"))
    pairs = list(zip(exact.translate(TEXTS, beam=1), coarse.translate(TEXTS, beam=1), strict=True))
    assert any(one.logprob != other.logprob for one, other in pairs)
    apart = [abs(one.score - other.score) for one, other in pairs if one.tokens == other.tokens]
    assert len(apart) > len(pairs) // 4
    assert statistics.median(apart) < 0.5  # a random network is coarse; its scores are near -3


def test_auto_takes_ctranslate2_where_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_served(random_bundle(tmp_path / "b"))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("torch was used")

    with monkeypatch.context() as patched:
        patched.setattr(Runner, "search", refuse)
        assert model.translate(TEXTS[:2], beam=2)
        assert model.translate(TEXTS[:2], beam=2, prefixes=["", ""], phrases=[[], []])  # nothing is asked
        for options in ONLY_TORCH:
            with pytest.raises(AssertionError, match="torch was used"):
                model.translate(TEXTS[:2], **options)
    with monkeypatch.context() as patched:
        patched.setattr(ct2.Ct2Search, "search", refuse)
        drawn = model.translate(TEXTS[:2], sample=True, seed=3)
    assert drawn == load_served(tmp_path / "b", engine="torch").translate(TEXTS[:2], sample=True, seed=3)


def test_what_ctranslate2_cannot_do_is_named(tmp_path: Path) -> None:
    model = load_served(random_bundle(tmp_path / "b"), engine="ct2")
    for options in ONLY_TORCH:
        name = "prefixes and phrases" if {"prefixes", "phrases"} & options.keys() else next(iter(options))
        with pytest.raises(SearchError, match=rf"{name}.*torch"):
            model.translate(TEXTS[:2], **options)
    with pytest.raises(SearchError, match=r"max_length = 9000.*torch"):
        model.translate(TEXTS[:1], max_length=9000)
    with pytest.raises(SearchError, match=r"beam = 300.*torch"):
        model.translate(TEXTS[:1], beam=300)
    with pytest.raises(ConfigError, match="engine = 'ct3'"):
        load_served(tmp_path / "b", engine="ct3")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="precision = 'int4'"):
        load_served(tmp_path / "b", precision="int4")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="precision = 'int8'"):
        load_served(tmp_path / "b", engine="torch", precision="int8")


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = random_bundle(tmp_path / "b")
    monkeypatch.setattr(conversion, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="not installed"):
        load_served(path, engine="ct2")
    assert load_served(path).translate(TEXTS[:1]) == load_served(path, engine="torch").translate(TEXTS[:1])


@pytest.mark.parametrize(
    ("network", "why"),
    [
        ({"kind": "recurrent"}, "it has no networks of model.kind 'recurrent'"),
        ({"kind": "prefix"}, "it has no networks of model.kind 'prefix'"),
        ({"score": "additive"}, "it has no model.score 'additive', only scaled_dot"),
    ],
    ids=["recurrent", "prefix", "additive"],
)
def test_networks_that_it_does_not_have(tmp_path: Path, network: dict[str, Any], why: str) -> None:
    path = random_bundle(tmp_path / "b", **network)
    with pytest.raises(ConfigError) as caught:
        load_served(path, engine="ct2")
    assert str(caught.value) == f"engine = 'ct2': {why}; use torch"
    with pytest.raises(ConfigError, match=rf"precision = 'int8'.*{why}"):
        load_served(path, precision="int8")
    assert load_served(path).translate(TEXTS[:2]) == load_served(path, engine="torch").translate(TEXTS[:2])
    assert not list(cache_directory().glob("ctranslate2/*"))


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = random_bundle(tmp_path / "b")
    (tmp_path / "file").touch()
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "file"))
    assert load_served(path).translate([]) == []  # opens nothing
    with pytest.warns(UserWarning, match=r"file.*translating with torch"):
        assert load_served(path).translate(TEXTS[:1]) == load_served(path, engine="torch").translate(TEXTS[:1])


def test_it_translates_without_torch(tmp_path: Path) -> None:
    path = random_bundle(tmp_path / "b")
    [expected] = load_served(path, engine="ct2").translate(TEXTS[:1], beam=3)  # converts it
    code = f"""
import sys
from regard.cli.main import run
sys.argv = ["regard", "translate", {str(path)!r}, "--engine", "ct2", "--beam", "3"]
try:
    run()
except SystemExit as end:
    print(end.code, "torch" in sys.modules, "ctranslate2" in sys.modules)
"""
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, input=TEXTS[0], capture_output=True, text=True, check=True, env=os.environ)
    assert result.stdout.splitlines() == [expected.text, "0 False True"]


def test_a_forked_process_translates_and_ends(tmp_path: Path) -> None:
    """A forked process has none of the translator's threads: it opens its own, and forgetting the old one waits for nobody."""
    path = random_bundle(tmp_path / "b")
    code = f"""
import gc, multiprocessing
from regard.tasks.load import load_served

model = load_served({str(path)!r}, engine="ct2")
text = {TEXTS[0]!r}
before = model.translate([text])

def child(pipe):
    global model
    pipe.send([answer.text for answer in model.translate([text])])
    del model
    gc.collect()
    pipe.send("forgotten")

here, there = multiprocessing.get_context("fork").Pipe()
process = multiprocessing.get_context("fork").Process(target=child, args=(there,), daemon=True)
process.start()
for expected in ([answer.text for answer in before], "forgotten"):
    assert here.poll(60), "it hangs"
    assert here.recv() == expected
process.join(60)
print(process.exitcode)
"""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "0\n"


def test_torch_keeps_its_threads(tmp_path: Path) -> None:
    """CTranslate2 sets OpenMP's number of threads, which is torch's too: a training after it would have another number of workers."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        load_served(random_bundle(tmp_path / "b"), engine="ct2").translate(TEXTS[:1])
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (RuntimeError("mkl_malloc: failed to allocate memory"), ResourceError),
        (RuntimeError("Resource temporarily unavailable"), ResourceError),
        (MemoryError(), ResourceError),
        (RuntimeError("Unsupported model binary version"), BundleError),
    ],
)
def test_what_ctranslate2_cannot_open_is_translated_with_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception, kind: type[Exception]
) -> None:
    path = random_bundle(tmp_path / "b")
    expected = load_served(path, engine="torch").translate(TEXTS[:1])

    def fail(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr("ctranslate2.Translator", fail)
    with pytest.raises(kind, match="CTranslate2 cannot open it"):
        load_served(path, engine="ct2").translate(TEXTS[:1])
    with pytest.warns(UserWarning, match=r"CTranslate2 cannot open it.*; translating with torch"):
        assert load_served(path).translate(TEXTS[:1]) == expected
