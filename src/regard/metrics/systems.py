"""Scores of the translations of one or several systems, by one or several references, with bootstrap intervals.

It reads no files and knows no model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regard.errors import ConfigError, DataError, shown
from regard.metrics.counting import VARYING
from regard.metrics.diversity import WITHOUT_REFERENCES
from regard.metrics.scores import METRICS
from regard.metrics.significance import RESAMPLES, SEED, PairedTest, confidence_interval, paired_test, resampled_scores


@dataclass(frozen=True)
class Score:
    """A score of one system."""

    value: float
    signature: str | None = None
    """sacrebleu's signature of BLEU, chrF and TER."""
    interval: tuple[float, float] | None = None
    """The 95 % confidence interval; None: it was not asked for, or the score is no function of sums over sentences."""
    mean: float | None = None
    """The mean of the bootstrap. sacrebleu prints it as `μ`, with half of the interval's width behind `±`."""
    against: PairedTest | None = None
    """The comparison with the first system; None for the first."""

    def record(self) -> dict[str, Any]:
        """The score as `regard evaluate --json` prints it."""
        interval = None if self.interval is None else list(self.interval)
        fields = {"value": self.value, "interval": interval, "mean": self.mean, "signature": self.signature}
        return fields if self.against is None else {**fields, "against_baseline": self.against.record()}


def translation_scores() -> list[str]:
    """The names of the scores of translations, those of extensions included."""
    return [name for name, row in METRICS.items() if row.judges == "translations" and row.is_computed]


def chosen_scores(names: Sequence[str] | None, references: int, *, with_sources: bool = False) -> list[str]:
    """The scores to compute: those of `--metric`, or all that can be computed from this number of references and the sources, if given."""
    single = [name for name in translation_scores() if not METRICS[name].is_counted]
    if not names:
        unusable = {name for name in translation_scores() if METRICS[name].on_request}
        unusable |= {name for name in translation_scores() if METRICS[name].reads_sources and not with_sources}
        unusable |= set(single) if references > 1 else set()
        return [name for name in translation_scores() if name not in unusable]
    for name in names:
        if name not in translation_scores():
            raise ConfigError(f"--metric {name}: not one of {', '.join(translation_scores())}")
        if references > 1 and name in single:
            reads = f"compares with one reference, not with {references}"
            if name in WITHOUT_REFERENCES:
                reads = f"reads no reference, and {references} are given"
            raise ConfigError(f"--metric {name}: {reads}; give one --ref")
    return list(dict.fromkeys(names))


def present_references(references: Sequence[Sequence[str]]) -> list[list[str | None]]:
    """The references, with None for a blank line beside another reference: that sentence has fewer references.

    Where all references are blank, they stay: the right translation is nothing.
    """
    columns = []
    for lines in zip(*references, strict=True):
        any_text = any(line.strip() for line in lines)
        columns.append([line if line.strip() or not any_text else None for line in lines])
    return [list(lines) for lines in zip(*columns, strict=True)]


def score_systems(
    systems: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    names: Sequence[str],
    *,
    sources: Sequence[str] | None = None,
    tokenize: str = "13a",
    lowercase: bool = False,
    resamples: int = RESAMPLES,
) -> list[dict[str, Score]]:
    """The scores of each system by name, with intervals if `resamples` > 0. Further systems are tested against the first.

    systems: the hypotheses of each. references: one or several lists, each with a line for every sentence. names: see `chosen_scores`.
    sources: the sentences that were translated, for scores that read them.
    """
    for lines in [*systems, *references]:
        if len(lines) != len(references[0]):
            raise DataError(f"{len(lines)} lines beside {len(references[0])}: give one line for each sentence")
    if not references[0]:
        raise DataError("there are no sentences to score: give at least one hypothesis and its reference")
    if lowercase:
        systems, references = ([[line.lower() for line in lines] for lines in texts] for texts in (systems, references))
    present = present_references(references)
    varying = any(None in lines for lines in present)
    results: list[dict[str, Score]] = [{} for _ in systems]
    for name in names:
        row = METRICS[name]
        if not row.is_counted:
            for scores, hypotheses in zip(results, systems, strict=True):
                scores[name] = Score(row.of_corpus(hypotheses, references[0], sources))
            continue
        metric = row.count_by(tokenize, lowercase, VARYING if varying else len(references), sources=sources)
        counts = [metric.count(hypotheses, *present) for hypotheses in systems]
        values = [metric.score(of_system.sum(axis=0)) for of_system in counts]
        if not resamples:
            for scores, value in zip(results, values, strict=True):
                scores[name] = Score(value, metric.signature)
            continue
        sampled = resampled_scores(metric, counts, resamples)
        for number, (scores, value) in enumerate(zip(results, values, strict=True)):
            against = paired_test(values[:1], [value], sampled[:1], sampled[[number]]) if number else None
            mean = float(sampled[number].mean())
            scores[name] = Score(value, metric.signature, confidence_interval(sampled[number]), mean, against)
    return results


def scores_by_group(
    groups: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    names: Sequence[str],
    *,
    sources: Sequence[str],
    tokenize: str = "13a",
    lowercase: bool = False,
) -> dict[str, dict[str, float]]:
    """Group -> its scores and the number of its sentences, in the order of the test set. groups: that of each sentence."""
    found: dict[str, dict[str, float]] = {}
    for group in dict.fromkeys(groups):
        places = [place for place, own in enumerate(groups) if own == group]
        [scores] = score_systems(
            [[hypotheses[place] for place in places]],
            [[lines[place] for place in places] for lines in references],
            names,
            sources=[sources[place] for place in places],
            tokenize=tokenize,
            lowercase=lowercase,
            resamples=0,
        )
        found[group] = {"sentences": len(places), **{name: score.value for name, score in scores.items()}}
    return found


def bootstrap_record(resamples: int) -> dict[str, int] | None:
    """How the intervals were drawn, for `regard evaluate --json`; None: there are none."""
    return {"resamples": resamples, "seed": SEED} if resamples else None


def group_table(groups: Mapping[str, Mapping[str, float]]) -> str:
    """The scores of groups as `regard evaluate` prints them, a row each; nothing without groups."""
    if not groups:
        return ""
    names = list(next(iter(groups.values())))
    labels = {group: shown(group, 60) for group in groups}
    width = max(map(len, ("group", *labels.values())))
    lines = [f"{'group':<{width}}  {'  '.join(f'{name:>14}' for name in names)}"]
    for group, scores in groups.items():
        cells = [f"{value:>14}" if name == "sentences" else f"{value:>14.3f}" for name, value in scores.items()]
        lines.append(f"{labels[group]:<{width}}  {'  '.join(cells)}")
    return "\n" + "".join(f"{line}\n" for line in lines)


def score_table(
    records: Mapping[str, Mapping[str, Any]], size: int, references: int, resamples: int, unit: str = "sentences"
) -> str:
    """The scores of one system as `regard evaluate` prints them: name, value, interval and signature. unit: of the test set."""
    intervals = {name: record.get("interval") for name, record in records.items()}
    bounds = {name: f"[{pair[0]:.3f}, {pair[1]:.3f}]" for name, pair in intervals.items() if pair is not None}
    width = max(map(len, bounds.values()), default=-2) + 2  # with no intervals there is no column
    column = max(map(len, ("perplexity  ", *records)))
    lines = [
        f"{name:<{column}} {record['value']:8.3f}  {bounds.get(name, ''):<{width}}{record.get('signature') or ''}".rstrip()
        for name, record in records.items()
    ]
    counts = {unit: size, **({"references": references} if references > 1 else {})}
    lines += [f"{name:<{column}} {count:8d}" for name, count in counts.items()]
    if bounds:
        lines.append(f"[ , ]: 95 % confidence interval, bootstrap of {resamples:,} resamples")
    return "".join(f"{line}\n" for line in lines)
