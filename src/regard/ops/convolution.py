"""Long convolution by the fast Fourier transform, and the short depthwise one: each channel has a filter of its own.

y_t = sum over s of h_(t-s) u_s is a product in frequency: y = F^-1(F(h) F(u)), in O(T log T) instead of O(T^2). As a matrix it is Toeplitz:
its entry (t, s) is h_(t-s). Zeros behind the input keep the circle of the transform from closing.

Shapes: B batch, D channels, T positions, L lags, K taps of a short filter.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

POINTS = 2**18
"""Points that are transformed together: a group of channels that stays in the processor's cache."""


def causal_convolution(u: Float[Tensor, "B D T"], filters: Float[Tensor, "D L"]) -> Float[Tensor, "B D T"]:
    """y_t = sum over s <= t of h_(t-s) u_s, for filters of at least T lags (lag 0 first)."""
    length = u.shape[2]
    assert filters.shape[1] >= length, f"filters of {filters.shape[1]} lags for {length} positions"
    y: Tensor = _Convolution.apply(u, filters[:, :length], fast_size(2 * length - 1))  # type: ignore[no-untyped-call]
    return y


def two_sided_convolution(
    u: Float[Tensor, "B D T"], before: Float[Tensor, "D L"], after: Float[Tensor, "D L"]
) -> Float[Tensor, "B D T"]:
    """y_t = sum over s <= t of `before`_(t-s) u_s + sum over s > t of `after`_(s-t) u_s. Lag 0 of `after` is not used."""
    length = u.shape[2]
    assert before.shape[1] >= length, f"filters of {before.shape[1]} lags for {length} positions"
    size = fast_size(2 * length - 1)
    # on the circle of the transform, lag -s is the same as lag size - s
    gap = before.new_zeros(len(before), size - 2 * length + 1)
    circle = torch.cat([before[:, :length], gap, after[:, 1:length].flip(1)], dim=1)
    y: Tensor = _Convolution.apply(u, circle, size)  # type: ignore[no-untyped-call]
    return y


def fast_size(least: int) -> int:
    """The smallest even product of a power of two and 1, 3, 5 or 9 that is at least `least`: such transforms are fast."""
    return min(factor * 2 ** max(1, (-(-least // factor) - 1).bit_length()) for factor in (1, 3, 5, 9))


def short_convolution(
    x: Float[Tensor, "B D _"], weight: Float[Tensor, "D K"], bias: Float[Tensor, " D"]
) -> Float[Tensor, "B D _"]:
    """y_t = b + sum over k of w_k x_(t+k), only where all K inputs are there: the output has K - 1 positions less."""
    y: Tensor = _ShortConvolution.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return y


class _ShortConvolution(torch.autograd.Function):
    """A sum of shifted products. torch's own depthwise convolution of one dimension takes nine times as long on a CPU."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        length = x.shape[2] - weight.shape[1] + 1
        y = bias[:, None].expand(x.shape[0], -1, length).clone()
        for tap, factor in enumerate(weight.unbind(1)):
            y.addcmul_(x[:, :, tap : tap + length], factor[:, None])
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        gradient = gradients[0]
        length = gradient.shape[2]
        of_x, of_weight = torch.zeros_like(x), []
        for tap, factor in enumerate(weight.unbind(1)):
            there = slice(tap, tap + length)
            of_x[:, :, there].addcmul_(gradient, factor[:, None])
            of_weight.append(torch.linalg.vecdot(gradient, x[:, :, there]).sum(dim=0))
        return of_x, torch.stack(of_weight, dim=1), gradient.sum(dim=(0, 2))


class _Convolution(torch.autograd.Function):
    """A circular convolution of `size` points. Only its real inputs are kept for the gradient, not their spectra.

    The gradient is written out because torch's own takes a full complex transform for each real one.
    """

    @staticmethod
    def forward(ctx: Any, u: Tensor, filters: Tensor, size: int) -> Tensor:
        ctx.save_for_backward(u, filters)
        ctx.size = size
        y = torch.empty_like(u)
        for channels in _groups(u, size):
            spectrum = torch.fft.rfft(u[:, channels], n=size)
            spectrum *= torch.fft.rfft(filters[channels], n=size)
            y[:, channels] = torch.fft.irfft(spectrum, n=size)[..., : u.shape[2]]
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        u, filters = ctx.saved_tensors
        of_u = torch.empty_like(u) if ctx.needs_input_grad[0] else None
        of_filters = torch.empty_like(filters) if ctx.needs_input_grad[1] else None
        for channels in _groups(u, ctx.size):
            spectrum = torch.fft.rfft(gradients[0][:, channels], n=ctx.size)
            if of_filters is not None:  # the correlation of the gradient with the input
                product = (torch.fft.rfft(u[:, channels], n=ctx.size).conj() * spectrum).sum(dim=0)
                of_filters[channels] = torch.fft.irfft(product, n=ctx.size)[..., : filters.shape[1]]
            if of_u is not None:  # the correlation of the gradient with the filter
                spectrum *= torch.fft.rfft(filters[channels], n=ctx.size).conj()
                of_u[:, channels] = torch.fft.irfft(spectrum, n=ctx.size)[..., : u.shape[2]]
        return of_u, of_filters, None


def _groups(u: Float[Tensor, "B D T"], size: int) -> list[slice]:
    count = max(1, POINTS // (len(u) * size))
    return [slice(first, first + count) for first in range(0, u.shape[1], count)]
