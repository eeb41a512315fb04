"""Loads an ensemble: a translator of several bundles. `search.ensemble` averages their probabilities.

Shapes: B sentences, k hypotheses each, S source, T target, D width, V outputs.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from regard.bundle.locate import find_bundle
from regard.engine.runner import Network
from regard.errors import BundleError
from regard.ops.probe import Probe
from regard.search.ensemble import Ensemble, EnsembleState, mean_log_probabilities
from regard.search.stepper import Record
from regard.tasks.bundles import Bundle, load_bundle
from regard.tasks.translate.directions import Directions, directions_of, names_of
from regard.tasks.translate.output_length import widest
from regard.tasks.translate.translator import Translator


def load_ensemble(paths: Sequence[str | Path], device: str | torch.device = "cpu") -> Translator:
    """A translator whose probabilities are the mean of those of several bundles or runs. They must have the same vocabularies.

    Word alignments are those of the first.
    """
    if isinstance(paths, str | Path) or not paths:
        raise BundleError(f"an ensemble of {paths!r}: give a list of bundles or runs")
    bundles = [load_bundle(find_bundle(path), device) for path in paths]
    first = bundles[0]
    for bundle in bundles:
        if bundle.config.task != "translate":
            raise BundleError(f"{bundle.directory}: its task is to {bundle.config.task}; an ensemble translates")
    for bundle in bundles[1:]:
        _check_same(first, bundle)
    reaches = [bundle.config.reach for bundle in bundles if bundle.config.reach is not None]
    return Translator(
        NetworkEnsemble([cast(Network, bundle.model) for bundle in bundles]),
        first.tokenizers,
        languages=first.config.languages,
        alignment=first.config.alignment,
        reach=min(reaches, default=None),
        directions=_shared_directions(bundles),
        longest=widest(bundle.config.longest_output for bundle in bundles),
    )


class NetworkEnsemble(nn.Module):
    """An ensemble of networks with the same vocabularies. Its hidden states are theirs, concatenated."""

    def __init__(self, networks: Sequence[Network]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(cast(list[nn.Module], list(networks)))
        self._ensemble = Ensemble(list(networks))
        self.start_token, self.end_token = self._ensemble.start_token, self._ensemble.end_token
        # of the hidden states with a source of no token, and how much longer those that copy get with each
        self._widths = [(2 * one - two, two - one) for one, two in (self._width_of(network) for network in networks)]

    def start(self, source: Tensor | None, prefix: Tensor | None = None) -> EnsembleState:
        """The states of all networks after the source [B, S]."""
        return self._ensemble.start(source, prefix)

    def step(
        self, tokens: Tensor, state: EnsembleState, record: bool = False
    ) -> tuple[Tensor, EnsembleState, Record | None]:
        """tokens [B, k] -> the mean's log-probabilities [B, k, V], the new state, and the mean attention."""
        return self._ensemble.step(tokens, state, record)

    def hidden(self, source: Tensor, target_in: Tensor, probe: Probe | None = None) -> Tensor:
        """(source [B, S], target_in [B, T]) -> [B, T, sum of D]; the probe sees the first network."""
        return torch.cat(
            [
                network.hidden(source, target_in, probe if number == 0 else None)
                for number, network in enumerate(self._members())
            ],
            dim=-1,
        )

    def project(self, hidden: Tensor) -> Tensor:
        """[..., sum of D] -> log-probabilities [..., V] of the mean"""
        least, more = (sum(widths) for widths in zip(*self._widths, strict=True))
        tokens = (hidden.shape[-1] - least) // more if more else 0
        widths = [width + tokens * each for width, each in self._widths]
        parts = zip(self._members(), torch.split(hidden, widths, dim=-1), strict=True)
        return mean_log_probabilities([network.project(part) for network, part in parts])

    def _members(self) -> list[Network]:
        return [cast(Any, network) for network in self.networks]

    @torch.no_grad()
    def _width_of(self, network: Network) -> tuple[int, int]:
        """The width D of a network's hidden states with a source of one token, and of two."""
        ends = torch.full((1, 2), self.end_token, device=next(network.parameters()).device)
        return network.hidden(ends[:, :1], ends[:, :1]).shape[-1], network.hidden(ends, ends[:, :1]).shape[-1]


def _shared_directions(bundles: Sequence[Bundle]) -> Directions:
    """The directions that every member was trained in. Members without any in common are refused, and some with tags and some without."""
    first, *others = (directions_of(bundle.config, str(bundle.directory)) for bundle in bundles)
    shared = tuple(one for one in first.seen if all(one.pair in other.pairs for other in others if other.seen))
    for other in others:
        if bool(other.seen) != bool(first.seen) or bool(shared) != bool(first.seen):
            mine, theirs = (names_of(one.pairs) or "one direction" for one in (first, other))
            raise BundleError(
                f"{other.name}: translates {theirs}, but {first.name} {mine}; an ensemble needs models with directions in common"
            )
    return replace(first, seen=shared)


def _check_same(first: Bundle, second: Bundle) -> None:
    for side in ("source", "target"):
        mine, theirs = getattr(first.tokenizers, side).vocabulary, getattr(second.tokenizers, side).vocabulary
        if mine != theirs:
            raise BundleError(
                f"{second.directory}: its {side} vocabulary is not that of {first.directory}; an ensemble needs models that were "
                "trained on the same corpus with the same [text] settings"
            )
