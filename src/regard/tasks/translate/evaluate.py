"""Evaluates translators, for the end of training, `regard evaluate` and the report."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regard.activity import activity
from regard.bundle.config import AlignmentConfig
from regard.data.config import STDIN
from regard.data.corpus_config import Direction
from regard.data.groups import read_groups
from regard.data.readers import display_name, read_parallel
from regard.errors import ConfigError, DataError
from regard.metrics.alignment import Links, alignment_error_rate, mass_on_gold, to_pharaoh
from regard.metrics.evaluation import evaluate_translations
from regard.metrics.scores import METRICS
from regard.metrics.systems import chosen_scores, scores_by_group
from regard.tasks.translate.translator import Translator
from regard.training.objective import Evaluation

BEAM, ALPHA = 5, 1.0


@dataclass(frozen=True)
class TranslateTest:
    """A test set of sentence pairs, with the options of the evaluation."""

    sources: Sequence[str]
    references: Sequence[str]
    gold: Sequence[tuple[Links, Links]] | None = None
    """Sure and possible word alignments of each pair; None: there is no gold alignment."""
    name: str | None = None
    """The set of the run that it is: test or validation."""
    beam: int = BEAM
    alpha: float = ALPHA
    tokenize: str = "13a"
    lowercase: bool = False
    more_references: Sequence[Sequence[str]] = ()
    """Further references of each sentence. Perplexity and word alignments are those of the first."""
    names: Sequence[str] | None = None
    """The scores to compute; None: all."""
    resamples: int = 0
    """The number of resampled test sets for confidence intervals."""
    directions: Sequence[Direction] | None = None
    """The direction of each pair, of a model of several; None: that of `to` and `from_`."""
    to: str | None = None
    """The target language of all pairs; None: the model has one."""
    from_: str | None = None
    """Their source language."""
    alignment: AlignmentConfig | None = None
    """How words are aligned; None: as the model's config says."""
    groups: Sequence[str] | None = None
    """The group of each sentence, to score them by; None: there are none."""
    max_length: int | None = None
    """The longest translation in tokens; None: by the length of its source."""


def evaluate_translator(translator: Translator, test: TranslateTest) -> Evaluation:
    """Translate, score and align the pairs of the test set."""
    if test.to is not None or test.from_ is not None:
        translator = translator.towards(test.to, test.from_)
    sources, references = list(test.sources), list(test.references)
    began = time.perf_counter()
    with activity(f"beam {test.beam}"):
        translations = translator.translate(sources, beam=test.beam, alpha=test.alpha, max_length=test.max_length)
    decoding_seconds = time.perf_counter() - began
    forced = [] if test.names else translator.score(sources, references)
    with activity("comparing with the references"):
        metrics = evaluate_translations(
            [translation.text for translation in translations],
            references,
            sources=sources,
            total_nll=-sum(score.logprob for score in forced),
            tokens=sum(len(score.token_logprobs) for score in forced),
            tokenize=test.tokenize,
            lowercase=test.lowercase,
            more_references=test.more_references,
            names=test.names,
            resamples=test.resamples,
        )
    if test.groups is not None:
        metrics["groups"] = scores_by_group(
            test.groups,
            [translation.text for translation in translations],
            [references, *test.more_references],
            [name for name, row in METRICS.items() if name in metrics and row.is_counted],
            sources=sources,
            tokenize=test.tokenize,
            lowercase=test.lowercase,
        )
    if test.more_references or test.resamples:
        metrics["references"] = 1 + len(test.more_references)
    metrics |= {
        **_alignment(translator, test),
        "set": test.name,
        "sentences": len(sources),
        "beam": test.beam,
        "alpha": test.alpha,
        "decoding_seconds": decoding_seconds,
        "engine": translator.engine(beam=test.beam, alpha=test.alpha),
    }
    rows: list[dict[str, Any]] = [
        {"source": source, "reference": reference, "hypothesis": translation.text, "score": translation.score}
        for source, reference, translation in zip(sources, references, translations, strict=True)
    ]
    for row, (sure, _) in zip(rows, test.gold or [], strict=False):
        row["gold"] = to_pharaoh(sure)
    return Evaluation(metrics, rows)


def _alignment(translator: Translator, test: TranslateTest) -> dict[str, float | None]:
    """The alignment error rate; None without gold alignments, or without attention to the source."""
    if test.gold is None or (not translator.aligns and test.name is not None):
        return {"aer": None}
    alignments = translator.align(list(test.sources), list(test.references), settings=test.alignment)
    predicted = [frozenset(alignment.links) for alignment in alignments]
    score = alignment_error_rate(predicted, [sure for sure, _ in test.gold], [possible for _, possible in test.gold])
    mass = mass_on_gold([alignment.weights.tolist() for alignment in alignments], [sure for sure, _ in test.gold])
    return {
        "aer": score.aer,
        "alignment_precision": score.precision,
        "alignment_recall": score.recall,
        "attention_on_gold": mass,
    }


def test_from_flags(flags: Mapping[str, Any]) -> TranslateTest:
    """The test set of `regard evaluate --src F --ref F [--ref F2]`."""
    source = flags["src"]
    chosen_scores(flags["metric"], len(flags["refs"]))  # refuses unknown ones before the search, which takes time
    groups = flags.get("groups")
    if groups == STDIN and STDIN in (source, *flags["refs"]):
        raise ConfigError("standard input '-' can be read only once; give --groups as a file")
    sources, references, *more_references = read_parallel([source, *flags["refs"]])
    if not any(map(str.strip, sources)):
        raise DataError(f"{source}: no sentences to evaluate on")
    return TranslateTest(
        sources,
        references,
        gold=_gold(flags["gold_align"], sources, references),
        beam=flags["beam"],
        alpha=flags["alpha"],
        tokenize=flags["tokenize"],
        lowercase=flags["lowercase"],
        more_references=more_references,
        names=flags["metric"],
        resamples=flags["resamples"],
        to=flags.get("to"),
        from_=flags.get("from"),
        alignment=flags["alignment"],
        groups=None if groups is None else read_groups(groups, sources, display_name(source)),
        max_length=flags.get("max_length"),
    )


def _gold(path: str | None, sources: list[str], references: list[str]) -> list[tuple[Links, Links]] | None:
    if path is None:
        return None
    from regard.data.alignments import read_links

    return list(read_links(path, zip(sources, references, strict=True)))
