"""Attribution of each target token to each source word, by occlusion and by integrated gradients.

Both methods explain the log-probability of a token. Their baseline replaces words by `<unk>` and keeps the end mark (as Sarti et al.
2023, Inseq). A zero embedding is no useful baseline: after a norm, the whole path from zero happens in its first step.

Shapes: W source words, S source tokens with the end mark, T target tokens with the end mark, D width, N points of the path.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from regard.activity import activity
from regard.explain.arrays import NamedArray
from regard.explain.capture import token_logprobs
from regard.explain.explanation import Agreement, Attribution, Side
from regard.metrics.correlation import kendall, spearman
from regard.ops.probe import Probe
from regard.tasks.translate.translator import Translator
from regard.text.vocabulary import Vocabulary

POINTS = (32, 64, 128, 256)  # of the integration path: the first that leaves a small enough gap
GAP = 0.02  # the largest accepted gap, as a fraction of the largest change of log p
MOST_GRADIENTS = 200_000  # points x tokens x target tokens: keeps long sentences below minutes
BATCH_TOKENS = 4096  # rows x tokens of one forward pass


def attribute(
    model: Translator,
    source_ids: list[int],
    target_ids: list[int],
    source: Side,
    target: Side,
    attention: Sequence[Sequence[float]] | None,
) -> Attribution:
    """Occlusion and integrated gradients, and their rank agreement with `attention` [target words][source words]."""
    word_tokens = [
        [token for token, word in enumerate(source.word_of) if word == number] for number in range(len(source.words))
    ]
    with activity("occlusion"):
        occluded = occlusion(model, source_ids, target_ids, word_tokens)
    gradients, gap = complete_gradients(model, source_ids, target_ids)
    by_word = torch.stack([gradients[:, tokens].sum(dim=1) for tokens in word_tokens], dim=1)
    return Attribution(
        occlusion=NamedArray.of(occluded, "target", "source_word"),
        gradients=NamedArray.of(by_word, "target", "source_word"),
        gap=NamedArray.of(gap, "target"),
        agreement=_agreements(target, attention, {"occlusion": occluded, "integrated gradients": by_word}),
    )


def occlusion(model: Translator, source: list[int], target: list[int], words: Sequence[Sequence[int]]) -> Tensor:
    """[T, W]: how much log p of each token falls without each word (Zeiler and Fergus 2014). `words`: the token positions of each word."""
    unoccluded = token_logprobs(model, [source], target)[0]
    occluded = [
        [Vocabulary.UNK if place in tokens else token for place, token in enumerate(source)] for tokens in words
    ]
    rows = _batch_rows(source, target)
    falls = [
        unoccluded - token_logprobs(model, occluded[first : first + rows], target)
        for first in range(0, len(occluded), rows)
    ]
    return torch.cat(falls).T


def complete_gradients(model: Translator, source: list[int], target: list[int]) -> tuple[Tensor, Tensor]:
    """`integrated_gradients` [T, S] and their gap [T]. Uses the fewest points that leave a small gap, within a budget."""
    actual, baseline = (token_logprobs(model, [ids], target)[0] for ids in (source, _baseline(source)))
    cost = (len(target) + 1) * (max(len(source), len(target)) + 1)
    affordable = [points for points in POINTS if points * cost <= MOST_GRADIENTS]
    for points in affordable or POINTS[:1]:
        with activity(f"integrated gradients, {points} points"):
            gradients = integrated_gradients(model, source, target, points)
        gap = (actual - baseline) - gradients.sum(dim=1)
        if float(gap.abs().max()) <= GAP * float((actual - baseline).abs().max()):
            break
    return gradients, gap


def integrated_gradients(model: Translator, source: list[int], target: list[int], points: int) -> Tensor:
    """[T, S]: gradients of log p of each token by each source embedding, integrated from `<unk>` (Sundararajan et al. 2017).

    The sum over the source is log p(y|x) - log p(y|unknown words), up to the error of the integral: the gap.
    """
    nodes, shares = np.polynomial.legendre.leggauss(points)  # accurate with few points if the path is smooth
    places, weights = torch.from_numpy((nodes + 1.0) / 2.0), torch.from_numpy(shares / 2.0)
    first, last = (_word_embeddings(model, ids) for ids in (_baseline(source), source))  # [S, D]
    rows = _batch_rows(source, target)
    total = torch.zeros(len(target) + 1, len(first), dtype=torch.float64)
    for start in range(0, points, rows):
        batch, share = places[start : start + rows], weights[start : start + rows]
        path = (first + batch.to(first)[:, None, None] * (last - first)).requires_grad_()  # [N, S, D]
        probe = Probe(edits={"encoder.words": partial(_replace_by, path)})
        logprobs = token_logprobs(model, [source] * len(batch), target, probe, gradients=True)  # [N, T]
        for token in range(logprobs.shape[1]):
            [gradient] = torch.autograd.grad(logprobs[:, token].sum(), path, retain_graph=token + 1 < logprobs.shape[1])
            products = (gradient * (last - first)).sum(dim=-1).double().cpu()  # [N, S]
            total[token] += (share[:, None] * products).sum(dim=0)
    return total


def _baseline(source: Sequence[int]) -> list[int]:
    """The sentence with every token replaced by `<unk>`."""
    return [Vocabulary.UNK] * len(source)


def _word_embeddings(model: Translator, source: list[int]) -> Tensor:
    """[S, D]: the embeddings of a sentence and its end mark."""
    probe = Probe("encoder.words")
    model.forced([source], [[]], probe)
    return probe["encoder.words"][0]


def _replace_by(words: Tensor, _: Tensor) -> Tensor:
    return words


def _batch_rows(source: Sequence[int], target: Sequence[int]) -> int:
    """The number of pairs in a batch."""
    return max(1, BATCH_TOKENS // (max(len(source), len(target)) + 1))


def _agreements(
    target: Side, attention: Sequence[Sequence[float]] | None, methods: dict[str, Tensor]
) -> list[Agreement]:
    """The agreement of each pair among attention and the methods: rank correlations over source words, averaged over target words."""
    rows: dict[str, list[list[float]]] = {} if attention is None else {"attention": [list(row) for row in attention]}
    for name, values in methods.items():
        rows[name] = [
            values[[token for token, word in enumerate(target.word_of) if word == number]].sum(dim=0).abs().tolist()
            for number in range(len(target.words))
        ]
    names = list(rows)
    return [
        Agreement(first, second, _mean(kendall, rows[first], rows[second]), _mean(spearman, rows[first], rows[second]))
        for number, first in enumerate(names)
        for second in names[number + 1 :]
    ]


def _mean(
    correlation: Callable[[Sequence[float], Sequence[float]], float | None],
    first_rows: Sequence[Sequence[float]],
    second_rows: Sequence[Sequence[float]],
) -> float | None:
    """The mean correlation of the rows that have one."""
    correlations = [correlation(first, second) for first, second in zip(first_rows, second_rows, strict=True)]
    defined = [value for value in correlations if value is not None]
    return sum(defined) / len(defined) if defined else None
