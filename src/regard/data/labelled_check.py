"""Checks labelled texts before training: `regard data check --data F`. It goes on after a bad line, and reads no model.

It also says whether a bag of words or a sequence model fits better, by the number of texts S and their mean length W in words: S / W
below 1,500 a bag, else a sequence model. The lectures ask the question; the number is that of Google's guide to text classification. Long
texts tell their label by their words, and order pays only where there are many short texts to learn it from. Of tagged text, where each
word has a label, only a sequence model sees the neighbours.
"""

from array import array
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from regard.data.check_report import MORE, SHOWN, Lengths, LineNumbers, json_values, lengths_of, text_hash
from regard.data.labelled import split_label
from regard.data.lenient import SeenBytes
from regard.data.readers import display_name, read_raw
from regard.errors import shown

RATIO = 1_500
"""Texts for each word of their mean length, from which order pays."""
MOST_LABELS = 20
"""Labels that a terminal shows."""
Fit = Literal["bag", "sequence"]


def fitting_model(samples: int, mean_words: float) -> Fit:
    """The model that fits so many texts of so many words: a bag below 1,500 texts a word, a sequence model from there on."""
    return "bag" if samples < RATIO * mean_words else "sequence"


@dataclass(frozen=True, slots=True)
class LabelledReport:
    """The report on labelled texts. Lengths, duplicates and labels cover the sound lines: UTF-8, with a text and a label."""

    name: str
    lines: int
    texts: int  # of tagged text: the texts that blank lines separate
    tagged: bool  # whether each line is one word with its label
    labels: dict[str, int]  # the most frequent first
    misencoded: LineNumbers
    advice: str | None  # how to convert the file, if it is not UTF-8
    unlabelled: LineNumbers  # lines without a tab or a label
    empty: LineNumbers  # lines with a label and no text
    duplicates: LineNumbers  # text and label occurred before
    contradictions: LineNumbers  # the text occurred before with another label
    words: Lengths  # of a text
    samples_per_word: float | None  # texts / mean words of a text; None: there is no text
    fits: Fit | None  # the model that fits; None: there is no text

    @property
    def usable(self) -> bool:
        """Whether training would accept the file."""
        return self.texts > 1 and len(self.labels) > 1 and not (self.misencoded.total or self.unlabelled.total)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {"usable": self.usable, **asdict(self, dict_factory=json_values)}

    def to_text(self) -> str:
        """The report for a terminal."""
        counts = [f"{shown(label)} {count:,}" for label, count in list(self.labels.items())[:MOST_LABELS]]
        more = f", {len(self.labels) - MOST_LABELS:,} more" if len(self.labels) > MOST_LABELS else ""
        tagged = ", tagged: each word has a label" if self.tagged else ""
        rows = [
            f"labelled            {shown(self.name)}",
            f"texts               {self.texts:,} ({self.lines:,} lines{tagged})",
            f"labels              {len(self.labels):,}: {', '.join(counts) or 'none'}{more}",
            f"not UTF-8           {self.misencoded}{'' if self.advice is None else f': {self.advice}'}",
            f"without a label     {self.unlabelled}",
            f"empty               {self.empty}",
            f"duplicates          {self.duplicates}",
            f"contradictions      {self.contradictions}",
            f"words               {self.words}",
            f"fits better         {self._fit()}",
        ]
        if any(f", {MORE})" in row for row in rows):
            rows.append(f"line numbers        the first {SHOWN} of each row; --json lists all")
        return "\n".join([*rows, f"verdict             {self._verdict()}"])

    def _fit(self) -> str:
        if self.samples_per_word is None:
            return "cannot be told: there is no text"
        if self.tagged:
            return "a sequence model (model.kind transformer or recurrent): each word has a label, and its neighbours tell it"
        rule = f"{self.texts:,} texts / {self.words.mean:.1f} words = {self.samples_per_word:,.0f}"
        if self.fits == "bag":
            return f"a bag of words (model.kind bag): {rule}, below {RATIO:,}"
        return f"a sequence model (model.kind transformer or recurrent): {rule}, not below {RATIO:,}"

    def _verdict(self) -> str:
        if self.misencoded.total or self.unlabelled.total:
            return "mend the lines above: training will refuse it"
        if self.texts < 2 or len(self.labels) < 2:
            return f"{self.texts:,} texts with {len(self.labels):,} labels: training needs two of each"
        if self.contradictions.total:
            return f"training will accept it, but {self.contradictions.total:,} texts have another label elsewhere: look at them first"
        return "training will accept it"


def check_labelled(path: str | Path) -> LabelledReport:
    """Read the whole file and report on it."""
    collected = _Collector()
    for number, raw in enumerate(collected.bytes.seen(read_raw(path)), 1):
        collected.add(number, raw)
    return collected.report(display_name(path))


class _Collector:
    """Collects the lines one by one. It keeps hashes and lengths, never the text."""

    def __init__(self) -> None:
        self.bytes = SeenBytes()
        self.lines = 0
        self.labels: Counter[str] = Counter()
        self.misencoded, self.unlabelled, self.empty = array("q"), array("q"), array("q")
        self.duplicates, self.contradictions = array("q"), array("q")
        self.sound, self.words = array("q"), array("I")
        self._label_of: dict[int, int] = {}
        self._groups, self._group_lines = (
            array("I"),
            array("q"),
        )  # words between blank lines, and the first line of them
        self._group = 0

    def add(self, number: int, raw: bytes) -> None:
        """Count a line."""
        self.lines = number
        text = self.bytes.decoded(raw)
        if text is None:
            self.misencoded.append(number)
        elif not text.strip():
            self._end_group()
        else:
            self._add_text(number, *split_label(text.removesuffix("\r")))

    def _add_text(self, number: int, text: str, label: str) -> None:
        if not label:
            self.unlabelled.append(number)
            return
        if not text.strip():
            self.empty.append(number)
            return
        self.labels[label] += 1
        self.sound.append(number)
        self.words.append(len(text.split()))
        if not self._group:
            self._group_lines.append(number)
        self._group += self.words[-1]
        key, said = text_hash(text.strip()), text_hash(label)
        if key in self._label_of:
            (self.duplicates if self._label_of[key] == said else self.contradictions).append(number)
        self._label_of.setdefault(key, said)

    def _end_group(self) -> None:
        if self._group:
            self._groups.append(self._group)
        self._group = 0

    def report(self, name: str) -> LabelledReport:
        self._end_group()
        tagged = len(self._groups) > 1 and max(self.words) == 1
        words = np.frombuffer(self._groups if tagged else self.words, dtype=self.words.typecode)
        lines = np.frombuffer(self._group_lines if tagged else self.sound, dtype="q")
        ratio = None if not len(words) else len(words) / float(words.mean())
        nothing = LineNumbers.of(np.zeros(0, dtype=np.int64))
        return LabelledReport(
            name=name,
            lines=self.lines,
            texts=len(words),
            tagged=tagged,
            labels=dict(self.labels.most_common()),
            misencoded=_numbered(self.misencoded),
            advice=self.bytes.advice,
            unlabelled=_numbered(self.unlabelled),
            empty=_numbered(self.empty),
            duplicates=nothing if tagged else _numbered(self.duplicates),  # words come again and again
            contradictions=nothing if tagged else _numbered(self.contradictions),
            words=lengths_of(words, lines),
            samples_per_word=ratio,
            fits=None if ratio is None else "sequence" if tagged else fitting_model(len(words), float(words.mean())),
        )


def _numbered(lines: "array[int]") -> LineNumbers:
    return LineNumbers.of(np.frombuffer(lines, dtype="q") if lines else np.zeros(0, dtype=np.int64))
