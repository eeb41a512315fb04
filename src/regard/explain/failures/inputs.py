"""The texts that a model is probed with: those that were given, else those of its run, else the pocket corpus.

A run has its test set in its results, and its training files where its settings say, if they are still there.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from regard.activity import activity
from regard.bundle.config import Languages
from regard.data.config import POCKET_LANGUAGES, STDIN, PairData, TextData, languages
from regard.data.corpus_config import Direction, direction_name
from regard.errors import ConfigError, DataError, RegardError
from regard.explain.failures.occupations import fillers
from regard.explain.failures.subject import ProbeOptions, ProbeTexts, TrainingText, plain_code
from regard.explain.failures.templates import read_templates
from regard.tasks.run_files import TranslationRow, read_metrics, read_rows
from regard.tasks.runs import CONFIG, is_done, is_run
from regard.tasks.settings import parse_stored
from regard.tasks.table import TASKS

MOST_TRAINING = 200_000
"""Lines of the training text that are read."""
MOST_POCKET = 20_000
"""Pairs of the pocket corpus that are drawn again."""
Item = TypeVar("Item")


@dataclass(frozen=True)
class GivenTexts:
    """The files, or lists of lines, that the user names. None: not given."""

    src: "str | Sequence[str] | None" = None
    ref: "str | Sequence[str] | None" = None
    text: "str | Sequence[str] | None" = None
    """Of a language model: its test text."""
    train_src: "str | Sequence[str] | None" = None
    train_tgt: "str | Sequence[str] | None" = None
    """Of a language model: its training text."""
    other: "str | Sequence[str] | None" = None
    templates: str | None = None


def find_texts(path: Path | None, task: str, known: Languages, given: GivenTexts, options: ProbeOptions) -> ProbeTexts:
    """The texts to probe a model with. path: of its run or bundle; None: it has none. known: its languages."""
    _check_flags(task, given)
    data, unread = (None, "") if path is None else _data_settings(path)
    pocket = isinstance(data, PairData) and not data.training_corpora
    training, missing = _training(data, given, task, known, unread)
    language = known.target if task == "generate" else known.source
    templates = (
        None
        if given.templates is None
        else read_templates(given.templates, lambda gender: fillers(plain_code(language), gender))
    )
    if task == "generate":
        lines, name = _test_text(data, given, path)
        sources: Sequence[str] = ()
        references: Sequence[str] = _sample([line for line in lines if line.strip()], options)
    else:
        sources, references, name = _test_pairs(path, data, given, known)
        pairs = [pair for pair in zip(sources, references, strict=True) if pair[0].strip()]
        sources, references = zip(*_sample(pairs, options), strict=True) if pairs else ((), ())
    if not any(map(str.strip, references)):
        raise DataError(f"{name}: no sentences to probe with; give a test set that has some")
    other = [] if given.other is None else [line for line in _lines(given.other) if line.strip()]
    if given.other is not None and not other:
        raise DataError(f"{_name(given.other)}: no sentences of another domain in it; give some, or leave --other out")
    return ProbeTexts(
        references=references,
        name=name,
        sources=sources,
        training=training,
        training_missing=missing,
        other=_sample(other, options),
        templates=templates,
        pocket=pocket,
    )


def _data_settings(path: Path) -> tuple[Any, str]:
    """(the settings of a run's data, why they cannot be read).

    None if it is no run, or of an extension that is not loaded: it can be probed with files.
    """
    if not (path.is_dir() and is_run(path)):
        return None, ""
    try:
        return getattr(parse_stored(path / CONFIG), "data", None), ""
    except RegardError as error:
        return None, str(error)


def _check_flags(task: str, given: GivenTexts) -> None:
    """Refuse files of another task, and one of two that go together."""
    foreign = ("src", "ref", "train_src", "other") if task == "generate" else ("text",)
    for name in foreign:
        if getattr(given, name) is not None:
            flag = f"--{name.replace('_', '-')}"
            fix = "give --text F, and --train-tgt F" if task == "generate" else "give --src F --ref F"
            kind = "a language model has no source" if task == "generate" else "a translator has sources and references"
            raise ConfigError(f"{flag}: {kind}; {fix}")
    if [getattr(given, one.name) for one in fields(given)].count(STDIN) > 1:
        raise ConfigError("standard input '-' can be read only once; give the others as files")
    together = [("src", "ref"), *([("train_src", "train_tgt")] if task == "translate" else [])]
    for first, second in together:
        if (getattr(given, first) is None) != (getattr(given, second) is None):
            flags = [f"--{name.replace('_', '-')}" for name in (first, second)]
            raise ConfigError(f"{flags[0]} and {flags[1]} go together: give both, or neither")


def _test_pairs(
    path: Path | None, data: object, given: GivenTexts, known: Languages
) -> tuple[Sequence[str], Sequence[str], str]:
    """(sources, references, the name of the test set) in the direction of the model."""
    if given.src is not None and given.ref is not None:
        sources, references = _parallel(given.src, given.ref)
        return sources, references, _name(given.src)
    results = None if path is None else path / TASKS["translate"].results.name
    if path is not None and results is not None and results.is_file():
        seen = _directions_of(data)
        rows = [row for row in read_rows(results, TranslationRow) if _is_of(row.get("direction"), known, seen)]
        return [row["source"] for row in rows], [row["reference"] for row in rows], _name_of_results(path)
    if isinstance(data, PairData) and not data.training_corpora:
        from regard.data.pocket.corpus import TEST, pocket_split

        drawn = pocket_split(train=0, valid=0, test=TEST, seed=data.seed).test
        sources, references = _sides(
            [(pair.french, pair.english) for pair in drawn], known.source == POCKET_LANGUAGES[1]
        )
        return sources, references, "the pocket corpus"
    if path is not None and isinstance(data, PairData):
        from regard.tasks.translate.validation import validation_pairs

        try:
            with activity("reading the validation pairs"):
                sources, references, directions = validation_pairs(path)
        except DataError as error:
            raise DataError(f"{error}; or give --src FILE and --ref FILE") from None
        kept = [place for place in range(len(sources)) if directions is None or _fits(directions[place], known)]
        return [sources[n] for n in kept], [references[n] for n in kept], "the run's validation set"
    raise ConfigError(f"{path or 'this model'}: not a run that has a test set; give --src FILE and --ref FILE")


def _fits(direction: tuple[str | None, str | None], known: Languages) -> bool:
    """Whether a direction is that of the model. A source language that is not known fits every one."""
    source, target = direction
    return target == known.target and (None in (source, known.source) or source == known.source)


def _directions_of(data: object) -> tuple[Direction, ...]:
    """The directions of a run of several."""
    return tuple(data.several_directions) if isinstance(data, PairData) else ()


def _is_of(direction: object, known: Languages, directions: Sequence[Direction]) -> bool:
    """Whether a row of the results is of the model's direction. Those of a model of one direction name none."""
    if not isinstance(direction, str) or known.target is None:
        return True
    if known.source is not None:
        return direction == direction_name((known.source, known.target))
    if directions:  # a language such as sr-Latn has a hyphen itself
        return direction in {direction_name(one) for one in directions if _fits(one, known)}
    return direction.endswith(direction_name(("", known.target)))


def _sides(pairs: Sequence[tuple[str, str]], swapped: bool) -> tuple[list[str], list[str]]:
    """(sources, targets) of pairs, or of pairs whose sides are exchanged."""
    first, second = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return (second, first) if swapped else (first, second)


def _name_of_results(run: Path) -> str:
    """The set that a finished run was scored on."""
    found = read_metrics(run).get("set") if is_done(run) else None
    return f"the run's {found} set" if found else "the run's own results"


def _test_text(data: object, given: GivenTexts, path: Path | None) -> tuple[Sequence[str], str]:
    """(lines, the name of the test text) for a language model."""
    if given.text is not None:
        return _lines(given.text), _name(given.text)
    if not isinstance(data, TextData) or not data.texts:
        raise ConfigError(f"{path or 'this model'}: not a run that has a test text; give --text FILE")
    named = data.test_text or data.valid_text
    if named is not None:
        if not Path(named).is_file():
            raise DataError(f"{named}: the text of the run is not there; give --text FILE")
        return _lines(named), f"{named} of the run"
    [text] = data.texts
    if not Path(text).is_file():
        raise DataError(f"{text}: the text of the run is not there; give --text FILE")
    begin = _begin_of_held_out(text)
    return (_lines(text) if begin is None else _lines(text, begin, None)), "the held-out text of the run"


def _begin_of_held_out(text: str) -> int | None:
    """The number of lines before those that training holds out; None: of a tiny text none are."""
    from regard.data.prepare_texts import is_tiny, last_tenth

    return None if is_tiny([text]) else last_tenth(text)


def _training(
    data: object, given: GivenTexts, task: str, known: Languages, unread: str = ""
) -> tuple[TrainingText | None, str]:
    """(the training text, why there is none). unread: why the settings of the run cannot be read."""
    flags = "--train-tgt F" if task == "generate" else "--train-src F --train-tgt F"
    if given.train_tgt is not None:
        if given.train_src is None:
            lines = _lines(given.train_tgt, 0, MOST_TRAINING + 1)
            return _training_text([("", line) for line in lines], _name(given.train_tgt)), ""
        sources, targets = _parallel(given.train_src, given.train_tgt)
        return _training_text(zip(sources, targets, strict=True), _name(given.train_tgt)), ""
    try:
        if isinstance(data, PairData):
            with activity("reading the training pairs"):
                return _training_pairs(data, known), ""
        if isinstance(data, TextData) and data.texts:
            end = _begin_of_held_out(data.texts[0]) if data.valid_text is None else None
            lines = _lines(data.texts[0], 0, MOST_TRAINING + 1 if end is None else min(end, MOST_TRAINING + 1))
            return _training_text([("", line) for line in lines], "the run's training text"), ""
    except RegardError as error:
        return None, f"not there any more ({error}); give {flags}"
    return None, f"not known{f' ({unread})' if unread else ''}; give {flags}"


def _training_pairs(data: PairData, known: Languages) -> TrainingText:
    """The training pairs of a run in the direction of the model, read again."""
    from regard.data.directed_inputs import training_corpora

    if not data.training_corpora:
        from regard.data.pocket.corpus import pocket_split

        count = min(data.pocket, MOST_POCKET)
        drawn = pocket_split(train=count, valid=0, test=0, seed=data.seed).train
        pairs = [(pair.french, pair.english) for pair in drawn]
        sources, targets = _sides(pairs, known.source == POCKET_LANGUAGES[1])
        return TrainingText(sources, targets, "the pocket corpus", complete=count == data.pocket)
    corpora = [one for one in training_corpora(data, languages(data), {}) if one.share is None]  # without replayed text
    chosen = (one for one in corpora if one.direction is None or _fits(one.direction, known))
    return _training_text((pair for one in chosen for pair in one.pairs()), "the run's training text")


def _training_text(pairs: Iterable[tuple[str, str]], name: str) -> TrainingText:
    """At most the first `MOST_TRAINING` pairs."""
    stream: Iterator[tuple[str, str]] = iter(pairs)
    kept = list(islice(stream, MOST_TRAINING))
    if not kept:
        raise DataError(f"{name}: no training text in it; give another, or leave it out")
    sources, targets = zip(*kept, strict=True)
    return TrainingText(sources, targets, name, complete=next(stream, None) is None)


def _parallel(first: "str | Sequence[str]", second: "str | Sequence[str]") -> tuple[Sequence[str], Sequence[str]]:
    """Two sides of the same length."""
    if isinstance(first, str) and isinstance(second, str):
        from regard.data.readers import read_parallel

        sources, targets = read_parallel([first, second])
        return sources, targets
    sides = [_lines(side) for side in (first, second)]
    if len(sides[0]) != len(sides[1]):
        raise DataError(
            f"{len(sides[0])} sentences on one side, {len(sides[1])} on the other: line n must translate line n"
        )
    return sides[0], sides[1]


def _lines(given: "str | Sequence[str]", first: int = 0, end: int | None = None) -> Sequence[str]:
    """The lines of a file, or those that were given, from `first` to `end`."""
    if not isinstance(given, str):
        return given[first:end]
    from regard.data.readers import read_all, read_lines

    lines = read_all(given) if (first, end) == (0, None) else list(islice(read_lines(given), first, end))
    return [line.removesuffix("\r") for line in lines]


def _name(given: "str | Sequence[str]") -> str:
    from regard.data.readers import display_name

    return display_name(given) if isinstance(given, str) else "the given sentences"


def _sample(items: Sequence[Item], options: ProbeOptions) -> list[Item]:
    """At most `most` items, drawn by the seed, in their order."""
    if len(items) <= options.most:
        return list(items)
    places = sorted(Random(f"{options.seed} sample").sample(range(len(items)), options.most))
    return [items[place] for place in places]
