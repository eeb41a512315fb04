"""The translator against networks whose answers are known, and against searches and sums done by hand."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from regard.bundle.config import AlignmentConfig
from regard.engine.forced import ForcedScore
from regard.engine.input_length import TruncationWarning
from regard.engine.resident import Resident
from regard.engine.runner import Runner
from regard.engine.sources import IdSources
from regard.errors import DataError, SearchError
from regard.ops.probe import Probe
from regard.search.beam import beam
from regard.search.options import SearchOptions
from regard.search.scoring import score as forced_score
from regard.tasks.translate.reading import ENCODED_TOGETHER
from regard.tasks.translate.translation import Translation
from regard.tasks.translate.translator import Translator

TEXTS = [
    "le chat dort",
    "je suis étudiant",
    "rouge",
    "",
    "la pomme est rouge et le chat dort",
    "il m'a entarté 😀",
    " \t",
]


def ids_of(model: Translator, text: str) -> torch.Tensor:
    """[1, S] with the end mark."""
    return torch.tensor([[*model.tokenizers.source.encode(text), 0]])


def comparable(translation: Translation) -> tuple[Any, ...]:
    return (translation.text, translation.tokens, pytest.approx(translation.logprob, abs=1e-8), translation.finished)


@pytest.mark.parametrize("kind", ["char", "word", "bpe"])
@pytest.mark.parametrize("options", [{}, {"beam": 1}, {"sample": True}, {"batch_tokens": 1}, {"batch_tokens": 40}])
def test_an_echo_gives_every_line_back_in_its_place(
    echo: Callable[..., Translator], kind: str, options: dict[str, Any]
) -> None:
    found = echo(kind).translate([*TEXTS, "  L'ÉTÉ  \n 日本 "], **options)
    assert [one.text for one in found] == [*TEXTS[:-1], "", "L'ÉTÉ 日本"]
    assert [one.source for one in found] == [*TEXTS, "  L'ÉTÉ  \n 日本 "]
    assert all(one.finished and not one.truncated for one in found)
    # every step has one logit of 20 among V - 1 of 0
    outputs = len(echo(kind).tokenizers.target.vocabulary) - 1
    each = 20.0 - math.log(math.exp(20.0) + outputs - 1)
    first = found[0]
    assert first.logprob == pytest.approx((len(first.tokens) + 1) * each, rel=1e-6)
    alpha = 1.0
    assert first.score == pytest.approx(first.logprob / len(first.tokens) ** alpha)
    assert "".join(first.tokens).replace("▁", " ").strip() == "le chat dort"


def test_a_blank_line_is_an_empty_translation(echo: Callable[..., Translator]) -> None:
    for blank in ("", " \t\n", "\u00a0", "\x00"):
        [found] = echo().translate([blank], nbest=2)
        [alternative] = found.alternatives
        assert (found.text, found.score, found.tokens, found.alignment, found.finished) == ("", 0.0, [], [], True)
        assert alternative.text == ""
    assert echo().translate([]) == []


def test_one_text_is_not_a_list_of_characters(echo: Callable[..., Translator]) -> None:
    with pytest.raises(TypeError, match=r"write \['le chat'\]"):
        echo().translate("le chat")


def test_greedy_equals_a_loop_without_cache(random_model: Callable[..., Translator]) -> None:
    model = random_model()
    for text in TEXTS[:3]:
        source, said, total = ids_of(model, text), [model.network.start_token], 0.0
        with torch.no_grad():
            for _ in range(2 * (source.shape[1] - 1) + 10):
                logprobs = model.network(source, torch.tensor([said]))[0, -1].log_softmax(dim=-1)
                token = int(logprobs.argmax())
                total += float(logprobs[token])
                if token == 0:
                    break
                said.append(token)
        [found] = model.translate([text], beam=1)
        assert found.text == model.tokenizers.target.decode(said[1:])
        assert found.tokens == [model.tokenizers.target.vocabulary.piece(token) for token in said[1:]]
        assert found.logprob == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("positions", ["sinusoidal", "relative", "rotary"])
def test_a_sentence_does_not_depend_on_its_batch(
    random_model: Callable[..., Translator], width: int, positions: str
) -> None:
    model = random_model(positions=positions)
    together = model.translate(TEXTS, beam=width, max_length=12)
    backwards = model.translate(TEXTS[::-1], beam=width, max_length=12, batch_tokens=30)
    alone = [model.translate([text], beam=width, max_length=12)[0] for text in TEXTS]
    assert len({one.logprob for one in together}) == 6  # all differ but the two blank ones, so their order shows
    for one, two, three in zip(together, backwards[::-1], alone, strict=True):
        assert comparable(one) == comparable(two) == comparable(three)


def test_the_n_best_are_those_of_the_beam(random_model: Callable[..., Translator]) -> None:
    model = random_model()
    for text, found in zip(TEXTS[:3], model.translate(TEXTS[:3], beam=6, alpha=0.6, nbest=4), strict=True):
        source = ids_of(model, text)
        limit = 2 * (source.shape[1] - 1) + 10
        [expected] = beam(model.network, source, width=6, alpha=0.6, nbest=4, max_length=limit)
        assert [one.text for one in found.alternatives] == [
            model.tokenizers.target.decode(hypothesis.tokens) for hypothesis in expected
        ]
        assert [one.score for one in found.alternatives] == pytest.approx([one.score for one in expected])
        assert comparable(found) == comparable(found.alternatives[0])
        assert all(one.alternatives == () for one in found.alternatives)
    assert model.translate(["rouge"], beam=6)[0].alternatives == ()


def test_max_length_cuts(echo: Callable[..., Translator]) -> None:
    for options in ({"beam": 3}, {"beam": 1}, {"sample": True}):
        [found] = echo().translate(["le chat dort"], max_length=4, **options)
        assert found.text == "le c"
        assert not found.finished


def test_samples_come_from_the_seed_and_the_place(random_model: Callable[..., Translator]) -> None:
    model = random_model()

    def drawn(texts: list[str], **options: Any) -> list[list[str]]:
        found = model.translate(texts, sample=True, nbest=3, temperature=1.5, max_length=8, **options)
        return [[one.text for one in each.alternatives] for each in found]

    first = drawn(TEXTS, seed=1)
    assert first == drawn(TEXTS, seed=1, batch_tokens=1)
    assert first != drawn(TEXTS, seed=2)
    assert drawn(["rouge", *TEXTS[1:]], seed=1)[1:] == first[1:]
    assert len(set(first[0])) == 3
    narrow = model.translate(TEXTS, sample=True, top_k=1, max_length=8)
    for one, greedy in zip(narrow, model.translate(TEXTS, beam=1, max_length=8), strict=True):
        assert comparable(one) == comparable(greedy)


def test_a_network_in_training_is_left_in_training(random_model: Callable[..., Translator]) -> None:
    model = random_model()
    expected = model.translate(TEXTS[:2])
    expected_score = model.score(["rouge"], ["red"])
    model.network.train()
    assert model.translate(TEXTS[:2]) == expected
    assert model.score(["rouge"], ["red"]) == expected_score
    assert all(module.training for module in model.network.modules())
    with pytest.raises(SearchError):
        model.translate(["rouge"], beam=0)
    assert model.network.training
    assert all(parameter.grad is None for parameter in model.network.parameters())


def test_training_goes_on_after_validation_has_grown_the_positions(random_model: Callable[..., Translator]) -> None:
    """Tables that grow while no gradients are kept must still serve when they are."""
    model = random_model(positions="rotary", kind="char")
    model.network.float()  # the type of the tables, which are then used as they are
    model.score(["a" * 600], ["b" * 600])
    model.network.train()
    model.network(ids_of(model, "rouge"), torch.tensor([[model.network.start_token, 5]])).sum().backward()
    assert all(parameter.grad is not None for parameter in model.network.parameters())


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"beam": 0}, "beam = 0"),
        ({"beam": 2.5}, "beam = 2.5"),
        ({"nbest": 6}, "nbest = 6"),
        ({"nbest": 0, "sample": True}, "samples = 0"),
        ({"alpha": -1.0}, "alpha = -1.0"),
        ({"alpha": float("nan")}, "alpha = nan"),
        ({"temperature": 0.0}, "temperature = 0.0"),
        ({"top_k": -1}, "top_k = -1"),
        ({"top_p": 0.0}, "top_p = 0.0"),
        ({"seed": -1}, "seed = -1"),
        ({"max_length": 0}, "max_length = 0"),
        ({"batch_tokens": 0}, "batch_tokens = 0"),
    ],
)
def test_options_out_of_range(echo: Callable[..., Translator], options: dict[str, Any], named: str) -> None:
    for texts in (["rouge"], []):  # refused before any work, so even where there is none
        with pytest.raises(SearchError) as raised:
            echo().translate(texts, **options)
        assert str(raised.value).startswith(f"{named}: ")
        assert "\n" not in str(raised.value)


def test_scores_are_sums_of_log_softmax(random_model: Callable[..., Translator]) -> None:
    model = random_model()
    sources, targets = ["le chat dort", "", "rouge"], ["the cat sleeps", "red", ""]
    found = model.score(sources, targets, alpha=0.5)
    for source, target, score in zip(sources, targets, found, strict=True):
        ids = model.tokenizers.target.encode(target)
        with torch.no_grad():
            logits = model.network(ids_of(model, source), torch.tensor([[model.network.start_token, *ids]]))[0]
        expected = [float(logits[t].log_softmax(-1)[token]) for t, token in enumerate([*ids, 0])]
        assert score.token_logprobs == pytest.approx(expected, abs=1e-9)
        assert score.logprob == pytest.approx(sum(expected), abs=1e-9)
        assert score.tokens == len(ids)
        assert score.score == pytest.approx(sum(expected) / max(1, len(ids)) ** 0.5)
        assert score.perplexity == pytest.approx(math.exp(-sum(expected) / (len(ids) + 1)))
        [stepped] = forced_score(model.network, ids_of(model, source), [ids])
        assert score.logprob == pytest.approx(stepped.logprob, abs=1e-9)
    assert model.score(sources, targets, alpha=0.5, batch_tokens=1)[0].logprob == pytest.approx(found[0].logprob)


@pytest.mark.parametrize("options", [{"beam": 4, "nbest": 4}, {"beam": 1}, {"sample": True, "nbest": 2}])
def test_a_forced_pass_over_what_was_said_gives_its_logprob(
    random_model: Callable[..., Translator], options: dict[str, Any]
) -> None:
    model = random_model("char")
    runner = Runner(
        Resident(model.network), sources=IdSources(model.network.source_pad), target_pad=model.network.target_pad
    )
    said = [
        one for found in model.translate(TEXTS[:3], max_length=9, **options) for one in found.alternatives or (found,)
    ]
    ids = [[model.tokenizers.target.vocabulary.id_of(piece) for piece in one.tokens] for one in said]
    forced = runner.score([model.tokenizers.source.encode(one.source) for one in said], ids)
    for one, logprobs in zip(said, forced, strict=True):
        assert one.logprob == pytest.approx(sum(logprobs if one.finished else logprobs[:-1]), abs=1e-8)


def test_scoring_past_one_chunk_of_rows(
    random_model: Callable[..., Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = random_model("char")
    whole = model.score(["rouge", "le chat"], ["the cat sleeps", "red"])
    monkeypatch.setattr("regard.engine.runner.ROWS_AT_ONCE", 4)  # 15 + 4 rows: the last chunk is not full
    chunked = model.score(["rouge", "le chat"], ["the cat sleeps", "red"])
    for one, other in zip(whole, chunked, strict=True):
        assert one.token_logprobs == pytest.approx(other.token_logprobs, abs=1e-12)


def test_a_perplexity_without_bounds() -> None:
    assert ForcedScore(-1e6, -1e6, 1, [-1e6, 0.0]).perplexity == math.inf
    assert ForcedScore(0.0, 0.0, 0, [0.0]).perplexity == 1.0


def test_unequal_numbers_of_sources_and_targets(echo: Callable[..., Translator]) -> None:
    for method in (echo().score, echo().align):
        with pytest.raises(DataError, match="2 sources, but 1 targets"):
            method(["a", "b"], ["a"])


def test_weights_that_are_not_numbers(random_model: Callable[..., Translator]) -> None:
    model = random_model()
    with torch.no_grad():
        model.network.target.embedding.weight.fill_(float("nan"))
    for call in (
        lambda: model.score(["a"], ["b"]),
        lambda: model.translate(["a"]),
        lambda: model.translate(["a"], beam=1),
    ):
        with pytest.raises(SearchError, match="not numbers"):
            call()


def test_words_are_aligned_through_their_subwords(echo: Callable[..., Translator]) -> None:
    model = echo(backwards=True)
    [found] = model.translate(["te c"])
    assert found.text == "c et"
    # said: c, the space and e, t; the space belongs to the word after it, on both sides, so "et" takes a third of "c"
    assert found.alignment == [(1, 0), (0, 1)]
    [aligned] = model.align(["te  c"], ["c et"])
    assert aligned.links == found.alignment
    assert aligned.weights.tolist() == [[0.0, 1.0], [pytest.approx(2 / 3), pytest.approx(1 / 3)]]
    assert (aligned.source_words, aligned.target_words) == (["te", "c"], ["c", "et"])


def test_alignments_of_many_lines_keep_their_places(echo: Callable[..., Translator]) -> None:
    model = echo("word", backwards=True)
    texts = ["le chat dort", "", "la pomme est rouge", "je 日本 dort"]
    for batch_tokens in (1024, 1):
        links = [[(len(text.split()) - 1 - n, n) for n in range(len(text.split()))] for text in texts[:3]]
        backwards = [" ".join(text.split()[::-1]) for text in texts[:3]]
        aligned = model.align(texts[:3], backwards, batch_tokens=batch_tokens)
        assert [one.links for one in aligned] == links
    found = model.translate(texts[:3], nbest=2)
    assert [one.text for one in found] == backwards
    assert [one.alignment for one in found] == links
    assert all(one.alternatives[0].alignment == one.alignment for one in found)
    assert found[0].alternatives[1].alignment is not None


@pytest.mark.parametrize("layer", [None, 0, 1])
def test_alignment_reads_the_layer_it_is_told(random_model: Callable[..., Translator], layer: int | None) -> None:
    model = random_model("word", options={"alignment": AlignmentConfig(layer=layer)})
    source, target = ids_of(model, "le chat dort"), model.tokenizers.target.encode("the cat sleeps")
    probe = Probe("decoder.*.cross.weights")
    with torch.no_grad():
        model.network(source, torch.tensor([[model.network.start_token, *target]]), probe=probe)
    layers = [
        probe[f"decoder.{number}.cross.weights"][0].mean(dim=0) for number in ([0, 1] if layer is None else [layer])
    ]
    mean = (sum(layers) / len(layers))[:3, :3]  # without the end marks
    expected = mean / mean.sum(dim=1, keepdim=True)
    [short, found] = model.align(["rouge", "le chat dort"], ["red", "the cat sleeps"])
    torch.testing.assert_close(torch.as_tensor(found.weights), expected, check_dtype=False)
    assert short.links == [(0, 0)]
    assert found.links == [(int(row.argmax()), n) for n, row in enumerate(expected)]


def test_a_network_without_attention_cannot_align(
    echo: Callable[..., Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = echo()
    hidden = model.network.hidden
    monkeypatch.setattr(model.network, "hidden", lambda source, target, probe=None: hidden(source, target))
    with pytest.raises(SearchError, match="no attention from target to source"):
        model.align(["a"], ["a"])
    assert model.translate(["le chat"])[0].text == "le chat"


def test_a_line_of_a_hundred_thousand_characters(echo: Callable[..., Translator]) -> None:
    model = echo("word", max_tokens=20)
    long = "chat " * 20_000
    with pytest.warns(
        TruncationWarning, match="1 source texts are longer than 20 tokens .* number 2, with 20000 tokens"
    ):
        found = model.translate(["le chat dort", long, "rouge"])
    assert [one.text for one in found] == ["le chat dort", " ".join(["chat"] * 20), "rouge"]
    assert [one.truncated for one in found] == [False, True, False]
    assert found[1].source == long
    assert found[1].alignment == [(n, n) for n in range(20)]
    with pytest.warns(TruncationWarning):
        [score, other] = model.score([long, "rouge"], [long, "rouge"])
    assert (score.truncated, score.tokens, len(score.token_logprobs)) == (True, 20, 20)  # no end mark where it is cut
    assert (other.truncated, other.tokens, len(other.token_logprobs)) == (False, 1, 2)
    with pytest.warns(TruncationWarning):
        [aligned] = model.align(["chat " * 25], ["chat " * 30])
    assert aligned.weights.shape == (30, 25)
    assert aligned.links == [(n, n) for n in range(20)]


def test_what_was_read_before_is_searched_the_same(echo: Callable[..., Translator]) -> None:
    """More texts than are encoded together, the long one among the later."""
    model = echo("word", max_tokens=20)
    texts = ["le chat dort", "rouge", ""] * (ENCODED_TOGETHER // 2)
    place = ENCODED_TOGETHER + 7
    texts[place] = "chat " * 30
    with pytest.warns(TruncationWarning, match=f"1 source texts .* number {place + 1}, with 30 tokens"):
        sources = model.read(texts)
    assert [source.text for source in sources] == texts
    assert [number for number, source in enumerate(sources) if source.truncated] == [place]
    assert [source.ids for source in sources] == [model.tokenizers.source.encode(text)[:20] for text in texts]
    some = slice(place - 3, place + 4)
    with pytest.warns(TruncationWarning):
        expected = model.search(texts[some], SearchOptions(beam=2))
    assert [*map(comparable, model.search_read(sources[some], SearchOptions(beam=2)))] == [*map(comparable, expected)]


def test_the_default_limit_is_wide_and_finite(random_model: Callable[..., Translator]) -> None:
    model = random_model("char", layers=1, width=4, heads=1, feed_forward=4)
    with pytest.warns(TruncationWarning, match="1024 tokens"):
        [found, _] = model.translate(["je suis " * 12_500, "rouge"], beam=1, max_length=3)
    assert found.truncated


def test_learned_positions_end(random_model: Callable[..., Translator]) -> None:
    model = random_model("char", positions="learned", max_positions=9, options={"reach": 9})
    assert model.max_tokens == 8
    with pytest.warns(TruncationWarning, match="longer than 8 tokens"):
        found = model.translate(["la pomme est rouge", "rouge", "le chat "], max_length=100)
    assert [one.truncated for one in found] == [True, False, False]
    assert max(len(one.tokens) for one in found) <= 8
    assert comparable(found[0]) == comparable(model.translate(["la pomme"])[0])
    with pytest.warns(TruncationWarning):
        model.score(["la pomme est rouge"], ["the apple is red"])
