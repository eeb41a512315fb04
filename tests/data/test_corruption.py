"""Corruption of texts: cases worked out by hand, invariants, rates, and the collator of transformers as an oracle."""

import math
from itertools import chain, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.corruption import (
    Denoising,
    Masking,
    Pieces,
    SpanCorruption,
    infilled,
    permuted,
    random_spans,
    span_counts,
    span_lengths,
    with_sentinels,
)
from regard.data.objectives import DenoiseObjective, MaskObjective, SpanObjective
from regard.text.vocabulary import BYTE_PIECES, END, PAD, UNKNOWN, Vocabulary

RESERVED = ("<mask>", *(f"<extra_id_{n}>" for n in range(60)), ">>en<<")
WORDS = [f"{'▁' if n % 3 else ''}w{n}" for n in range(90)] + ["."]
VOCABULARY = Vocabulary([END, UNKNOWN, *RESERVED, *BYTE_PIECES, *WORDS, PAD], silent=RESERVED)
PIECES = Pieces.of(VOCABULARY)
MASK, PADDING, TAG = 2, VOCABULARY.pad, VOCABULARY.id_of(">>en<<")
FIRST = VOCABULARY.id_of("w0")
STOP = VOCABULARY.id_of(".")


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def text(length: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(FIRST, PADDING, length)


def ids(*numbers: int) -> np.ndarray:
    return np.array([FIRST + number for number in numbers])


class TestMasks:
    def masking(self, **options):
        return MaskObjective(**options).corrupter(VOCABULARY)

    def test_a_case_by_hand(self):
        """Of five tokens the 1st, 2nd and 4th are chosen: masked at 0.79, random at 0.8, kept at 0.9."""
        chosen = np.array([True, True, False, True, False])
        fate = np.array([0.79, 0.8, 0.1, 0.9, 0.1])
        source, target = self.masking().applied(ids(1, 2, 3, 4, 5), chosen, fate, ids(9, 8, 7, 6, 5))
        assert source.tolist() == [MASK, *ids(8, 3, 4, 5)]
        assert target.tolist() == [FIRST + 1, FIRST + 2, PADDING, FIRST + 4, PADDING]

    def test_the_rates_over_many_texts(self):
        masking, rows = self.masking(), [text(100, seed) for seed in range(400)]
        made = [masking(row, generator(seed)) for seed, row in enumerate(rows)]
        before, source, target = (np.concatenate(part) for part in (rows, *zip(*made, strict=True)))
        chosen = target != PADDING
        assert (target[chosen] == before[chosen]).all()
        assert (source[~chosen] == before[~chosen]).all()
        deviation = math.sqrt(0.15 * 0.85 / len(before))
        assert abs(chosen.mean() - 0.15) < 4 * deviation
        assert (source[chosen] == MASK).mean() == pytest.approx(0.8, abs=0.02)
        assert (source[chosen] == before[chosen]).mean() == pytest.approx(0.1, abs=0.02)

    def test_the_collator_of_transformers_has_the_same_convention_and_rates(self):
        transformers = pytest.importorskip("transformers")
        tokenizers = pytest.importorskip("tokenizers")
        import torch

        names = ["[PAD]", "[MASK]", "[UNK]", *(f"w{n}" for n in range(500))]
        model = tokenizers.models.WordLevel({name: index for index, name in enumerate(names)}, unk_token="[UNK]")
        theirs = transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizers.Tokenizer(model), pad_token="[PAD]", mask_token="[MASK]", unk_token="[UNK]"
        )
        collator = transformers.DataCollatorForLanguageModeling(theirs, mlm_probability=0.15)
        torch.manual_seed(3)
        before = torch.randint(3, 503, (200, 100))
        made = collator([{"input_ids": row} for row in before])
        labels, inputs = made["labels"], made["input_ids"]
        expected = [(labels != -100).float().mean(), (inputs[labels != -100] == 1).float().mean()]
        own = Vocabulary([END, UNKNOWN, *RESERVED, *(f"▁w{n}" for n in range(500)), PAD], silent=RESERVED)
        masking = MaskObjective().corrupter(own)
        rows = [row.numpy() + len(RESERVED) - 1 for row in before]
        source, target = (
            np.concatenate(part) for part in zip(*map(masking, rows, map(generator, range(200))), strict=True)
        )
        found = [(target != own.pad).mean(), (source[target != own.pad] == 2).mean()]
        assert found == pytest.approx([float(value) for value in expected], abs=0.02)
        flat = before.flatten()
        assert (labels.flatten()[labels.flatten() != -100] == flat[labels.flatten() != -100]).all()  # as ours

    def test_whole_words_are_chosen_whole(self):
        masking = self.masking(whole_words=True, rate=0.4, masked=1.0, random=0.0)
        row = ids(1, 0, 3, 2, 6, 9, 4, 5)  # w1 | w0 w3 belong to it; w2 begins a word, w6 and w9 go on; w4; w5
        words = [[0, 1, 2], [3, 4, 5], [6], [7]]
        seen = set()
        for seed in range(60):
            chosen = masking(row, generator(seed)).target != PADDING
            for word in words:
                assert len({bool(chosen[place]) for place in word}) == 1
            seen |= {number for number, word in enumerate(words) if chosen[word[0]]}
        assert seen == {0, 1, 2, 3}

    def test_a_short_text_has_a_prediction_and_nothing_reserved_is_one(self):
        masking = self.masking(rate=0.01)
        for seed in range(20):
            assert (masking(ids(4), generator(seed)).target == FIRST + 4).all()
            source, target = masking(np.array([TAG, FIRST, TAG]), generator(seed))
            assert source[0] == source[2] == TAG
            assert target.tolist() == [PADDING, FIRST, PADDING]
        made = masking(np.array([TAG]), generator())
        assert (made.source.tolist(), made.target.tolist()) == ([TAG], [PADDING])


class TestSpans:
    def test_a_case_by_hand(self):
        """The example of T5's paper: thank you [for inviting] me to your party [last] week."""
        row = ids(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
        noise = np.array([0, 0, 1, 1, 0, 0, 0, 0, 1, 0], dtype=bool)
        source, target = with_sentinels(row, noise, PIECES.sentinels)
        x, y, z = PIECES.sentinels[:3]
        assert source.tolist() == [FIRST, FIRST + 1, x, *ids(4, 5, 6, 7), y, FIRST + 9]
        assert target.tolist() == [x, FIRST + 2, FIRST + 3, y, FIRST + 8, z]

    def test_runs_without_a_sentinel_of_their_own_stay(self):
        noise = np.array([1, 0, 1, 0, 1], dtype=bool)
        source, target = with_sentinels(ids(0, 1, 2, 3, 4), noise, PIECES.sentinels[:2])
        assert source.tolist() == [PIECES.sentinels[0], *ids(1, 2, 3, 4)]
        assert target.tolist() == [PIECES.sentinels[0], FIRST, PIECES.sentinels[1]]

    @pytest.mark.parametrize(
        ("tokens", "rate", "mean", "expected"),
        [
            (100, 0.15, 3.0, (15, 5)),
            (512, 0.15, 3.0, (77, 26)),  # T5's own: 77 of 512 tokens in 26 spans
            (10, 0.15, 3.0, (2, 1)),
            (2, 0.15, 3.0, (1, 1)),
            (1, 0.15, 3.0, (1, 1)),
            (10, 0.9, 1.0, (9, 1)),  # one token stays, so there is one span, as T5 has it
        ],
    )
    def test_the_counts_are_those_of_t5(self, tokens, rate, mean, expected):
        assert tuple(map(int, span_counts(tokens, rate, mean))) == expected

    @pytest.mark.parametrize("tokens", [1, 2, 5, 17, 100, 300])
    def test_the_noise_has_these_counts_and_may_be_anywhere(self, tokens):
        noise_tokens, spans = span_counts(tokens, 0.15, 3.0)
        ends = set()
        for seed in range(200):
            noise = random_spans(tokens, 0.15, 3.0, generator(seed))
            assert len(noise) == tokens
            assert noise.sum() == noise_tokens
            assert (noise & ~np.append(False, noise[:-1])).sum() == spans
            ends |= {("first", bool(noise[0])), ("last", bool(noise[-1]))}
        assert tokens in (1, 300) or len(ends) == 4, "the first and the last token are corrupted in some texts"

    def test_every_division_is_equally_probable(self):
        """4 corrupted tokens in 2 spans: 1 + 3, 2 + 2, 3 + 1."""
        firsts = []
        for seed in range(3000):
            noise = random_spans(8, 0.5, 2.0, generator(seed))
            starts = np.flatnonzero(noise & ~np.append(False, noise[:-1]))
            firsts.append(int(np.flatnonzero(~noise[starts[0] :])[0]))
        assert [firsts.count(length) / 3000 for length in (1, 2, 3)] == pytest.approx([1 / 3] * 3, abs=0.04)

    @settings(max_examples=60, deadline=None)
    @given(st.integers(1, 200), st.integers(0, 2**32), st.sampled_from([0.15, 0.5, 0.9]), st.sampled_from([1.0, 3.0]))
    def test_the_text_can_be_rebuilt_and_the_lengths_are_as_planned(self, length, seed, rate, mean):
        row = text(length, seed)
        corrupter = SpanCorruption(
            Pieces.of(
                Vocabulary(
                    [END, *VOCABULARY.pieces[1:2], *(f"<extra_id_{n}>" for n in range(120)), *WORDS, PAD],
                    silent=[f"<extra_id_{n}>" for n in range(120)],
                )
            ),
            rate,
            mean,
        )
        shifted = row - FIRST + 122
        source, target = corrupter(shifted, generator(seed))
        sentinels = corrupter.pieces.sentinels.tolist()
        spans: dict[int, list[int]] = {}
        for token in target.tolist():
            if token in sentinels:
                spans[token] = []
            else:
                spans[max(spans)].append(token)
        rebuilt = [token for one in source.tolist() for token in spans.get(one, [one])]
        assert rebuilt == shifted.tolist()
        assert list(spans) == sentinels[: len(spans)], "numbered from 0, and a last one at the end"
        assert spans[max(spans)] == []
        planned = corrupter.lengths(np.array([length]))
        assert [len(source), len(target)] == [int(part[0]) for part in planned]


class TestDenoising:
    def test_infilling_by_hand(self):
        row = ids(0, 1, 2, 3, 4, 5)
        free = np.arange(6)
        assert infilled(row, free, np.array([1, 4]), np.array([2, 0]), MASK).tolist() == [
            *(FIRST, MASK, FIRST + 3, MASK, FIRST + 4, FIRST + 5)
        ]
        assert infilled(row, free, np.array([0]), np.array([6]), MASK).tolist() == [MASK]
        assert infilled(row, free, np.array([6]), np.array([0]), MASK).tolist() == [*row, MASK]
        tagged = np.array([TAG, *row])
        found = infilled(tagged, np.arange(1, 7), np.array([0]), np.array([2]), MASK)
        assert found.tolist() == [TAG, MASK, *ids(2, 3, 4, 5)]

    def test_lengths_of_spans(self):
        drawn = [span_lengths(3000, 3.0, generator(seed)) for seed in range(20)]
        assert {int(lengths.sum()) for lengths in drawn} == {3000}
        every = np.concatenate(drawn)
        assert every.mean() == pytest.approx(3.0, abs=0.1)
        assert (every == 0).mean() == pytest.approx(math.exp(-3.0), abs=0.01)

    def test_the_share_of_masked_tokens(self):
        denoising = DenoiseObjective(permutation=0.0).corrupter(VOCABULARY)
        kept = total = 0
        for seed in range(300):
            row = text(40, seed)
            source, target = denoising(row, generator(seed))
            assert (target == row).all()
            assert len(source) <= len(row)
            assert not ((source[1:] == MASK) & (source[:-1] == MASK)).any(), "spans are apart"
            stayed = source[source != MASK].tolist()
            rest = iter(row.tolist())
            assert all(token in rest for token in stayed), "what stays is in order"
            kept, total = kept + len(stayed), total + len(row)
        assert 1 - kept / total == pytest.approx(0.3, abs=0.01)

    def test_deletion(self):
        denoising = DenoiseObjective(infilling=0.0, deletion=0.2, permutation=0.0).corrupter(VOCABULARY)
        lengths = [len(denoising(text(50, seed), generator(seed)).source) for seed in range(200)]
        assert np.mean(lengths) / 50 == pytest.approx(0.8, abs=0.02)
        certain = DenoiseObjective(infilling=0.0, deletion=0.99, permutation=0.0).corrupter(VOCABULARY)
        assert all(len(certain(ids(1), generator(seed)).source) == 1 for seed in range(9)), "a text never vanishes"

    def test_permutation_of_sentences(self):
        row = np.array([*ids(1, 2), STOP, *ids(3), STOP, *ids(4, 5)])
        sentences = [[*ids(1, 2), STOP], [*ids(3), STOP], [*ids(4, 5)]]
        orders = set()
        for seed in range(50):
            found = permuted(row, row == STOP, generator(seed)).tolist()
            parts = sorted(sentences, key=lambda part: found.index(part[0]))
            assert found == [token for part in parts for token in part]
            orders.add(tuple(found))
        assert len(orders) == 6
        assert permuted(ids(1, 2), np.array([False, True]), generator()).tolist() == ids(1, 2).tolist()

    def test_several_marks_end_one_sentence(self):
        """`a ... b . c` has the three sentences `a ...`, `b .` and `c`."""
        row, ends = ids(1, 8, 8, 8, 2, 9, 3), np.array([0, 1, 1, 1, 0, 1, 0], dtype=bool)
        parts = [ids(1, 8, 8, 8).tolist(), ids(2, 9).tolist(), ids(3).tolist()]
        found = {tuple(permuted(row, ends, generator(seed)).tolist()) for seed in range(40)}
        assert found == {tuple(chain(*order)) for order in permutations(parts)}

    def test_nothing_reserved_is_corrupted(self):
        denoising = DenoiseObjective(infilling=0.9, deletion=0.5).corrupter(VOCABULARY)
        for seed in range(30):
            source = denoising(np.array([TAG, *text(20, seed)]), generator(seed)).source
            assert (source == TAG).sum() == 1


def test_the_same_numbers_give_the_same_corruption():
    for kind in (MaskObjective(), DenoiseObjective(), SpanObjective()):
        corrupter = kind.corrupter(VOCABULARY)
        assert isinstance(corrupter, Masking | Denoising | SpanCorruption)
        one, other, third = (corrupter(text(60), generator(seed)) for seed in (5, 5, 6))
        assert [part.tolist() for part in one] == [part.tolist() for part in other]
        assert [part.tolist() for part in one] != [part.tolist() for part in third]
