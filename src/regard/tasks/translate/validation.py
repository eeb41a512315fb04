"""The validation pairs of a run, prepared again as its settings say: from the cache if they are there."""

from pathlib import Path

from regard.errors import ConfigError
from regard.files import cache_directory
from regard.tasks.base_model import tokenizers_for
from regard.tasks.fine_tuning import base_of
from regard.tasks.runs import CONFIG, is_run
from regard.tasks.settings import parse_stored
from regard.tasks.translate.settings import TranslateSettings


def validation_pairs(run: Path) -> tuple[list[str], list[str], list[tuple[str | None, str]] | None]:
    """(sources, references, directions) of the validation set of a run. Anything else has none.

    The directions are those of a model of several, one for each pair; None for one direction. A source language may be unknown.
    """
    from regard.data.prepare import prepare

    if not run.is_dir() or not is_run(run):
        raise ConfigError(f"{run}: not a run, so its validation set is not known; give --src FILE and --ref FILE")
    settings = parse_stored(run / CONFIG)
    assert isinstance(settings, TranslateSettings)
    base = base_of(settings)
    tokenizers = tokenizers_for(settings.task, base)
    prepared = prepare(settings.data, settings.text, cache_directory() / "corpora", lambda *_: None, tokenizers)
    sources, references = zip(*prepared.valid_pairs, strict=True) if prepared.valid_pairs else ((), ())
    if prepared.valid_directions is not None:
        return list(sources), list(references), list(prepared.valid_directions)
    source, target = prepared.languages if base is not None and base.config.directions else (None, None)
    return list(sources), list(references), None if target is None else [(source, target)] * len(sources)
