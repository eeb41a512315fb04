"""The finished run that `regard improve` starts from: what is refused, and the facts of it that the plan needs. No torch."""

from dataclasses import dataclass
from pathlib import Path

from regard.bundle.locate import find_bundle
from regard.bundle.manifest import MANIFEST, identity
from regard.data.config import STDIN, languages
from regard.data.corpus_config import direction_name
from regard.data.formats import LanguagePair
from regard.errors import BundleError, ConfigError, DataError
from regard.settings import read_json
from regard.tasks.bundles import open_bundle
from regard.tasks.run_files import read_events, read_metrics
from regard.tasks.runs import CONFIG, LOG, is_done, is_run
from regard.tasks.settings import parse_stored
from regard.tasks.table import TASKS
from regard.tasks.translate.settings import TranslateBundle, TranslateSettings


@dataclass(frozen=True)
class BaseRun:
    """A finished run of a translator."""

    path: Path
    settings: TranslateSettings
    languages: LanguagePair
    identity: str
    """The SHA-256 of its model's manifest."""
    steps: int
    minutes: float
    pairs: int
    """Examples of its training text."""
    seconds_per_sentence: float

    def limit(self) -> int:
        """Tokens of the longest example."""
        return self.settings.data.max_length


def read_base_run(path: Path) -> BaseRun:
    """The run at a path. What is no finished run of a translator of one direction is refused."""
    if not path.is_dir():
        what = "a file, not a directory" if path.exists() else "no such directory"
        raise DataError(f"{path}: {what}; give the directory of a finished run, which was --out of `regard train`")
    if not is_run(path):
        what = "a bundle, not a run: its training text is not known" if (path / MANIFEST).exists() else "not a run"
        raise DataError(f"{path}: {what}; give the directory of a finished run, which was --out of `regard train`")
    task = str(read_json(path / CONFIG).get("task", "translate"))
    if task != "translate":
        advice = TASKS[task].advice if task in TASKS else "give another run"
        raise ConfigError(f"{path}: its task is to {task}, and only translators are improved by translations; {advice}")
    if not is_done(path):
        raise DataError(f"{path}: this run is not finished; finish it first: regard resume {path}")
    settings = parse_stored(path / CONFIG)
    assert isinstance(settings, TranslateSettings)
    if several := settings.data.several_directions:
        raise ConfigError(
            f"{path}: a run of {len(several)} directions ({', '.join(map(direction_name, several))}); give a run of one direction"
        )
    read = [part for row in settings.data.training_corpora for part in (row.src, row.tgt, row.pairs)]
    if STDIN in (*read, settings.data.valid_src, settings.data.valid_tgt, settings.data.valid_pairs):
        raise DataError(f"{path}: its text came from standard input and cannot be read again; train it from files")
    metrics, bundle = read_metrics(path), find_bundle(path)
    steps, seconds = metrics.get("steps"), metrics.get("seconds")
    if not steps or seconds is None:
        raise DataError(f"{path}/metrics.json: no steps or no seconds; give a run that was trained by steps")
    sentences = metrics.get("sentences")
    decoding = float(metrics.get("decoding_seconds") or 0.0) / sentences if sentences else 0.0
    examples = [int(event.get("examples", 0)) for event in read_events(path / LOG) if event.get("event") == "started"]
    known = languages(settings.data)
    opened = open_bundle(bundle, verify=False).config
    if isinstance(opened, TranslateBundle):
        if opened.directions:
            names = ", ".join(direction_name(one.pair) for one in opened.directions)
            raise BundleError(
                f"{path}: its model has several directions ({names}); give a run of a model of one direction"
            )
        known = (opened.languages.source or known[0], opened.languages.target or known[1])
    return BaseRun(
        path=path,
        settings=settings,
        languages=known,
        identity=identity(bundle),
        steps=int(steps),
        minutes=float(seconds) / 60.0,
        pairs=examples[0] if examples else 0,
        seconds_per_sentence=decoding,
    )


def check_reverse(path: Path, base: BaseRun) -> str:
    """The SHA-256 of the model that is given with --reverse. One that is no translator back is refused."""
    bundle = find_bundle(path)
    config = open_bundle(bundle, verify=False).config
    if not isinstance(config, TranslateBundle):
        raise BundleError(f"--reverse {path}: its task is to {config.task}; give a translator, or leave it out")
    if config.directions:
        raise BundleError(
            f"--reverse {path}: a model of several directions; give one of one direction, or leave it out"
        )
    source, target = base.languages
    for mine, theirs, side in ((target, config.languages.source, "reads"), (source, config.languages.target, "writes")):
        if mine is not None and theirs is not None and mine != theirs:
            raise BundleError(
                f"--reverse {path}: it {side} {theirs}, not {mine}; give a model from {target} to {source}"
            )
    return identity(bundle)
