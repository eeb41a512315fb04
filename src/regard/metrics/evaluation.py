"""All scores of translations, under their names in `metrics.json` and `regard evaluate`."""

from collections.abc import Sequence
from typing import Any

from regard.metrics.perplexity import perplexity
from regard.metrics.systems import bootstrap_record, chosen_scores, present_references, score_systems
from regard.metrics.translation import bleu_and_length


def evaluate_translations(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    sources: Sequence[str] | None = None,
    total_nll: float,
    tokens: int,
    tokenize: str = "13a",
    lowercase: bool = False,
    more_references: Sequence[Sequence[str]] = (),
    names: Sequence[str] | None = None,
    resamples: int = 0,
) -> dict[str, Any]:
    """Scores by name, those of extensions included, and the signatures of BLEU, chrF and TER.

    `total_nll` is the negative log-likelihood of the references under the model, `tokens` their number of tokens. With `names`, only these
    scores are computed. With `resamples`, each score also has its confidence interval, under `scores`.
    `sources`: for scores that read them.
    """
    every = [references, *more_references]
    [scores] = score_systems(
        [hypotheses],
        every,
        chosen_scores(names, len(every), with_sources=sources is not None),
        sources=sources,
        tokenize=tokenize,
        lowercase=lowercase,
        resamples=resamples,
    )
    values: dict[str, Any] = {name: score.value for name, score in scores.items()}
    if not names:
        first, *others = present_references(every)
        values["length_ratio"] = bleu_and_length(hypotheses, first, tokenize, lowercase, others)[1]
        values["perplexity"] = perplexity(total_nll, tokens)
    values["signatures"] = {name: score.signature for name, score in scores.items() if score.signature is not None}
    if resamples:
        values["scores"] = {name: score.record() for name, score in scores.items()}
        values["bootstrap"] = bootstrap_record(resamples)
    return values
