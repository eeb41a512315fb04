"""How much each source word bears on each target token, by two methods that look at what the model does and not at where it looks.

Both ask for the log-probability of a token, and both compare with the same absence: `<unk>` in the place of a word, the end mark as it is
(as Sarti et al. 2023, Inseq). Not an embedding of zero: a norm that follows makes all of a path from there happen in its first step.

Shapes: W source words, S source tokens with the end mark, T target tokens with the end mark, D width, N points of the path.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from regard.engine.model import Model
from regard.explain.arrays import NamedArray
from regard.explain.capture import token_logprobs
from regard.explain.explanation import Agreement, Attribution, Side
from regard.metrics.correlation import kendall, spearman
from regard.ops.probe import Probe
from regard.text.vocabulary import Vocabulary

POINTS = (32, 64, 128, 256)  # of the path of integrated gradients: more, as long as the gap is too large
GAP = 0.02  # that is small enough: of the largest change of log p
MOST_GRADIENTS = 200_000  # points by tokens by target tokens: a long sentence is not to take minutes
TOKENS_TOGETHER = 4096  # of one pass: rows times tokens


def attribute(
    model: Model,
    source_ids: list[int],
    target_ids: list[int],
    source: Side,
    target: Side,
    attention: Sequence[Sequence[float]] | None,
) -> Attribution:
    """Occlusion and integrated gradients; `attention` [target words][source words] is what they are compared with."""
    words = [
        [token for token, word in enumerate(source.word_of) if word == number] for number in range(len(source.words))
    ]
    occluded = occlusion(model, source_ids, target_ids, words)
    gradients, gap = complete_gradients(model, source_ids, target_ids)
    by_word = torch.stack([gradients[:, tokens].sum(dim=1) for tokens in words], dim=1)
    return Attribution(
        occlusion=NamedArray.of(occluded, "target", "source_word"),
        gradients=NamedArray.of(by_word, "target", "source_word"),
        gap=NamedArray.of(gap, "target"),
        agreement=_agreements(target, attention, {"occlusion": occluded, "integrated gradients": by_word}),
    )


def occlusion(model: Model, source: list[int], target: list[int], words: Sequence[Sequence[int]]) -> Tensor:
    """[T, W]: by how much log p of each token falls without each word (Zeiler and Fergus 2014); `words`: the tokens of each."""
    whole = token_logprobs(model, [source], target)[0]
    without = [[Vocabulary.UNK if place in tokens else token for place, token in enumerate(source)] for tokens in words]
    rows = _rows(source, target)
    falls = [
        whole - token_logprobs(model, without[first : first + rows], target) for first in range(0, len(without), rows)
    ]
    return torch.cat(falls).T


def complete_gradients(model: Model, source: list[int], target: list[int]) -> tuple[Tensor, Tensor]:
    """`integrated_gradients` [T, S] with as few points as leave a small gap, or with the most that are affordable; and the gap [T]."""
    known, unknown = (token_logprobs(model, [ids], target)[0] for ids in (source, _unknown(source)))
    each = (len(target) + 1) * (max(len(source), len(target)) + 1)
    affordable = [points for points in POINTS if points * each <= MOST_GRADIENTS]
    for points in affordable or POINTS[:1]:
        found = integrated_gradients(model, source, target, points)
        gap = (known - unknown) - found.sum(dim=1)
        if float(gap.abs().max()) <= GAP * float((known - unknown).abs().max()):
            break
    return found, gap


def integrated_gradients(model: Model, source: list[int], target: list[int], points: int) -> Tensor:
    """[T, S]: the gradient of log p of each token by each embedding, integrated from that of `<unk>` to it (Sundararajan et al. 2017).

    Over the source it sums to log p(y|x) - log p(y|unknown words), but for the error of the integral: the gap.
    """
    nodes, shares = np.polynomial.legendre.leggauss(points)  # near to exact for smooth paths with few points
    places, weights = torch.from_numpy((nodes + 1.0) / 2.0), torch.from_numpy(shares / 2.0)
    first, last = (_words(model, ids) for ids in (_unknown(source), source))  # [S, D]
    rows = _rows(source, target)
    total = torch.zeros(len(target) + 1, len(first), dtype=torch.float64)
    for start in range(0, points, rows):
        some, share = places[start : start + rows], weights[start : start + rows]
        path = (first + some.to(first)[:, None, None] * (last - first)).requires_grad_()  # [N, S, D]
        probe = Probe(edits={"encoder.words": partial(_instead, path)})
        found = token_logprobs(model, [source] * len(some), target, probe, gradients=True)  # [N, T]
        for token in range(found.shape[1]):
            [gradient] = torch.autograd.grad(found[:, token].sum(), path, retain_graph=token + 1 < found.shape[1])
            products = (gradient * (last - first)).sum(dim=-1).double().cpu()  # [N, S]
            total[token] += (share[:, None] * products).sum(dim=0)
    return total


def _unknown(source: Sequence[int]) -> list[int]:
    """The same sentence, every word of which is unknown."""
    return [Vocabulary.UNK] * len(source)


def _words(model: Model, source: list[int]) -> Tensor:
    """[S, D]: the embeddings of a sentence and its end mark."""
    probe = Probe("encoder.words")
    model.forced([source], [[]], probe)
    return probe["encoder.words"][0]


def _instead(words: Tensor, _: Tensor) -> Tensor:
    return words


def _rows(source: Sequence[int], target: Sequence[int]) -> int:
    """How many pairs are read together."""
    return max(1, TOKENS_TOGETHER // (max(len(source), len(target)) + 1))


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
