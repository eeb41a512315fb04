"""chrF between all texts of a set against sacrebleu's, one pair at a time."""

import random

import numpy as np

from regard.metrics.pairwise import chrf_matrix
from regard.metrics.translation import sentence_chrf

TEXTS = [
    "the cat sat on the mat",
    "the cat sits on a mat .",
    "  the  cat\tsat on the mat",
    "a",
    "aa",
    "",
    " ",
    "日本語 の 文",
    "😀 naïve café",
]


def test_every_pair_is_as_sacrebleu_scores_it() -> None:
    draw = random.Random(3)
    words = ["the", "a", "cat", "dog", "sat", "sits", "on", "mat", "rug", ".", "naïve", "日本"]
    texts = [*TEXTS, *(" ".join(draw.choices(words, k=draw.randint(1, 12))) for _ in range(20))]
    expected = [[sentence_chrf(one, other) for other in texts] for one in texts]
    np.testing.assert_allclose(chrf_matrix(texts), expected, rtol=1e-9, atol=1e-9)
    assert len(set(np.round(chrf_matrix(texts), 3).flatten())) > 200


def test_no_texts_have_no_scores() -> None:
    assert chrf_matrix([]).shape == (0, 0)
    assert chrf_matrix([""]).tolist() == [[100.0]]
