"""The plan of an epoch, by its properties; the tensors of a batch, by hand and against a padding written otherwise."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.batches import make_batch, plan
from regard.data.corpus import Corpus, write_corpus
from regard.text.build import TokenizerPair, learn_pair
from regard.text.config import TextConfig
from regard.text.dropout import dropout_generator
from regard.text.packed import pack

LENGTHS = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), max_size=120)


def lengths_of(rows):
    return np.array([s for s, _ in rows], dtype=np.int64), np.array([t for _, t in rows], dtype=np.int64)


@settings(deadline=None)
@given(rows=LENGTHS, budget=st.integers(1, 200), seed=st.integers(0, 2**63), epoch=st.integers(0, 1000))
def test_each_example_once_and_every_batch_within_the_budget(rows, budget, seed, epoch):
    source, target = lengths_of(rows)
    batches = plan(source, target, budget, seed, epoch)
    assert sorted(int(i) for batch in batches for i in batch) == list(range(len(rows)))
    for batch in batches:
        width = max(source[batch].max(), target[batch].max()) + 1
        assert len(batch) == 1 or len(batch) * width <= budget


@settings(deadline=None)
@given(rows=LENGTHS, budget=st.integers(1, 200), seed=st.integers(0, 100))
def test_batches_are_filled_greedily_from_short_to_long(rows, budget, seed):
    """Against the loop that one would write without caring for speed."""
    source, target = lengths_of(rows)
    widths = np.maximum(source, target) + 1
    expected: list[list[int]] = []
    for width in sorted(widths.tolist()):
        if expected and (len(expected[-1]) + 1) * width <= budget:
            expected[-1].append(width)
        else:
            expected.append([width])
    found = [sorted(widths[batch].tolist()) for batch in plan(source, target, budget, seed, 0)]
    assert sorted(found) == sorted(expected)


def planned_slowly(source, target, budget, seed, epoch):
    """The same plan, example by example: what `plan` was before it was made fast, and must remain."""
    generator = np.random.default_rng([seed, epoch])
    widths = (np.maximum(source, target) + 1).tolist()
    slants = (source - target).tolist()
    order = generator.permutation(len(widths)).tolist()
    order.sort(key=lambda example: (widths[example], slants[example]))  # stable
    batches: list[list[int]] = []
    for example in order:
        if batches and (len(batches[-1]) + 1) * widths[example] <= budget:
            batches[-1].append(example)
        else:
            batches.append([example])
    return [batches[i] for i in generator.permutation(len(batches))]


WIDE = st.lists(st.tuples(*[st.integers(1, 40) | st.sampled_from([32_766, 32_767, 40_000, 70_000])] * 2), max_size=120)


@settings(deadline=None)
@given(
    rows=LENGTHS | WIDE,
    budget=st.integers(1, 200) | st.sampled_from([70_001, 140_002]),
    seed=st.integers(0, 2**63),
    epoch=st.integers(0, 1000),
)
def test_the_plan_is_the_one_that_it_always_was(rows, budget, seed, epoch):
    source, target = lengths_of(rows)
    found = plan(source, target, budget, seed, epoch)
    assert [batch.tolist() for batch in found] == planned_slowly(source, target, budget, seed, epoch)


def test_a_large_plan_is_the_one_that_it_always_was():
    generator = np.random.default_rng(5)
    source = generator.integers(1, 60, 50_000)
    target = np.maximum(1, source + generator.integers(-9, 10, 50_000))
    found = plan(source, target, 1024, 3, 7)
    assert [batch.tolist() for batch in found] == planned_slowly(source, target, 1024, 3, 7)


@settings(deadline=None)
@given(rows=LENGTHS, seed=st.integers(0, 100), epoch=st.integers(0, 100))
def test_the_plan_is_a_function_of_its_arguments(rows, seed, epoch):
    source, target = lengths_of(rows)
    first, again = plan(source, target, 64, seed, epoch), plan(source, target, 64, seed, epoch)
    assert [batch.tolist() for batch in first] == [batch.tolist() for batch in again]


def test_epochs_and_seeds_differ_in_members_and_order_but_not_in_shapes():
    generator = np.random.default_rng(0)
    source, target = generator.integers(1, 9, 500), generator.integers(1, 9, 500)
    plans = [plan(source, target, 60, seed, epoch) for seed, epoch in ((1, 0), (1, 1), (2, 0), (0, 1))]
    members = [{frozenset(batch.tolist()) for batch in batches} for batches in plans]
    firsts = [batches[0].tolist() for batches in plans]
    for i in range(4):
        for j in range(i):
            assert members[i] != members[j]
            assert firsts[i] != firsts[j]
    widths = np.maximum(source, target)
    assert len({tuple(sorted((len(b), widths[b].max()) for b in batches)) for batches in plans}) == 1


def test_neighbours_in_time_are_not_neighbours_in_length():
    """The batches are shuffled: an epoch does not go from short to long."""
    source = np.arange(1, 2001) % 50 + 1
    batches = plan(source, source, 100, 1, 0)
    longest = [int(source[batch].max()) for batch in batches]
    steps = np.abs(np.diff(longest))
    assert steps.mean() > 10  # sorted batches would give less than 1


def test_examples_of_one_shape_sit_together():
    """Pairs (20, 10) and (10, 20) have one width; mixing them would pad both sides."""
    source, target = np.array([20, 10] * 50), np.array([10, 20] * 50)
    batches = plan(source, target, 21 * 10, 1, 0)
    assert len(batches) == 10
    assert all(len(set(source[batch].tolist())) == 1 for batch in batches)


def test_shares_of_the_processes_make_up_the_whole():
    source = np.random.default_rng(0).integers(1, 30, 300)
    whole = plan(source, source, 100, 1, 2)
    shares = [whole[rank::3] for rank in range(3)]
    assert sorted(i for share in shares for batch in share for i in batch.tolist()) == list(range(300))
    merged = [shares[step % 3][step // 3].tolist() for step in range(len(whole))]
    assert merged == [batch.tolist() for batch in whole]


def test_a_giant_goes_alone():
    batches = plan(np.array([3, 500, 3]), np.array([3, 3, 3]), 8, 1, 0)
    assert sorted(sorted(batch.tolist()) for batch in batches) == [[0, 2], [1]]


def test_a_budget_of_nothing_is_refused():
    with pytest.raises(ValueError, match="batch_tokens = 0"):
        plan(np.array([1]), np.array([1]), 0, 1, 0)


PAIRS = [("ab", "c"), ("a", "cde"), ("bbb", "cd")]


@pytest.fixture(scope="module")
def char(tmp_path_factory):
    directory = tmp_path_factory.mktemp("char")
    tokenizers = learn_pair(TextConfig(kind="char", joint=False), lambda: PAIRS)
    write_corpus(directory, PAIRS, tokenizers, 10)
    return Corpus.open(directory), tokenizers


def test_the_tensors_of_a_batch_by_hand(char):
    corpus, tokenizers = char
    (a,), (b,) = tokenizers.source.encode("a"), tokenizers.source.encode("b")
    c, d, e = (tokenizers.target.encode(letter)[0] for letter in "cde")
    p, q, end = tokenizers.source.vocabulary.pad, tokenizers.target.vocabulary.pad, 0
    batch = make_batch(corpus, np.array([1, 0, 2]), tokenizers)
    assert batch.source.tolist() == [[a, end, p, p], [a, b, end, p], [b, b, b, end]]
    assert batch.target_in.tolist() == [[q, c, d, e], [q, c, q, q], [q, c, d, q]]
    assert batch.target_out.tolist() == [[c, d, e, end], [c, end, q, q], [c, d, end, q]]
    assert batch.indices == (1, 0, 2)
    assert batch.tokens == 9
    assert {tensor.dtype for tensor in (batch.source, batch.target_in, batch.target_out)} == {torch.int64}


SENTENCES = [
    ("the small house stands near the old river", "das kleine Haus steht nahe dem alten Fluss"),
    ("the river is old", "der Fluss ist alt"),
    ("houses near rivers are small", "Häuser an Flüssen sind klein"),
    ("a small old house", "ein kleines altes Haus"),
] * 5


@pytest.fixture(scope="module")
def bpe(tmp_path_factory):
    directory = tmp_path_factory.mktemp("bpe")
    tokenizers = learn_pair(TextConfig(vocabulary=340), lambda: SENTENCES)
    write_corpus(directory, SENTENCES, tokenizers, 80)
    return Corpus.open(directory), tokenizers


@settings(deadline=None, max_examples=30)
@given(indices=st.lists(st.integers(0, 19), min_size=1, max_size=8), dropout=st.sampled_from([0.0, 0.3]))
def test_a_batch_decodes_to_its_sentences(bpe, indices, dropout):
    corpus, tokenizers = bpe
    batch = make_batch(corpus, indices, tokenizers, dropout, seed=1, epoch=2)
    pad = tokenizers.target.vocabulary.pad
    for row, index in enumerate(indices):
        assert tokenizers.source.decode(batch.source[row].tolist()) == SENTENCES[index][0]
        assert tokenizers.target.decode(batch.target_out[row].tolist()) == SENTENCES[index][1]
    real = batch.target_out != pad
    assert int(real.sum()) == batch.tokens
    assert torch.equal(real[:, 1:], batch.target_in[:, 1:] != pad)
    assert bool((batch.target_in[:, 0] == pad).all())
    inner = real[:, 1:]  # target_in is target_out one step later
    assert torch.equal(batch.target_in[:, 1:][inner], batch.target_out[:, :-1][inner])


def test_dropout_of_an_example_does_not_depend_on_its_batch(bpe):
    corpus, tokenizers = bpe
    together = make_batch(corpus, [3, 0, 2], tokenizers, 0.5, seed=7, epoch=1)
    alone = make_batch(corpus, [0], tokenizers, 0.5, seed=7, epoch=1)
    width = alone.source.shape[1]
    assert together.source[1, :width].tolist() == alone.source[0].tolist()
    expected = tokenizers.source.drop(corpus.source(0).tolist(), 0.5, dropout_generator(7, 1, 0))
    assert alone.source[0].tolist() == [*expected, 0]
    expected = tokenizers.target.drop(corpus.target(0).tolist(), 0.5, dropout_generator(7, 1, 1))
    assert alone.target_out[0].tolist() == [*expected, 0]


def test_dropout_changes_with_epoch_seed_and_example(bpe):
    corpus, tokenizers = bpe
    rows = [
        make_batch(corpus, [index], tokenizers, 0.5, seed=seed, epoch=epoch).source[0].tolist()
        for seed, epoch, index in ((1, 0, 0), (1, 1, 0), (2, 0, 0), (1, 0, 4))  # examples 0 and 4 are one sentence
    ]
    assert len({tuple(row) for row in rows}) == 4


def test_two_readings_differ_in_the_cuts_of_the_source_alone(bpe):
    corpus, tokenizers = bpe
    once = make_batch(corpus, [3, 0, 2], tokenizers, 0.5, seed=7, epoch=1)
    twice = make_batch(corpus, [3, 0, 2], tokenizers, 0.5, seed=7, epoch=1, readings=2)
    assert torch.equal(twice.target_in, once.target_in)
    assert torch.equal(twice.target_out, once.target_out)
    assert twice.tokens == once.tokens
    cuts = [[index for index in row if index != tokenizers.source.vocabulary.pad] for row in twice.source.tolist()]
    assert cuts[:3] != cuts[3:]
    assert [tokenizers.source.decode(row) for row in cuts] == [SENTENCES[index][0] for index in (3, 0, 2, 3, 0, 2)]
    plain = make_batch(corpus, [3, 0, 2], tokenizers, readings=2)
    assert torch.equal(plain.source[:3], plain.source[3:])


def test_the_sides_of_an_example_are_cut_independently(tmp_path):
    tokenizers = learn_pair(TextConfig(vocabulary=340), lambda: SENTENCES)
    write_corpus(tmp_path, [(s, s) for s, _ in SENTENCES], tokenizers, 80)
    batch = make_batch(Corpus.open(tmp_path), range(4), tokenizers, 0.5, seed=1, epoch=0)
    assert batch.source.tolist() != batch.target_out.tolist()


def test_dropout_never_makes_an_example_longer_than_the_limit(tmp_path, bpe):
    _, tokenizers = bpe
    longest = max(len(tokenizers.source.encode(text)) for pair in SENTENCES for text in pair)
    write_corpus(tmp_path, SENTENCES, tokenizers, longest)
    corpus = Corpus.open(tmp_path)
    assert len(corpus) == 20
    batch = make_batch(corpus, range(20), tokenizers, 0.9, seed=1, epoch=0)
    assert max(batch.source.shape[1], batch.target_in.shape[1]) <= longest + 1


def test_dropout_leaves_other_kinds_alone(char):
    corpus, tokenizers = char
    plain, dropped = (make_batch(corpus, [0, 1, 2], tokenizers, p, seed=1, epoch=1) for p in (0.0, 0.5))
    assert torch.equal(plain.source, dropped.source)
    assert torch.equal(plain.target_out, dropped.target_out)


def test_a_batch_moves_to_another_device_whole(char):
    corpus, tokenizers = char
    moved = make_batch(corpus, [0, 1], tokenizers).to("meta")
    assert {tensor.device.type for tensor in (moved.source, moved.target_in, moved.target_out)} == {"meta"}
    assert (moved.indices, moved.tokens) == ((0, 1), 6)


def test_wide_vocabularies_are_batched_too(tmp_path):
    class NumberTokenizer:
        class vocabulary:  # noqa: N801 (an attribute, not a class to its users)
            EOS, pad = 0, 99_999

            def __len__(self):
                return 100_000

        vocabulary = vocabulary()

        def packer(self):
            return lambda texts: pack([[int(word) for word in text.split()] for text in texts])

    tokenizer = NumberTokenizer()
    tokenizers = TokenizerPair(tokenizer, tokenizer, joint=True)
    write_corpus(tmp_path, [("70000 5", "99998")], tokenizers, 5)
    batch = make_batch(Corpus.open(tmp_path), [0], tokenizers)
    assert batch.source.tolist() == [[70_000, 5, 0]]
    assert batch.target_in.tolist() == [[99_999, 99_998]]
