"""Pretraining from text to answers: each objective is learnt by heart, resumed to the last bit, judged, and fills gaps."""

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.errors import BundleError, ConfigError, DataError, InputTypeError, SearchError
from regard.models.prefix import PrefixTransformer
from regard.tasks.pretrain.evaluate import judged
from regard.tasks.pretrain.filler import Filler
from regard.tasks.pretrain.objective import corrupted_examples
from regard.tasks.pretrain.settings import PretrainSettings
from regard.tasks.settings import parse_settings
from tasks.pretrain.conftest import COUNTED, OBJECTIVES, SENTENCES, WORDS, settings_of
from training.runs import run, steps, stop_after

Learned = Callable[[str], tuple[Any, Filler]]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_it_learns_a_few_sentences_by_heart(objective: str, learned: Learned) -> None:
    found, filler = learned(objective)
    assert found.metrics["perplexity"] == pytest.approx(math.exp(found.metrics["nats_per_token"]))
    assert found.metrics["predicted_tokens"] >= 40
    assert found.metrics["accuracy"] > (0.5 if objective == "prefix" else 0.95), "where counting ends, nobody knows"
    rows = [json.loads(line) for line in (found.directory / "samples.jsonl").read_text(encoding="utf-8").splitlines()]
    assert 0 < len(rows) <= 12
    assert any(row["hypothesis"] == row["reference"] for row in rows)
    assert type(regard.load(found.directory)) is type(filler)


def test_it_goes_on_with_a_text(learned: Learned) -> None:
    _, filler = learned("prefix")
    assert isinstance(filler.network, PrefixTransformer)
    for text in ("one two three", "four", "six seven"):
        [filled] = filler.fill([text])
        written, begin = filled.filled.split(), WORDS.index(text.split()[0])
        assert written == list(WORDS[begin : begin + len(written)])
        assert len(written) > len(text.split())


GAPS = (
    ("the old sailor <mask> lighthouses.", "the old sailor saw lighthouses."),
    ("his green <mask> repeats <mask> jokes!", "his green parrot repeats rude jokes!"),
    ("nobody ever visits that abandoned castle.", "nobody ever visits that abandoned castle."),
)


@pytest.mark.parametrize("objective", ["mask", "span", "denoise"])
def test_gaps_are_filled(objective: str, learned: Learned) -> None:
    _, filler = learned(objective)
    for text, expected in GAPS[
        : 2 if objective == "denoise" else 3
    ]:  # what is deleted leaves no gap: it looks everywhere
        [filling] = filler.fill([text])
        assert filling.filled == expected
        assert not filling.truncated
        assert len(filling.gaps) == (text.count("<mask>") if objective == "mask" else 0)


def test_the_pieces_of_a_gap_are_a_distribution(learned: Learned) -> None:
    _, filler = learned("mask")
    vocabulary = filler.tokenizer.vocabulary
    [filling] = filler.fill(["<mask> old sailor saw lighthouses."], nbest=10_000)
    [gap] = filling.gaps
    assert {vocabulary.id_of(one.piece) for one in gap} == set(range(len(vocabulary))) - set(vocabulary.special)
    assert sum(one.probability for one in gap) == pytest.approx(1.0, abs=1e-4)
    assert [one.probability for one in gap] == sorted((one.probability for one in gap), reverse=True)
    assert (gap[0].text, gap[0].piece) == ("the", "▁the")
    alone = filler.fill(["<mask> old sailor saw lighthouses."])[0].gaps[0][0].probability
    texts = ["x", "<mask> old sailor saw lighthouses.", "", "<mask> <mask> <mask> " * 5]
    assert filler.fill(texts)[1].gaps[0][0].probability == pytest.approx(alone, abs=1e-6), "whatever else is filled"


def test_several_texts_of_a_beam(learned: Learned) -> None:
    for objective in ("denoise", "span"):
        _, filler = learned(objective)
        [filling] = filler.fill(["my <mask> bakes bread daily."], nbest=3, beam=2)
        assert filling.filled == filling.alternatives[0] == "my sister bakes bread daily."
        assert len(filling.alternatives) == 3
        assert filler.fill([]) == []
        assert filler.fill(["my <mask> bakes bread daily."], beam=1)[0].alternatives == ()


def test_sentinels_may_be_named_in_any_order(learned: Learned) -> None:
    _, filler = learned("span")
    one, other = "his green <extra_id_0> repeats <mask> jokes!", "his green <mask> repeats <extra_id_1> jokes!"
    assert filler.gaps.named(one) == "his green <extra_id_0> repeats <extra_id_1> jokes!"
    assert filler.gaps.named(other) == filler.gaps.named(one)
    assert filler.gaps.count(one) == 2
    assert {filling.filled for filling in filler.fill([one, other])} == {"his green parrot repeats rude jokes!"}


@pytest.mark.parametrize(
    ("objective", "text", "message"),
    [
        (
            "mask",
            "the <extra_id_0> sat",
            r"texts\[1\]: a model of objective 'mask' has no gap <extra_id_0>; write <mask>",
        ),
        ("denoise", "a <extra_id_3>", "objective 'denoise' has no gap <extra_id_3>; write <mask>"),
        ("prefix", "the <mask> sat", "objective 'prefix' goes on with a text and has no gap <mask>"),
        (
            "span",
            "a <extra_id_77> b",
            "has the gaps <extra_id_0> to <extra_id_30>, and not <extra_id_77>; write <mask>",
        ),
        ("span", "a <extra_id_31> b", "and not <extra_id_31>"),  # the last ends the output
        ("span", "<mask> " * 32, "gap 32 of 32 has no sentinel left, as the vocabulary has 32"),
    ],
)
def test_gaps_that_a_model_does_not_have(objective: str, text: str, message: str, learned: Learned) -> None:
    _, filler = learned(objective)
    with pytest.raises(DataError, match=message):
        filler.fill(["fine", text])
    filler.fill(["[MASK] is text, as <mask is", "<extra_id_x>"])


def test_what_a_filler_refuses(learned: Learned) -> None:
    for objective in ("mask", "span"):
        _, filler = learned(objective)
        for wrong in ({"nbest": 0}, {"beam": 0}, {"nbest": True}):
            with pytest.raises(SearchError, match="must be a whole number of at least 1"):
                filler.fill(["a"], **wrong)
        with pytest.raises(InputTypeError, match="expected a list of texts, not one text"):
            filler.fill("a <mask>")


def test_a_long_text_is_cut_and_says_so(learned: Learned) -> None:
    for objective in ("mask", "span"):
        _, filler = learned(objective)
        filler.max_tokens, before = 20, filler.max_tokens
        try:
            cut, whole = filler.fill(["a <mask> " * 15, "a <mask>"], beam=1)
        finally:
            filler.max_tokens = before
        assert (cut.truncated, whole.truncated) == (True, False)


def test_a_run_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("".join(f"{sentence}\n" for sentence in SENTENCES * 8), encoding="utf-8")
    changes = {"max_steps": 8, "validate_every": 4, "save_every": 3, "ema": 0.5, "accumulate": 2, "consistency": 1.0}
    values = settings_of("mask", tmp_path / "text")
    values["model"]["dropout"] = 0.2
    whole, _ = run(values, tmp_path / "whole", **changes)
    with pytest.raises(KeyboardInterrupt):
        run(values, tmp_path / "cut", stop_after(5), **changes)
    again, _ = run(values, tmp_path / "cut", **changes)
    assert steps(tmp_path / "cut") == steps(tmp_path / "whole")
    assert again.metrics is not None
    assert whole.metrics is not None
    assert again.metrics["nats_per_token"] == whole.metrics["nats_per_token"]


def test_it_is_judged_always_in_the_same_way(learned: Learned, tmp_path: Path) -> None:
    """The held-out text is corrupted by no seed of the run, and neither end marks nor sentinels count."""
    from regard.data.texts import TextCorpus, write_texts

    for objective in OBJECTIVES:
        found, filler = learned(objective)
        tokenizer, config = filler.tokenizer, filler.config
        lines = map(" ".join, COUNTED) if objective == "prefix" else SENTENCES * 8
        write_texts(tmp_path / objective, lines, tokenizer, "line")
        corpus = TextCorpus(tmp_path / objective)
        examples = corrupted_examples(corpus, tokenizer.vocabulary, config.objective, 64, "line")
        with filler.evaluating() as network:
            judgement = judged(network, examples, tokenizer.vocabulary)
        assert judgement.loss == pytest.approx(found.metrics["nats_per_token"], rel=1e-6)
        assert judgement.tokens == found.metrics["predicted_tokens"]
        special = set(tokenizer.vocabulary.special)
        wanted = [
            token
            for number in range(len(examples))
            for token in examples.corrupted(number, 0, 0).target.tolist()
            if token not in special
        ]
        assert judgement.tokens == len(wanted)


def test_a_bundle_without_the_pieces_of_its_objective_is_refused(learned: Learned) -> None:
    from regard.tasks.pretrain.gaps import check_loaded

    for objective, other in (("mask", "prefix"), ("span", "mask")):
        (_, one), (_, wrong) = learned(objective), learned(other)
        assert one.bundle is not None
        bundle = dataclasses.replace(one.bundle, codecs=wrong.tokenizers)
        with pytest.raises(BundleError, match="do not belong together: objective '"):
            check_loaded(bundle)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objective": {"rate": 1.0}}, r"objective.rate = 1.0: input should be less than 1"),
        ({"objective": {"rate": 0}}, "objective.rate = 0: input should be greater than 0"),
        ({"objective": {"masked": 0.95}}, "are more than all"),
        ({"objective": {"kind": "denoise", "infilling": 0, "permutation": 0}}, "nothing is corrupted"),
        ({"objective": {"kind": "cloze"}}, "objective.kind = 'cloze'"),
        ({"objective": {"sentinels": 3}}, "objective.sentinels"),
        ({"objective": {"kind": "mask"}, "model": {"kind": "transformer"}}, "cannot learn objective 'mask'"),
        ({"objective": {"kind": "span"}, "model": {"kind": "encoder"}}, "cannot learn objective 'span'"),
        ({"objective": {"kind": "prefix"}, "model": {"kind": "encoder"}}, "cannot learn objective 'prefix'"),
        ({"objective": {"kind": "mask"}, "model": {"kind": "prefix"}}, "cannot learn objective 'mask'"),
        ({"model": {"kind": "markov"}}, "model.kind 'markov' cannot do task 'pretrain'; set model.kind to 'encoder'"),
        ({"data": {"text": []}}, "an empty list"),
        ({"data": {"text": None}}, "needs a text to learn from"),
        ({"model": {"positions": "learned", "max_positions": 64}}, "model.max_positions 64 is shorter"),
        ({"train": {"select": "bleu"}}, "train.select 'bleu' is for translations"),
        ({"task": "translate", "data": {}, "objective": {"kind": "mask"}}, "objective"),
    ],
)
def test_settings_that_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        parse_settings({"task": "pretrain", "data": {"text": "a"}, **changes})
    assert "\n" not in str(caught.value)


def test_where_only_one_of_objective_and_network_is_named_the_other_fits() -> None:
    def made(**tables: Any) -> tuple[str, str]:
        found = parse_settings({"task": "pretrain", "data": {"text": "a"}, **tables})
        assert isinstance(found, PretrainSettings)
        return found.objective.name, getattr(found.model, "kind", "")

    assert made() == ("mask", "encoder")
    assert made(objective={"kind": "span"}) == ("span", "transformer")
    assert made(objective={"kind": "prefix"}) == ("prefix", "prefix")
    assert made(model={"kind": "recurrent"}) == ("denoise", "recurrent")
    assert made(model={"kind": "prefix"}, objective={"kind": "span"}) == ("span", "prefix")


def test_more_sentinels_than_are_reserved(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b c\n" * 9, encoding="utf-8")
    values = settings_of("span", tmp_path / "text")
    values["text"]["reserved"] = {"sentinels": 3}
    with pytest.raises(ConfigError, match=r"needs 17 sentinels for texts of data.max_length = 64 tokens, and the voc"):
        run(values, tmp_path / "run")


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "no text in it"), ("\n \n", "no text in it"), ("\1\n\1\2\n", "no text to learn a tokeniser from")],
)
def test_a_text_without_text(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_text(content, encoding="utf-8")
    with pytest.raises(regard.errors.RegardError, match=message) as caught:
        run(settings_of("mask", tmp_path / "text"), tmp_path / "run")
    assert "\n" not in str(caught.value)
