"""Compares finished runs. Runs that differ only in their seed are one row, and every row is tested against a baseline.

Reads the files of a run. The caller passes its settings, with every default filled in. `tables.py` and `figures.py` show the `Comparison`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import DataError
from regard.metrics.groups import mean_of_groups
from regard.metrics.scores import METRICS, with_added
from regard.metrics.significance import RESAMPLES, PairedTest, counted_metric, paired_test, resampled_scores
from regard.settings import last_parts
from regard.tasks.run_files import read_metrics, read_rows, row_with
from regard.tasks.runs import METRICS_FILE
from regard.tasks.table import TASKS

SEED = "train.seed"
MOST_BUCKETS = 5
WINDOWS = ("windows", "series", "horizon", "from", "until")
"""The numbers of metrics.json that tell which windows of series a run was judged by."""


TEST_SETTINGS = {
    "translate": "data.test_src",
    "classify_images": "data.test_images",
    "caption": "data.test_captions",
}
"""Task -> the setting that names its test set, for error messages; of others it is `data.test_labelled`."""


@dataclass(frozen=True)
class RunResult:
    """The results of a finished run. The labels of a tagged text are joined by tabs."""

    directory: Path
    settings: Mapping[str, Any]  # dotted name -> value
    metrics: Mapping[str, Any]  # metrics.json
    sources: Sequence[str]
    references: Sequence[str]
    hypotheses: Sequence[str]
    directions: Sequence[str] = ()
    """The direction of each sentence, where there are several: the scores are means over them."""

    @property
    def task(self) -> str:
        return str(self.settings.get("task", "translate"))

    @property
    def size(self) -> int:
        """The size of the test set."""
        key = TASKS[self.task].results.size[0]
        size = self.metrics.get(key)
        if not isinstance(size, int):
            raise DataError(f"{self.directory / METRICS_FILE}: no {key!r}; leave {self.directory} out")
        return size


@dataclass(frozen=True)
class Row:
    """The runs that share their settings. A list holds one value for each run, in the order of `runs`."""

    name: str
    settings: Mapping[str, Any]  # the settings in which rows differ
    runs: Sequence[RunResult]
    scores: Mapping[str, Sequence[float | None]]  # by the names of the task
    against: PairedTest | None  # None: this is the baseline, or nothing can be tested
    by_length: Sequence[Sequence[float]]  # [buckets][runs]

    def measured(self, name: str) -> list[float]:
        """A number of metrics.json, or `sentences_per_second` of decoding, for each run that has it."""
        if name == "sentences_per_second":
            timed = [run for run in self.runs if run.metrics.get("decoding_seconds")]
            return [run.size / run.metrics["decoding_seconds"] for run in timed]
        return [float(run.metrics[name]) for run in self.runs if run.metrics.get(name) is not None]

    @property
    def engines(self) -> set[str]:
        """The engines that the decoding was timed with; runs of older versions do not state theirs."""
        timed = [run for run in self.runs if run.metrics.get("decoding_seconds")]
        return {str(run.metrics.get("engine") or "not recorded") for run in timed}


@dataclass(frozen=True)
class Comparison:
    """All rows, and how they were compared."""

    rows: Sequence[Row]
    metric: str  # a name of `METRICS`: tested where that is possible, and shown by length
    baseline: str  # the name of a row
    resamples: int
    signatures: Mapping[str, str]
    test_set: str  # test or validation
    sentences: int
    unit: str  # of `sentences`: sentences, texts or words
    buckets: Sequence[tuple[int, int]]  # source words, from and to


def is_finished(directory: Path) -> bool:
    """Whether the directory has the metrics and the result file of a finished run."""
    results = [directory / task.results.name for task in TASKS.values()]
    return (directory / METRICS_FILE).is_file() and any(path.is_file() for path in results)


def read_result(directory: Path, settings: Mapping[str, Any]) -> RunResult:
    """Read the results of a finished run."""
    metrics = read_metrics(directory)
    file = TASKS[str(settings.get("task", "translate"))].results
    if file.columns is None:
        return RunResult(directory, settings, metrics, [], [], [])
    path = directory / file.name
    rows = read_rows(path, row_with(file.columns))
    if not rows:
        raise DataError(f"{path}: no {file.size[1]} in it; leave {directory} out")
    sources, references, hypotheses = ([_joined(row[name]) for row in rows] for name in file.columns)
    directions = [str(row["direction"]) for row in rows if "direction" in row]
    directed = directions if len(directions) == len(rows) and len(set(directions)) > 1 else ()
    return RunResult(directory, settings, metrics, sources, references, hypotheses, directed)


def _joined(value: str | list[str]) -> str:
    """A text; the items of a list are joined by tabs."""
    return "\t".join(value) if isinstance(value, list) else value


def compare_runs(
    results: Sequence[RunResult],
    *,
    baseline: RunResult | None = None,
    metric: str | None = None,
    tokenize: str = "13a",
    resamples: int = RESAMPLES,
) -> Comparison:
    """Group the runs into rows and test each row against that of `baseline` (by default the first).

    `metric` is the tested metric (by default the task's first). It and those that depend on `tokenize` are recomputed from the hypotheses.
    Other scores come from metrics.json. Language models and pretrained ones are not tested: they have no scores by sentence.
    """
    for result in results[1:]:
        refuse_other_task(results[0], result)
    task = TASKS[results[0].task]
    score_names = with_added(task.scores)
    has_rows = task.results.columns is not None
    testable = [name for name in score_names if has_rows and METRICS[name].is_counted]
    if metric is not None and metric not in testable:
        choice = f"choose {' or '.join(testable)}" if testable else "leave it out"
        raise DataError(f"metric = {metric!r}: runs that {task.name} are not tested by it; {choice}")
    metric = metric or (testable or score_names)[0]
    groups = grouped(results)
    settings = differing([results[group[0]].settings for group in groups])
    names = row_names(settings) if len(groups) > 1 else [results[0].directory.resolve().name]
    wanted = _without_seed(baseline or results[0])
    base = next(n for n, group in enumerate(groups) if _without_seed(results[group[0]]) == wanted)

    recounted = [name for name in testable if name == metric or METRICS[name].tokenizes]
    counted = {name: counted_metric(name, tokenize, results[0].sources) for name in recounted}
    if directions := results[0].directions:
        counted = {name: mean_of_groups(row, directions) for name, row in counted.items()}
    counts = {name: [row.count(run.hypotheses, run.references) for run in results] for name, row in counted.items()}
    actual = {name: [counted[name].score(run.sum(axis=0)) for run in runs] for name, runs in counts.items()}
    tested = counted.get(metric)
    sampled = (
        None
        if tested is None or len(groups) < 2
        else resampled_scores(tested, counts[metric], resamples, groups=directions)
    )
    lengths = [len(source.split()) for source in results[0].sources]
    buckets = length_buckets(lengths) if lengths else []
    inside = [[low <= length <= high for length in lengths] for low, high in buckets]

    def against_baseline(group: list[int]) -> PairedTest | None:
        if sampled is None or group == groups[base]:
            return None
        baseline_scores, scores = ([actual[metric][run] for run in runs] for runs in (groups[base], group))
        return paired_test(baseline_scores, scores, sampled[groups[base]], sampled[group])

    def by_length(group: list[int]) -> list[list[float]]:
        if tested is None:
            return []
        return [[tested.score(counts[metric][run][part].sum(axis=0)) for run in group] for part in inside]

    rows = [
        Row(
            name=name,
            settings=row_settings,
            runs=[results[run] for run in group],
            scores={
                **{score: [results[run].metrics.get(score) for run in group] for score in score_names},
                **{score: [values[run] for run in group] for score, values in actual.items()},
            },
            against=against_baseline(group),
            by_length=by_length(group),
        )
        for name, row_settings, group in zip(names, settings, groups, strict=True)
    ]
    return Comparison(
        rows=rows,
        metric=metric,
        baseline=names[base],
        resamples=resamples,
        signatures={name: row.signature for name, row in counted.items() if row.signature is not None},
        test_set=str(results[0].metrics.get("set", "test")),
        sentences=len(lengths) or results[0].size,
        unit=task.results.size[1],
        buckets=buckets,
    )


def refuse_other_task(first: RunResult, second: RunResult) -> None:
    """Refuse two runs that have different tasks, languages or test data."""
    if first.task != second.task:
        raise DataError(
            f"{second.directory}: its task is to {second.task}, but that of {first.directory} is to {first.task}; compare runs of one task"
        )
    for side in ("source", "target"):
        mine, theirs = ((run.metrics.get("languages") or {}).get(side) for run in (first, second))
        if mine is not None and theirs is not None and mine != theirs:
            raise DataError(
                f"{second.directory}: its {side} language is {theirs}, but that of {first.directory} is {mine}; "
                "compare runs of one task"
            )
    for size in ("evaluated_words", "evaluated_bytes"):  # not tokens: their number depends on the model
        if first.metrics.get(size) != second.metrics.get(size):
            raise DataError(
                f"{second.directory}: judged by another text than {first.directory} ({size} {second.metrics.get(size)}, "
                f"not {first.metrics.get(size)}); compare runs of the same data.test_text, or of the same validation text"
            )
    windows = [{name: run.metrics.get(name) for name in WINDOWS} for run in (first, second)]
    if first.metrics.get("windows") is not None and windows[0] != windows[1]:
        mine, theirs = (", ".join(f"{name} {value}" for name, value in found.items()) for found in windows)
        raise DataError(
            f"{second.directory}: judged by other windows than {first.directory} ({theirs}; not {mine}); compare runs of the same "
            "file, horizon and test part"
        )
    mine, theirs = (run.metrics.get("truth_sha256") for run in (first, second))
    if mine is not None and theirs is not None and mine != theirs:
        raise DataError(
            f"{second.directory}: judged by other values than {first.directory}, at the same times; compare runs of the same file"
        )
    if list(first.directions) != list(second.directions):
        mine, theirs = (", ".join(dict.fromkeys(run.directions)) or "one direction" for run in (first, second))
        raise DataError(
            f"{second.directory}: judged in {theirs}, but {first.directory} in {mine}; compare runs of the same directions"
        )
    pairs = [list(zip(run.sources, run.references, strict=True)) for run in (first, second)]
    if pairs[0] != pairs[1]:
        sizes = [len(run_pairs) for run_pairs in pairs]
        detail = f"{sizes[1]:,} sentences, not {sizes[0]:,}"
        if sizes[0] == sizes[1]:
            detail = f"sentence {next(n for n, (a, b) in enumerate(zip(*pairs, strict=True), 1) if a != b):,} differs"
        raise DataError(
            f"{second.directory}: judged by another test set than {first.directory} ({detail}); "
            f"compare runs of the same {TEST_SETTINGS.get(first.task, 'data.test_labelled')}, "
            "or of the same validation set"
        )


def grouped(results: Sequence[RunResult]) -> list[list[int]]:
    """Indices of the runs, grouped by their settings without the seed, in order of first appearance."""
    groups: dict[str, list[int]] = {}
    for number, result in enumerate(results):
        groups.setdefault(json.dumps(_without_seed(result), sort_keys=True), []).append(number)
    return list(groups.values())


def _without_seed(result: RunResult) -> dict[str, Any]:
    return {key: value for key, value in result.settings.items() if key != SEED}


def differing(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each row, the settings in which the rows differ.

    A setting that only some rows have, such as one of a recurrent model, is included only if those rows differ in it, or if nothing else
    distinguishes the rows.
    """
    keys = list(dict.fromkeys(key for row in rows for key in row if key != SEED))
    varying = [key for key in keys if len({json.dumps(row[key]) for row in rows if key in row}) > 1]
    settings = [{key: row[key] for key in varying if key in row} for row in rows]
    if len({json.dumps(row) for row in settings}) == len(rows):
        return settings
    partial = [key for key in keys if key in varying or any(key not in row for row in rows)]
    return [{key: row[key] for key in partial if key in row} for row in rows]


def row_names(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """The name of each row, such as `norm=post optimizer=adam`. Keys are shortened to their last part where that is unique."""
    short = last_parts({key for row in settings for key in row})
    return [
        " ".join(f"{short[key]}={setting_text(value)}" for key, value in row.items()) or "default" for row in settings
    ]


def setting_text(value: Any) -> str:
    """The value of a setting as text."""
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def length_buckets(lengths: Sequence[int], most: int = MOST_BUCKETS) -> list[tuple[int, int]]:
    """At most `most` ranges (low, high) of lengths with about equally many sentences each."""
    ordered = sorted(lengths)
    tops = sorted({ordered[-(-len(ordered) * part // most) - 1] for part in range(1, most + 1)})
    return list(zip([ordered[0], *(top + 1 for top in tops[:-1])], tops, strict=True))
