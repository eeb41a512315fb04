"""Long convolution by the fast Fourier transform, and the short depthwise one: each channel has a filter of its own.

y_t = sum over s of h_(t-s) u_s is a product in frequency: y = F^-1(F(h) F(u)), in O(T log T) instead of O(T^2). As a matrix it is Toeplitz:
its entry (t, s) is h_(t-s). Zeros behind the input keep the circle of the transform from closing.

Shapes: B batch, D channels, T positions, L lags, K taps of a short filter.
"""

from typing import Any

import torch
from jaxtyping import Complex, Float
from torch import Tensor

POINTS = 2**19
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
    return min(factor << max(1, (-(-least // factor) - 1).bit_length()) for factor in (1, 3, 5, 9))


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
            of_weight.append(torch.matmul(gradient[:, :, None], x[:, :, there, None]).sum(dim=(0, 2, 3)))
        return of_x, torch.stack(of_weight, dim=1), gradient.sum(dim=(0, 2))


class _Convolution(torch.autograd.Function):
    """A circular convolution of `size` points, with its gradient. The spectra of both inputs are kept for it.

    The gradient is written out because torch's own takes a full complex transform for each real one.
    """

    @staticmethod
    def forward(ctx: Any, u: Tensor, filters: Tensor, size: int) -> Tensor:
        ctx.size, ctx.lengths = size, (u.shape[2], filters.shape[1])
        y, spectra, groups = torch.empty_like(u), [], _groups(u, size)
        padded = _Padded(u, size, groups)
        for channels in groups:
            of_u, of_filters = padded.spectrum(u[:, channels]), torch.fft.rfft(filters[channels], n=size)
            y[:, channels] = torch.fft.irfft(of_u * of_filters, n=size)[..., : u.shape[2]]
            # the gradient needs the conjugates, which torch would else copy
            spectra += [of_u.conj_physical_(), of_filters.conj_physical_()]
        ctx.save_for_backward(*spectra)
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        gradient, (length, lags) = gradients[0], ctx.lengths
        for_u, for_filters = torch.empty_like(gradient), gradient.new_empty(gradient.shape[1], lags)
        groups, spectra = _groups(gradient, ctx.size), iter(ctx.saved_tensors)
        padded = _Padded(gradient, ctx.size, groups)
        for channels, of_u, of_filters in zip(groups, spectra, spectra, strict=True):
            spectrum = padded.spectrum(gradient[:, channels])
            # correlations of the gradient: with the input, and with the filter
            product = (of_u * spectrum).sum(dim=0) if len(of_u) > 1 else (of_u * spectrum)[0]
            for_filters[channels] = torch.fft.irfft(product, n=ctx.size)[..., :lags]
            for_u[:, channels] = torch.fft.irfft(spectrum.mul_(of_filters), n=ctx.size)[..., :length]
        return for_u, for_filters, None


class _Padded:
    """The memory of one group of channels with zeros behind them, which every group uses in turn."""

    def __init__(self, u: Float[Tensor, "B D T"], size: int, groups: list[slice]) -> None:
        self.memory = u.new_zeros(len(u), min(groups[0].stop, u.shape[1]), size)

    def spectrum(self, group: Float[Tensor, "B G T"]) -> Complex[Tensor, "B G _"]:
        channels, length = group.shape[1:]
        self.memory[:, :channels, :length] = group
        spectrum: Tensor = torch.fft.rfft(self.memory[:, :channels])
        return spectrum


def _groups(u: Float[Tensor, "B D T"], size: int) -> list[slice]:
    count = max(1, POINTS // (len(u) * size))
    return [slice(first, first + count) for first in range(0, u.shape[1], count)]
