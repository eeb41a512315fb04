"""The table of all scores. Progress lines, tables, figures, the report, `regard compare` and `train.select` read it.

A new score is one row and one function:

    METRICS["length"] = Metric("length", "length", sentence_scores=lambda hypotheses, references: [float(len(h)) for h in hypotheses])

A score that needs the sources too, as COMET does, sets `reads_sources` and gets them as a third argument.
It is then computed at each validation and at the end of a run, shown everywhere, and tested by `regard compare --metric length`.
Rows may be added at run time, so nothing copies the table at import. sacrebleu and numpy are imported where they are used.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from regard.errors import DataError
from regard.metrics.answers import answer_f1, exact_answers
from regard.metrics.counting import (
    CountedMetric,
    MatchOptions,
    SentenceScores,
    counted_accuracy,
    counted_bleu,
    counted_chrf,
    counted_cider,
    counted_f1,
    counted_ter,
    equal_sentences,
    mean_of_sentences,
)
from regard.metrics.diversity import distinct_of_hypotheses
from regard.metrics.rouge import rouge_1, rouge_2, rouge_l
from regard.metrics.tokens import balanced_outputs, counted_token_errors, wrong_words
from regard.metrics.translation import bleu, chrf, exact_match, ter

LINE = "{heading} {value:.{digits}f}{unit}"


@dataclass(frozen=True)
class Metric:
    """A score: how it is named, written, computed and tested.

    `column`, `short` and `card` are templates for `str.format` that may use {heading}, {unit} (" %" or nothing), {value} and {digits}.
    """

    name: str
    """The key in metrics.json and the log."""
    heading: str
    """The name as shown, such as "BLEU"."""
    better: Literal["higher", "lower"] = "higher"
    judges: str = "translations"
    """The kind of output it scores: "translations", "captions", "labels", "text", "alignments", "forecasts", or a task's own."""
    unit: Literal["", "%"] = ""
    """A score in "%" is stored as 0 to 1 and shown times 100."""
    digits: int = 2
    """Decimal places of the shown value."""
    highest: float | None = None
    """The largest possible stored value. Scores with the same one share a chart."""
    column: str = "{heading}{unit}"
    """The heading of a table's column, or of an axis."""
    short: str | None = LINE
    """The score in a line of progress. None: left out of such lines."""
    card: str | None = "{heading}"
    """The label of its number at the top of the report. None: it has none there."""
    card_note: str = ""
    """The text below that number, in place of the name of the test set."""
    share_of: str = ""
    """A score that is a share of sentences: the end of "986 of 1,000 test sentences are ..", for the report."""
    compute: Callable[..., float] | None = None
    """Hypotheses and references -> the score of the corpus. Not needed beside `sentence_scores` or `counted`."""
    sentence_scores: SentenceScores | None = None
    """Hypotheses and references -> one score a sentence, where the score of a corpus is their mean."""
    counted: Callable[[MatchOptions], CountedMetric] | None = None
    """BLEU's tokenizer and other options -> the metric as sums over sentences, where it is not a mean of sentence scores."""
    tokenizes: bool = False
    """Whether the score depends on that tokenizer."""
    on_request: bool = False
    """Whether it is computed only where its name is given, as by `--metric`: it has a meaning for some tasks only."""
    reads_sources: bool = False
    """Whether `compute` and `sentence_scores` take the sources as a third argument. `counted` never does."""

    @property
    def scale(self) -> float:
        """The factor between the stored value and the shown one."""
        return 100.0 if self.unit else 1.0

    @property
    def table_heading(self) -> str:
        """The heading of a table's column, such as "exact %"."""
        return self.column.format(**self._words)

    @property
    def card_label(self) -> str:
        """The label of its number at the top of the report, such as "Exact match"."""
        return (self.card or "{heading}").format(**self._words)

    @property
    def card_kind(self) -> Literal["percent", "ratio", "score"]:
        """The number format of its card in the report."""
        if self.unit:
            return "percent"
        return "ratio" if self.highest == 1.0 else "score"

    def number(self, value: float, sign: Literal["", "+"] = "") -> str:
        """The value as a table shows it, without its unit."""
        return f"{self.scale * value:{sign}.{self.digits}f}"

    def line(self, value: float) -> str:
        """Name and value, as in "BLEU 31.20" or "exact match 12.5 %"."""
        return (self.short or LINE).format(**self._words, value=self.scale * value, digits=self.digits)

    @property
    def is_computed(self) -> bool:
        """Whether it can be computed from hypotheses and references alone."""
        return self.compute is not None or self.is_counted

    @property
    def is_counted(self) -> bool:
        """Whether it is a function of sums over sentences, so that the paired bootstrap can test it."""
        return self.counted is not None or self.sentence_scores is not None

    def count_by(
        self,
        tokenize: str = "13a",
        lowercase: bool = False,
        references: int = 1,
        *,
        sources: Sequence[str] | None = None,
    ) -> CountedMetric:
        """The metric as sums over sentences. `sources`: of the sentences to count, for a metric that reads them."""
        if self.counted is not None:
            return self.counted(MatchOptions(tokenize, lowercase, references))
        assert self.sentence_scores is not None, f"{self.name} is not counted by sentence"
        lower_is_better = self.better == "lower"
        return mean_of_sentences(
            self.name, self.sentence_scores, *self._sources(sources), lower_is_better=lower_is_better
        )

    def of_corpus(
        self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str] | None = None
    ) -> float:
        """The score of all hypotheses."""
        if self.compute is not None:
            return self.compute(hypotheses, references, *self._sources(sources))
        return self.count_by(sources=sources).of_corpus(hypotheses, references)

    def _sources(self, sources: Sequence[str] | None) -> list[Sequence[str]]:
        """The sources as the last argument of a function that reads them, else nothing."""
        if not self.reads_sources:
            return []
        if sources is None:
            raise DataError(
                f"{self.name}: this score reads the sources, and none are given; give the source of each line"
            )
        return [sources]

    @property
    def _words(self) -> dict[str, Any]:
        return {"heading": self.heading, "unit": f" {self.unit}" if self.unit else ""}


_ROWS = (
    Metric(
        "bleu",
        "BLEU",
        highest=100.0,
        compute=lambda hypotheses, references: bleu(hypotheses, references).value,
        counted=counted_bleu,
        tokenizes=True,
    ),
    Metric(
        "chrf",
        "chrF",
        highest=100.0,
        compute=lambda hypotheses, references: chrf(hypotheses, references).value,
        counted=counted_chrf,
    ),
    Metric(
        "ter",
        "TER",
        "lower",
        short=None,
        card=None,
        compute=lambda hypotheses, references: ter(hypotheses, references).value,
        counted=counted_ter,
    ),
    Metric(
        "exact_match",
        "exact match",
        unit="%",
        digits=1,
        highest=1.0,
        column="exact %",
        card="Exact match",
        share_of="translated word for word as the reference",
        compute=exact_match,
        sentence_scores=equal_sentences,
    ),
    Metric("per", "PER", "lower", unit="%", counted=counted_token_errors, on_request=True),
    Metric(
        "wer",
        "wrong words",
        "lower",
        unit="%",
        highest=1.0,
        sentence_scores=wrong_words,
        on_request=True,
    ),
    Metric(
        "valid_brackets",
        "valid brackets",
        unit="%",
        digits=1,
        highest=1.0,
        column="valid %",
        share_of="balanced in their brackets",
        sentence_scores=balanced_outputs,
        on_request=True,
    ),
    Metric("rouge1", "ROUGE-1", digits=1, highest=100.0, sentence_scores=rouge_1, on_request=True),
    Metric("rouge2", "ROUGE-2", digits=1, highest=100.0, sentence_scores=rouge_2, on_request=True),
    Metric("rougeL", "ROUGE-L", digits=1, highest=100.0, sentence_scores=rouge_l, on_request=True),
    Metric(
        "answer_match", "exact answers", unit="%", digits=1, highest=1.0, sentence_scores=exact_answers, on_request=True
    ),
    Metric("answer_f1", "answer F1", unit="%", digits=1, highest=1.0, sentence_scores=answer_f1, on_request=True),
    Metric(
        "distinct1", "distinct-1", digits=3, highest=1.0, compute=partial(distinct_of_hypotheses, n=1), on_request=True
    ),
    Metric(
        "distinct2", "distinct-2", digits=3, highest=1.0, compute=partial(distinct_of_hypotheses, n=2), on_request=True
    ),
    Metric("cider", "CIDEr", judges="captions", highest=10.0, counted=counted_cider),
    Metric("perplexity", "perplexity", "lower", "text", short="perplexity {value:.3f}", card="Perplexity"),
    Metric(
        "perplexity_word",
        "perplexity per word",
        "lower",
        "text",
        short="{value:.{digits}f} per word",
        card="Perplexity per word",
    ),
    Metric(
        "perplexity_byte",
        "perplexity per byte",
        "lower",
        "text",
        digits=3,
        short="{value:.{digits}f} per byte",
        card=None,
    ),
    Metric(
        "bits_per_byte",
        "bits per byte",
        "lower",
        "text",
        digits=3,
        short="{value:.{digits}f} bits per byte",
        card="Bits per byte",
    ),
    Metric(
        "accuracy",
        "accuracy",
        judges="labels",
        unit="%",
        digits=1,
        highest=1.0,
        card="Accuracy",
        counted=counted_accuracy,
    ),
    Metric("f1", "F1", judges="labels", digits=3, highest=1.0, counted=counted_f1),
    Metric(
        "aer",
        "AER",
        "lower",
        "alignments",
        digits=3,
        highest=1.0,
        short="alignment error rate {value:.{digits}f}",
        card="Alignment error",
        card_note="0 is perfect",
    ),
    Metric(
        "pointing",
        "pointing",
        judges="attention",
        unit="%",
        digits=1,
        highest=1.0,
        card="Words that look right",
        card_note="colour and shape words whose attention peaks in their region",
    ),
    Metric("mse", "MSE", "lower", "forecasts", digits=3, card="MSE", card_note="standardised values"),
    Metric("mae", "MAE", "lower", "forecasts", digits=3, card="MAE", card_note="standardised values"),
    Metric("smape", "sMAPE", "lower", "forecasts", unit="%", digits=1, highest=2.0, card="sMAPE"),
    Metric(
        "mase", "MASE", "lower", "forecasts", digits=3, card="MASE", card_note="1: the seasonal naive error in training"
    ),
    Metric(
        "coverage",
        "coverage",
        judges="forecasts",
        unit="%",
        digits=1,
        highest=1.0,
        card="Coverage",
        card_note="of the widest interval",
    ),
    Metric("length_ratio", "length ratio", digits=3, short=None, card=None),
)

METRICS: dict[str, Metric] = {row.name: row for row in _ROWS}
"""Name -> row, in the order in which scores are shown."""

BUILT_IN = frozenset(
    (
        *("bleu", "chrf", "ter", "exact_match", "length_ratio", "perplexity", "perplexity_word", "perplexity_byte"),
        *("rouge1", "rouge2", "rougeL", "answer_match", "answer_f1", "distinct1", "distinct2"),
        *("bits_per_byte", "accuracy", "f1", "aer", "cider", "pointing"),
        *("per", "wer", "valid_brackets"),
        *("mse", "mae", "smape", "mase", "coverage"),
    )
)
"""Rows whose scores are computed by name, with options of their own. Every other row is computed from its own function."""


def counted_names() -> tuple[str, ...]:
    """The names of the scores that the paired bootstrap can test."""
    return tuple(name for name, row in METRICS.items() if row.is_counted)


def with_added(names: Sequence[str]) -> tuple[str, ...]:
    """A task's scores, followed by those of extensions that judge the same kind of output as the first."""
    return tuple(dict.fromkeys([*names, *_added(METRICS[names[0]].judges)]))


def added_scores(
    judges: str, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str] | None = None
) -> dict[str, float]:
    """The scores of extensions that judge this kind of output, by name. Without sources, those that read none."""
    rows = {name: METRICS[name] for name in _added(judges)}
    return {
        name: row.of_corpus(hypotheses, references, sources)
        for name, row in rows.items()
        if sources is not None or not row.reads_sources
    }


def _added(judges: str) -> list[str]:
    rows = {name: row for name, row in METRICS.items() if name not in BUILT_IN}
    return [name for name, row in rows.items() if row.judges == judges and row.is_computed]


def value_to_maximise(name: str, value: float) -> float:
    """The value, negated if lower is better."""
    return value if METRICS[name].better == "higher" else -value
