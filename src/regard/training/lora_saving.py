"""Checkpoints of runs with LoRA: what they hold, how a run is restored from them, and the mean of several.

The optimiser's file has the trained weights as `weights/NAME`, and with `train.ema` their average as `average/NAME`. The bundle of the
checkpoint has the sum with the base, or with `train.lora.merge = false` the trained weights alone.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from torch import Tensor, nn

from regard.bundle.adapter import Adapter
from regard.bundle.adapter_base import path_from
from regard.bundle.manifest import open_manifest
from regard.bundle.opened import OPTIMISER_FILE, OpenBundle
from regard.bundle.tensors import read_tensors
from regard.bundle.weights import WEIGHTS
from regard.errors import TrainError
from regard.training.average import MovingAverage, mean_of
from regard.training.config import TrainConfig
from regard.training.lora import LowRank

RAW, AVERAGE = "weights/", "average/"


def resumable(low_rank: LowRank, average: MovingAverage | None) -> dict[str, Tensor]:
    """The tensors that a checkpoint needs beside the optimiser's, to go on exactly."""
    raw = {f"{RAW}{name}": value.clone() for name, value in low_rank.state_dict().items()}
    return raw if average is None else raw | {f"{AVERAGE}{name}": value for name, value in average.weights.items()}


def restore_low_rank(
    low_rank: LowRank, average: MovingAverage | None, memory: dict[str, Tensor], path: Path
) -> dict[str, Tensor]:
    """Restore the trained weights, and their average, from the tensors of a checkpoint. Returns those that are left: the optimiser's.

    path: the file of the tensors, for messages.
    """
    raw, averaged = _named(memory, RAW), _named(memory, AVERAGE)
    for prefix, tensors in ((RAW, raw), *([] if average is None else [(AVERAGE, averaged)])):
        shapes = {name: value.shape for name, value in low_rank.state_dict().items()}
        wrong = sorted(
            name
            for name in tensors.keys() | shapes.keys()
            if name not in tensors or tensors[name].shape != shapes.get(name)
        )
        if wrong:
            raise TrainError(
                f"{path}: {prefix}{wrong[0]} does not fit the network; restore it or use another checkpoint"
            )
    low_rank.load_state_dict(raw)
    if average is not None:
        average.restore(averaged)
    return {name: value for name, value in memory.items() if not name.startswith((RAW, AVERAGE))}


def mean_low_rank(checkpoints: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of the trained weights of several checkpoints, or of their averages."""
    several = []
    for directory in checkpoints:
        tensors = read_tensors(open_manifest(directory), OPTIMISER_FILE)
        several.append(_named(tensors, AVERAGE) or _named(tensors, RAW))
    return mean_of(several)


def adapter_of(train: TrainConfig, base: OpenBundle, network: nn.Module, low_rank: LowRank, place: Path) -> Adapter:
    """The record of an adapter bundle. place: the directory that it will have."""
    assert train.lora is not None
    assert train.start is not None
    return Adapter(
        base=train.start,
        from_here=path_from(place, base.directory),
        sha256=base.files.identity,
        weights_sha256=base.files.digests.get(WEIGHTS),
        rank=train.lora.rank,
        alpha=train.lora.alpha,
        modules=train.lora.module_names,
        whole=train.lora.whole_names,
        trained=trained_weights(low_rank),
        of=trained_weights(network),
    )


def trained_weights(module: nn.Module) -> int:
    """The number of weights of a module."""
    return sum(parameter.numel() for parameter in module.parameters())


def _named(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
