"""Evidence for links between target and source tokens, for every layer and head of a network.

Shapes: B sentences, L layers that attend, H heads, T target and S source tokens with their end marks, d head width, D width.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.activity import activity
from regard.bundle.config import AlignmentMethod
from regard.engine.batching import length_batches
from regard.engine.runner import Ids, Runner
from regard.errors import SearchError
from regard.ops.probe import Edit, Probe
from regard.tasks.translate.pairs import Pairs

ZEROED_TOGETHER = 4096  # source tokens in one pass of value zeroing


def evidence_of_all(runner: Runner, method: AlignmentMethod, pairs: Pairs, batch_tokens: int) -> list[Tensor]:
    """`evidence` of all pairs, in batches."""
    results: dict[int, Tensor] = {}
    with activity("aligning", len(pairs.sources), "pairs") as progress:
        for batch in length_batches(pairs.widths, batch_tokens):
            results.update(zip(batch, evidence(runner, method, *pairs.rows(batch)), strict=True))
            progress.advance(len(batch))
    return [results[number] for number in range(len(pairs.sources))]


def evidence(runner: Runner, method: AlignmentMethod, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[Tensor]:
    """[L, H, T, S] of each pair. Row t is from the step that predicts token t; the last row and column are the end marks.

    attention: the weights (Bahdanau et al. 2015). norm: weight times |v W_O|, a token's contribution to the output (Kobayashi et al. 2020).
    zeroing: 1 - cos of the output with and without the token's value, for each layer with all its heads (Mohebbi et al. 2023).
    copy: the weights with which a network that copies points to pieces of the source (See et al. 2017).
    """
    copied = method == "copy"  # by one layer with one head
    stack = _pointing(runner, sources, targets) if copied else _attention(runner, method == "norm", sources, targets)
    pairs = [  # of [B, L, H, T, S]
        stack[row, :, :, : len(target) + 1, : len(source) + 1].cpu()
        for row, (source, target) in enumerate(zip(sources, targets, strict=True))
    ]
    if method != "zeroing":
        return pairs
    layers = stack.shape[1]
    return [_zeroing(runner, layers, source, target) for source, target in zip(sources, targets, strict=True)]


def _attention(runner: Runner, with_norms: bool, sources: Sequence[Ids], targets: Sequence[Ids]) -> Tensor:
    norms_of_values = ["decoder.*.cross.*value_norms"] if with_norms else []
    probe = Probe(optional=["decoder.*.cross.weights", *norms_of_values])
    runner.forced(sources, targets, probe)
    if not len(probe):
        raise SearchError("this model has no attention from target to source, so it cannot align words")
    layers: list[Tensor] = []
    while (name := f"decoder.{len(layers)}.cross") + ".weights" in probe:
        weights = probe[f"{name}.weights"]  # [B, H, T, S]
        if with_norms:
            # the same at every step of a recurrent decoder, so the first is enough
            norms = next(seen for seen in probe if seen.startswith(f"{name}.") and seen.endswith("value_norms"))
            weights = weights * probe[norms][:, :, None, :]
        layers.append(weights)
    return torch.stack(layers, dim=1)


def _pointing(runner: Runner, sources: Sequence[Ids], targets: Sequence[Ids]) -> Tensor:
    probe = Probe(optional=["decoder.copy.weights"])
    runner.forced(sources, targets, probe)
    if not len(probe):
        raise SearchError("method 'copy': this model does not copy (model.copy = false); choose another method")
    return probe["decoder.copy.weights"][:, None, None]


def _zeroing(runner: Runner, layers: int, source: Ids, target: Ids) -> Tensor:
    """[L, 1, T, S]"""
    plain = runner.states([source], [target])  # [1, T, D]
    tokens = len(source) + 1
    rows = max(1, ZEROED_TOGETHER // max(tokens, len(target) + 1))
    changes = []
    for layer in range(layers):
        parts = []
        for first in range(0, tokens, rows):
            zeroed = range(first, min(tokens, first + rows))
            probe = Probe(edits={f"decoder.{layer}.cross.*values": _without_values(zeroed)})
            hidden = runner.states([source] * len(zeroed), [target] * len(zeroed), probe)
            parts.append(1.0 - F.cosine_similarity(hidden, plain, dim=-1))  # [rows, T]
        changes.append(torch.cat(parts).T.clamp(min=0.0))
    return torch.stack(changes)[:, None].cpu()


def _without_values(tokens: range) -> Edit:
    """An edit that zeroes, in row b of a batch, the value of the b-th of these tokens."""

    def edit(values: Tensor) -> Tensor:  # [B, H, S, d]
        kept = torch.ones(len(tokens), values.shape[2], dtype=values.dtype, device=values.device)
        kept[torch.arange(len(tokens)), torch.tensor(tokens)] = 0.0
        return values * kept[:, None, :, None]

    return edit
