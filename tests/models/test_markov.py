"""Markov models: the lectures' sentences and matrices, the papers' formula in plain loops, and the same votes by attention.

Shapes: V tokens that can be said, without pad.
"""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from regard.errors import ConfigError
from regard.models.build import count_model, counted_model
from regard.models.config import MarkovConfig
from regard.models.counting import count_sequences
from regard.models.smoothing import discounts
from regard.search.sampling import sample
from regard.search.scoring import score

SHOW = [f"show me my {what} please" for what in ["directories"] * 2 + ["files"] * 3 + ["photos"] * 5]
RAN = ["check whether the battery ran down please"] * 4 + ["check whether the program ran please"] * 6
LOG = [
    "check the program log and find out whether it ran please",
    "check the battery log and find out whether it ran down please",
]


class Lecture:
    """Words as ids, as the slides number them: the end mark, then the vocabulary in alphabetical order."""

    def __init__(self, sentences: Sequence[str], **options: object) -> None:
        self.words = sorted({word for sentence in sentences for word in sentence.split()})
        self.pad = len(self.words) + 1
        texts = [[*self.ids(sentence), 0] for sentence in sentences]
        begins = np.cumsum([0, *map(len, texts)])[:-1]
        config = MarkovConfig.parse({"smoothing": "none", **options})
        self.model = count_model(config, np.concatenate(texts), begins, self.pad + 1)

    def ids(self, words: str) -> list[int]:
        return [1 + self.words.index(word) for word in words.split()]

    def after(self, words: str, *, begins: bool = False) -> dict[str, float]:
        """What may follow, as the slides have it: without the end mark, to which alone "please" leads."""
        said = torch.tensor([[*([self.pad] if begins else []), *self.ids(words)]])
        probabilities = self.model(said[:, :0], said)[0, -1].exp().tolist()
        assert math.isclose(sum(probabilities), 1.0, abs_tol=1e-6)
        return {word: round(p, 6) for word, p in zip(self.words, probabilities[1:], strict=True) if p > 0}


def test_the_first_order_matrix_of_the_slides() -> None:
    lecture = Lecture(SHOW, order=1)
    assert {word: lecture.after(word) for word in lecture.words} == {
        "directories": {"please": 1.0},
        "files": {"please": 1.0},
        "me": {"my": 1.0},
        "my": {"directories": 0.2, "files": 0.3, "photos": 0.5},
        "photos": {"please": 1.0},
        "please": {},
        "show": {"me": 1.0},
    }


def test_the_second_order_matrix_of_the_slides() -> None:
    first, second = Lecture(RAN, order=1), Lecture(RAN, order=2)
    assert first.after("ran") == {"down": 0.4, "please": 0.6}
    assert first.after("the") == {"battery": 0.4, "program": 0.6}
    pairs = {
        "battery ran": {"down": 1.0},
        "check whether": {"the": 1.0},
        "program ran": {"please": 1.0},
        "the battery": {"ran": 1.0},
        "the program": {"ran": 1.0},
        "ran down": {"please": 1.0},
        "whether the": {"battery": 0.4, "program": 0.6},
    }
    assert {pair: second.after(pair) for pair in pairs} == pairs
    assert second.after("down ran") == first.after("ran"), "a pair that was never seen is backed off from"


def test_skips_resolve_what_the_second_order_cannot() -> None:
    said = "check the {} log and find out whether it ran"
    second, skips, masked = (
        Lecture(LOG, **options)
        for options in ({"order": 2}, {"order": 2, "skips": 10}, {"order": 2, "skips": 10, "mask": 0.0})
    )
    for what, follows, other in (("program", "please", "down"), ("battery", "down", "please")):
        text = said.format(what)
        assert second.after(text) == {"down": 0.5, "please": 0.5}
        # of nine pairs eight vote one half, and one is certain
        assert skips.after(text) == {follows: round(5 / 9, 6), other: round(4 / 9, 6)}
        assert masked.after(text) == {follows: 1.0}


def test_the_pairs_of_the_slides() -> None:
    lecture = Lecture(LOG, order=2, skips=10)
    for word in ("and", "check", "find", "it", "log", "out", "the", "whether"):
        assert lecture.after(f"{word} ran") == {"down": 0.5, "please": 0.5}
    assert lecture.after("battery ran") == {"down": 1.0}
    assert lecture.after("program ran") == {"please": 1.0}


@pytest.mark.parametrize("options", [{}, {"mask": 0.0}, {"mask": 0.5}, {"smoothing": "kneser_ney", "mask": 0.1}])
@pytest.mark.parametrize("skips", [1, 10])
def test_the_same_votes_by_attention(options: dict[str, object], skips: int) -> None:
    lecture = Lecture([*LOG, *RAN, "ran please check the log"], order=2, skips=skips, **options)
    for text in (*LOG, "the log ran the battery the program ran down", "please"):
        said = torch.tensor([lecture.pad, *lecture.ids(text)])
        expected = lecture.model.distribution(lecture.model.hidden(said[None], said[None])[0])
        torch.testing.assert_close(lecture.model.as_attention(said), expected, rtol=1e-9, atol=1e-12)


def test_sampling_and_scoring_by_the_searches() -> None:
    lecture = Lecture(SHOW, order=1)
    nothing = torch.zeros(1, 0, dtype=torch.long)
    [found] = score(lecture.model, nothing, [lecture.ids("show me my files please")])
    assert found.logprob == pytest.approx(math.log(0.3), abs=1e-6)
    [drawn] = sample(lecture.model, nothing, samples=200, seed=3, max_length=9)
    said = Counter(" ".join(lecture.words[token - 1] for token in one.tokens) for one in drawn)
    assert said.keys() == set(SHOW)
    assert all(one.finished for one in drawn)
    for sentence, count in said.items():
        assert abs(count / 200 - SHOW.count(sentence) / 10) < 0.1


def random_text(tokens: int, outputs: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Ids in which some are frequent, and where documents begin."""
    generator = np.random.default_rng(seed)
    ids = (generator.random(tokens) ** 3 * outputs).astype(np.uint16)
    return ids, np.array([0, 1, 5, tokens // 2])


def kneser_ney(texts: list[list[int]], outputs: int, longest: int) -> dict[tuple[int, ...], float]:
    """Chen and Goodman's equations, sequence by sequence: p of the last token of each sequence that occurs, given those before."""
    counts = [Counter[tuple[int, ...]]() for _ in range(longest + 1)]
    for text in texts:
        for end in range(1, len(text)):
            for length in range(1, longest + 1):
                if end - length + 1 >= 0:
                    counts[length][tuple(text[end - length + 1 : end + 1])] += 1
    adjusted = [Counter[tuple[int, ...]]() for _ in range(longest + 1)]
    adjusted[longest] = counts[longest]
    for length in range(1, longest):
        for sequence, count in counts[length].items():
            different = len({longer[0] for longer in counts[length + 1] if longer[1:] == sequence})
            adjusted[length][sequence] = count if sequence[0] == outputs else different

    def probability(sequence: tuple[int, ...]) -> float:
        if not sequence:
            return 1.0 / outputs
        level, context = adjusted[len(sequence)], sequence[:-1]
        following = {one: count for one, count in level.items() if one[:-1] == context}
        shorter = probability(sequence[1:])
        if not following:
            return shorter
        discount = (0.0, *discounts(np.array(list(level.values()))))
        total = sum(following.values())
        left = sum(discount[min(count, 3)] for count in following.values()) / total
        count = level.get(sequence, 0)
        return (count - discount[min(count, 3)]) / total + left * shorter

    return {sequence: probability(sequence) for length in range(1, longest + 1) for sequence in counts[length]}


def test_kneser_ney_is_the_papers() -> None:
    outputs, order = 7, 3
    ids, begins = random_text(220, outputs)
    model = count_model(MarkovConfig(order=order), ids, begins, outputs + 1)
    texts = [[outputs, *text.tolist()] for text in np.split(ids, begins[1:])]
    expected = kneser_ney(texts, outputs, order + 1)
    assert len(expected) > 200
    for sequence, probability in expected.items():
        if len(sequence) == 1:
            continue
        said = torch.tensor([sequence[:-1]])
        found = model.distribution(model.hidden(said, said)[0, -1:])[0, sequence[-1]]
        assert float(found) == pytest.approx(probability, rel=1e-5), sequence


def test_every_distribution_sums_to_one() -> None:
    ids, begins = random_text(3000, 50)
    said = torch.randint(0, 50, (4, 60), generator=torch.Generator().manual_seed(1))
    for options in ({"order": 4}, {"order": 2, "skips": 5}, {"order": 2, "skips": 5, "mask": 0.3}):
        model = count_model(MarkovConfig.parse(options), ids, begins, 51)
        distribution = model.distribution(model.hidden(said, said).flatten(0, 1))
        torch.testing.assert_close(distribution.sum(dim=1), torch.ones(240).double(), rtol=0, atol=1e-5)
        assert distribution.min() > 0, "a smoothed model excludes nothing"


def test_discounts_always_leave_something() -> None:
    n1, n2, n3, n4 = 4, 3, 2, 1  # Y = 4 / (4 + 6)
    counts = np.repeat([1, 2, 3, 4], [n1, n2, n3, n4])
    assert discounts(counts) == pytest.approx((1 - 2 * 0.4 * 3 / 4, 2 - 3 * 0.4 * 2 / 3, 3 - 4 * 0.4 * 1 / 2))
    for n in ([4, 3, 9, 1], [4, 3, 1, 9], [4, 3, 2, 0]):  # D(2) and D(3) below 0; nothing occurs four times
        assert discounts(np.repeat([1, 2, 3, 4], n)) == (0.5, 1.0, 1.5)


def test_a_text_of_frequent_sentences_excludes_nothing() -> None:
    lecture = Lecture([*SHOW, *RAN, *LOG, "show the log please", "find my files"], smoothing="kneser_ney", order=3)
    said = torch.randint(0, lecture.pad, (4, 30), generator=torch.Generator().manual_seed(1))
    assert lecture.model(said[:, :0], said).isfinite().all()


@pytest.mark.parametrize("chunk", [1, 7, 100])
def test_counting_in_chunks_is_counting(chunk: int) -> None:
    ids, begins = random_text(150, 5)
    whole, parts = (count_sequences(ids, begins, 5, 5, size) for size in (10**6, chunk))
    for one, other in zip(whole, parts, strict=True):
        for name in ("keys", "counts", "ends"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    texts = np.split(ids, begins[1:])
    for length, found in enumerate(whole, 2):
        # a document's start token makes one sequence more of two tokens, and none of more than it has
        first = length - 2
        assert found.counts.sum() == sum(max(0, len(text) - first) for text in texts)


def test_tables_that_do_not_fit_are_refused() -> None:
    ids, begins = random_text(150, 5)
    tables = count_model(MarkovConfig(order=2), ids, begins, 6).tables()
    same = counted_model(MarkovConfig(order=2), 6, tables)
    said = torch.tensor([[5, 1, 2, 1]])
    assert torch.equal(same(said, said), count_model(MarkovConfig(order=2), ids, begins, 6)(said, said))
    with pytest.raises(ValueError, match="order 2, not 3"):
        counted_model(MarkovConfig(order=3), 6, tables)
    with pytest.raises(ValueError, match=r"words is \[5\], not \[8\]"):
        counted_model(MarkovConfig(order=2), 9, tables)
    with pytest.raises(ValueError, match=r"no table '1.keys'"):
        counted_model(MarkovConfig(order=2), 6, {**{k: v for k, v in tables.items() if k != "1.keys"}, "else": said})


def test_settings_that_do_not_go_together() -> None:
    with pytest.raises(ConfigError, match=r"model.order 2, not 4"):
        MarkovConfig.parse({"skips": 3})
    with pytest.raises(ConfigError, match=r"model.skips, which is 0"):
        MarkovConfig.parse({"order": 2, "mask": 0.5})
