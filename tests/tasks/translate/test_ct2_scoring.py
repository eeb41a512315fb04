"""Given translations scored by CTranslate2 beside torch, the reference: the same log p of every token."""

import math
from pathlib import Path
from typing import Any

import pytest

from regard.engine.ct2_scoring import forced_scores
from regard.engine.input_length import TruncationWarning
from regard.engine.runner import Runner
from regard.errors import SearchError
from regard.tasks.load import load_served
from tasks.bundles import TEXTS, random_bundle

pytest.importorskip("ctranslate2")

NETWORKS: list[dict[str, Any]] = [
    {"norm": "pre", "positions": "sinusoidal", "joint": True},
    {"norm": "post", "positions": "sinusoidal", "activation": "gelu", "joint": False},
    {"norm": "pre", "positions": "learned", "activation": "silu", "joint": True, "tie": False},
    {"norm": "pre", "positions": "rotary", "activation": "swiglu", "joint": True},
    {"norm": "post", "positions": "relative", "activation": "relu", "joint": True},
    {"norm": "pre", "positions": "sinusoidal", "output_bias": True, "source_end": False},
]


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: "-".join(map(str, network.values())))
def test_scores_are_those_of_torch(network: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every token's log p, of pairs of any length in any batch, and with them the perplexity; and torch is not used."""
    path = random_bundle(tmp_path / "b", **network)
    reference, model = load_served(path, engine="torch"), load_served(path, engine="ct2")
    sources = [*TEXTS, "", TEXTS[0], TEXTS[1], "the " * 15]
    targets = [*reversed(TEXTS), TEXTS[2], "", "the cat " * 9, "cat"]
    expected = reference.score(sources, targets, alpha=0.7)
    if network.get("source_end", True):
        monkeypatch.setattr(Runner, "score", None)  # else an empty source is torch's: CTranslate2 reads nothing of it
    for batch_tokens in (64, 4096):
        found = model.score(sources, targets, alpha=0.7, batch_tokens=batch_tokens)
        for one, other in zip(expected, found, strict=True):
            assert (one.tokens, one.truncated) == (other.tokens, other.truncated)
            assert other.token_logprobs == pytest.approx(one.token_logprobs, abs=1e-4)
            assert other.score == pytest.approx(one.score, abs=1e-3)
    rates = [
        -sum(score.logprob for score in scores) / sum(len(score.token_logprobs) for score in scores)
        for scores in (expected, found)
    ]
    assert math.exp(rates[1]) == pytest.approx(math.exp(rates[0]), rel=1e-4)


def test_the_end_of_a_truncated_target_is_not_scored(tmp_path: Path) -> None:
    path = random_bundle(tmp_path / "b")
    scores = []
    for engine in ("torch", "ct2"):
        model = load_served(path, engine=engine)  # type: ignore[arg-type]
        model._reader.max_tokens = 5
        with pytest.warns(TruncationWarning):
            scores += model.score(["the cat"], ["the cat sleeps in the house"])
    assert [score.truncated for score in scores] == [True, True]
    assert len(scores[1].token_logprobs) == 5
    assert scores[1].token_logprobs == pytest.approx(scores[0].token_logprobs, abs=1e-4)


def test_int8_scores_are_those_of_int8(tmp_path: Path) -> None:
    """The model that translates is the one that is scored: not exactly that of float32, and close to it."""
    path = random_bundle(tmp_path / "b")
    exact, coarse = (
        [score.logprob for score in load_served(path, precision=precision).score(TEXTS, TEXTS)]
        for precision in ("float32", "int8")
    )
    assert exact != coarse
    assert coarse == pytest.approx(exact, rel=0.02)


def test_nan_in_scores_is_refused() -> None:
    class Answer:
        def result(self) -> "Answer":
            return self

        log_probs = (-1.0, math.nan)

    class Broken:
        def score_batch(self, *_: Any, **__: Any) -> list[Answer]:
            return [Answer()]

    with pytest.raises(SearchError, match="not numbers"):
        list(forced_scores(Broken(), (["a"], ["a"]), [[0]], [[0]], 100))  # type: ignore[arg-type]
