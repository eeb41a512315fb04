"""Every search as the engine offers it: constraints in text, against the searches over ids and against sums done apart."""

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.engine.constraints import ConstraintWarning, TextConstraints, suppressed_ids
from regard.engine.risk import by_utility, expected_utilities
from regard.errors import BundleError, DataError, InputTypeError, SearchError
from regard.metrics.translation import sentence_chrf
from regard.search.beam import beam
from regard.search.diverse import diverse
from regard.search.ensemble import Ensemble
from regard.search.exact import exact
from regard.search.exhaustive import exhaustive
from regard.search.expansion import Branching, Expansion
from regard.search.options import SearchOptions
from regard.tasks.translate.ensemble import load_ensemble
from regard.tasks.translate.translator import Translator
from tasks.test_load import saved

TEXTS = ["le chat dort", "je suis étudiant", "rouge", "", "la pomme est rouge et le chat dort"]
PREFIXES = ["the", "", "日本 😀", "ignored", "a pie"]
PHRASES = [["red apple"], [], ["am", "student"], [], ["日本"]]


def sources(model: Translator, texts: list[str]) -> list[torch.Tensor]:
    return [torch.tensor([[*model.tokenizers.source.encode(text), 0]]) for text in texts]


@pytest.mark.parametrize("kind", ["char", "word", "bpe"])
@pytest.mark.parametrize(
    "options", [{}, {"beam": 1}, {"sample": True}, {"groups": 5}, {"exact": True, "node_limit": 9}]
)
def test_outputs_begin_with_their_prefixes(
    random_model: Callable[..., Translator], kind: str, options: dict[str, Any]
) -> None:
    model = random_model(kind)
    found = model.translate(TEXTS, prefixes=PREFIXES, **options)
    for one, prefix in zip(found, PREFIXES, strict=True):
        assert one.text.startswith(prefix) or not one.source
        # a blank text has an empty translation, whatever is asked
        assert one.unmet == (() if one.source else (prefix,))
    free = model.translate(TEXTS, **options)
    assert found[1].text == free[1].text
    assert found[0].text != free[0].text


@pytest.mark.parametrize("kind", ["char", "word", "bpe"])
@pytest.mark.parametrize("width", [1, 4])
def test_outputs_contain_their_phrases(random_model: Callable[..., Translator], kind: str, width: int) -> None:
    model = random_model(kind)
    for one, phrases in zip(model.translate(TEXTS, phrases=PHRASES, beam=width), PHRASES, strict=True):
        assert all(phrase in one.text for phrase in phrases)
        assert one.unmet == ()


def test_what_cannot_be_met_is_told_and_the_others_come_out(random_model: Callable[..., Translator]) -> None:
    model = random_model("char")
    free = model.translate(TEXTS, max_length=6)
    prefixes, phrases = ["", "too long for six", "", "", ""], [["never", "again"], [], ["ab"], [], []]
    with pytest.warns(
        ConstraintWarning,
        match=r"the phrases of text 1 need 10 tokens, above its longest output, 6; it was left out \(2 such\)",
    ):
        found = model.translate(TEXTS, max_length=6, prefixes=prefixes, phrases=phrases)
    assert [one.unmet for one in found] == [("never", "again"), ("too long for six",), (), (), ()]
    assert "ab" in found[2].text
    assert [found[n].text for n in (0, 1, 3, 4)] == [free[n].text for n in (0, 1, 3, 4)]


def test_a_long_prefix_makes_room_for_itself(random_model: Callable[..., Translator]) -> None:
    prefix = "a pie with the red apple and a student"
    [found] = random_model("char").translate(["le"], prefixes=[prefix])
    assert found.text.startswith(prefix)


def test_what_a_vocabulary_cannot_spell_is_left_out() -> None:
    class Spelling:
        def encode(self, text: str) -> list[int]:
            return [{"a": 2, "b": 3}.get(letter, 1) for letter in text]

    given = TextConstraints(Spelling(), 2, ["a?", "ab"], [["b", "!"], []])  # type: ignore[arg-type]
    with pytest.warns(ConstraintWarning, match="text 1 asks for characters that this model cannot spell"):
        constraints = given.in_tokens([9, 9])
    assert constraints.prefixes == [[], [2, 3]]
    assert constraints.phrases == [[[3]], []]
    assert given.unmet(0, [3, 2]) == ("a?", "!")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prefixes": ["a"]}, "prefixes has 1 entries for 2 texts"),
        ({"phrases": [["a"]]}, "phrases has 1 entries for 2 texts"),
    ],
)
def test_one_constraint_for_each_text(
    random_model: Callable[..., Translator], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        random_model("char").translate(["a", "b"], **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"prefixes": "ab"},
            "prefixes = 'ab': must be a list: write prefixes=['I', ..], with one prefix for each text, empty where there is none",
        ),
        ({"prefixes": 5}, "prefixes = 5: must be a list: write"),
        ({"prefixes": ["a", 5]}, "prefixes[1] = 5: must be a str, '' where there is none"),
        (
            {"phrases": "ab"},
            "phrases = 'ab': must be a list: write phrases=[['a cat', ..], ..], with one list of phrases for each text",
        ),
        ({"phrases": [["a"], 5]}, "phrases[1] = 5: must be a list of str, [] where there is none"),
        ({"phrases": [["a"], [None]]}, "phrases[1] = [None]: must be a list of str"),
        ({"beem": 3}, "beem is no search option; did you mean beam?"),
        ({"prefix": ["a", "b"]}, "prefix is no search option; did you mean prefixes?"),
        ({"zzzzzz": 3}, "zzzzzz is no search option; the options are beam, alpha, length_form,"),
    ],
)
def test_arguments_of_other_types_or_names(
    random_model: Callable[..., Translator], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputTypeError) as refused:
        random_model("char").translate(["a", "b"], **options)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"phrases": ["ab", "c"]}, "phrases holds one text where a list"),
        ({"phrases": [["a"], []], "sample": True}, "phrases are for beam search, not for sample"),
        ({"phrases": [["a"], []], "exact": True}, "phrases are for beam search, not for exact"),
        ({"phrases": [["a"], []], "groups": 5}, "phrases are for beam search, not for groups"),
        ({"sample": True, "exact": True}, "sample and exact are different searches"),
        ({"mbr": 4, "groups": 5}, "mbr and groups are different searches"),
        ({"mbr": -1}, "mbr = -1"),
        ({"mbr": 3, "nbest": 4}, "nbest = 4: above mbr = 3"),
        ({"exact": True, "nbest": 2}, "nbest = 2: exact search has one answer"),
        ({"exact": True, "exhaustive": True, "max_length": 2}, "exact and exhaustive are different searches"),
        ({"exhaustive": True}, "exhaustive search scores every output: give a small max_length"),
        ({"exhaustive": True, "max_length": 30}, "exhaustive search of .* use beam search"),
        ({"exhaustive": True, "max_length": 1, "coverage": 0.2}, r"coverage = 0\.2: exhaustive does not rank by it"),
        ({"phrases": [["a"], []], "exhaustive": True, "max_length": 1}, "for beam search, not for exhaustive"),
        ({"stop_after": 0}, "stop_after = 0"),
        ({"stop_after": 2, "nbest": 3}, "nbest = 3: stop_after = 2 ends with fewer"),
        ({"stop_after": 2, "stop": "safe"}, "stop = 'safe': stop_after = 2 says when a beam ends"),
        ({"stop_after": 2, "sample": True}, "stop_after = 2: only a beam ends by it, not sample"),
        ({"stop_after": 2, "groups": 5}, "stop_after = 2: only a beam ends by it, not groups"),
        ({"sample": True, "coverage": 0.2}, r"coverage = 0\.2: sample does not rank by it"),
        ({"min_length": 9, "max_length": 8}, "min_length = 9: above max_length = 8"),
        ({"suppress": "a"}, "suppress = 'a': must be a list"),
        (
            {"suppress": ["▁zebra"]},
            "suppress = '▁zebra': no piece of the vocabulary, where a word may be several pieces; did you mean",
        ),
        ({"suppress": ["</s>"]}, "suppressed holds the end mark"),
        ({"groups": 3}, "groups = 3: a beam of 5"),
        ({"stop": "never"}, "stop = 'never'"),
        ({"length_form": "log"}, "length_form = 'log'"),
        ({"node_limit": 0}, "node_limit = 0"),
    ],
)
def test_options_that_cannot_be(random_model: Callable[..., Translator], options: dict[str, Any], message: str) -> None:
    with pytest.raises(SearchError, match=message):
        random_model("char").translate(["a", "b"], **options)


def test_the_filters_reach_every_search(random_model: Callable[..., Translator]) -> None:
    model = random_model("char")
    said = {piece for one in model.translate(TEXTS) for piece in one.tokens}
    for options in (
        {},
        {"beam": 1},
        {"sample": True},
        {"mbr": 4},
        {"groups": 5},
        {"stop_after": 3},
        {"exact": True, "node_limit": 9},
    ):
        found = model.translate(TEXTS, suppress=sorted(said)[:3], min_length=7, no_repeat=2, max_length=9, **options)
        for one in found:
            assert not set(one.tokens) & set(sorted(said)[:3])
            assert not one.source or len(one.tokens) >= 7
            pairs = list(zip(one.tokens, one.tokens[1:], strict=False))
            assert len(set(pairs)) == len(pairs)
    assert suppressed_ids(model.tokenizers.target.vocabulary, ["<unk>", "<pad>"]) == (1,)


def test_coverage_counts_the_source_without_its_end_mark(random_model: Callable[..., Translator]) -> None:
    model = random_model()
    changed = 0
    for text, source, found in zip(
        TEXTS[:3], sources(model, TEXTS[:3]), model.translate(TEXTS[:3], coverage=2.0, nbest=5), strict=True
    ):
        length = source.shape[1] - 1
        options = {"width": 5, "nbest": 5, "max_length": 2 * length + 10}
        [expected] = beam(model.network, source, coverage=2.0, source_lengths=[length], **options)
        assert [one.score for one in found.alternatives] == pytest.approx([one.score for one in expected])
        changed += found.score != model.translate([text])[0].score
    assert changed == 3


def test_a_diverse_beam_and_an_exact_search_are_those_over_ids(random_model: Callable[..., Translator]) -> None:
    model = random_model()
    for text, source in zip(TEXTS[:3], sources(model, TEXTS[:3]), strict=True):
        [found] = model.translate([text], beam=6, groups=3, diversity=0.8, nbest=6, max_length=6)
        [expected] = diverse(model.network, source, width=6, groups=3, diversity=0.8, nbest=6, max_length=6)
        assert [one.score for one in found.alternatives] == pytest.approx([one.score for one in expected])
        [found] = model.translate([text], exact=True, node_limit=50, max_length=6)
        [[best]] = exact(model.network, source, node_limit=50, max_length=6)
        assert found.logprob == found.score == pytest.approx(best.logprob)
        assert found.proof == best.proof


@pytest.mark.slow
def test_an_exhaustive_search_and_a_beam_that_stops_after_n_are_those_over_ids(
    random_model: Callable[..., Translator],
) -> None:
    model = random_model("char")
    vocabulary = len(model.tokenizers.target.vocabulary)
    for text, source in zip(TEXTS[:3], sources(model, TEXTS[:3]), strict=True):
        [found] = model.translate([text], exhaustive=True, max_length=2, nbest=7, alpha=0.5)  # more than a beam of 5
        [expected] = exhaustive(model.network, source, max_length=2, alpha=0.5, nbest=7)
        assert [one.score for one in found.alternatives] == pytest.approx([one.score for one in expected])
        [proved] = model.translate([text], exhaustive=True, max_length=2, alpha=0.0)
        [exact_one] = model.translate([text], exact=True, max_length=2, node_limit=vocabulary**2)
        assert (proved.tokens, proved.logprob) == (exact_one.tokens, pytest.approx(exact_one.logprob))
        for width in (1, 4):
            [found] = model.translate([text], beam=width, stop_after=6, nbest=6, max_length=9)
            [expected] = beam(model.network, source, width=width, stop_after=6, nbest=6, max_length=9)
            assert [one.score for one in found.alternatives] == pytest.approx([one.score for one in expected])


def test_minimum_bayes_risk_is_the_sample_most_like_all(echo: Callable[..., Translator]) -> None:
    model = echo("char")
    options: dict[str, Any] = {"temperature": 3.5, "seed": 4}  # every second character is wrong
    drawn = model.translate(TEXTS, sample=True, nbest=12, **options)
    found = model.translate(TEXTS, mbr=12, nbest=3, **options)
    different = 0
    for samples, chosen in zip(drawn, found, strict=True):
        texts = [one.text for one in samples.alternatives]
        means = {text: sum(sentence_chrf(text, other) for other in texts) / len(texts) for text in texts}
        ranked = sorted(means.values(), reverse=True)
        assert means[chosen.text] == pytest.approx(ranked[0])
        assert [one.utility for one in chosen.alternatives] == pytest.approx(ranked[:3])
        assert len({one.text for one in chosen.alternatives}) == len(chosen.alternatives)
        different += chosen.text != samples.text
    assert different, "a choice that is always the most probable sample would prove nothing"


def test_risk_by_hand() -> None:
    table = {"a": {"a": 1.0, "b": 0.5}, "b": {"a": 0.25, "b": 1.0}}

    def utility(texts):  # type: ignore[no-untyped-def]
        import numpy as np

        return np.array([[table[one][other] for other in texts] for one in texts])

    values = expected_utilities(["b", "a", "a", "a"], utility)
    assert values == pytest.approx([(1 + 3 * 0.25) / 4, *[(3 + 0.5) / 4] * 3])
    assert by_utility(values, ["b", "a", "a", "a"]) == [1, 0]


def test_any_search_can_be_watched(random_model: Callable[..., Translator]) -> None:
    model = random_model("char")
    for options in ({}, {"beam": 1}, {"groups": 5}, {"sample": True}, {"suppress": ["a"]}):
        steps: list[Expansion] = []
        asked = SearchOptions(max_length=5, **options)
        [best, *_] = model.watch("rouge", steps.append, asked)
        [found] = model.search(["rouge"], asked)
        assert found.logprob == pytest.approx(best.logprob)
        assert steps
    steps = []
    [best] = model.watch("rouge", steps.append, SearchOptions(), prefix="a", phrases=["red"])
    assert best.tokens[0] == model.tokenizers.target.encode("a")[0]
    assert "red" in model.tokenizers.target.decode(best.tokens)
    with pytest.raises(SearchError, match="exact search has no steps"):
        model.watch("rouge", steps.append, SearchOptions(exact=True))
    with pytest.raises(SearchError, match="exhaustive search has no steps"):
        model.watch("rouge", steps.append, SearchOptions(exhaustive=True, max_length=1))


def test_an_exact_search_can_be_watched(random_model: Callable[..., Translator]) -> None:
    model = random_model("char")
    told: list[Branching] = []
    best = model.watch_exact("rouge", told.append, beam=2, node_limit=40)
    [found] = model.translate(["rouge"], beam=2, exact=True, node_limit=40)
    assert (best.logprob, best.proof) == (pytest.approx(found.logprob), found.proof)
    assert best.proof is not None
    assert [number for one in told for number in one.numbers] == list(range(best.proof.nodes))


@pytest.fixture
def two(random_model: Callable[..., Translator], tmp_path: Path) -> list[Translator]:
    """Two bundles of one vocabulary, and their models."""
    models = []
    for number in (0, 1):
        model = random_model("bpe", joint=True)
        model.network.float()
        with torch.no_grad():
            for parameter in model.network.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.3 * number)
            model.network.target.embedding.weight[-1].zero_()
        saved(model, tmp_path / str(number))
        models.append(model)
    return models


def test_an_ensemble_of_bundles(two: list[Translator], tmp_path: Path) -> None:
    together = load_ensemble([tmp_path / "0", str(tmp_path / "1")])
    mean = Ensemble([model.network for model in two])
    texts = TEXTS[:3]
    for source, found in zip(sources(two[0], texts), together.translate(texts, nbest=3), strict=True):
        [expected] = beam(mean, source, width=5, nbest=3, max_length=2 * (source.shape[1] - 1) + 10)
        assert [one.score for one in found.alternatives] == pytest.approx([one.score for one in expected], abs=1e-4)
    apart = [model.score(texts, texts) for model in two]
    for number, score in enumerate(together.score(texts, texts)):
        each = [scores[number].token_logprobs for scores in apart]
        expected = [math.log((math.exp(one) + math.exp(other)) / 2) for one, other in zip(*each, strict=True)]
        assert score.token_logprobs == pytest.approx(expected, abs=1e-4)
    assert [one.links for one in together.align(texts, texts)] == [
        one.links for one in load_ensemble([tmp_path / "0"]).align(texts, texts)
    ]


def test_models_of_another_vocabulary_are_no_ensemble(
    two: list[Translator], random_model: Callable[..., Translator], tmp_path: Path
) -> None:
    saved(random_model("char", joint=True), tmp_path / "char")
    with pytest.raises(BundleError, match=r"char: its source vocabulary is not that of .*0; an ensemble needs"):
        load_ensemble([tmp_path / "0", tmp_path / "char"])
    for nothing in ([], str(tmp_path / "0")):
        with pytest.raises(BundleError, match="give a list of bundles"):
            load_ensemble(nothing)


def test_constraints_that_are_none_cost_nothing(random_model: Callable[..., Translator]) -> None:
    model = random_model("char")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        empty = model.translate(TEXTS, prefixes=[""] * 5, phrases=[[]] * 5, sample=True)
    assert empty == model.translate(TEXTS, sample=True)
