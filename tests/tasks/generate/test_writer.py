"""A language model's answers, checked against models whose every answer is known, and against plain loops.

Shapes: T tokens.
"""

import gc
import math
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.bundle.bundle import save_bundle
from regard.bundle.config import TextsConfig, VocabularySizes
from regard.bundle.describe import describe
from regard.data.texts import TextCorpus, write_texts
from regard.engine.input_length import TruncationWarning
from regard.errors import BundleError, ConfigError, SearchError
from regard.models.build import build_language_model, count_model
from regard.models.config import LanguageRecurrentConfig, LanguageTransformerConfig, MarkovConfig, ModelConfig
from regard.search.options import SearchOptions
from regard.tasks.bundles import bundle_classes
from regard.tasks.generate.evaluate import continuations
from regard.tasks.generate.generation import Generation
from regard.tasks.generate.settings import GenerateBundle
from regard.tasks.generate.writer import Writer
from regard.tasks.load import load_served, load_translator, load_writer
from regard.text.build import TokenizerPair, learn
from regard.text.config import TextConfig
from regard.text.lines import encode_lines
from regard.text.tokenizer import Tokenizer

SHOW = [f"show me my {what} please" for what in ["directories"] * 2 + ["files"] * 3 + ["photos"] * 5]
VERSE = "to be or not to be\nthat is the question\n" * 3
CONTEXT = 12


def counted(lines: list[str], tokenizer: Tokenizer, **options: object) -> Writer:
    """A Markov model of lines that are texts of their own."""
    texts = [[*tokenizer.encode(line), 0] for line in lines]
    config = MarkovConfig.parse({"order": 1, "smoothing": "none", **options})
    begins = np.cumsum([0, *map(len, texts)])[:-1]
    network = count_model(config, np.concatenate(texts), begins, len(tokenizer.vocabulary))
    return Writer(network.eval(), tokenizer, TextsConfig(documents="line", context=20))


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    return learn(TextConfig(kind="word"), SHOW)


@pytest.fixture(scope="module")
def characters() -> Tokenizer:
    return learn(TextConfig(kind="char"), VERSE.split("\n"))


def random_writer(tokenizer: Tokenizer, config: ModelConfig) -> Writer:
    size = len(tokenizer.vocabulary)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        network = build_language_model(config, size, CONTEXT).double().eval()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.mul_(2.0)
    return Writer(network, tokenizer, TextsConfig(documents="file", context=CONTEXT))


@pytest.fixture(scope="module")
def transformer(characters: Tokenizer) -> Writer:
    config = LanguageTransformerConfig(
        layers=1, width=16, heads=2, feed_forward=16, positions="learned", max_positions=CONTEXT
    )
    return random_writer(characters, config)


def test_the_chain_rule(words: Tokenizer) -> None:
    writer = counted(SHOW, words)
    likely, never, part = writer.score(["show me my files please", "show me please", "show me my photos"])
    assert likely.logprob == pytest.approx(math.log(0.3), abs=1e-6)
    assert likely.tokens == 5
    assert [round(math.exp(value), 4) for value in likely.token_logprobs] == [1.0, 1.0, 1.0, 0.3, 1.0, 1.0]
    assert never.logprob == part.logprob == -math.inf


def test_it_goes_on_with_a_prompt(words: Tokenizer) -> None:
    writer = counted(SHOW, words)
    [best] = writer.generate(["show me"], sample=False)
    assert (best.text, best.finished) == (" my photos please", True)
    assert best.logprob == pytest.approx(math.log(0.5), abs=1e-6)
    texts = {one.text for one in writer.generate([""] * 40, seed=4)}
    assert texts == set(SHOW), "each of many has draws of its own"
    [several] = writer.generate(["show me my"], nbest=3, sample=False, beam=5)
    assert [one.text for one in several.alternatives] == [" photos please", " files please", " directories please"]
    assert writer.generate(["show me my"], nbest=3, beam=5) == [several], "a beam asks for a search"
    [short] = writer.generate(["show"], max_length=2)
    assert (short.text, short.finished) == (" me my", False)


def test_prompts_of_different_lengths_do_not_disturb_each_other(transformer: Writer) -> None:
    prompts = ["to", "that is", "", "be", "or not"]
    together = transformer.generate(prompts, sample=False, max_length=8)
    for prompt, one in zip(prompts, together, strict=True):
        assert transformer.generate([prompt], sample=False, max_length=8)[0].tokens == one.tokens


def test_groups_of_a_diverse_beam_all_go_on_with_the_prompt(transformer: Writer) -> None:
    [several] = transformer.generate(["to be"], sample=False, beam=4, groups=2, diversity=50.0, nbest=4, max_length=6)
    told, vocabulary = encode_lines(transformer.tokenizer, "to be"), transformer.tokenizer.vocabulary
    for one in several.alternatives:
        said = [*map(vocabulary.id_of, one.tokens), *([vocabulary.EOS] if one.finished else [])]
        [logprobs] = transformer.logprobs([np.array([*told, *said])])
        assert one.logprob == pytest.approx(logprobs[len(told) :].sum(), abs=1e-6)
    assert len({one.tokens[0] for one in several.alternatives}) > 1
    [alone] = transformer.generate(["to be"], sample=False, beam=4, groups=4, diversity=0.0, max_length=6)
    [greedy] = transformer.generate(["to be"], sample=False, beam=1, max_length=6)
    assert alone.tokens == greedy.tokens, "without diversity every group of one is greedy"


@pytest.mark.parametrize("options", [{"sample": True, "top_k": 9, "seed": 5}, {"beam": 1}])
def test_what_is_streamed_is_what_is_written(transformer: Writer, options: dict[str, int]) -> None:
    asked = SearchOptions(**{"beam": 1, "max_length": 40, **options})  # type: ignore[arg-type]
    stream = transformer.stream("to be\n", asked)
    pieces = list(stream)
    [written] = transformer.write(["to be\n"], asked)
    assert "".join(pieces) == stream.result.text == written.text
    assert stream.result == written
    assert len(pieces) > 1


def options_of(seed: int) -> SearchOptions:
    return SearchOptions(sample=True, seed=seed, max_length=30, min_length=30, beam=1)


def test_streams_and_calls_of_several_threads_take_turns(transformer: Writer) -> None:
    """A stream that is half read holds nothing: another thread streams and generates meanwhile."""
    expected = [transformer.write(["to be"], options_of(seed))[0] for seed in (1, 2, 3)]
    first, second = (transformer.stream("to be", options_of(seed)) for seed in (1, 2))
    pieces, others = [next(first), next(first)], []
    written: list[Generation] = []

    def work() -> None:
        others.append(next(second))
        written.extend(transformer.write(["to be"], options_of(3)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    for mine in first:  # now step by step, in turn
        pieces.append(mine)
        others.extend(other for other in [next(second, "")] if other)
    others.extend(second)
    assert written == [expected[2]]
    assert ("".join(pieces), first.result) == (expected[0].text, expected[0])
    assert ("".join(others), second.result) == (expected[1].text, expected[1])
    assert torch.is_grad_enabled()


def test_two_threads_read_two_streams_at_once(transformer: Writer) -> None:
    expected = [transformer.write(["that"], options_of(seed))[0].text for seed in range(4)]
    found: dict[int, str] = {}

    def read(seed: int) -> None:
        found[seed] = "".join(transformer.stream("that", options_of(seed)))

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [found[seed] for seed in range(4)] == expected


def test_a_stream_can_be_cancelled(transformer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    steps, step = [], transformer.network.step
    monkeypatch.setattr(transformer.network, "step", lambda *given: steps.append(1) or step(*given))
    with transformer.stream("to be", options_of(1)) as stream:
        next(stream)
        made = len(steps)
        assert 0 < made < 30
    assert list(stream) == []
    assert len(steps) == made
    with pytest.raises(SearchError, match="not whole yet"):
        _ = stream.result
    stream.close()  # again: nothing
    dropped = transformer.stream("to be", options_of(1))
    next(dropped)
    alive = weakref.ref(dropped._steps)
    dropped.close()
    gc.collect()
    assert alive() is None, "the search and its cache are freed"


def test_a_stream_leaves_a_network_in_training(characters: Tokenizer) -> None:
    writer = random_writer(
        characters, LanguageTransformerConfig(layers=1, width=16, heads=2, feed_forward=16, dropout=0.5)
    )
    expected = writer.write(["to"], options_of(4))[0].text
    writer.network.train()
    pieces = []
    for piece in writer.stream("to", options_of(4)):
        assert writer.network.training
        pieces.append(piece)
    assert "".join(pieces) == expected


def test_a_stream_that_fails_does_not_go_on(transformer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = transformer.stream("to be", options_of(1))
    next(stream)
    with monkeypatch.context() as patched:
        patched.setattr(transformer.network, "step", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            next(stream)
    assert list(stream) == []


def test_pieces_are_only_what_filters_allow(words: Tokenizer) -> None:
    """Where nothing may follow, the text is cut, and no piece says more."""
    writer = counted(SHOW, words)
    options = SearchOptions(beam=1, suppress=["▁my"], max_length=6)
    stream = writer.stream("show", options)
    assert "".join(stream) == stream.result.text == writer.write(["show"], options)[0].text == " me"
    assert not stream.result.finished


def test_past_its_context_it_reads_the_younger_half_anew(transformer: Writer) -> None:
    network, generator = transformer.network, torch.Generator().manual_seed(1)
    said = torch.randint(2, network.start_token, (2, 3 * CONTEXT), generator=generator)
    fed = torch.cat([torch.full((2, 1), network.start_token), said], dim=1)
    state, read = network.start(torch.zeros(2, 0, dtype=torch.long)), 0
    with torch.no_grad():
        for step in range(fed.shape[1]):
            logits, state, _ = network.step(fed[:, step, None], state)
            if read == CONTEXT:  # forgotten: a start token, and half a context before the newest token
                window = torch.cat([fed[:, :1], fed[:, step - CONTEXT // 2 : step]], dim=1)
                read = window.shape[1]
            elif step < CONTEXT:
                window = fed[:, :step]
            else:
                window = torch.cat([fed[:, :1], fed[:, step - read + 1 : step]], dim=1)
            read += 1
            expected = network(fed[:, :0], torch.cat([window, fed[:, step, None]], dim=1))[:, -1]
            torch.testing.assert_close(logits[:, 0], expected)


@pytest.mark.parametrize(
    "config",
    [
        LanguageRecurrentConfig(layers=1, width=8, cell="gru"),
        LanguageTransformerConfig(layers=1, width=16, heads=2, feed_forward=16, positions="rotary"),
    ],
)
def test_long_texts_are_scored_in_windows(characters: Tokenizer, config: ModelConfig) -> None:
    writer = random_writer(characters, config)
    network = writer.network
    documents = [np.array(encode_lines(characters, VERSE)), np.array([5, 6]), np.array([], dtype=np.int64)]
    found = writer.logprobs(documents)
    assert [len(one) for one in found] == [len(ids) for ids in documents]
    with torch.no_grad():
        for ids, logprobs in zip(documents, found, strict=True):
            for place, token in enumerate(ids.tolist()):
                over = place - CONTEXT
                start = 0 if over < 0 else min((over // 6 + 1) * 6, len(ids) - CONTEXT)
                fed = torch.tensor([[network.start_token, *ids[start:place]]])
                expected = network(fed[:, :0], fed)[0, -1].log_softmax(-1)[token]
                assert logprobs[place] == pytest.approx(float(expected), abs=1e-6)


def test_a_prompt_longer_than_the_context(transformer: Writer) -> None:
    prompt = VERSE[:60]
    with pytest.warns(TruncationWarning, match="60 tokens is longer than the context, 12"):
        [found] = transformer.generate([prompt], sample=False, max_length=5)
    assert found.truncated
    assert found.prompt == prompt
    assert transformer.generate([prompt[-5:]], sample=False, max_length=5)[0].truncated is False


def test_a_prompt_that_the_vocabulary_has_no_pieces_for(transformer: Writer) -> None:
    """It is spelled in bytes, which the model has never seen: a defined answer."""
    [found] = transformer.generate(["\u4e2d🙂"], sample=False, max_length=3)
    assert len(found.tokens) == 3
    [score] = transformer.score(["\u4e2d"])
    assert len(score.token_logprobs) == 3
    assert math.isfinite(score.logprob)


def test_options_that_make_no_sense(transformer: Writer) -> None:
    with pytest.raises(SearchError, match="coverage"):
        transformer.write(["to"], SearchOptions(beam=2, coverage=0.5))
    with pytest.raises(SearchError, match="above max_length = 3"):
        transformer.generate(["to"], min_length=5, max_length=3)
    with pytest.raises(SearchError, match="only one text"):
        transformer.stream("to", SearchOptions(beam=4))
    with pytest.raises(TypeError, match="list of prompts"):
        transformer.generate("to")


def saved(writer: Writer, path: Path, model: ModelConfig) -> Path:
    size = len(writer.tokenizer.vocabulary)
    config = GenerateBundle(
        task="generate",
        model=model,
        vocabulary=VocabularySizes(source=size, target=size, joint=True),
        texts=writer.texts,
    )
    tensors = writer.network.tables() if isinstance(model, MarkovConfig) else writer.network.float().state_dict()
    save_bundle(path, tensors, config, TokenizerPair(writer.tokenizer, writer.tokenizer, joint=True))
    return path


@pytest.mark.parametrize("options", [{"order": 3}, {"order": 2, "skips": 3, "mask": 0.1}])
def test_a_counted_bundle_comes_back(words: Tokenizer, tmp_path: Path, options: dict[str, object]) -> None:
    config = MarkovConfig.parse({"smoothing": "kneser_ney", **options})
    writer = counted(SHOW, words, **{"smoothing": "kneser_ney", **options})
    path = saved(writer, tmp_path / "bundle", config)
    again = load_served(path)
    assert isinstance(again, Writer)
    assert again.score(SHOW) == writer.score(SHOW)
    about = describe(path, bundle_classes())
    assert about["task"] == "generate"
    assert about["parameters"]["total"] == sum(table.numel() for table in writer.network.tables().values())
    with pytest.raises(ConfigError, match="only translators have other engines than torch"):
        load_served(path, engine="ct2")
    with pytest.raises(BundleError, match=r"its task is to generate, not to translate; use `regard generate`"):
        load_translator(path)


def test_a_trained_bundle_comes_back(characters: Tokenizer, tmp_path: Path) -> None:
    config = LanguageTransformerConfig(layers=1, width=16, heads=2, feed_forward=16)
    writer = random_writer(characters, config)
    again = load_writer(saved(writer, tmp_path / "bundle", config))
    assert again.texts == writer.texts
    assert again.generate(["to"], seed=3, max_length=20) == writer.generate(["to"], seed=3, max_length=20)


def test_tables_of_another_model_are_refused(words: Tokenizer, tmp_path: Path) -> None:
    writer = counted(SHOW, words, order=2)
    with pytest.raises(BundleError, match=r"no tensor '3.keys' \(3 missing\); it does not fit config"):
        load_writer(saved(writer, tmp_path / "bundle", MarkovConfig(order=3)))


@pytest.mark.parametrize("options", [{"order": 1}, {"order": 2, "skips": 10}, {"order": 2, "skips": 10, "mask": 0.0}])
def test_a_smoothed_model_writes_only_what_its_text_has(words: Tokenizer, options: dict[str, object]) -> None:
    """Smoothing gives every byte a probability, so that any word can be scored; none is written."""
    writer = counted(SHOW, words, smoothing="kneser_ney", **options)
    [unknown] = writer.score(["show me my cats"])
    assert math.isfinite(unknown.logprob)
    assert {word for one in writer.generate([""] * 200, seed=1) for word in one.text.split()} <= set(
        SHOW[0].split()
    ) | {
        "files",
        "photos",
    }
    plain = counted(SHOW, words, smoothing="none", **options)
    assert writer.network.unseen_tokens() == plain.network.unseen_tokens()
    pieces = words.vocabulary.pieces
    assert {pieces[token] for token in range(1, words.vocabulary.pad)} - {
        pieces[token] for token in writer.network.unseen_tokens()
    } == {f"▁{word}" for word in [*SHOW[0].split(), "files", "photos"]}


def test_prompts_of_samples_are_whole_words(tmp_path: Path) -> None:
    lines = [f"{n} days before whatever happened nobody remembers" for n in range(40)]
    for kind in ("bpe", "char", "word"):
        tokenizer = learn(TextConfig(kind=kind, vocabulary=300), lines)  # type: ignore[arg-type]
        for documents in ("file", "line"):
            home = tmp_path / kind / documents
            write_texts(home, lines, tokenizer, documents)  # type: ignore[arg-type]
            corpus = TextCorpus(home)
            network = count_model(MarkovConfig(order=1), corpus.ids, corpus.begins, len(tokenizer.vocabulary)).eval()
            writer = Writer(network, tokenizer, TextsConfig(documents=documents, context=1024))  # type: ignore[arg-type]
            samples = continuations(writer, corpus, 9)
            assert 6 < len({sample.source for sample in samples}) <= 9
            known = {word for line in lines for word in line.split()}
            for sample in samples:
                assert sample.source
                assert set(sample.source.split()) <= known, (kind, documents, sample.source)
