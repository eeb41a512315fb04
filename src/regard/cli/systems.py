"""`regard evaluate --hyp F --ref F`: the scores of translations in files, without a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import ConfigError, DataError

if TYPE_CHECKING:
    from regard.metrics.systems import Score


@dataclass(frozen=True)
class ScoredFiles:
    """The scores of each file of translations, by one or several references."""

    systems: "Mapping[str, Mapping[str, Score]]"  # file name -> score name -> score; the first is the baseline
    sentences: int
    references: int
    resamples: int


def refuse_repeated(option: str, paths: Sequence[str]) -> None:
    """Refuse a file that is given twice."""
    for number, path in enumerate(paths):
        for earlier in paths[:number]:
            is_same = Path(path).is_file() and Path(earlier).is_file() and Path(path).samefile(earlier)
            if path == earlier or is_same:
                raise ConfigError(f"{option} {path}: given twice; give each file once")


def report_empty_lines(path: str, lines: Sequence[str], consequence: str = "and judged as they are") -> None:
    """Report how many lines of a test set are empty."""
    from regard.cli.streams import print_status
    from regard.data.readers import display_name

    if empty := sum(not line.strip() for line in lines):
        print_status(f"{display_name(path)}: {empty:,} of {len(lines):,} lines are empty, {consequence}")


def report_fewer_references(paths: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Report the empty lines of references. Beside another reference of the sentence they do not count as one."""
    consequence = "and judged as they are" if len(paths) == 1 else "and no references where another file has one"
    for path, lines in zip(paths, references, strict=True):
        report_empty_lines(path, lines, consequence)


def score_files(
    hyps: Sequence[str], refs: Sequence[str], metrics: Sequence[str], *, tokenize: str, lowercase: bool, resamples: int
) -> ScoredFiles:
    """Read and score the files."""
    from regard.data.readers import display_name, read_parallel
    from regard.metrics.systems import chosen_scores, score_systems

    refuse_repeated("--hyp", hyps)
    names = chosen_scores(metrics, len(refs))
    texts = read_parallel([*refs, *hyps], relation="belong to")
    references, hypotheses = texts[: len(refs)], texts[len(refs) :]
    for path, lines in zip(refs, references, strict=True):
        if not any(map(str.strip, lines)):
            raise DataError(f"{display_name(path)}: no sentences to evaluate on; give a file that has some")
    report_fewer_references(refs, references)
    for path, lines in zip(hyps, hypotheses, strict=True):
        report_empty_lines(path, lines)
    scores = score_systems(hypotheses, references, names, tokenize=tokenize, lowercase=lowercase, resamples=resamples)
    systems = dict(zip(map(display_name, hyps), scores, strict=True))
    return ScoredFiles(systems, len(references[0]), len(refs), resamples)


def to_record(scored: ScoredFiles) -> dict[str, Any]:
    """The JSON object of `--json`: `scores` of one system, or `systems` with the scores of each."""
    from regard.metrics.systems import bootstrap_record

    systems = [
        {"system": system, "scores": {name: score.record() for name, score in scores.items()}}
        for system, scores in scored.systems.items()
    ]
    shown: dict[str, Any] = systems[0] if len(systems) == 1 else {"baseline": systems[0]["system"], "systems": systems}
    return {
        **shown,
        "sentences": scored.sentences,
        "references": scored.references,
        "bootstrap": bootstrap_record(scored.resamples),
    }


def to_text(scored: ScoredFiles) -> str:
    """The scores for a person: lines for one system, a table for several."""
    from regard.metrics.systems import score_table

    if len(scored.systems) == 1:
        [scores] = scored.systems.values()
        records = {name: score.record() for name, score in scores.items()}
        return score_table(records, scored.sentences, scored.references, scored.resamples)
    return _compared(scored)


def _compared(scored: ScoredFiles) -> str:
    """A table with a row for each system: value, interval, and p of the difference from the first."""
    from regard.cli.tables import draw_tables
    from regard.explain.tables import Table
    from regard.metrics.scores import METRICS

    baseline, *_ = scored.systems
    first = scored.systems[baseline]
    headings = [""]
    for name, score in first.items():
        headings += [METRICS[name].table_heading]
        headings += ["95 % interval", "p"] if score.interval is not None else []
    cells = []
    for system, scores in scored.systems.items():
        row = [system]
        for name, score in scores.items():
            metric = METRICS[name]
            row += [metric.number(score.value)]
            if score.interval is not None:
                row += [" to ".join(map(metric.number, score.interval))]
                row += ["-" if score.against is None else f"{score.against.p_value:.3f}"]
        cells.append(row)
    notes = [f"{scored.sentences:,} sentences, {scored.references} reference{'s' if scored.references > 1 else ''}"]
    if scored.resamples:
        notes += [f"p: against {baseline}, paired bootstrap, {scored.resamples:,} resamples of the sentences"]
    notes += [f"{METRICS[name].table_heading}: {score.signature}" for name, score in first.items() if score.signature]
    return draw_tables([Table(headings, cells)], notes)
