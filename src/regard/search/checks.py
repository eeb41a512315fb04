"""Checks of search options. A value out of range is a `SearchError` before any work is done."""

import math
from typing import TYPE_CHECKING

from regard.errors import SearchError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

NODE_LIMIT = 20_000  # of an exact search

LEAST_TEMPERATURE, LARGEST_TEMPERATURE = 1e-6, 1000.0  # beyond them the divided logits leave the range of float32
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


def check_beam(width: int, nbest: int) -> None:
    """The options of a beam."""
    check_count("beam", width)
    check_count("nbest", nbest)
    if nbest > width:
        raise SearchError(
            f"nbest = {nbest}: a beam of {width} ends with fewer hypotheses; raise it to {nbest} or lower nbest"
        )


def check_groups(width: int, groups: int, diversity: float) -> None:
    """The options of a diverse beam."""
    check_count("groups", groups)
    if width % groups:
        raise SearchError(
            f"groups = {groups}: a beam of {width} is no multiple of it; make it {width + -width % groups}"
        )
    if not (math.isfinite(diversity) and diversity >= 0.0):
        raise SearchError(f"diversity = {diversity!r}: must be 0 (groups do not mind each other) or more; 0.5 is usual")


def check_sampling(temperature: float, top_k: int, top_p: float, samples: int, seed: int) -> None:
    """The options of sampling."""
    if not LEAST_TEMPERATURE <= temperature <= LARGEST_TEMPERATURE:
        raise SearchError(
            f"temperature = {temperature!r}: must be above 0; it may be {LEAST_TEMPERATURE:g} to {LARGEST_TEMPERATURE:g}, "
            "and for the most probable token use greedy search, a beam of 1"
        )
    check_count("top_k", top_k, least=0)
    if not 0.0 < top_p <= 1.0:
        raise SearchError(f"top_p = {top_p!r}: must be above 0 and at most 1 (1 keeps every token)")
    check_count("samples", samples)
    check_count("seed", seed, least=0)
    if seed >= 2**64:
        raise SearchError(f"seed = {seed!r}: must be below 2^64")


def length_limits(max_length: "int | Tensor", sentences: int, device: "torch.device") -> "Tensor":
    """[B]: the maximum output length of each sentence, without the end mark."""
    import torch

    if isinstance(max_length, torch.Tensor):
        if max_length.shape != (sentences,):
            raise SearchError(f"max_length has shape {list(max_length.shape)}: must be one number, or one per sentence")
        if sentences:
            check_count("max_length", int(max_length.min()))
        return max_length.to(device=device, dtype=torch.long)
    check_count("max_length", max_length)
    return torch.full((sentences,), max_length, dtype=torch.long, device=device)
