"""regard: train a translator from your own data on your own machine, decode it fast, and see where it looks.

import regard
model = regard.load("runs/demo")
[t] = model.translate(["je suis étudiant"], beam=5)
run = regard.train({"data": {"src": "train.en", "tgt": "train.de"}}, out="runs/en-de")
"""

TYPE_CHECKING = False  # without `typing`: the import of a package should cost nothing
if TYPE_CHECKING:
    from typing import Any

    from regard.api import export, extend, import_model, improve, load, merge, probe, quantize, train
    from regard.explain.explanation import Explanation
    from regard.explain.failures.findings import FailureAnalysis
    from regard.search.options import SearchOptions
    from regard.tasks.classify.classifier import Classifier
    from regard.tasks.classify.tagger import Tagger
    from regard.tasks.forecast.forecaster import Forecaster
    from regard.tasks.generate.writer import Writer
    from regard.tasks.run import Run
    from regard.tasks.translate.ensemble import load_ensemble
    from regard.tasks.translate.translation import Translation
    from regard.tasks.translate.translator import Translator
    from regard.training.config import RunSettings

    __version__: str

__all__ = [
    "Classifier",
    "Explanation",
    "FailureAnalysis",
    "Forecaster",
    "Run",
    "RunSettings",
    "SearchOptions",
    "Tagger",
    "Translation",
    "Translator",
    "Writer",
    "__version__",
    "export",
    "extend",
    "import_model",
    "improve",
    "load",
    "load_ensemble",
    "merge",
    "probe",
    "quantize",
    "train",
]

_HOMES = {
    "Classifier": "regard.tasks.classify.classifier",
    "Explanation": "regard.explain.explanation",
    "FailureAnalysis": "regard.explain.failures.findings",
    "Forecaster": "regard.tasks.forecast.forecaster",
    "Run": "regard.tasks.run",
    "RunSettings": "regard.training.config",
    "SearchOptions": "regard.search.options",
    "Tagger": "regard.tasks.classify.tagger",
    "Translation": "regard.tasks.translate.translation",
    "Translator": "regard.tasks.translate.translator",
    "Writer": "regard.tasks.generate.writer",
    "export": "regard.api",
    "extend": "regard.api",
    "import_model": "regard.api",
    "improve": "regard.api",
    "load": "regard.api",
    "load_ensemble": "regard.tasks.translate.ensemble",
    "merge": "regard.api",
    "probe": "regard.api",
    "quantize": "regard.api",
    "train": "regard.api",
}


def __getattr__(name: str) -> "Any":
    """A public name, imported when it is first used: `import regard` must not wait for torch."""
    from importlib import import_module

    if name == "__version__":
        return import_module("importlib.metadata").version("regard")
    if name in _HOMES:
        from regard.extras import needing

        with needing(f"regard.{name}"):
            return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'regard' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, which are imported when they are first used."""
    return sorted(__all__)
