"""The contract of networks that copy: what they say is the mixture of what their parts say, and the loss is of this mixture.

Shapes: B sentences, T target, S source, V outputs.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from contracts.cases import PAD, ModelCase, prefixes, sources
from regard.data.batches import Batch
from regard.ops.probe import Probe
from regard.training.loss import batch_loss

TOLERANCE = {"rtol": 1e-5, "atol": 1e-5}


def spelled(model: Any, source: Tensor, target_in: Tensor) -> Tensor:
    """p [B, T, V], place by place: the gate times softmax of the vocabulary, and the rest shared out by the copy head's attention."""
    probe = Probe("decoder.copy.*")
    model(source, target_in, probe)
    hidden, weights = probe["decoder.copy.hidden"], probe["decoder.copy.weights"]
    g = probe["decoder.copy.gate"].sigmoid()
    logits = hidden @ model.output_table()[:PAD].T
    written = (logits if model.output_offsets() is None else logits + model.output_offsets()).softmax(dim=-1)
    p = g * written
    for place, pieces in enumerate(source.T):
        for row, piece in enumerate(pieces):
            if piece == PAD:
                assert not weights[row, :, place].any(), "padding must not be copied"
            else:
                p[row, :, piece] += (1.0 - g[row, :, 0]) * weights[row, :, place]
    return p


def many(seed: int = 2) -> Tensor:
    """Sources in which pieces come again: [B, S]."""
    source = sources(seed=seed)
    source[0, 4] = source[0, 1]
    source[3, :3] = 7
    return source


@torch.no_grad()
def it_says_the_mixture_of_its_parts(case: ModelCase) -> None:
    model, source = case.random().double(), many()
    target_in = prefixes(len(source), 1, 5)[:, 0]
    expected = spelled(model, source, target_in)
    torch.testing.assert_close(expected.sum(dim=-1), torch.ones(expected.shape[:2]).double())
    found = model(source, target_in)
    torch.testing.assert_close(found.exp(), expected)
    torch.testing.assert_close(found.softmax(dim=-1), expected)


@torch.no_grad()
def the_source_is_copied_when_the_gate_shuts(case: ModelCase) -> None:
    model, source = case.random(), many()
    target_in = prefixes(len(source), 1, 4)[:, 0]
    for bias, in_source in ((-60.0, True), (60.0, False)):
        model.copying.gate.weight.zero_()
        model.copying.gate.bias.fill_(bias)
        p = model(source, target_in).exp()
        mine = F.one_hot(source, PAD + 1).amax(dim=1)[:, None, :PAD].bool()
        assert ((p * mine).sum(dim=-1) > 1.0 - 1e-6).all() == in_source
        torch.testing.assert_close(p.sum(dim=-1), torch.ones(p.shape[:2]))


def the_loss_is_of_the_mixture(case: ModelCase) -> None:
    model, source = case.random().double().train(), many()
    target_in = prefixes(len(source), 1, 6)[:, 0]
    target_in[1, 4:] = PAD
    target_out = torch.cat([target_in[:, 1:], torch.zeros(len(source), 1, dtype=torch.long)], dim=1)
    target_out[1, 3:] = PAD
    target_out[0, :2] = source[0, :2]
    real = target_out != PAD
    total, nll = batch_loss(
        model, Batch(source, target_in, target_out, (0, 1, 2, 3), int(real.sum())), 0.1, torch.device("cpu")
    )
    mine = torch.autograd.grad(total, list(model.parameters()))
    logits = model(source, target_in)[real]
    expected = F.cross_entropy(logits, target_out[real], label_smoothing=0.1, reduction="sum")
    torch.testing.assert_close(total, expected)
    torch.testing.assert_close(nll, F.cross_entropy(logits, target_out[real], reduction="sum"))
    for found, other in zip(mine, torch.autograd.grad(expected, list(model.parameters())), strict=True):
        torch.testing.assert_close(found, other)


@torch.no_grad()
def a_row_of_hidden_states_tells_its_distribution(case: ModelCase) -> None:
    """Whatever is selected or reordered before the projection."""
    model, source = case.random(), many()
    target_in = prefixes(len(source), 1, 5)[:, 0]
    hidden, logits = model.hidden(source, target_in), model(source, target_in)
    order = torch.randperm(20, generator=torch.Generator().manual_seed(4))[:13]
    torch.testing.assert_close(model.project(hidden.flatten(0, 1)[order]), logits.flatten(0, 1)[order], **TOLERANCE)
    torch.testing.assert_close(model.project(hidden[1, 2]), logits[1, 2], **TOLERANCE)


CHECKS = (
    it_says_the_mixture_of_its_parts,
    the_source_is_copied_when_the_gate_shuts,
    the_loss_is_of_the_mixture,
    a_row_of_hidden_states_tells_its_distribution,
)
