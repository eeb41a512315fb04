"""One attention for all networks: softmax(score(Q, K) + M) V.

`attend` returns only the context and is the fastest. `attention_weights` returns the weights, to inspect or change them. A parity test
compares the two. Positions, projections and heads are in `layers.attention`.

Shapes: T queries, S keys, q and k their widths, v value width; leading dimensions (batch, heads) are carried along. Of attention to
two parts: B sentences, k hypotheses each, R = B k rows, H heads, N keys of a row itself.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.ops.masks import causal as causal_mask
from regard.ops.probe import Probe
from regard.ops.scores import ScoreFunction, dot, scaled_dot

REGISTER = 16  # numbers: AVX512
STEP_QUERIES = 16  # hypotheses of a sentence; with more, torch's fused attention is as fast


def attend(
    query: Float[Tensor, "*#lead T q"],
    keys: Float[Tensor, "*#lead S k"],
    values: Float[Tensor, "*#lead S v"],
    *,
    score: ScoreFunction = scaled_dot,
    mask: Float[Tensor, "*#lead #T S"] | None = None,  # added to the scores: 0, a bias, or minus infinity
    causal: bool = False,  # query i sees key j <= i; not together with `mask`
) -> Float[Tensor, "*#lead T v"]:
    """The weighted sum of the values."""
    assert not causal or query.shape[-2] == keys.shape[-2], "causal attention is between a sequence and itself"
    if _casts_for_gradients(query):  # the mask stays as wide as it is
        wide = attend(query.float(), keys.float(), values.float(), score=score, mask=mask, causal=causal)
        return wide.to(query.dtype)
    if mask is not None:
        mask = mask.to(query.dtype)  # no change but in mixed precision, where a bias is wider
    if score is scaled_dot and mask is not None and _is_a_step(query):
        scores = torch.matmul(query * query.shape[-1] ** -0.5, keys.transpose(-2, -1))
        return softmax_of_steps(scores.add_(mask)) @ values
    if score is scaled_dot:
        return F.scaled_dot_product_attention(query, keys, values, attn_mask=mask, is_causal=causal)
    if score is dot:
        return F.scaled_dot_product_attention(query, keys, values, attn_mask=mask, is_causal=causal, scale=1.0)
    weights = attention_weights(query, keys, score=score, mask=mask, causal=causal)
    return weights.to(values.dtype) @ values


def _casts_for_gradients(query: Float[Tensor, "*lead T q"]) -> bool:
    """Whether attention in bfloat16 is computed in float32: torch's backward pass in bfloat16 takes ten times as long on a CPU."""
    return query.dtype == torch.bfloat16 and query.device.type == "cpu" and query.requires_grad


def _is_a_step(query: Float[Tensor, "*lead T q"]) -> bool:
    """Whether these are the few queries of a decoding step on a CPU: written out, attention with a mask is twice as fast there."""
    return 1 < query.shape[-2] <= STEP_QUERIES and query.device.type == "cpu" and not query.requires_grad


def softmax_of_steps(scores: Float[Tensor, "*lead T S"]) -> Float[Tensor, "*lead T S"]:
    """softmax over the keys. torch's kernel takes ten times as long if a row has fewer numbers than a register of the processor."""
    missing = REGISTER - scores.shape[-1]
    if missing <= 0:
        return torch.softmax(scores, dim=-1)
    return torch.softmax(F.pad(scores, (0, missing), value=-torch.inf), dim=-1)[..., :-missing]


def attention_weights(
    query: Float[Tensor, "*#lead T q"],
    keys: Float[Tensor, "*#lead S k"],
    *,
    score: ScoreFunction = scaled_dot,
    mask: Float[Tensor, "*#lead #T S"] | None = None,
    causal: bool = False,
) -> Float[Tensor, "*#lead T S"]:
    """softmax over the keys of score(q, k) + M."""
    return _softmax(masked(score(query, keys), mask=mask, causal=causal))


def _softmax(scores: Float[Tensor, "*lead T S"]) -> Float[Tensor, "*lead T S"]:
    """softmax over the keys, of bfloat16 scores in float32."""
    return torch.softmax(scores, dim=-1, dtype=torch.float32 if scores.dtype == torch.bfloat16 else None)


def masked(
    scores: Float[Tensor, "*#lead T S"], *, mask: Float[Tensor, "*#lead #T S"] | None = None, causal: bool = False
) -> Float[Tensor, "*#lead T S"]:
    """score(q, k) + M: minus infinity where a query must not look."""
    assert mask is None or not causal, "a causal mask and another mask must be added by the caller"
    if mask is not None:
        scores = scores + mask
    if causal:
        allowed = causal_mask(scores.shape[-2], scores.shape[-1], scores.device)
        scores = scores.masked_fill(~allowed, float("-inf"))
    return scores


def probed_attention(
    query: Float[Tensor, "*#lead T q"],
    keys: Float[Tensor, "*#lead S k"],
    values: Float[Tensor, "*#lead S v"],
    probe: Probe,
    *,
    score: ScoreFunction = scaled_dot,
    mask: Float[Tensor, "*#lead #T S"] | None = None,
    causal: bool = False,
) -> tuple[Float[Tensor, "*#lead T v"], Float[Tensor, "*#lead T S"]]:
    """`attend` with every intermediate value shown to the probe. Returns the context and the weights."""
    query, keys, values = probe.see("query", query), probe.see("keys", keys), probe.see("values", values)
    scores = probe.see("masked", masked(probe.see("scores", score(query, keys)), mask=mask, causal=causal))
    weights = probe.see("weights", _softmax(scores))
    return probe.see("context", weights.to(values.dtype) @ values), weights


def attend_to_both(
    query: Float[Tensor, "R H T q"],
    source: tuple[Float[Tensor, "B H S k"], Float[Tensor, "B H S v"]],
    own: tuple[Float[Tensor, "R H N k"], Float[Tensor, "R H N v"]],
    *,
    mask: Float[Tensor, "#R #H T _"],
    score: ScoreFunction = scaled_dot,
    look: Probe | None = None,
    past: Probe | None = None,
) -> Float[Tensor, "R H T v"]:
    """Attention under one softmax to keys and values of a source and to one's own.

    A sentence has its source once, however many rows it has. `look` is shown what concerns the source, `past` the rest: their weights
    together sum to 1, and their contexts add up.
    """
    width = source[0].shape[2]
    theirs = _masked_part(query, source[0], mask[..., :width], score, look)
    ours = _masked_part(query, own[0], mask[..., width:], score, past)
    weights = _softmax(torch.cat([theirs, ours], dim=-1)).to(query.dtype)
    return _part_context(weights[..., :width], source[1], look) + _part_context(weights[..., width:], own[1], past)


def _masked_part(
    query: Float[Tensor, "R H T q"],
    keys: Float[Tensor, "_ H n k"],
    mask: Float[Tensor, "#R #H T n"],
    score: ScoreFunction,
    probe: Probe | None,
) -> Float[Tensor, "R H T n"]:
    rows = len(query)
    if probe is not None:
        query, keys = probe.see("query", query), probe.see("keys", keys)
    scores = _by_rows(score(_by_sentence(query, len(keys)), keys), rows)
    if probe is None:
        return scores + mask
    return probe.see("masked", probe.see("scores", scores) + mask)


def _part_context(
    weights: Float[Tensor, "R H T n"], values: Float[Tensor, "_ H n v"], probe: Probe | None
) -> Float[Tensor, "R H T v"]:
    rows = len(weights)
    if probe is not None:
        weights, values = probe.see("weights", weights), probe.see("values", values)
    context = _by_rows(_by_sentence(weights, len(values)) @ values, rows)
    return context if probe is None else probe.see("context", context)


def _by_sentence(x: Float[Tensor, "R H T n"], sentences: int) -> Float[Tensor, "B H kT n"]:
    """All rows of a sentence as its queries."""
    if len(x) == sentences:
        return x
    return x.reshape(sentences, -1, *x.shape[1:]).transpose(1, 2).flatten(2, 3)


def _by_rows(x: Float[Tensor, "B H kT n"], rows: int) -> Float[Tensor, "R H T n"]:
    """The inverse of `_by_sentence`."""
    if len(x) == rows:
        return x
    sentences, heads, _, width = x.shape
    return x.reshape(sentences, heads, rows // sentences, -1, width).transpose(1, 2).flatten(0, 1)
