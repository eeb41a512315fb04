"""What a finished run is worth: the best model, decoded with beam search on the test set, or on the validation set where there is none."""

import time
from typing import Any

from regard.data.prepare import Prepared
from regard.engine.model import Model
from regard.metrics.alignment import alignment_error_rate, to_pharaoh
from regard.metrics.evaluation import evaluate_translations
from regard.train.objective import Final

BEAM, ALPHA = 5, 1.0


def final_evaluation(model: Model, prepared: Prepared) -> Final:
    """Translate, score and align the set that the run is judged by."""
    test = prepared.test_pairs is not None
    pairs = prepared.test_pairs if prepared.test_pairs is not None else prepared.valid_pairs
    gold = prepared.test_alignments if test else prepared.valid_alignments
    sources, references = [source for source, _ in pairs], [target for _, target in pairs]
    began = time.perf_counter()
    translations = model.translate(sources, beam=BEAM, alpha=ALPHA)
    decoding_seconds = time.perf_counter() - began
    hypotheses = [translation.text for translation in translations]
    forced = model.score(sources, references)
    error_rate = None
    if gold is not None and (model.bundle is None or model.bundle.config.aligns):
        predicted = [frozenset(alignment.links) for alignment in model.align(sources, references)]
        error_rate = alignment_error_rate(predicted, gold).aer
    metrics = evaluate_translations(
        hypotheses,
        references,
        total_nll=-sum(score.logprob for score in forced),
        tokens=sum(len(score.token_logprobs) for score in forced),
    )
    metrics |= {
        "aer": error_rate,
        "set": "test" if test else "validation",
        "sentences": len(pairs),
        "beam": BEAM,
        "alpha": ALPHA,
        "decoding_seconds": decoding_seconds,
    }
    rows: list[dict[str, Any]] = [
        {"source": source, "reference": reference, "hypothesis": translation.text, "score": translation.score}
        for (source, reference), translation in zip(pairs, translations, strict=True)
    ]
    for row, links in zip(rows, gold or [], strict=False):
        row["gold"] = to_pharaoh(links)
    return Final(metrics, rows, "translations.jsonl")
