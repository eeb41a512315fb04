"""Several finished runs side by side: runs that differ in nothing but their seed are one row, and every row is tested against a baseline.

Knows the files that a run leaves, and nothing of what a setting means: only `train/` knows that, so the settings are handed in, with every
default filled in. A table or figure is made of the `Comparison`, elsewhere.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import DataError
from regard.metrics.significance import RESAMPLES, PairedTest, counted_metric, paired_test, resampled_scores
from regard.settings import last_parts

METRICS = "metrics.json"
SEED = "train.seed"
MOST_BUCKETS = 5


@dataclass(frozen=True)
class Compared:
    """What runs of one task are compared by."""

    file: str  # that a finished run leaves beside its metrics
    columns: tuple[str, str, str] | None  # of it: what was read, expected and found; None: it holds none
    scores: tuple[str, ...]  # of metrics.json
    tested: tuple[str, ...]  # those that can be counted sentence by sentence, the first if nothing is said
    size: tuple[str, str]  # how much was judged: the name in metrics.json, and what it counts


TASKS = {
    "translate": Compared(
        "translations.jsonl",
        ("source", "reference", "hypothesis"),
        ("bleu", "chrf", "ter", "exact_match", "perplexity", "aer"),
        ("bleu", "chrf", "ter", "exact_match"),
        ("sentences", "sentences"),
    ),
    "classify": Compared(
        "predictions.jsonl", ("text", "expected", "found"), ("accuracy", "f1"), ("accuracy", "f1"), ("texts", "texts")
    ),
    "generate": Compared(
        "samples.jsonl",
        None,
        ("perplexity_word", "bits_per_byte", "perplexity"),
        (),
        ("evaluated_words", "words"),
    ),
}


@dataclass(frozen=True)
class RunResult:
    """What a finished run is compared by. Where words have labels, those of a text are joined by tabs."""

    directory: Path
    settings: Mapping[str, Any]  # dotted name -> value
    metrics: Mapping[str, Any]  # metrics.json
    sources: Sequence[str]
    references: Sequence[str]
    hypotheses: Sequence[str]

    @property
    def task(self) -> str:
        return str(self.settings.get("task", "translate"))


@dataclass(frozen=True)
class Row:
    """The runs of the same settings. A list holds one value a run, in the order of `runs`."""

    name: str
    settings: Mapping[str, Any]  # those in which rows differ
    runs: Sequence[RunResult]
    scores: Mapping[str, Sequence[float | None]]  # by the names of the task
    against: PairedTest | None  # None: this is the baseline, or nothing can be tested
    by_length: Sequence[Sequence[float]]  # [buckets][runs]

    def measured(self, name: str) -> list[float]:
        """Numbers of metrics.json, of the runs that have them; or `sentences_per_second` of decoding."""
        if name == "sentences_per_second":
            timed = [run.metrics for run in self.runs if run.metrics.get("decoding_seconds")]
            size = TASKS[self.runs[0].task].size[0]
            return [metrics[size] / metrics["decoding_seconds"] for metrics in timed]
        return [float(run.metrics[name]) for run in self.runs if run.metrics.get(name) is not None]


@dataclass(frozen=True)
class Comparison:
    """All rows, and how they were compared."""

    rows: Sequence[Row]
    metric: str  # what is tested where that is possible, and told by length
    baseline: str  # the name of a row
    resamples: int
    signatures: Mapping[str, str]
    test_set: str  # test or validation
    sentences: int
    unit: str  # what they are: sentences, texts or words
    buckets: Sequence[tuple[int, int]]  # source words, from and to


def is_finished(directory: Path) -> bool:
    """Whether the run in this directory came to its final numbers."""
    return (directory / METRICS).is_file() and any((directory / task.file).is_file() for task in TASKS.values())


def read_result(directory: Path, settings: Mapping[str, Any]) -> RunResult:
    """The results of a finished run."""
    metrics = _object(directory / METRICS, _text(directory / METRICS))
    compared = TASKS[str(settings.get("task", "translate"))]
    if compared.columns is None:
        return RunResult(directory, settings, metrics, [], [], [])
    path = directory / compared.file
    rows = [_object(path, line) for line in _text(path).split("\n") if line]
    try:
        columns = [[_joined(row[name]) for row in rows] for name in compared.columns]
    except KeyError as error:
        raise DataError(f"{path}: a line without {error}; run `regard train` again with another --out") from None
    if not rows:
        raise DataError(f"{path}: no {compared.size[1]} in it; leave {directory} out")
    return RunResult(directory, settings, metrics, *columns)


def _joined(value: Any) -> str:
    return "\t".join(map(str, value)) if isinstance(value, list) else str(value)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as UTF-8 text: {error}; leave {path.parent} out") from None


def _object(path: Path, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: damaged, not valid JSON: {error}; leave {path.parent} out") from None
    if not isinstance(value, dict):
        raise DataError(f"{path}: damaged, holds {type(value).__name__} in place of an object; leave {path.parent} out")
    return value


def compare_runs(
    results: Sequence[RunResult],
    *,
    baseline: RunResult | None = None,
    metric: str | None = None,
    tokenize: str = "13a",
    resamples: int = RESAMPLES,
) -> Comparison:
    """One row for the runs of the same settings; all others are tested against that of `baseline`, else the first.

    BLEU, with `tokenize`, and the metric that is tested, the task's first if not given, are counted from what was said; other scores are
    what the runs wrote down. Language models are not tested: of them nothing is known sentence by sentence.
    """
    for result in results[1:]:
        refuse_other_task(results[0], result)
    compared = TASKS[results[0].task]
    if metric is not None and metric not in compared.tested:
        able = f"choose {' or '.join(compared.tested)}" if compared.tested else "leave it out"
        raise DataError(f"metric = {metric!r}: runs that {results[0].task} are not tested by it; {able}")
    metric = metric or (compared.tested or compared.scores)[0]
    groups = grouped(results)
    settings = differing([results[group[0]].settings for group in groups])
    names = row_names(settings) if len(groups) > 1 else [results[0].directory.resolve().name]
    wanted = _without_seed(baseline or results[0])
    base = next(n for n, group in enumerate(groups) if _without_seed(results[group[0]]) == wanted)

    counted = {name: counted_metric(name, tokenize) for name in compared.tested if name in (metric, "bleu")}
    counts = {name: [one.count(run.hypotheses, run.references) for run in results] for name, one in counted.items()}
    actual = {name: [counted[name].score(one.sum(axis=0)) for one in found] for name, found in counts.items()}
    tested = counted.get(metric)
    sampled = None if tested is None or len(groups) < 2 else resampled_scores(tested, counts[metric], resamples)
    lengths = [len(source.split()) for source in results[0].sources]
    buckets = length_buckets(lengths) if lengths else []
    inside = [[low <= length <= high for length in lengths] for low, high in buckets]

    def against_baseline(group: list[int]) -> PairedTest | None:
        if sampled is None or group == groups[base]:
            return None
        one, other = groups[base], group
        scores = actual[metric]
        return paired_test([scores[run] for run in one], [scores[run] for run in other], sampled[one], sampled[other])

    def by_length(group: list[int]) -> list[list[float]]:
        if tested is None:
            return []
        return [[tested.score(counts[metric][run][part].sum(axis=0)) for run in group] for part in inside]

    rows = [
        Row(
            name=name,
            settings=told,
            runs=[results[run] for run in group],
            scores={
                **{score: [results[run].metrics.get(score) for run in group] for score in compared.scores},
                **{score: [found[run] for run in group] for score, found in actual.items()},
            },
            against=against_baseline(group),
            by_length=by_length(group),
        )
        for name, told, group in zip(names, settings, groups, strict=True)
    ]
    return Comparison(
        rows=rows,
        metric=metric,
        baseline=names[base],
        resamples=resamples,
        signatures={one.name: one.signature for one in counted.values() if one.signature is not None},
        test_set=str(results[0].metrics.get("set", "test")),
        sentences=len(lengths) or int(results[0].metrics[compared.size[0]]),
        unit=compared.size[1],
        buckets=buckets,
    )


def refuse_other_task(one: RunResult, other: RunResult) -> None:
    """Only runs of one task that were judged by the same sentences, or the same text, can be compared."""
    if one.task != other.task:
        raise DataError(
            f"{other.directory}: its task is to {other.task}, but that of {one.directory} is to {one.task}; compare runs of one task"
        )
    for side in ("source", "target"):
        mine, theirs = ((run.metrics.get("languages") or {}).get(side) for run in (one, other))
        if mine is not None and theirs is not None and mine != theirs:
            raise DataError(
                f"{other.directory}: its {side} language is {theirs}, but that of {one.directory} is {mine}; "
                "compare runs of one task"
            )
    for size in ("evaluated_words", "evaluated_bytes"):  # of a text; how many tokens it has is each model's own affair
        if one.metrics.get(size) != other.metrics.get(size):
            raise DataError(
                f"{other.directory}: judged by another text than {one.directory} ({size} {other.metrics.get(size)}, "
                f"not {one.metrics.get(size)}); compare runs of the same data.test_text, or of the same validation text"
            )
    pairs = [list(zip(run.sources, run.references, strict=True)) for run in (one, other)]
    if pairs[0] != pairs[1]:
        sizes = [len(some) for some in pairs]
        detail = f"{sizes[1]:,} sentences, not {sizes[0]:,}"
        if sizes[0] == sizes[1]:
            detail = f"sentence {next(n for n, (a, b) in enumerate(zip(*pairs, strict=True), 1) if a != b):,} differs"
        raise DataError(
            f"{other.directory}: judged by another test set than {one.directory} ({detail}); "
            f"compare runs of the same {'data.test_src' if one.task == 'translate' else 'data.test_labelled'}, "
            "or of the same validation set"
        )


def grouped(results: Sequence[RunResult]) -> list[list[int]]:
    """The numbers of the runs by their settings without the seed, in the order in which they come."""
    groups: dict[str, list[int]] = {}
    for number, result in enumerate(results):
        groups.setdefault(json.dumps(_without_seed(result), sort_keys=True), []).append(number)
    return list(groups.values())


def _without_seed(result: RunResult) -> dict[str, Any]:
    return {key: value for key, value in result.settings.items() if key != SEED}


def differing(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of each row the settings in which rows differ.

    What only some rows know, as one kind of model knows settings that another has not, tells rows apart only where those that know it
    differ, or where nothing else does.
    """
    keys = list(dict.fromkeys(key for row in rows for key in row if key != SEED))
    found = [key for key in keys if len({json.dumps(row[key]) for row in rows if key in row}) > 1]
    told = [{key: row[key] for key in found if key in row} for row in rows]
    if len({json.dumps(one) for one in told}) == len(rows):
        return told
    partly = [key for key in keys if key in found or any(key not in row for row in rows)]
    return [{key: row[key] for key in partly if key in row} for row in rows]


def row_names(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """`norm=post optimizer=adam`: settings by the last part of their name, where that is clear."""
    short = last_parts({key for row in settings for key in row})
    return [" ".join(f"{short[key]}={shown(value)}" for key, value in row.items()) or "default" for row in settings]


def shown(value: Any) -> str:
    """A setting's value as a person writes it."""
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def length_buckets(lengths: Sequence[int], most: int = MOST_BUCKETS) -> list[tuple[int, int]]:
    """At most so many ranges of lengths, from and to, that hold about equally many sentences each."""
    ordered = sorted(lengths)
    tops = sorted({ordered[-(-len(ordered) * part // most) - 1] for part in range(1, most + 1)})
    return list(zip([ordered[0], *(top + 1 for top in tops[:-1])], tops, strict=True))
