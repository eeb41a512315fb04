"""The validation pairs of a run, prepared again as its settings say: from the cache if they are there."""

from pathlib import Path

from regard.errors import ConfigError
from regard.files import cache_directory
from regard.tasks.base_model import tokenizers_for
from regard.tasks.fine_tuning import base_of
from regard.tasks.runs import CONFIG, is_run
from regard.tasks.settings import parse_stored
from regard.tasks.translate.settings import TranslateSettings


def validation_pairs(run: Path) -> tuple[list[str], list[str]]:
    """(sources, references) of the validation set of a run. Anything else has none."""
    from regard.data.prepare import prepare

    if not run.is_dir() or not is_run(run):
        raise ConfigError(f"{run}: not a run, so its validation set is not known; give --src FILE and --ref FILE")
    settings = parse_stored(run / CONFIG)
    assert isinstance(settings, TranslateSettings)
    base = base_of(settings)
    tokenizers = tokenizers_for(settings.task, base)
    prepared = prepare(settings.data, settings.text, cache_directory() / "corpora", lambda *_: None, tokenizers)
    sources, references = zip(*prepared.valid_pairs, strict=True) if prepared.valid_pairs else ((), ())
    return list(sources), list(references)
