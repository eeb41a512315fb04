"""The functions of `import regard`, such as `load`, `train`, `export`, `merge` and `probe`. Heavy imports wait for first use."""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import InputTypeError
from regard.extras import needing, require
from regard.tasks.checks import check_path
from regard.tasks.load import load_served

if TYPE_CHECKING:
    import torch

    from regard.bundle.precision import PrecisionChoice
    from regard.bundle.quantised import Quantised
    from regard.explain.failures.findings import FailureAnalysis
    from regard.metrics.scores import Metric
    from regard.tasks.checks import Engine
    from regard.tasks.improve.gain import Improvement
    from regard.tasks.interface import Task
    from regard.tasks.run import Run
    from regard.training.config import RunSettings
    from regard.training.events import Event


def load(
    path: str | Path,
    device: "str | torch.device" = "cpu",
    engine: "Engine" = "auto",
    precision: "PrecisionChoice" = "float32",
) -> Any:
    """The model of a bundle, or of a run: its best checkpoint, else its latest.

    A `Translator` translates, a `Writer` generates, a `Classifier` classifies texts, a `Tagger` their words, a `PictureClassifier`
    pictures, a `Captioner` describes pictures, a `Forecaster` forecasts series, and a `Filler`, which is pretrained, fills gaps in texts.
    `engine`: `torch` does everything; `ct2` is CTranslate2, which translates several times faster on a CPU, and what it cannot do is an
    error; `auto` is `ct2` for what it can do and `torch` for the rest. `precision`: of CTranslate2's weights:
    float32, bfloat16, int8, or `auto`, the fastest that loses little.
    All but translators run on torch.
    """
    served = load_served(path, device, engine, precision)
    served.explainer = _explained
    return served


def _explained(served: Any, *given: Any, **options: Any) -> Any:
    """The explanation of one input by the explainer of the model's task."""
    with needing("an explanation"):
        from regard.explain.table import explain_served

    return explain_served(served, *given, **options)


def train(
    config: "RunSettings | Mapping[str, Any] | str | Path",
    out: str | Path = "runs/run",
    on_event: "Callable[[Event], None] | None" = None,
    progress: bool | None = None,
) -> "Run":
    """Train into `out`, or go on with the run that is there; every event of the loop goes to `on_event`.

    `config` is a `RunSettings`, the same as nested mappings, or the path of a TOML file (or of a run's config.json).
    `progress`: whether to show on standard error what `regard train` shows. By default it is shown in a terminal or a notebook, unless
    `on_event` is given. All events are in `log.jsonl` of `out` in any case.
    """
    require("torch", "training")
    from regard.cli.progress import is_watched, shown_training
    from regard.explain.run_report import write_run_report
    from regard.interop.card import write_run_card
    from regard.tasks.fine_tuning import run_settings
    from regard.tasks.run import train_run
    from regard.tasks.settings import read_settings
    from regard.training.config import RunSettings

    _check_training(config, out, on_event)
    if isinstance(config, str | Path):
        config = run_settings(read_settings(Path(config)), str(config))
    elif not isinstance(config, RunSettings):
        config = run_settings(config)
    with ExitStack() as stack:
        listeners = [] if on_event is None else [on_event]
        if progress or (progress is None and on_event is None and is_watched()):
            listeners.append(stack.enter_context(shown_training(config.task, Path(out))))
        run = train_run(config, Path(out), listeners)
    made_before = run.reason == "finished" and (run.directory / "report.html").exists()
    if run.metrics is not None and not made_before:
        write_run_report(run.directory)
        write_run_card(run.directory)
    return run


def _check_training(config: object, out: object, on_event: object) -> None:
    """Refuse arguments of `train` of another type."""
    from regard.training.config import RunSettings

    if not isinstance(config, RunSettings | Mapping | str | Path):
        raise InputTypeError(
            f"config = {config!r}: must be the settings as nested dicts, a RunSettings, or the path of a TOML file: "
            "write {'data': {'src': 'a.en', 'tgt': 'a.de'}}"
        )
    check_path(out, "the directory of the run")
    if on_event is not None and not callable(on_event):
        raise InputTypeError(f"on_event = {on_event!r}: must be a function that takes an event")


def probe(
    model: Any,
    *,
    src: str | Sequence[str] | None = None,
    ref: str | Sequence[str] | None = None,
    text: str | Sequence[str] | None = None,
    train_src: str | Sequence[str] | None = None,
    train_tgt: str | Sequence[str] | None = None,
    other: str | Sequence[str] | None = None,
    templates: str | Path | None = None,
    checks: Sequence[str] = (),
    most: int = 200,
    beam: int = 5,
    seed: int = 1,
    to: str | None = None,
    from_: str | None = None,
    device: str = "cpu",
    engine: "Engine" = "auto",
    precision: "PrecisionChoice" = "float32",
) -> "FailureAnalysis":
    """The failure analysis of a translator or a language model: a path, or what `load` returned.

    `src`, `ref`: a test set, each a file or a list of lines; without them that of the run. `text`: of a language model. `train_src`,
    `train_tgt`: the training text, which memorised sentences and rare words are looked up in; a language model has a target only.
    `other`: sentences of another domain. `templates`: a TSV file for the gender check. `checks`: names; none: all.
    For a path: `to` and `from_` choose a direction of several; `device`, `engine` and `precision` are those of `load`.
    The result has `findings` and `save("page.html")`.
    """
    from regard.explain.failures.analysis import probe_model, probe_path
    from regard.explain.failures.inputs import GivenTexts
    from regard.explain.failures.subject import ProbeOptions
    from regard.tasks.checks import check_list

    check_list(checks, "checks", "['gender', 'copying']")
    given = GivenTexts(src, ref, text, train_src, train_tgt, other, None if templates is None else str(templates))
    options = ProbeOptions(most=most, beam=beam, seed=seed)
    if isinstance(model, str | Path):
        return probe_path(
            model, given, options, checks, to=to, from_=from_, device=device, engine=engine, precision=precision
        )
    if (language := to or from_) is not None:
        raise InputTypeError(f"{language!r}: to and from_ are for a path; of a model give model.towards({language!r})")
    return probe_model(model, given, options, checks)


def improve(
    run: str | Path,
    out: str | Path,
    *,
    mono_tgt: str | Path | None = None,
    mono_src: str | Path | None = None,
    own_text: bool = False,
    reverse: str | Path | None = None,
    seeds: int = 1,
    ensemble: int = 0,
    rounds: int = 1,
    factor: float = 2.0,
    minutes: float | None = None,
    from_run: bool = False,
    real_weight: float = 1.0,
    beam: int = 5,
    sample: bool = False,
    temperature: float = 1.0,
    min_score: float | None = None,
    without: Sequence[str] = (),
    language_check: bool = True,
    sets: Sequence[str] = (),
    sets_improved: Sequence[str] = (),
    other_src: str | Path | None = None,
    other_ref: str | Path | None = None,
    test: bool = False,
    tokenize: str = "13a",
    resamples: int = 1000,
    device: str = "cpu",
    progress: bool | None = None,
) -> "Improvement":
    """Make more of little text, as `regard improve` does: translate it in both directions, filter that, and train on all of it.

    `run`: a finished run of a translator. `out`: the directory of the stages; the same call again goes on there. `mono_tgt`, `mono_src`:
    files of text in one language; without them the run's own text is translated. `sets`: `KEY=VALUE` for every model that is trained;
    `sets_improved`: for the improved one alone. `progress`: as of `train`. docs/improve.md has the others, which are flags of that name.
    The result has `texts`, each with the scores of all models, their difference and p, `model`, the improved run, and `to_dict()`.
    """
    given = dict(locals())  # first: the arguments, and nothing else
    require("torch", "training")
    from regard.cli.improving import improver
    from regard.cli.progress import is_watched
    from regard.cli.streams import print_status
    from regard.tasks.checks import check_list
    from regard.tasks.improve.arguments import read_arguments

    check_path(run, "a finished run")
    check_path(out, "the directory of the stages")
    for values, name in ((without, "without"), (sets, "sets"), (sets_improved, "sets_improved")):
        check_list(values, name, "['train.max_steps=1000']")
    arguments, judging = read_arguments(given)
    shown = is_watched() if progress is None else progress

    def train_stage(values: dict[str, Any], home: Path, where: str) -> None:
        if train(values, home, progress=shown).signal is not None:
            raise KeyboardInterrupt

    def tell(line: str) -> None:
        if shown:
            print_status(line)

    return improver(Path(run), arguments, judging, Path(out)).run(train_stage, tell)


def export(
    path: str | Path,
    out: str | Path,
    to: str,
    *,
    precision: str = "float32",
    src_lang: str | None = None,
    tgt_lang: str | None = None,
    licence: str | None = None,
) -> None:
    """Write the model of a bundle or run to `out`, which must not exist, in the format of another program.

    `to`: `hf` (transformers), `ct2` (CTranslate2), `onnx` (onnxruntime), `argos` (Argos Translate), `safetensors` (the bundle alone),
    `zip` (the same in one file). `precision`: of `ct2` and `argos`, float32 or int8. The others are facts for the model card that the
    bundle may not have.
    """
    with needing("regard.export"):
        from regard.interop.card import CardFacts
        from regard.interop.export import export_path

    check_path(path, "a bundle or of a run")
    check_path(out, "what is written")
    export_path(path, out, to, precision, CardFacts(source=src_lang, target=tgt_lang, licence=licence))


def merge(adapter: str | Path, out: str | Path, base: str | Path | None = None) -> None:
    """Write one whole bundle of an adapter bundle (LoRA) and its base to `out`, which must not exist.

    `base`: where the base is, if it is not where it was when the adapter was trained.
    """
    with needing("regard.merge"):
        from regard.interop.merging import merge_adapter

    check_path(adapter, "an adapter bundle or of its run")
    check_path(out, "what is written")
    if base is not None:
        check_path(base, "the base of the adapter")
    merge_adapter(adapter, out, base)


def quantize(
    path: str | Path,
    out: str | Path,
    *,
    src: Sequence[str] | None = None,
    ref: Sequence[str] | None = None,
    to: str | None = None,
    from_: str | None = None,
    beam: int = 5,
    licence: str | None = None,
) -> "Quantised":
    """Write the translator of a bundle or run to `out`, which must not exist, with weights of 8 bits.

    `src`, `ref`: sentences and their translations that both are judged on; without them the validation set of the run. `to`, `from_`: their
    languages, of a model of several directions. The record has `sizes` and `scores` of float32 and of int8.
    """
    with needing("regard.quantize"):
        from regard.interop.quantize import quantize_model

    check_path(path, "a bundle or of a run")
    check_path(out, "what is written")
    if (src is None) != (ref is None):
        raise InputTypeError("src and ref go together: give both, or neither for the validation set of the run")
    pairs = None if src is None or ref is None else (src, ref)
    return quantize_model(path, out, pairs, to=to, from_=from_, beam=beam, licence=licence)


def import_model(
    path: str | Path,
    out: str | Path,
    *,
    src_lang: str | None = None,
    tgt_lang: str | None = None,
    labels: Sequence[str] = (),
    revision: str | None = None,
) -> None:
    """Make a bundle at `out`, which must not exist, of a model directory of another program, or of a model of the hub (`OWNER/NAME`).

    No code of it is run. `labels`: of a new classifier, for an encoder that has none. `revision`: branch, tag or commit on the hub.
    """
    with needing("regard.import_model"):
        from regard.bundle.config import Languages
        from regard.interop.imported import ImportOptions
        from regard.interop.importing import import_any

    check_path(path, "a model of another program")
    check_path(out, "the bundle that is written")
    options = ImportOptions(Languages(source=src_lang, target=tgt_lang), tuple(labels))
    import_any(path, out, options, revision=revision)


def extend(
    *,
    tasks: "Sequence[Task]" = (),
    models: Sequence[tuple[str, type, Callable[..., Any]]] = (),
    mixers: "Mapping[str, Callable[..., Any]] | None" = None,
    scores: "Mapping[str, type[Any]] | None" = None,
    metrics: "Sequence[Metric]" = (),
    optimizers: "Mapping[str, tuple[float, Callable[..., Any]]] | None" = None,
) -> None:
    """Add rows of your own to regard's tables. A file that calls this is an extension: `--extension FILE.py` runs it.

    `tasks`: a `Task` each (`tasks/interface.py`). `models`: (task, settings, build), the settings a `ModelConfig` with its own `kind`,
    and build makes the network as `models/build.py` says for that task. `mixers`: name -> a function of `MixerOptions`; its attribute
    `causal = True` says that decoders may have it. `scores`: name -> an `AttentionScore`. `metrics`: rows of `metrics/scores.py`.
    `optimizers`: name -> the usual learning rate, and a function as in `training/optimizer.py`.
    """
    from regard.extending import add_rows

    caller = sys._getframe(1).f_globals.get("__file__")
    add_rows(
        caller,
        tasks=tasks,
        models=models,
        mixers=mixers or {},
        scores=scores or {},
        metrics=metrics,
        optimizers=optimizers or {},
    )
