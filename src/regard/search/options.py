"""The ranges of the options that searches share, refused in one line before any work is done. It searches nothing."""

import math
from typing import TYPE_CHECKING

from regard.errors import SearchError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

LARGEST_ALPHA = 10.0  # beyond it only length counts, and |y|^alpha leaves the range of float32


def check_count(name: str, value: int, least: int = 1) -> None:
    """A whole number, at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SearchError(f"{name} = {value!r}: must be a whole number of at least {least}")


def check_alpha(alpha: float) -> None:
    """The exponent of length normalisation."""
    if not 0.0 <= alpha <= LARGEST_ALPHA:
        raise SearchError(
            f"alpha = {alpha!r}: must be between 0 (no length normalisation) and {LARGEST_ALPHA:g}; 1 divides by the length"
        )


def check_beam(width: int, stop_after: int | None, nbest: int) -> int:
    """The options of a beam; returns how many finished hypotheses end the search."""
    check_count("beam", width)
    check_count("nbest", nbest)
    if stop_after is not None:
        check_count("stop_after", stop_after)
    wanted = width if stop_after is None else stop_after
    if nbest > wanted:
        limit = f"a beam of {width}" if stop_after is None else f"stop_after = {stop_after}"
        raise SearchError(f"nbest = {nbest}: {limit} ends with fewer hypotheses; raise it to {nbest} or lower nbest")
    return wanted


def check_sampling(temperature: float, top_k: int, top_p: float, samples: int, seed: int) -> None:
    """The options of sampling."""
    if not (math.isfinite(temperature) and temperature > 0.0):
        raise SearchError(
            f"temperature = {temperature!r}: must be above 0; for the most probable token use greedy search"
        )
    check_count("top_k", top_k, least=0)
    if not 0.0 < top_p <= 1.0:
        raise SearchError(f"top_p = {top_p!r}: must be above 0 and at most 1 (1 keeps every token)")
    check_count("samples", samples)
    check_count("seed", seed, least=0)
    if seed >= 2**64:
        raise SearchError(f"seed = {seed!r}: must be below 2^64")


def length_limits(max_length: "int | Tensor", sentences: int, device: "torch.device") -> "Tensor":
    """The largest number of tokens, end mark not counted, for each sentence: [B]."""
    import torch

    if isinstance(max_length, torch.Tensor):
        if max_length.shape != (sentences,):
            raise SearchError(f"max_length has shape {list(max_length.shape)}: must be one number, or one per sentence")
        if sentences:
            check_count("max_length", int(max_length.min()))
        return max_length.to(device=device, dtype=torch.long)
    check_count("max_length", max_length)
    return torch.full((sentences,), max_length, dtype=torch.long, device=device)
