"""`Explainable`: the part that language models, classifiers and pretrained models share, so that one text can be explained.

The explainer is handed in by `regard.load`, because this room knows nothing of `explain/`.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

from regard.engine.resident import Evaluable, Resident
from regard.errors import RegardError

NetworkT = TypeVar("NetworkT", bound=Evaluable)


class Explainable(Generic[NetworkT]):
    """A served model whose view of a text can be explained."""

    explainer: Callable[..., Any] | None = None
    """The function that explains a text; `regard.load` sets it."""
    _resident: Resident[NetworkT]

    def explain(self, text: str, *, name: str | None = None) -> Any:
        """The explanation of `text`: attention weights, gates, filters and receptive fields. A notebook shows it as a page.

        name: the model's name on the page.
        """
        if self.explainer is None:
            raise RegardError("this model was made without an explainer; load it with regard.load")
        return self.explainer(self, text, name=name)

    def evaluating(self, *, gradients: bool = False) -> AbstractContextManager[NetworkT]:
        """The network, locked for this thread in evaluation mode; by default without gradients."""
        return self._resident.evaluating(gradients=gradients)
