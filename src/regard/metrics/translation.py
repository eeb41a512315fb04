"""Scores of translations against references: BLEU, chrF and TER by sacrebleu, and exact match.

Each score carries sacrebleu's signature, since BLEU varies by points with its options. It reads no files and knows no model. sacrebleu
is imported where it is used, so that other commands start fast.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regard.errors import DataError

TOKENIZERS: tuple[str, ...] = ("13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "none")
"""BLEU's tokenizers: those of sacrebleu that need no download. 13a is the default; none is for tokenized text."""


@dataclass(frozen=True)
class CorpusScore:
    """The score of a corpus, with sacrebleu's signature."""

    name: str
    value: float
    """In sacrebleu's scale: 0 to 100, though TER may exceed it."""
    signature: str


def bleu(
    hypotheses: Sequence[str], references: Sequence[str], tokenize: str = "13a", lowercase: bool = False
) -> CorpusScore:
    """BLEU (Papineni et al. 2002) of a corpus, one reference a sentence."""
    return bleu_and_length(hypotheses, references, tokenize, lowercase)[0]


def bleu_and_length(
    hypotheses: Sequence[str],
    references: Sequence[str | None],
    tokenize: str = "13a",
    lowercase: bool = False,
    more_references: Sequence[Sequence[str | None]] = (),
) -> tuple[CorpusScore, float]:
    """(BLEU, length of the hypotheses / length of the references, in words). Of several references the closest length counts."""
    metric = sacrebleu_bleu(tokenize, lowercase)
    _check(hypotheses, references)
    result = metric.corpus_score(list(hypotheses), [references, *more_references])
    score = CorpusScore("bleu", float(result.score), str(metric.get_signature()))
    return score, result.sys_len / max(1, result.ref_len)


def sacrebleu_bleu(tokenize: str, lowercase: bool = False) -> Any:
    """sacrebleu's BLEU object, for one of `TOKENIZERS`."""
    from sacrebleu.metrics.bleu import BLEU

    if tokenize not in TOKENIZERS:
        raise DataError(f"tokenize = {tokenize!r}: no such tokenizer; choose one of {', '.join(TOKENIZERS)}")
    try:
        # force: no warning about tokenized text
        return BLEU(tokenize=tokenize, lowercase=lowercase, force=True)
    except RuntimeError as error:
        if tokenize not in ("ja-mecab", "ko-mecab"):
            raise
        extra = tokenize.partition("-")[0]
        raise DataError(f"tokenize = {tokenize!r}: not installed; run pip install 'sacrebleu[{extra}]'") from error


def chrf(hypotheses: Sequence[str], references: Sequence[str], lowercase: bool = False) -> CorpusScore:
    """chrF2 (Popović 2015) of a corpus: the F-score of character n-grams."""
    from sacrebleu.metrics.chrf import CHRF

    _check(hypotheses, references)
    metric = CHRF(lowercase=lowercase)
    value = metric.corpus_score(list(hypotheses), [list(references)]).score
    return CorpusScore("chrf", float(value), str(metric.get_signature()))


def ter(hypotheses: Sequence[str], references: Sequence[str]) -> CorpusScore:
    """Translation edit rate (Snover et al. 2006) of a corpus, case-insensitive as usual; lower is better."""
    from sacrebleu.metrics.ter import TER

    _check(hypotheses, references)
    metric = TER()
    value = metric.corpus_score(list(hypotheses), [list(references)]).score
    return CorpusScore("ter", float(value), str(metric.get_signature()))


def exact_match(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """The share of sentences, 0 to 1, that equal their reference character by character."""
    _check(hypotheses, references)
    equal = sum(hypothesis == reference for hypothesis, reference in zip(hypotheses, references, strict=True))
    return equal / len(references)


def sentence_chrf(hypothesis: str, reference: str) -> float:
    """chrF2 of one sentence, 0 to 100; 100 for two empty ones. Compare systems by `chrf` of the corpus instead."""
    from sacrebleu.metrics.chrf import CHRF

    if hypothesis == reference:
        return 100.0
    return float(CHRF().sentence_score(hypothesis, [reference]).score)


def _check(hypotheses: Sequence[str], references: Sequence[str | None]) -> None:
    if len(hypotheses) != len(references):
        raise DataError(f"{len(hypotheses)} hypotheses for {len(references)} references: give one reference for each")
    if not references:
        raise DataError("there are no sentences to score: give at least one hypothesis and its reference")
