"""`PatchFront`: the input layer of a network that reads pictures, from pixels to hidden states and a mask.

A picture becomes a grid of patches, read row by row: the words of a Vision Transformer (Dosovitskiy et al. 2021). A patch is a linear map
of its pixels, or what convolutions make of it and its surroundings, which learns from fewer pictures (CCT: Hassani et al. 2021).

Shapes: B batch, C channels, H height, W width, r rows and c columns of patches, S = r c (+ 1 with a class token), D width, p patch size.
"""

from itertools import pairwise
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.layers.dropout import Dropout
from regard.layers.linear import Linear
from regard.layers.roles import Role
from regard.ops.positions import sinusoidal_2d
from regard.ops.probe import Probe

PatchPositions = Literal["learned", "sinusoidal", "none"]
"""How the place of a patch is told: a learned vector for each, sinusoids of its row and column, or not at all."""


class PatchProjection(nn.Module):
    """Cuts a picture into squares of p x p pixels and maps each: x W^T + b. An incomplete square at the right or below is left out."""

    def __init__(self, *, channels: int, patch: int, width: int) -> None:
        super().__init__()
        self.patch = patch
        self.linear = Linear(channels * patch * patch, width)

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of patches."""
        return height // self.patch, width // self.patch

    def forward(self, pixels: Float[Tensor, "B C H W"]) -> Float[Tensor, "B S D"]:
        (rows, columns), patch = self.grid(*pixels.shape[2:]), self.patch
        whole = pixels[:, :, : rows * patch, : columns * patch]
        squares = whole.reshape(*whole.shape[:2], rows, patch, columns, patch)
        flat = squares.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)  # [B, r c, C p p]
        projected: Tensor = self.linear(flat)
        return projected


class ConvolutionalTokenizer(nn.Module):
    """Convolutions, each with ReLU and a maximum over 3 x 3 that halves height and width. Its result is a grid of patches."""

    def __init__(self, *, channels: int, inner: int, width: int, layers: int, kernel: int = 3) -> None:
        """inner: channels between the convolutions. layers: how often the sides are halved. kernel: odd."""
        super().__init__()
        assert kernel % 2, f"an even kernel of {kernel} has no middle"
        sizes = [channels, *[inner] * (layers - 1), width]
        self.convolutions = nn.ModuleList(
            nn.Conv2d(before, after, kernel, padding=kernel // 2, bias=False) for before, after in pairwise(sizes)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise the kernels so that ReLU keeps the variance (He et al. 2015)."""
        for convolution in self.convolutions:
            assert isinstance(convolution, nn.Conv2d)
            nn.init.kaiming_normal_(convolution.weight)

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of patches."""
        for _ in self.convolutions:
            height, width = (height + 1) // 2, (width + 1) // 2
        return height, width

    def forward(self, pixels: Float[Tensor, "B C H W"]) -> Float[Tensor, "B S D"]:
        for convolution in self.convolutions:
            # with the channels last, the maximum takes half the time and the patches need no copy
            seen = convolution(pixels).contiguous(memory_format=torch.channels_last)
            # the maximum of positive parts is the positive part of the maximum, of which there are four times fewer
            pixels = F.relu(F.max_pool2d(seen, 3, stride=2, padding=1))
        return pixels.flatten(2).transpose(1, 2)


PatchTokenizer = PatchProjection | ConvolutionalTokenizer


class PatchFront(nn.Module):
    """Patches, plus the positions of their grid, with dropout. A class token, if there is one, comes first."""

    roles: ClassVar[dict[str, Role]] = {"class_token": "vector", "table": "table"}

    def __init__(
        self,
        *,
        tokenizer: PatchTokenizer,
        height: int,
        width: int,
        hidden: int,
        positions: PatchPositions,
        dropout: Dropout,
        class_token: bool = False,
    ) -> None:
        """height, width: of the pictures, in pixels. hidden: the width D of the hidden states."""
        super().__init__()
        self.tokenizer = tokenizer
        self.size = (height, width)
        self.grid = tokenizer.grid(height, width)
        rows, columns = self.grid
        self.extra = 1 if class_token else 0
        self.class_token = nn.Parameter(torch.empty(hidden)) if class_token else None
        self.table: Tensor | None = None
        if positions == "learned":
            self.table = nn.Parameter(torch.empty(self.extra + rows * columns, hidden))
        elif positions == "sinusoidal":
            fixed = sinusoidal_2d(rows, columns, hidden)
            self.register_buffer("fixed", F.pad(fixed, (0, 0, self.extra, 0)), persistent=False)
        self.dropout = dropout
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise class token and positions with vectors that are small compared to the patches."""
        for parameter in (self.class_token, self.table):
            if parameter is not None:
                nn.init.normal_(parameter, std=0.02)

    @property
    def tokens(self) -> int:
        """The number S of hidden states."""
        return self.extra + self.grid[0] * self.grid[1]

    def forward(
        self, pixels: Float[Tensor, "B C H W"], probe: Probe | None = None
    ) -> tuple[Float[Tensor, "B S D"], Bool[Tensor, "B S"]]:
        """The hidden states, and the mask, which is True everywhere."""
        assert tuple(pixels.shape[2:]) == self.size, f"pictures of {tuple(pixels.shape[2:])}, not {self.size}"
        x: Tensor = self.tokenizer(pixels)
        if probe is not None:
            x = probe.see("patches", x)
        if self.class_token is not None:
            x = torch.cat([self.class_token.to(x.dtype).expand(len(x), 1, -1), x], dim=1)
        if self.table is not None:
            x = x + self.table
        elif "fixed" in self._buffers:
            x = x + self.get_buffer("fixed")
        x = self.dropout(x)
        mask = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
        return x if probe is None else probe.see("embedding", x), mask
