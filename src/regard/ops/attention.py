"""One attention for the whole house: softmax(score(Q, K) + M) V.

`attend` returns the context by the fastest way there is; `attention_weights` returns the weights themselves, for whoever wants to see or
change them. A parity test binds the two. Positions, projections and heads are not known here.

Shapes: T queries, S keys, d key width, v value width; leading dimensions (batch, heads) are carried along.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.ops.masks import causal as causal_mask
from regard.ops.probe import Probe
from regard.ops.scores import Score, dot, scaled_dot


def attend(
    query: Tensor,  # [..., T, d]
    keys: Tensor,  # [..., S, d]
    values: Tensor,  # [..., S, v]
    *,
    score: Score = scaled_dot,
    mask: Tensor | None = None,  # [..., T, S] added to the scores: 0, a bias, or minus infinity
    causal: bool = False,  # query i sees key j <= i; not together with `mask`
) -> Tensor:
    """The weighted sum of the values, [..., T, v]."""
    assert not causal or query.shape[-2] == keys.shape[-2], "causal attention is between a sequence and itself"
    if score is scaled_dot:
        return F.scaled_dot_product_attention(query, keys, values, attn_mask=mask, is_causal=causal)
    if score is dot:
        return F.scaled_dot_product_attention(query, keys, values, attn_mask=mask, is_causal=causal, scale=1.0)
    return attention_weights(query, keys, score=score, mask=mask, causal=causal) @ values


def attention_weights(
    query: Tensor,  # [..., T, d]
    keys: Tensor,  # [..., S, d]
    *,
    score: Score = scaled_dot,
    mask: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """softmax over the keys of score(q, k) + M, [..., T, S]."""
    return torch.softmax(masked(score(query, keys), mask=mask, causal=causal), dim=-1)


def masked(scores: Tensor, *, mask: Tensor | None = None, causal: bool = False) -> Tensor:
    """score(q, k) + M, [..., T, S]: minus infinity where a query must not look."""
    assert mask is None or not causal, "a causal mask and another mask must be added by the caller"
    if mask is not None:
        scores = scores + mask
    if causal:
        allowed = causal_mask(scores.shape[-2], scores.shape[-1], scores.device)
        scores = scores.masked_fill(~allowed, float("-inf"))
    return scores


def probed_attention(
    query: Tensor,  # [..., T, d]
    keys: Tensor,  # [..., S, d]
    values: Tensor,  # [..., S, v]
    probe: Probe,
    *,
    score: Score = scaled_dot,
    mask: Tensor | None = None,
    causal: bool = False,
) -> tuple[Tensor, Tensor]:
    """`attend` step by step, each shown to the probe: the context [..., T, v] and the weights [..., T, S]."""
    query, keys, values = probe.see("query", query), probe.see("keys", keys), probe.see("values", values)
    scores = probe.see("masked", masked(probe.see("scores", score(query, keys)), mask=mask, causal=causal))
    weights = probe.see("weights", torch.softmax(scores, dim=-1))
    return probe.see("context", weights @ values), weights
