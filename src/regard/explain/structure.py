"""The structure of a network, shown on one sentence: positions, nearest embeddings, norms of states and gradients, and the receptive
field of the encoder.

Shapes: S source and T target tokens with their end marks, D width, V pieces.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.explain.arrays import NamedArray
from regard.explain.explanation import Neighbours, States, Structure
from regard.ops.probe import Probe
from regard.tasks.translate.translator import Translator
from regard.text.vocabulary import Vocabulary

POSITIONS = 64  # most positions shown
NEAREST = 6
SEED = 1  # of the random direction in `_reach`


def structure(model: Translator, source: Sequence[int], target: Sequence[int]) -> Structure:
    """The structure of the network for one pair. Both sides are ids without end marks."""
    network: Any = model.network
    probe = Probe(
        *("encoder.words", "encoder.embedding", "encoder.*hidden", "decoder.embedding"),
        edits={"*.words": _leaf},
        optional=["decoder.*hidden"],  # a recurrent decoder shows none
    )
    hidden = model.forced([source], [target], probe, gradients=True)
    positions = _positions(network)
    tokenizers = model.tokenizers
    reach = _reach(probe)
    return Structure(
        positions=None if positions is None else NamedArray.of(positions, "position", "unit"),
        gram=None if positions is None else NamedArray.of(positions @ positions.T, "position", "other"),
        source=_neighbours(_table(network, "source"), [*source, Vocabulary.EOS], tokenizers.source.vocabulary),
        target=_neighbours(_table(network, "target"), [*target, Vocabulary.EOS], tokenizers.target.vocabulary),
        encoder=_states(model, probe, "encoder", hidden, target),
        decoder=_states(model, probe, "decoder", hidden, target),
        reach=reach,
        reach_by_distance=_by_distance(reach),
    )


def _leaf(words: Tensor) -> Tensor:
    """Detach the embeddings, so that no gradient reaches a weight."""
    return words.detach().requires_grad_()


def _positions(network: Any) -> Tensor | None:
    """[positions, D]: the position embeddings that are added to word embeddings; None if there are none."""
    added = getattr(getattr(network, "source", None), "positions", None)
    if added is None:
        return None
    with torch.no_grad():
        reach: Tensor = added(0, min(POSITIONS, len(added.table)))
    return reach


def _table(network: Any, side: str) -> Any:
    """The embedding module of a side; None if there is none."""
    return getattr(getattr(network, side, None), "embedding", None)


def _neighbours(embedding: Any, ids: list[int], vocabulary: Vocabulary) -> Neighbours | None:
    """For each token, the pieces whose embeddings have the largest cosine with its own."""
    if embedding is None:
        return None
    with torch.no_grad():
        table = F.normalize(embedding.weight[: vocabulary.pad], dim=1)  # [V, D]
        places = torch.tensor(ids, device=table.device)
        cosines = table[places] @ table.T
        cosines[torch.arange(len(ids)), places] = -2.0  # not itself
        near = cosines.topk(min(NEAREST, table.shape[0] - 1), dim=1)
    return Neighbours(
        tokens=[[vocabulary.piece(token) for token in row] for row in near.indices.tolist()],
        cosines=NamedArray.of(near.values, "token", "rank"),
    )


def _states(model: Translator, probe: Probe, stack: str, hidden: Tensor, target: Sequence[int]) -> States:
    """The norm of every state, and of the gradient of -log p(target) by it."""
    names = [name for name in probe if name.startswith(f"{stack}.") and not name.endswith("words")]
    values = [probe[name] for name in names]
    labels = [_label(name) for name in names]
    if stack == "decoder" and "output" not in labels:
        values, labels = [*values, hidden], [*labels, "output"]
    with torch.enable_grad():
        logits = model.network.project(hidden[0])
        wanted = torch.tensor([*target, model.network.end_token], device=hidden.device)
        total = F.cross_entropy(logits, wanted, reduction="sum")
    # zeros for states that do not affect the loss
    gradients = torch.autograd.grad(total, values, retain_graph=True, materialize_grads=True)
    return States(
        layers=labels,
        norms=NamedArray.of(torch.stack([_norm(value)[0] for value in values]), "layer", "token"),
        gradients=NamedArray.of(torch.stack([_norm(value)[0] for value in gradients]), "layer", "token"),
    )


def _label(name: str) -> str:
    """encoder.0.hidden -> layer 1"""
    place = name.split(".")[1]
    return f"layer {int(place) + 1}" if place.isdigit() else {"hidden": "states", "copy": "output"}.get(place, place)


def _reach(probe: Probe) -> NamedArray:
    """[state, word]: how much each final encoder state depends on each embedding: |J^T v| for a random direction v."""
    words = probe["encoder.words"]
    last = probe[[name for name in probe if name.startswith("encoder.") and name.endswith("hidden")][-1]]
    generator = torch.Generator().manual_seed(SEED)
    direction = torch.randn(last.shape[-1], generator=generator, dtype=torch.float64).to(last)
    rows = [
        torch.autograd.grad((last[0, place] * direction).sum(), words, retain_graph=True)[0][0]
        for place in range(last.shape[1])
    ]
    return NamedArray.of(torch.stack([_norm(row) for row in rows]), "state", "word")


def _by_distance(reach: NamedArray) -> NamedArray:
    """[distance]: the mean reach of all pairs at each distance."""
    size = len(reach.values)
    places = np.arange(size)
    apart = np.abs(places[:, None] - places)
    means = [float(reach.values[apart == distance].mean()) for distance in range(size)]
    return NamedArray(("distance",), np.array(means, dtype=np.float32))


def _norm(values: Tensor) -> Tensor:
    norm: Tensor = torch.linalg.vector_norm(values, dim=-1)
    return norm
