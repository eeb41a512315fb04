"""regard: train a translator from your own data on your own machine, decode it fast, and see where it looks.

import regard
model = regard.load("runs/demo")
[t] = model.translate(["je suis étudiant"], beam=5)
run = regard.train({"data": {"src": "train.en", "tgt": "train.de"}}, out="runs/en-de")
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.api import Explanation, Model, Run, RunConfig, Translation, load, load_ensemble, train

__all__ = ["Explanation", "Model", "Run", "RunConfig", "Translation", "load", "load_ensemble", "train"]


_WITHOUT_TORCH = {
    "load": "regard.translator",
    "Model": "regard.translator",
    "Translation": "regard.engine.translation",
}


def __getattr__(name: str) -> Any:
    """The public names, imported when first asked for: `import regard` must not wait for torch, nor who only translates without it."""
    if name in __all__:
        return getattr(import_module(_WITHOUT_TORCH.get(name, "regard.api")), name)
    raise AttributeError(f"module 'regard' has no attribute {name!r}")


class _Package(ModuleType):
    """Keeps `regard.train` the function: importing the room of that name would bind the room in its place."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name == "train" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
