"""The labels of a foreign classifier: those of its config, or those that a person named for a new one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.errors import BundleError
from regard.interop.foreign_config import ForeignConfig

if TYPE_CHECKING:
    from torch import Tensor

_SEED = 20170612


def stored_labels(config: ForeignConfig, outputs: int) -> tuple[str, ...]:
    """The names of the outputs of a classifier, in their order."""
    names = config.raw("id2label")
    if names is None:
        return tuple(f"LABEL_{number}" for number in range(outputs))
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise config.refused("id2label", "expected an object of numbers and names; save the model again")
    if names.keys() != {str(number) for number in range(outputs)} or len(set(names.values())) < outputs:
        raise config.refused("id2label", f"expected different names for the outputs 0 to {outputs - 1}")
    return tuple(names[str(number)] for number in range(outputs))


def check_one_label(config: ForeignConfig, outputs: int) -> None:
    """Refuse a head that does not choose one of several labels."""
    config.expect("problem_type", None, None, "single_label_classification")
    if outputs < 2:
        raise BundleError(
            f"{config.path}: {outputs} output: a number is predicted, not a label; only classifiers can be imported"
        )


def new_labels(config: ForeignConfig, labels: Sequence[str], what: str, data: str) -> tuple[str, ...]:
    """The labels of a new head. Without them the error says what the network is good for."""
    if len(set(labels)) < 2:
        given = f"--labels {','.join(labels)} are fewer than two labels" if labels else what
        raise BundleError(
            f"{config.path}: {given}; to start a classifier from it, name its labels (--labels good,bad), "
            f"then train it: regard train --task classify {data} --start OUT"
        )
    return tuple(dict.fromkeys(labels))


def new_head(outputs: int, width: int) -> "Tensor":
    """The weights of labels that were not trained: small, always the same."""
    import torch

    return torch.randn(outputs, width, generator=torch.Generator().manual_seed(_SEED)) * 0.02
