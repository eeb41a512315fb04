"""The blocks of the Transformer: the encoder's (self-attention, feed-forward), the decoder's (cross-attention between them), and that of a
decoder without a source (causal self-attention, feed-forward).

Shapes: B batch, S source, T target, D width, H heads, d head width.
"""

import torch
from torch import Tensor, nn

from regard.layers.attention import Memory, MultiHeadAttention, remember
from regard.layers.feed_forward import FeedForward
from regard.layers.residual import Residual
from regard.ops.probe import Probe, within


class EncoderBlock(nn.Module):
    """Self-attention over the source, then the feed-forward network."""

    def __init__(
        self, *, attention: MultiHeadAttention, feed_forward: FeedForward, width: int, dropout: float, pre_norm: bool
    ) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.around_attention = Residual(width=width, dropout=dropout, pre_norm=pre_norm)
        self.around_feed_forward = Residual(width=width, dropout=dropout, pre_norm=pre_norm)

    def forward(self, x: Tensor, *, mask: Tensor, probe: Probe | None = None) -> Tensor:
        """x [B, S, D], mask added to the scores, broadcast to [B, H, S, S]."""

        def attention(inner: Tensor) -> Tensor:
            attended: Tensor = self.attention(inner, None, mask=mask, probe=within(probe, "self"))
            return attended

        x = self.around_attention(x, attention)
        x = self.around_feed_forward(x, self.feed_forward)
        return x if probe is None else probe.see("hidden", x)


class DecoderBlock(nn.Module):
    """Causal self-attention, cross-attention to the source, then the feed-forward network."""

    def __init__(
        self,
        *,
        attention: MultiHeadAttention,
        cross: MultiHeadAttention,
        feed_forward: FeedForward,
        width: int,
        dropout: float,
        pre_norm: bool,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.cross = cross
        self.feed_forward = feed_forward
        self.around_attention = Residual(width=width, dropout=dropout, pre_norm=pre_norm)
        self.around_cross = Residual(width=width, dropout=dropout, pre_norm=pre_norm)
        self.around_feed_forward = Residual(width=width, dropout=dropout, pre_norm=pre_norm)

    def forward(
        self,
        x: Tensor,  # [B, T, D]
        source: Memory,  # keys and values of the source
        *,
        mask: Tensor | None,  # causal and biased, broadcast to [B, H, T, T]; None: causal alone
        source_mask: Tensor,  # broadcast to [B, H, T, S]
        probe: Probe | None = None,
    ) -> Tensor:
        def attention(inner: Tensor) -> Tensor:
            attended: Tensor = self.attention(inner, None, mask=mask, causal=mask is None, probe=within(probe, "self"))
            return attended

        def cross(inner: Tensor) -> Tensor:
            attended: Tensor = self.cross(inner, source, mask=source_mask, probe=within(probe, "cross"))
            return attended

        x = self.around_attention(x, attention)
        x = self.around_cross(x, cross)
        x = self.around_feed_forward(x, self.feed_forward)
        return x if probe is None else probe.see("hidden", x)

    def step(
        self,
        x: Tensor,  # [B, k, D] one new token for each of k hypotheses
        past: Memory,  # [B * k, H, t, d] what each hypothesis has said
        source: Memory,  # [B, H, S, d] once a sentence: the k hypotheses ask as k queries
        *,
        mask: Tensor | None,  # broadcast to [B * k, H, 1, t + 1]: a bias, never a prohibition
        source_mask: Tensor,
        first: int,  # the position of the new token
        probe: Probe | None = None,
    ) -> tuple[Tensor, Memory]:
        """The same block for one more position; returns its output and the longer past."""
        sentences, hypotheses = x.shape[:2]
        longer = past

        def attention(inner: Tensor) -> Tensor:
            nonlocal longer
            rows = inner.reshape(sentences * hypotheses, 1, -1)
            ((key, value),) = remember([self.attention], rows, first)
            longer = (torch.cat([past[0], key], dim=2), torch.cat([past[1], value], dim=2))
            attended: Tensor = self.attention(rows, longer, mask=mask, first=first)
            return attended.view(sentences, hypotheses, -1)

        def cross(inner: Tensor) -> Tensor:
            attended: Tensor = self.cross(inner, source, mask=source_mask, probe=within(probe, "cross"))
            return attended

        x = self.around_attention(x, attention)
        x = self.around_cross(x, cross)
        return self.around_feed_forward(x, self.feed_forward), longer


class CausalBlock(nn.Module):
    """Causal self-attention, then the feed-forward network."""

    def __init__(
        self, *, attention: MultiHeadAttention, feed_forward: FeedForward, width: int, dropout: float, pre_norm: bool
    ) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.around_attention = Residual(width=width, dropout=dropout, pre_norm=pre_norm)
        self.around_feed_forward = Residual(width=width, dropout=dropout, pre_norm=pre_norm)

    def forward(self, x: Tensor, *, mask: Tensor | None, probe: Probe | None = None) -> Tensor:
        """x [B, T, D]; mask: causal and biased, broadcast to [B, H, T, T]; None: causal alone."""

        def attention(inner: Tensor) -> Tensor:
            attended: Tensor = self.attention(inner, None, mask=mask, causal=mask is None, probe=within(probe, "self"))
            return attended

        x = self.around_attention(x, attention)
        x = self.around_feed_forward(x, self.feed_forward)
        return x if probe is None else probe.see("hidden", x)

    def extend(
        self,
        x: Tensor,  # [B, T, D] new tokens
        past: Memory,  # [B, H, t, d] what came before them
        *,
        mask: Tensor | None,  # broadcast to [B, H, T, t + T]
        first: int,  # the position of x[:, 0]
    ) -> tuple[Tensor, Memory]:
        """The same block for more positions; returns its output and the longer past."""
        longer = past

        def attention(inner: Tensor) -> Tensor:
            nonlocal longer
            ((key, value),) = remember([self.attention], inner, first)
            longer = (torch.cat([past[0], key], dim=2), torch.cat([past[1], value], dim=2))
            attended: Tensor = self.attention(inner, longer, mask=mask, first=first)
            return attended

        x = self.around_attention(x, attention)
        return self.around_feed_forward(x, self.feed_forward), longer
