"""Windows and patterns of blocks, computed by blocks, against attention with a mask of all pairs."""

import pytest
import torch
from torch import Tensor

from regard.ops.attention import attend
from regard.ops.block_sparse import BlockPattern, block_sparse_attention
from regard.ops.masks import additive
from regard.ops.windows import window_attention, window_mask


def inputs(length: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(length)
    return [torch.randn(2, length, 3, 4, generator=generator, dtype=torch.float64) for _ in range(3)]


def masked(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor) -> Tensor:
    """Attention with a mask of all pairs, [T, S] or [B, T, S]."""
    mask = additive(allowed if allowed.dim() == 2 else allowed[:, None], torch.float64)
    return attend(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), mask=mask).transpose(1, 2)


def padding(length: int) -> Tensor:
    return torch.arange(length) < torch.tensor([[length], [max(1, length - 5)]])


@pytest.mark.parametrize("length", [1, 3, 8, 19])
@pytest.mark.parametrize(("before", "after"), [(0, 0), (4, 0), (2, 2), (1, 1), (30, 30), (30, 0)])
def test_a_window_is_attention_with_a_band(length: int, before: int, after: int) -> None:
    q, k, v = inputs(length)
    band = window_mask(length, length, before=before, after=after)
    torch.testing.assert_close(window_attention(q, k, v, before=before, after=after), masked(q, k, v, band))
    real = padding(length)
    found = window_attention(q, k, v, before=before, after=after, real=real)
    torch.testing.assert_close(found[real], masked(q, k, v, band & real[:, None] | torch.eye(length).bool())[real])


@pytest.mark.parametrize("length", [1, 3, 8, 19, 24])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("first", "random"), [(0, 0), (1, 2), (2, 1)])
def test_gathered_blocks_are_attention_with_their_mask(length: int, causal: bool, first: int, random: int) -> None:
    q, k, v = inputs(length)
    pattern = BlockPattern(2, first, random, causal)
    torch.testing.assert_close(block_sparse_attention(q, k, v, pattern), masked(q, k, v, pattern.mask(length)))
    last = min(3, length)
    found = block_sparse_attention(q[:, -last:], k, v, pattern)
    torch.testing.assert_close(found, masked(q, k, v, pattern.mask(length))[:, -last:])
    if not causal:
        real = padding(length)
        allowed = pattern.mask(length, -(-real.sum(dim=1) // 2)) & real[:, None] | torch.eye(length).bool()
        found = block_sparse_attention(q, k, v, pattern, real)
        torch.testing.assert_close(found[real], masked(q, k, v, allowed)[real])


def test_the_pattern_is_bigbirds() -> None:
    """Neighbours, the first blocks and as many others as asked for, the same ones in a longer sequence."""
    pattern = BlockPattern(4, 1, 2, causal=True)
    seen = pattern.seen(range(12), 12)[0]
    assert not seen.triu(1).any()
    for block in range(12):
        assert seen[block, 0]
        assert seen[block, max(0, block - 2) : block + 1].all()
        assert seen[block].sum() == min(block + 1, 6)
    assert torch.equal(pattern.seen(range(12), 20)[0, :, :12], seen)
    drawn = [tuple(seen[block].nonzero()[1:-3, 0].tolist()) for block in range(6, 12)]
    assert len(set(drawn)) > 3, "blocks that are not drawn at random"
    both = BlockPattern(4, 1, 2, causal=False).seen(range(12), 12, torch.tensor([12, 5]))
    assert (both[0, 2:11].sum(dim=1) == 6).all()
    assert not both[1, :, 5:].any()
