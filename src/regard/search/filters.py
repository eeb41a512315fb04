"""Filters on the next token, for every search: minimum length, no repeated n-grams, suppressed tokens and forced prefixes.

A filter sets log-probabilities (or logits) to -inf. The others stay as they are, without renormalisation.

Shapes: B sentences, b of them still active, k hypotheses each, t tokens generated, V outputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.errors import SearchError
from regard.search.checks import check_count


@dataclass(frozen=True, kw_only=True)
class Filters:
    """The filters of a batch. Pass None to a search without filters, which is faster."""

    min_length: int = 0
    """The minimum output length in tokens."""
    no_repeat: int = 0
    """The n of n-grams that must not repeat in an output; 0: no limit."""
    suppressed: Sequence[int] = ()
    """Tokens that must not be generated."""
    prefixes: Sequence[Sequence[int]] | None = None
    """The forced prefix of each output, of any length. The other filters do not apply to it."""

    def __post_init__(self) -> None:
        check_count("min_length", self.min_length, least=0)
        check_count("no_repeat", self.no_repeat, least=0)

    def ready(self, limits: Tensor, end_token: int) -> "ReadyFilters":
        """The checked filters as tensors, for sentences of maximum output length limits [B]."""
        shortest = int(limits.min())
        if self.min_length > shortest:
            raise SearchError(f"min_length = {self.min_length}: above max_length, {shortest}; lower it to that at most")
        if any(token < 0 for token in self.suppressed):
            raise SearchError(f"suppressed holds id {min(self.suppressed)}: ids are not below 0")
        if end_token in self.suppressed:
            raise SearchError(f"suppressed holds the end mark, id {end_token}: without it no output ends; leave it out")
        if self.prefixes is not None:
            _check_prefixes(self.prefixes, limits.tolist(), end_token)
        return ReadyFilters(self, limits.device, end_token)


class ReadyFilters:
    """Filters as tensors, for one batch."""

    def __init__(self, filters: Filters, device: torch.device, end_token: int) -> None:
        self._end_token = end_token
        self._min_length, self._no_repeat = filters.min_length, filters.no_repeat
        self._suppressed = torch.tensor(list(filters.suppressed), device=device) if filters.suppressed else None
        lengths = [len(prefix) for prefix in filters.prefixes or [()]]
        self._longest_prefix = max(lengths)
        self.all_forced = min(lengths)
        """The number of steps in which the token of every sentence is forced, so that there is only one hypothesis."""
        self._forced: Tensor | None = None  # [B, P], -1 past the end of a prefix
        if self._longest_prefix:
            rows = [[*prefix, *[-1] * (self._longest_prefix - len(prefix))] for prefix in filters.prefixes or ()]
            self._forced = torch.tensor(rows, device=device)

    def __call__(self, scores: Tensor, generated: Tensor, sentence: Tensor) -> Tensor:
        """scores [b, k, V] with -inf where a token must not follow generated [b, k, t]; sentence [b]: indices into B."""
        step = generated.shape[2]
        allowed = scores
        if self._suppressed is not None:
            _check_ids(self._suppressed, scores.shape[-1], "suppressed")
            allowed = allowed.index_fill(-1, self._suppressed, -torch.inf)
        if step < self._min_length:
            allowed = allowed.index_fill(-1, torch.tensor([self._end_token], device=scores.device), -torch.inf)
        if self._no_repeat and step >= self._no_repeat:
            allowed = without_repeats(allowed, generated, self._no_repeat)
        if self._forced is not None and step < self._longest_prefix:
            forced = self._forced[sentence, step]  # [b]
            _check_ids(forced, scores.shape[-1], "a prefix")
            allowed = _only(allowed, scores, forced)
        return allowed


def without_repeats(scores: Tensor, generated: Tensor, size: int) -> Tensor:
    """scores [b, k, V] with -inf where a token would repeat an n-gram of `size` tokens in generated [b, k, t]."""
    windows = generated.unfold(2, size, 1)  # [b, k, t - size + 1, size]
    ending = generated[
        :, :, None, generated.shape[2] - size + 1 :
    ]  # [b, k, 1, size - 1], what such a sequence would begin with
    repeated = (windows[..., :-1] == ending).all(dim=-1)  # [b, k, t - size + 1]
    # the token of any other window keeps its score
    tokens = windows[..., -1]
    values = scores.gather(-1, tokens).masked_fill(repeated, -torch.inf)
    return scores.scatter_reduce(-1, tokens, values, "amin")


def _only(allowed: Tensor, scores: Tensor, forced: Tensor) -> Tensor:
    """allowed [b, k, V]; where forced [b] is not -1, only that token, with the model's score."""
    tokens = forced.clamp_min(0)[:, None, None].expand(-1, scores.shape[1], 1)  # [b, k, 1]
    alone = torch.full_like(scores, -torch.inf).scatter(-1, tokens, scores.gather(-1, tokens))
    return torch.where((forced >= 0)[:, None, None], alone, allowed)


def _check_ids(ids: Tensor, vocabulary: int, what: str) -> None:
    largest = int(ids.max())
    if largest >= vocabulary:
        raise SearchError(f"{what} holds id {largest}, but the model generates 0 to {vocabulary - 1}")


def _check_prefixes(prefixes: Sequence[Sequence[int]], limits: list[int], end_token: int) -> None:
    if len(prefixes) != len(limits):
        raise SearchError(
            f"{len(prefixes)} prefixes for {len(limits)} sources: give one for each, empty where there is none"
        )
    for number, (prefix, limit) in enumerate(zip(prefixes, limits, strict=True)):
        if len(prefix) > limit:
            raise SearchError(f"prefix {number} has {len(prefix)} tokens, above max_length, {limit}: raise that")
        if any(token == end_token or token < 0 for token in prefix):
            raise SearchError(f"prefix {number} holds the end mark or a negative id: give tokens that can be said")
