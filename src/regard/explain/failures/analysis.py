"""`probe_path` and `analyse`: run the checks on a model and collect their findings."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.activity import activity
from regard.bundle.config import Languages, installed_version
from regard.errors import BundleError, ConfigError, DataError, InputTypeError
from regard.explain.failures.checks import CHECKS, chosen_checks
from regard.explain.failures.findings import FailureAnalysis, Finding
from regard.explain.failures.inputs import GivenTexts, find_texts
from regard.explain.failures.subject import (
    PROBED_TASKS,
    NotApplicableError,
    ProbeOptions,
    ProbeTexts,
    TranslatorSubject,
    WriterSubject,
)
from regard.tasks.load import loaded, open_given

Subject = TranslatorSubject | WriterSubject


def probe_path(
    path: str | Path,
    given: GivenTexts,
    options: ProbeOptions,
    checks: Sequence[str] = (),
    *,
    to: str | None = None,
    from_: str | None = None,
    device: str = "cpu",
    engine: str = "auto",
    precision: str = "float32",
) -> FailureAnalysis:
    """The failure analysis of a bundle or run, with its own texts where none are given. to, from_: of a model of several directions."""
    path = Path(path)
    bundle = open_given(path)
    config = bundle.config
    if config.task not in PROBED_TASKS:
        raise BundleError(f"{path}: its task is to {config.task}; only translators and language models are probed")
    if config.task != "translate" and (language := to or from_) is not None:
        raise ConfigError(f"--{'from' if to is None else 'to'} {language}: {path} is a language model; leave it out")
    with activity("loading the model"):
        model = loaded(bundle, device, engine, precision)
    if config.task == "translate":
        model = model.towards(to, from_)
    known = model.languages if config.task == "translate" else config.languages
    texts = find_texts(path, config.task, known, given, options)
    return analyse(model, texts, options, name=path.resolve().name, checks=checks)


def probe_model(model: Any, given: GivenTexts, options: ProbeOptions, checks: Sequence[str] = ()) -> FailureAnalysis:
    """The failure analysis of a model in memory: a `Translator`, a `Writer`, or an object with their two methods (`subject.py`)."""
    task = _task_of(model)
    bundle = getattr(model, "bundle", None)
    path = None if bundle is None else Path(bundle.given or bundle.directory)
    languages = getattr(model, "languages", None) or (Languages() if bundle is None else bundle.config.languages)
    name = type(model).__name__ if path is None else path.resolve().name
    return analyse(model, find_texts(path, task, languages, given, options), options, name=name, checks=checks)


def analyse(
    model: Any, texts: ProbeTexts, options: ProbeOptions, *, name: str, checks: Sequence[str] = ()
) -> FailureAnalysis:
    """Run the checks on a served model. A check that was asked for by name and does not apply is a `ConfigError`."""
    chosen = chosen_checks(checks)
    subject = subject_of(model, texts, options)
    task = "translate" if isinstance(subject, TranslatorSubject) else "generate"
    findings = []
    with activity("probing", len(chosen), "checks") as progress:
        for check in chosen:
            with activity(f"check {check}"):
                findings.append(_finding(check, task, subject, required=bool(checks)))
            progress.advance()
    training = texts.training
    source = subject.source if isinstance(subject, TranslatorSubject) else None
    return FailureAnalysis(
        model=name,
        task=task,
        languages=(source, subject.target),
        engine=_engine(model, options),
        test_set=texts.name,
        sentences=len(texts.references),
        training_text=texts.training_missing
        if training is None
        else _training_name(training.name, len(training.targets), training.complete),
        settings={"most": options.most, "beam": options.beam, "seed": options.seed, "regard": installed_version()},
        findings=tuple(findings),
    )


def subject_of(model: Any, texts: ProbeTexts, options: ProbeOptions) -> Subject:
    """The model as the checks see it."""
    if not any(map(str.strip, texts.references)):
        raise DataError(f"{texts.name}: no sentences to probe with; give a test set that has some")
    if _task_of(model) == "translate":
        if len(texts.sources) != len(texts.references):
            raise DataError(
                f"{len(texts.sources)} sources for {len(texts.references)} references: give one reference for each source"
            )
        return TranslatorSubject(model, texts, options)
    bundle = getattr(model, "bundle", None)
    language = model.languages.target if bundle is None else bundle.config.languages.target
    return WriterSubject(model, texts, options, language)


def _task_of(model: Any) -> str:
    """The task of a served model, by its methods. A captioner has none of them."""
    if hasattr(model, "score") and hasattr(model, "languages") and hasattr(model, "translate"):
        return "translate"
    if hasattr(model, "score") and hasattr(model, "generate"):
        return "generate"
    raise InputTypeError(
        f"cannot probe an object of type {type(model).__name__}: give a translator or a language model, or the path of one"
    )


def _finding(check: str, task: str, subject: Subject, *, required: bool) -> Finding:
    function = CHECKS[check].of(task)
    try:
        if isinstance(function, str):
            raise NotApplicableError(function)
        return function(subject)
    except NotApplicableError as reason:
        if required:
            raise ConfigError(f"--checks {check}: {reason}; leave it out") from None
        return Finding(check, CHECKS[check].title, "left out", str(reason))


def _engine(model: Any, options: ProbeOptions) -> str:
    """The engine that translated, in words."""
    if not hasattr(model, "searches_fast"):
        return "torch"
    return {"ct2": "CTranslate2", "torch": "torch"}[model.engine(beam=options.beam)]


def _training_name(name: str, size: int, complete: bool) -> str:
    return f"{name}, {'' if complete else 'the first '}{size:,} lines"
