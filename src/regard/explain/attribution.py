"""How much each source word bears on each target token, by two methods that look at what the model does and not at where it looks.

Both ask for the log-probability of a token, and both compare with the same absence: a word whose embedding is zero, at its place.

Shapes: W source words, S source tokens, T target tokens with the end mark, D width, N points of the path.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from regard.engine.model import Model
from regard.explain.arrays import NamedArray
from regard.explain.explanation import Agreement, Attribution, Side
from regard.metrics.correlation import kendall, spearman
from regard.ops.probe import Probe

POINTS = 32  # of the path of integrated gradients
TOKENS_TOGETHER = 4096  # of one pass: rows times tokens


def attribute(
    model: Model,
    source_ids: list[int],
    target_ids: list[int],
    source: Side,
    target: Side,
    attention: Sequence[Sequence[float]] | None,
    *,
    points: int = POINTS,
) -> Attribution:
    """Occlusion and integrated gradients; `attention` [target words][source words] is what they are compared with."""
    words = [
        [token for token, word in enumerate(source.word_of) if word == number] for number in range(len(source.words))
    ]
    occluded = occlusion(model, source_ids, target_ids, words)
    gradients, gap = integrated_gradients(model, source_ids, target_ids, points)
    by_word = torch.stack([gradients[:, tokens].sum(dim=1) for tokens in words], dim=1)
    return Attribution(
        occlusion=NamedArray.of(occluded, "target", "source_word"),
        gradients=NamedArray.of(by_word, "target", "source_word"),
        end_mark=NamedArray.of(gradients[:, -1], "target"),
        gap=NamedArray.of(gap, "target"),
        agreement=_agreements(target, attention, {"occlusion": occluded, "integrated gradients": by_word}),
    )


def occlusion(model: Model, source: list[int], target: list[int], words: Sequence[Sequence[int]]) -> Tensor:
    """[T, W]: by how much log p of each token falls without each word (Zeiler and Fergus 2014); `words`: the tokens of each."""
    whole = _logprobs(model, [source], [target], None)[0]
    rows = max(1, TOKENS_TOGETHER // (max(len(source), len(target)) + 1))
    falls = []
    for first in range(0, len(words), rows):
        some = words[first : first + rows]

        def without(embeddings: Tensor, some: Sequence[Sequence[int]] = some) -> Tensor:  # [B, S, D]
            kept = torch.ones_like(embeddings[..., :1])
            for row, tokens in enumerate(some):
                kept[row, list(tokens)] = 0.0
            return embeddings * kept

        found = _logprobs(model, [source] * len(some), [target] * len(some), Probe(edits={"encoder.words": without}))
        falls.append(whole - found)
    return torch.cat(falls).T


def integrated_gradients(model: Model, source: list[int], target: list[int], points: int) -> tuple[Tensor, Tensor]:
    """[T, S]: the gradient of log p of each token by each embedding, integrated from nothing to the embedding (Sundararajan et al. 2017).

    And [T]: what the sum over the source lacks of log p(y|x) - log p(y|nothing), which it must equal: the error of the integral.
    """
    nodes, shares = np.polynomial.legendre.leggauss(points)  # near to exact for smooth paths with few points
    places, weights = torch.from_numpy((nodes + 1.0) / 2.0), torch.from_numpy(shares / 2.0)
    rows = max(1, TOKENS_TOGETHER // (max(len(source), len(target)) + 1))
    total = torch.zeros(len(target) + 1, len(source) + 1, dtype=torch.float64)
    for first in range(0, points, rows):
        some = places[first : first + rows]
        leaves: list[Tensor] = []

        def along(embeddings: Tensor, some: Tensor = some, leaves: list[Tensor] = leaves) -> Tensor:  # [N, S, D]
            inner = (embeddings.detach() * some.to(embeddings)[:, None, None]).requires_grad_()
            leaves.append(inner)
            return inner

        pair = [source] * len(some), [target] * len(some)
        probe = Probe("encoder.words", edits={"encoder.words": along})
        found = _logprobs(model, *pair, probe, gradients=True)  # [N, T]
        for token in range(len(target) + 1):
            more = token < len(target)
            [gradient] = torch.autograd.grad(found[:, token].sum(), leaves, retain_graph=more)
            whole = leaves[0].detach() / some.to(leaves[0])[:, None, None]
            products = (gradient * whole).sum(dim=-1).double().cpu()  # [N, S]
            total[token] += (weights[first : first + rows, None] * products).sum(dim=0)
    ends = [
        _logprobs(model, [source], [target], Probe(edits={"encoder.words": by}))[0] for by in (_same, torch.zeros_like)
    ]
    return total, (ends[0] - ends[1]) - total.sum(dim=1)


def _same(embeddings: Tensor) -> Tensor:
    return embeddings


def _logprobs(
    model: Model,
    sources: Sequence[list[int]],
    targets: Sequence[list[int]],
    probe: Probe | None,
    *,
    gradients: bool = False,
) -> Tensor:
    """[B, T]: log p of each token of the targets, the end mark last, in double precision."""
    hidden = model.forced(sources, targets, probe, gradients=gradients)
    wanted = torch.tensor([[*target, model.network.end_token] for target in targets], device=hidden.device)
    with torch.set_grad_enabled(gradients):
        logits = model.network.project(hidden)
        said = logits.gather(2, wanted[:, :, None]).squeeze(2)
        return (said - logits.logsumexp(dim=2)).double().cpu()


def _agreements(
    target: Side, attention: Sequence[Sequence[float]] | None, methods: dict[str, Tensor]
) -> list[Agreement]:
    """Of every two of attention and the methods: the mean over target words of the rank correlations over source words."""
    rows: dict[str, list[list[float]]] = {} if attention is None else {"attention": [list(row) for row in attention]}
    for name, values in methods.items():
        rows[name] = [
            values[[token for token, word in enumerate(target.word_of) if word == number]].sum(dim=0).abs().tolist()
            for number in range(len(target.words))
        ]
    names = list(rows)
    return [
        Agreement(one, other, _mean(kendall, rows[one], rows[other]), _mean(spearman, rows[one], rows[other]))
        for number, one in enumerate(names)
        for other in names[number + 1 :]
    ]


def _mean(
    correlation: Callable[[Sequence[float], Sequence[float]], float | None],
    ones: Sequence[Sequence[float]],
    others: Sequence[Sequence[float]],
) -> float | None:
    found = [correlation(one, other) for one, other in zip(ones, others, strict=True)]
    known = [value for value in found if value is not None]
    return sum(known) / len(known) if known else None
