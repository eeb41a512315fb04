"""`Runner`, the torch engine: search and teacher forcing on one batch of sources: ids or pictures.

Another engine must return the same results for `search`.

Shapes: B sources, S ids of a source with end mark, T target with end mark, D width, V outputs, L decoder layers, H heads.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from regard.engine.batching import padded
from regard.engine.parallel import in_threads
from regard.engine.resident import Evaluable, Resident
from regard.engine.shortlist import ShortlistedStepper
from regard.engine.sources import Sources
from regard.errors import SearchError
from regard.ops.probe import Probe
from regard.search.constraints import Constraints
from regard.search.exact import exact
from regard.search.expansion import BranchWatcher, Watcher
from regard.search.hypothesis import Hypothesis
from regard.search.interruption import Interruption, StopSignal
from regard.search.logprobs import log_probabilities
from regard.search.options import SearchOptions
from regard.search.run import NO_CONSTRAINTS, run_search
from regard.search.stepper import Stepper

Ids = Sequence[int]

ROWS_OF_A_THREAD = 256  # hypotheses of a batch: with fewer, threads wait for each other too often
ROWS_AT_ONCE = 512  # rows of logits in scoring: 64 megabytes with a vocabulary of 32,000


class Network(Stepper[Any], Evaluable, Protocol):
    """A network with steps for search and with teacher forcing."""

    def hidden(self, source: Tensor, target_in: Tensor, probe: Probe | None = None) -> Tensor:
        """(source [B, ..], target_in [B, T]) -> [B, T, D]"""
        ...

    def project(self, hidden: Tensor) -> Tensor:
        """[..., D] -> logits [..., V]"""
        ...


@dataclass(frozen=True, slots=True)
class SearchBatch:
    """Sources that are searched together."""

    sources: Sequence[Any]
    """Ids without end mark, or pictures."""
    limits: Sequence[int]
    """The maximum output length of each, in tokens."""
    numbers: Sequence[int]
    """The keys of each one's random numbers."""
    constraints: Constraints = NO_CONSTRAINTS
    candidates: Sequence[set[int]] | None = None
    """The shortlisted outputs of each; None: all outputs."""


class Runner:
    """Runs a resident network. Targets are ids without end marks; `sources` knows what sources are."""

    def __init__(self, resident: Resident[Network], *, sources: Sources, target_pad: int) -> None:
        self._resident = resident
        self._sources, self._target_pad = sources, target_pad

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self._resident.device

    def search(
        self,
        batch: SearchBatch,
        options: SearchOptions,
        *,
        watch: Watcher | None = None,
        interruption: Interruption | None = None,
    ) -> list[list[Hypothesis]]:
        """`run_search` for a batch."""
        with self._resident.evaluating() as network:
            return self._search(network, batch, options, watch, interruption)

    def search_all(self, batches: Sequence[SearchBatch], options: SearchOptions) -> Iterator[list[list[Hypothesis]]]:
        """`search` of each batch, in order. On a CPU several large ones are searched at a time, each with one core."""
        rows = options.width * sum(len(batch.sources) for batch in batches)
        if len(batches) == 1 or rows < ROWS_OF_A_THREAD * len(batches) or self._resident.network.training:
            return (self.search(batch, options) for batch in batches)

        def search(batch: SearchBatch, stopped: StopSignal | None) -> list[list[Hypothesis]]:
            with self._resident.sharing() as network:
                return self._search(network, batch, options, None, Interruption.of(None, stopped))

        return in_threads(search, batches, self.device)

    def _search(
        self,
        network: Network,
        batch: SearchBatch,
        options: SearchOptions,
        watch: Watcher | None,
        interruption: Interruption | None,
    ) -> list[list[Hypothesis]]:
        stepper: Stepper[Any] = network
        constraints, shortlisted = batch.constraints, None
        if batch.candidates is not None:
            stepper = shortlisted = ShortlistedStepper(network, batch.candidates)
            constraints = replace(constraints, suppressed=shortlisted.places(constraints.suppressed))
        hypotheses = run_search(
            stepper,
            self._source(network, batch.sources),
            options,
            limits=batch.limits,
            numbers=batch.numbers,
            source_lengths=[self._sources.length(source) for source in batch.sources],
            constraints=constraints,
            watch=watch,
            interruption=interruption,
        )
        return hypotheses if shortlisted is None else shortlisted.in_ids(hypotheses)

    def exact(self, source: Any, options: SearchOptions, *, limit: int, watch: BranchWatcher) -> Hypothesis:
        """The most probable hypothesis for one source, by exact search; `watch` gets every expansion."""
        interruption = Interruption.of(options.time_limit, None)
        with self._resident.evaluating() as network:
            [[hypothesis]] = exact(
                network,
                self._source(network, [source]),
                max_length=limit,
                width=options.beam,
                node_limit=options.node_limit,
                watch=watch,
                interruption=None if interruption is None else interruption.of_batch(),
            )
        return hypothesis

    def forced(
        self, sources: Sequence[Any], targets: Sequence[Ids], probe: Probe | None = None, *, gradients: bool = False
    ) -> Tensor:
        """[B, T, D]: the last hidden states by teacher forcing, which `project` maps to the logits of each token and of the end mark.

        A name of the probe that fits nothing in the network is a `ConfigError`.
        """
        with self._resident.evaluating(gradients=gradients) as network:
            target_in = padded(
                [[network.start_token, *ids] for ids in targets], self._target_pad, self.device
            )  # [B, T]
            hidden = network.hidden(self._source(network, sources), target_in, probe)
        if probe is not None:
            probe.require_matches()
        return hidden

    def states(self, sources: Sequence[Any], targets: Sequence[Ids], probe: Probe | None = None) -> Tensor:
        """`forced` without what a network that copies puts beside its hidden states."""
        hidden = self.forced(sources, targets, probe)
        states_of = getattr(self._resident.network, "states_of", None)
        return hidden if states_of is None else states_of(hidden)

    def score(self, sources: Sequence[Any], targets: Sequence[Ids]) -> list[list[float]]:
        """log p of each token of each target and of the end mark, by teacher forcing."""
        with self._resident.evaluating() as network:
            hidden = self.forced(sources, targets)
            expected = [[*target, network.end_token] for target in targets]
            real = torch.cat([hidden[row, : len(ids)] for row, ids in enumerate(expected)])  # [N, D], no padding
            wanted = torch.tensor([token for ids in expected for token in ids], device=hidden.device)  # [N]
            parts = [slice(first, first + ROWS_AT_ONCE) for first in range(0, len(wanted), ROWS_AT_ONCE)]
            logprobs = torch.cat(
                [
                    log_probabilities(network.project(real[part])).gather(1, wanted[part, None]).squeeze(1)
                    for part in parts
                ]
            )
        if logprobs.isnan().any():
            raise SearchError(
                "the model's logits are not numbers (NaN): its weights are damaged or its training diverged"
            )
        values = iter(logprobs.tolist())
        return [[next(values) for _ in ids] for ids in expected]

    def _source(self, network: Network, sources: Sequence[Any]) -> Tensor:
        """[B, ..]"""
        return self._sources.tensor(sources, network.end_token, self.device)
