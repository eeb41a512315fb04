"""`regard.load` and `regard.Model`: the engine's translator, with the explanations that stand on it (docs/decisions/0011).

It imports torch when something first needs it, and not to translate without it.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regard.engine import model as engine
from regard.engine.load import Engine, load_as

if TYPE_CHECKING:
    import torch

    from regard.bundle.ctranslate2 import Precision
    from regard.engine.labeller import Labeller
    from regard.engine.tagger import Tagger
    from regard.engine.writer import Writer
    from regard.explain.explain import Part
    from regard.explain.explanation import Explanation
    from regard.explain.what_if import Change


class Model(engine.Model):
    """A translator that can be looked into."""

    def explain(
        self,
        text: str,
        *,
        target: str | None = None,
        beam: int = 5,
        alpha: float = 1.0,
        parts: "Collection[Part] | None" = None,
        changes: "Sequence[Change]" = (),
        name: str | None = None,
    ) -> "Explanation":
        """Everything that can be seen of the translation of `text`, or of the `target` that is given; a notebook shows it as a page.

        `parts`: of `explain.PARTS`, all if not given, since some cost much; `changes`: what is tried beside it; `name`: what the model is
        called.
        """
        from regard.explain.explain import PARTS, explain

        chosen = PARTS if parts is None else parts
        return explain(self, text, target=target, beam=beam, alpha=alpha, parts=chosen, changes=changes, name=name)


def load(
    path: str | Path, device: "str | torch.device" = "cpu", engine: Engine = "auto", precision: "Precision" = "float32"
) -> "Model | Writer | Labeller | Tagger":
    """The model of a bundle, or of a run: its best checkpoint, else its latest.

    A `Model` translates, a `Writer` generates, a `Labeller` classifies texts and a `Tagger` their words.
    `engine`: `torch` does everything; `ct2` is CTranslate2, which translates several times faster on a CPU, and what it cannot do is an
    error; `auto` is `ct2` for what it can do and `torch` for the rest. `precision`: of CTranslate2's weights, float32 or int8.
    What generates or classifies runs on torch.
    """
    return load_as(Model, path, device, engine, precision)
