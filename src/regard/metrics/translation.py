"""How close translations are to their references: BLEU, chrF and TER as sacrebleu counts them, and exact match.

Each score carries the signature that says how it was counted: two ways of counting BLEU differ by three points. It reads no files and
knows no model. sacrebleu is imported where it is used, so that commands that score nothing do not wait for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regard.errors import DataError

TOKENIZERS: tuple[str, ...] = ("13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "none")
"""How BLEU may split words: sacrebleu's own ways that need no download. 13a is its default; none is for text split already."""


@dataclass(frozen=True)
class Score:
    """One number, and how it was counted."""

    name: str
    value: float
    """In sacrebleu's scale: 0 to 100, though TER may exceed it."""
    signature: str


def bleu(hypotheses: Sequence[str], references: Sequence[str], tokenize: str = "13a", lowercase: bool = False) -> Score:
    """BLEU (Papineni et al. 2002) of a corpus, one reference a sentence."""
    return bleu_and_length(hypotheses, references, tokenize, lowercase)[0]


def bleu_and_length(
    hypotheses: Sequence[str], references: Sequence[str], tokenize: str = "13a", lowercase: bool = False
) -> tuple[Score, float]:
    """BLEU, and the words of the hypotheses for each of the references: below 1 BLEU punishes them, above 1 their precision suffers."""
    metric = sacrebleu_bleu(tokenize, lowercase)
    _check(hypotheses, references)
    found = metric.corpus_score(list(hypotheses), [list(references)])
    return Score("bleu", float(found.score), str(metric.get_signature())), found.sys_len / max(1, found.ref_len)


def sacrebleu_bleu(tokenize: str, lowercase: bool = False) -> Any:
    """sacrebleu's own object, for one of `TOKENIZERS`."""
    from sacrebleu.metrics.bleu import BLEU

    if tokenize not in TOKENIZERS:
        raise DataError(f"tokenize = {tokenize!r}: no such tokenizer; choose one of {', '.join(TOKENIZERS)}")
    try:
        # force: text that is split already is the user's choice of `none`, not something to warn about in the middle of a run
        return BLEU(tokenize=tokenize, lowercase=lowercase, force=True)
    except RuntimeError as error:
        if tokenize not in ("ja-mecab", "ko-mecab"):
            raise
        extra = tokenize.partition("-")[0]
        raise DataError(f"tokenize = {tokenize!r}: not installed; run pip install 'sacrebleu[{extra}]'") from error


def chrf(hypotheses: Sequence[str], references: Sequence[str], lowercase: bool = False) -> Score:
    """chrF2 (Popović 2015) of a corpus: the F-score of character n-grams."""
    from sacrebleu.metrics.chrf import CHRF

    _check(hypotheses, references)
    metric = CHRF(lowercase=lowercase)
    value = metric.corpus_score(list(hypotheses), [list(references)]).score
    return Score("chrf", float(value), str(metric.get_signature()))


def ter(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Translation edit rate (Snover et al. 2006) of a corpus, without regard to case as is the custom: lower is better."""
    from sacrebleu.metrics.ter import TER

    _check(hypotheses, references)
    metric = TER()
    value = metric.corpus_score(list(hypotheses), [list(references)]).score
    return Score("ter", float(value), str(metric.get_signature()))


def exact_match(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """The share of sentences, 0 to 1, that equal their reference character by character."""
    _check(hypotheses, references)
    equal = sum(hypothesis == reference for hypothesis, reference in zip(hypotheses, references, strict=True))
    return equal / len(references)


def sentence_chrf(hypothesis: str, reference: str) -> float:
    """chrF2 of one sentence, 0 to 100: for ranking sentences of one system, not for comparing systems. Two empty ones are equal: 100."""
    from sacrebleu.metrics.chrf import CHRF

    if hypothesis == reference:
        return 100.0
    return float(CHRF().sentence_score(hypothesis, [reference]).score)


def _check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if len(hypotheses) != len(references):
        raise DataError(f"{len(hypotheses)} hypotheses for {len(references)} references: give one reference for each")
    if not references:
        raise DataError("there are no sentences to score: give at least one hypothesis and its reference")
