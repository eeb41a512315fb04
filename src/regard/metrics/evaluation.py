"""All that is measured of translations, by the names that `metrics.json` and `regard evaluate` give it."""

from collections.abc import Sequence
from typing import Any

from regard.metrics.perplexity import perplexity
from regard.metrics.translation import bleu_and_length, chrf, exact_match, ter


def evaluate_translations(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    total_nll: float,
    tokens: int,
    tokenize: str = "13a",
    lowercase: bool = False,
) -> dict[str, Any]:
    """Scores by name, with the signatures; `total_nll` and `tokens` are of the references under the model."""
    overlap, length_ratio = bleu_and_length(hypotheses, references, tokenize=tokenize, lowercase=lowercase)
    scores = {
        "bleu": overlap,
        "chrf": chrf(hypotheses, references, lowercase=lowercase),
        "ter": ter(hypotheses, references),
    }
    return {
        **{name: score.value for name, score in scores.items()},
        "exact_match": exact_match(
            *((_lower(hypotheses), _lower(references)) if lowercase else (hypotheses, references))
        ),
        "length_ratio": length_ratio,
        "perplexity": perplexity(total_nll, tokens),
        "signatures": {name: score.signature for name, score in scores.items()},
    }


def _lower(lines: Sequence[str]) -> list[str]:
    return [line.lower() for line in lines]
