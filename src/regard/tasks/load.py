"""Loads the model of a bundle or run: a translator, a writer, a classifier, a tagger, a captioner, a forecaster or a filler of gaps."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.activity import activity
from regard.bundle.locate import find_bundle
from regard.bundle.opened import OpenBundle
from regard.bundle.precision import PrecisionChoice
from regard.errors import BundleError
from regard.extras import needing
from regard.tasks.bundles import open_to_load
from regard.tasks.checks import Engine, check_path
from regard.tasks.table import TASKS

if TYPE_CHECKING:
    import torch

    from regard.tasks.caption.captioner import Captioner
    from regard.tasks.classify.classifier import Classifier
    from regard.tasks.classify.tagger import Tagger
    from regard.tasks.classify_images.classifier import PictureClassifier
    from regard.tasks.forecast.forecaster import Forecaster
    from regard.tasks.generate.writer import Writer
    from regard.tasks.pretrain.filler import Filler
    from regard.tasks.translate.translator import Translator


def load_served(
    path: "str | Path",
    device: "str | torch.device" = "cpu",
    engine: Engine = "auto",
    precision: PrecisionChoice = "float32",
) -> Any:
    """Load the model of a bundle, or of a run: its best checkpoint, else its latest.

    engine: `torch` supports everything. `ct2` is CTranslate2, which translates several times faster on a CPU and refuses what it does not
    support. `auto` uses CTranslate2 where it can and torch for the rest. precision: of CTranslate2's weights; `auto` is the fastest
    that the processor has and that loses little, as `regard precision` measured it.
    Language models, classifiers of texts and pictures, taggers, captioners and forecasters run on torch.
    """
    check_path(path, "a bundle or of a run")
    return loaded(open_given(path), device, engine, precision)


def loaded(bundle: OpenBundle, device: "str | torch.device", engine: str, precision: str) -> Any:
    """The model of a bundle, ready to serve. Where it needs torch, which is not installed, the error says so."""
    task = bundle.config.task
    with needing(f"{bundle.given or bundle.directory}: a model to {task}"):
        return TASKS[task].load(bundle, device, engine, precision)


def load_translator(
    path: "str | Path",
    device: "str | torch.device" = "cpu",
    engine: Engine = "auto",
    precision: PrecisionChoice = "float32",
) -> "Translator":
    """The translator of a bundle or a run."""
    translator: Translator = _load("translate", path, device, engine, precision)
    return translator


def load_writer(path: "str | Path", device: "str | torch.device" = "cpu") -> "Writer":
    """The language model of a bundle or a run."""
    writer: Writer = _load("generate", path, device)
    return writer


def load_classifier(path: "str | Path", device: "str | torch.device" = "cpu") -> "Classifier | Tagger":
    """The classifier or tagger of a bundle or a run."""
    classifier: Classifier | Tagger = _load("classify", path, device)
    return classifier


def load_picture_classifier(path: "str | Path", device: "str | torch.device" = "cpu") -> "PictureClassifier":
    """The classifier of pictures of a bundle or a run."""
    classifier: PictureClassifier = _load("classify_images", path, device)
    return classifier


def load_captioner(path: "str | Path", device: "str | torch.device" = "cpu") -> "Captioner":
    """The captioner of a bundle or a run."""
    captioner: Captioner = _load("caption", path, device)
    return captioner


def load_forecaster(path: "str | Path", device: "str | torch.device" = "cpu") -> "Forecaster":
    """The forecaster of a bundle or a run."""
    forecaster: Forecaster = _load("forecast", path, device)
    return forecaster


def load_filler(path: "str | Path", device: "str | torch.device" = "cpu") -> "Filler":
    """The pretrained model of a bundle or a run, which fills the gaps of texts."""
    filler: Filler = _load("pretrain", path, device)
    return filler


def open_given(path: "str | Path") -> OpenBundle:
    """The bundle of a path, or of the run there, to load. It keeps the name of that path."""
    return replace(open_to_load(find_bundle(path)), given=Path(path))


def opened_for(task: str, path: "str | Path") -> OpenBundle:
    """The bundle of a path, or of the run there. Refuses a bundle of another task."""
    bundle = open_given(path)
    if bundle.config.task != task:
        raise wrong_task(bundle, task)
    return bundle


def wrong_task(bundle: OpenBundle, task: str) -> BundleError:
    """The error of a bundle of another task than the one that is needed."""
    stated = bundle.config.task
    return BundleError(f"{bundle.directory}: its task is to {stated}, not to {task}; {TASKS[stated].advice}")


def _load(
    task: str,
    path: "str | Path",
    device: "str | torch.device",
    engine: Engine = "auto",
    precision: PrecisionChoice = "float32",
) -> Any:
    with activity("loading the model"):
        return loaded(opened_for(task, path), device, engine, precision)
