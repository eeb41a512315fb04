"""Runs a torch network on one batch of ids: search, forced scores, attention. It knows ids and tensors, no text.

This is what another engine replaces: it must give the same answers to `search` and `score`.

Shapes: B sentences, S source with end mark, T target with end mark, D width, V outputs, L decoder layers, H heads.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from regard.engine.batching import padded
from regard.engine.demands import Demands
from regard.engine.options import SearchOptions
from regard.errors import SearchError
from regard.ops.probe import Probe
from regard.search.beam import beam
from regard.search.diverse import diverse
from regard.search.exact import exact
from regard.search.expansion import BranchWatcher, Watcher
from regard.search.filters import Filters
from regard.search.greedy import greedy
from regard.search.hypothesis import Hypothesis
from regard.search.logprobs import log_probabilities
from regard.search.sampling import sample
from regard.search.stepper import Stepper

Ids = Sequence[int]

NO_DEMANDS = Demands()
ROWS_AT_ONCE = 512  # of logits, when scoring: with a vocabulary of 32,000 they are 64 megabytes


class Mode(Protocol):
    """A network that trains or does not."""

    training: bool

    def train(self, mode: bool = True) -> object:
        """Switch dropout on or off."""
        ...


class Network(Stepper[Any], Mode, Protocol):
    """A network that can be searched and teacher-forced."""

    def hidden(self, source: Tensor, target_in: Tensor, probe: Probe | None = None) -> Tensor:
        """(source [B, S], target_in [B, T]) -> [B, T, D]"""
        ...

    def project(self, hidden: Tensor) -> Tensor:
        """[..., D] -> logits [..., V]"""
        ...

    def parameters(self) -> Iterator[nn.Parameter]:
        """All weights."""
        ...


class Runner:
    """A network and the padding of its two sides. Sources and targets come without end marks."""

    def __init__(self, network: Network, *, source_pad: int, target_pad: int) -> None:
        self.network = network
        self._source_pad, self._target_pad = source_pad, target_pad

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.network.parameters()).device

    def search(
        self,
        sources: Sequence[Ids],
        limits: Sequence[int],
        numbers: Sequence[int],
        options: SearchOptions,
        demands: Demands = NO_DEMANDS,
        watch: Watcher | None = None,
    ) -> list[list[Hypothesis]]:
        """Up to `options.nbest` hypotheses for each source, best first; of a search for the minimum Bayes risk all samples.

        limits: the longest output of each, in tokens; numbers: what keys each one's random draws; demands: what each must say.
        `watch` is told every step; an exact search has no such steps.
        """
        with evaluating(self.network):
            return run_search(
                self.network,
                self._source(sources),
                limits,
                numbers,
                options,
                demands,
                watch,
                source_lengths=[len(ids) for ids in sources],  # the end mark has nothing to translate
            )

    def exact(self, source: Ids, limit: int, options: SearchOptions, watch: BranchWatcher) -> Hypothesis:
        """The most probable hypothesis for one source; `watch` is told all that was continued."""
        with evaluating(self.network):
            [[found]] = exact(
                self.network,
                self._source([source]),
                max_length=limit,
                width=options.beam,
                node_limit=options.node_limit,
                watch=watch,
            )
        return found

    def forced(
        self, sources: Sequence[Ids], targets: Sequence[Ids], probe: Probe | None = None, *, gradients: bool = False
    ) -> Tensor:
        """[B, T, D]: what is projected to the logits of each token and of the end mark, in one teacher-forced pass."""
        with evaluating(self.network, gradients):
            return self.network.hidden(self._source(sources), self._target_in(targets), probe)

    def score(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[list[float]]:
        """log p of each token of each target, and then of the end mark: one teacher-forced pass."""
        with evaluating(self.network):
            hidden = self.forced(sources, targets)
            expected = [[*target, self.network.end_token] for target in targets]
            real = torch.cat([hidden[row, : len(ids)] for row, ids in enumerate(expected)])  # [N, D], no padding
            wanted = torch.tensor([token for ids in expected for token in ids], device=hidden.device)  # [N]
            parts = [slice(first, first + ROWS_AT_ONCE) for first in range(0, len(wanted), ROWS_AT_ONCE)]
            found = torch.cat(
                [
                    log_probabilities(self.network.project(real[part])).gather(1, wanted[part, None]).squeeze(1)
                    for part in parts
                ]
            )
        if found.isnan().any():
            raise SearchError(
                "the model's logits are not numbers (NaN): its weights are damaged or its training diverged"
            )
        values = iter(found.tolist())
        return [[next(values) for _ in ids] for ids in expected]

    def _source(self, sources: Sequence[Ids]) -> Tensor:
        """[B, S]"""
        return padded([[*ids, self.network.end_token] for ids in sources], self._source_pad, self.device)

    def _target_in(self, targets: Sequence[Ids]) -> Tensor:
        """[B, T]"""
        return padded([[self.network.start_token, *ids] for ids in targets], self._target_pad, self.device)


@contextmanager
def evaluating(network: Mode, gradients: bool = False) -> Iterator[None]:
    """Without dropout, and without gradients if none are asked for, leaving a network that is being trained as it was.

    Not `inference_mode`: tables of positions that grow meanwhile stay with the network, and must serve training too.
    """
    was_training = network.training
    if was_training:
        network.train(False)
    try:
        with torch.set_grad_enabled(gradients):
            yield
    finally:
        if was_training:
            network.train(True)


def run_search(
    stepper: Stepper[Any],
    source: Tensor,  # [B, S]
    limits: Sequence[int],
    numbers: Sequence[int],
    options: SearchOptions,
    demands: Demands = NO_DEMANDS,
    watch: Watcher | None = None,
    *,
    source_lengths: Sequence[int],
) -> list[list[Hypothesis]]:
    """The search that the options ask for. source_lengths: the tokens of each source that a penalty of coverage counts."""
    max_length = torch.tensor(limits, device=source.device)
    filters = _filters(options, demands)
    if options.draws:
        return sample(
            stepper,
            source,
            temperature=options.temperature,
            top_k=options.top_k,
            top_p=options.top_p,
            samples=options.mbr or options.nbest,
            seed=options.seed,
            max_length=max_length,
            alpha=options.alpha,
            form=options.length_form,
            filters=filters,
            sentences=numbers,
            watch=watch,
        )
    if options.exact:
        return exact(
            stepper,
            source,
            max_length=max_length,
            width=options.beam,
            node_limit=options.node_limit,
            filters=filters,
        )
    if options.groups > 1:
        return diverse(
            stepper,
            source,
            width=options.beam,
            groups=options.groups,
            diversity=options.diversity,
            alpha=options.alpha,
            form=options.length_form,
            coverage=options.coverage,
            source_lengths=source_lengths,
            max_length=max_length,
            stop=options.stop,
            nbest=options.nbest,
            filters=filters,
            watch=watch,
        )
    if options.beam == 1 and not options.coverage and demands.phrases is None:
        return greedy(
            stepper,
            source,
            max_length=max_length,
            alpha=options.alpha,
            form=options.length_form,
            filters=filters,
            watch=watch,
        )
    return beam(
        stepper,
        source,
        width=options.beam,
        alpha=options.alpha,
        form=options.length_form,
        coverage=options.coverage,
        source_lengths=source_lengths,
        max_length=max_length,
        stop=options.stop,
        nbest=options.nbest,
        filters=filters,
        phrases=demands.phrases,
        watch=watch,
    )


def _filters(options: SearchOptions, demands: Demands) -> Filters | None:
    """None where nothing is asked, so that nothing is done."""
    if not (options.min_length or options.no_repeat or demands.suppressed or demands.prefixes):
        return None
    return Filters(
        min_length=options.min_length,
        no_repeat=options.no_repeat,
        suppressed=demands.suppressed,
        prefixes=demands.prefixes,
    )
