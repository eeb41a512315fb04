"""The labels of a foreign classifier: those of its config, or those that a person named for a new one."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard.errors import BundleError
from regard.interop.foreign_config import ForeignConfig

if TYPE_CHECKING:
    from torch import Tensor

Key = Callable[[str], Any]
_SEED = 20170612


@dataclass(frozen=True)
class Labels:
    """The labels of a classifier in the order that regard gives those of data: sorted. Fine-tuning compares the two."""

    names: tuple[str, ...]
    order: tuple[int, ...]
    """The output of the foreign head for each label."""


def sorted_labels(names: Sequence[str], key: Key = str) -> Labels:
    """The labels of the outputs of a head, sorted by a key."""
    order = sorted(range(len(names)), key=lambda place: key(names[place]))
    return Labels(tuple(names[place] for place in order), tuple(order))


def stored_labels(config: ForeignConfig, outputs: int, key: Key = str) -> Labels:
    """The labels of the outputs of a classifier."""
    names = config.raw("id2label")
    if names is None:
        return sorted_labels([f"LABEL_{number}" for number in range(outputs)], key)
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise config.refused("id2label", "expected an object of numbers and names; save the model again")
    if names.keys() != {str(number) for number in range(outputs)}:
        raise config.refused("id2label", f"expected names for the outputs 0 to {outputs - 1}")
    own = [names[str(number)] for number in range(outputs)]
    twice = {name for name, count in Counter(own).items() if count > 1}  # ImageNet has two cranes
    return sorted_labels([f"{name} ({number})" if name in twice else name for number, name in enumerate(own)], key)


def check_one_label(config: ForeignConfig, outputs: int) -> None:
    """Refuse a head that does not choose one of several labels."""
    config.expect("problem_type", None, None, "single_label_classification")
    if outputs < 2:
        raise BundleError(
            f"{config.path}: {outputs} output: a number is predicted, not a label; only classifiers can be imported"
        )


def new_labels(config: ForeignConfig, labels: Sequence[str], what: str, data: str, key: Key = str) -> Labels:
    """The labels of a new head. Without them the error says what the network is good for."""
    if len(set(labels)) < 2:
        given = f"--labels {','.join(labels)} are fewer than two labels" if labels else what
        raise BundleError(
            f"{config.path}: {given}; to start a classifier from it, name its labels (--labels good,bad), "
            f"then train it: regard train --task classify {data} --start OUT"
        )
    return sorted_labels([*dict.fromkeys(labels)], key)


def new_head(outputs: int, width: int) -> "Tensor":
    """The weights of labels that were not trained: small, always the same."""
    import torch

    return torch.randn(outputs, width, generator=torch.Generator().manual_seed(_SEED)) * 0.02
