"""A captioner as the checks of the contract see it: its sources are ids, which are painted as pictures."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class ReadsPictures(nn.Module):
    """A captioner behind the interface of the checks, whose sources are ids: each row is painted as a picture, pixel by pixel.

    Padding is black, so rows of different lengths are pictures of one size.
    """

    SHAPE = (4, 8, 1)

    def __init__(self, network: Any, pad: int) -> None:
        super().__init__()
        self.network, self._pad = network, pad
        self.start_token, self.end_token, self.target_pad = network.start_token, network.end_token, network.target_pad

    def painted(self, source: Tensor) -> Tensor:
        """[B, S] ids -> [B, 1, 4, 8] pixels"""
        height, width, channels = self.SHAPE
        values = torch.where(source == self._pad, 0.0, (source + 1.0) / self._pad)
        room = height * width
        assert not values[:, room:].any(), f"no room for {source.shape[1]} ids"
        values = values.to(next(self.parameters()).dtype)
        filled = F.pad(values, (0, max(0, room - source.shape[1])))[:, :room]
        return filled.view(-1, channels, height, width)

    @property
    def patches(self) -> int:
        return int(self.network.source.tokens)

    def forward(self, source: Tensor, target_in: Tensor, probe: Any = None) -> Tensor:
        return self.network(self.painted(source), target_in, probe)  # type: ignore[no-any-return]

    def hidden(self, source: Tensor, target_in: Tensor, probe: Any = None) -> Tensor:
        return self.network.hidden(self.painted(source), target_in, probe)  # type: ignore[no-any-return]

    def project(self, hidden: Tensor) -> Tensor:
        return self.network.project(hidden)  # type: ignore[no-any-return]

    def output_table(self) -> Tensor:
        return self.network.output_table()  # type: ignore[no-any-return]

    def start(self, source: Tensor, prefix: Tensor | None = None) -> Any:
        return self.network.start(self.painted(source), prefix)

    def step(self, tokens: Tensor, state: Any, record: bool = False) -> Any:
        return self.network.step(tokens, state, record)
