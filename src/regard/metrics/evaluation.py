"""All scores of translations, under their names in `metrics.json` and `regard evaluate`."""

from collections.abc import Sequence
from typing import Any

from regard.metrics.perplexity import perplexity
from regard.metrics.scores import added_scores
from regard.metrics.translation import bleu_and_length, chrf, exact_match, ter


def evaluate_translations(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    sources: Sequence[str] | None = None,
    total_nll: float,
    tokens: int,
    tokenize: str = "13a",
    lowercase: bool = False,
) -> dict[str, Any]:
    """Scores by name, those of extensions included, and the signatures of BLEU, chrF and TER.

    `total_nll` is the negative log-likelihood of the references under the model, `tokens` their number of tokens.
    `sources`: for scores that read them.
    """
    overlap, length_ratio = bleu_and_length(hypotheses, references, tokenize=tokenize, lowercase=lowercase)
    scores = {
        "bleu": overlap,
        "chrf": chrf(hypotheses, references, lowercase=lowercase),
        "ter": ter(hypotheses, references),
    }
    cased = (_lower(hypotheses), _lower(references)) if lowercase else (hypotheses, references)
    return {
        **{name: score.value for name, score in scores.items()},
        "exact_match": exact_match(*cased),
        "length_ratio": length_ratio,
        "perplexity": perplexity(total_nll, tokens),
        **added_scores("translations", *cased, sources),
        "signatures": {name: score.signature for name, score in scores.items()},
    }


def _lower(lines: Sequence[str]) -> list[str]:
    return [line.lower() for line in lines]
