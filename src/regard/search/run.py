"""Runs the search that `SearchOptions` select, over any `Stepper`.

Shapes: B sentences, S source.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.errors import SearchError
from regard.search.beam import beam
from regard.search.constraints import Constraints
from regard.search.diverse import diverse
from regard.search.exact import exact
from regard.search.exhaustive import exhaustive
from regard.search.expansion import Steps, Watcher, drive
from regard.search.filters import Filters
from regard.search.greedy import greedy_steps
from regard.search.hypothesis import Hypothesis
from regard.search.interruption import Interruption
from regard.search.options import SearchOptions
from regard.search.sampling import sample_steps
from regard.search.stepper import StateT, Stepper

NO_CONSTRAINTS = Constraints()


def run_search(
    stepper: Stepper[StateT],
    source: Tensor,  # [B, S]
    options: SearchOptions,
    *,
    limits: Sequence[int],
    numbers: Sequence[int],
    source_lengths: Sequence[int],
    constraints: Constraints = NO_CONSTRAINTS,
    watch: Watcher | None = None,
    interruption: Interruption | None = None,
) -> list[list[Hypothesis]]:
    """Up to `options.nbest` hypotheses for each sentence, best first. For minimum Bayes risk decoding, all samples.

    limits: the maximum output length of each, in tokens. numbers: the keys of each sentence's random numbers. source_lengths: the number of
    tokens of each source that the coverage penalty counts. watch: called with every step; exact and exhaustive search have no such steps.
    interruption: looked at between steps. Its caller makes it of `options.time_limit`, which bounds all batches of a call.
    """
    if goes_token_by_token(options, constraints):
        steps = search_steps(
            stepper,
            source,
            options,
            limits=limits,
            numbers=numbers,
            constraints=constraints,
            expansions=watch is not None,
            interruption=interruption,
        )
        return drive(steps, watch)
    own = None if interruption is None else interruption.of_batch()
    hypotheses = _search_whole(stepper, source, options, limits, source_lengths, constraints, watch, own)
    return hypotheses if own is None else own.marked(hypotheses)


def _search_whole(
    stepper: Stepper[StateT],
    source: Tensor,  # [B, S]
    options: SearchOptions,
    limits: Sequence[int],
    source_lengths: Sequence[int],
    constraints: Constraints,
    watch: Watcher | None,
    interruption: Interruption | None,
) -> list[list[Hypothesis]]:
    """The searches that revise what they have, and so do not go token by token."""
    max_length = torch.tensor(limits, device=source.device)
    filters = _filters(options, constraints)
    if options.exhaustive:
        return exhaustive(
            stepper,
            source,
            max_length=max_length,
            alpha=options.alpha,
            form=options.length_form,
            nbest=options.nbest,
            filters=filters,
            interruption=interruption,
        )
    if options.exact:
        return exact(
            stepper,
            source,
            max_length=max_length,
            width=options.beam,
            node_limit=options.node_limit,
            filters=filters,
            interruption=interruption,
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
            interruption=interruption,
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
        stop_after=options.stop_after,
        nbest=options.nbest,
        filters=filters,
        phrases=constraints.phrases,
        watch=watch,
        interruption=interruption,
    )


def goes_token_by_token(options: SearchOptions, constraints: Constraints = NO_CONSTRAINTS) -> bool:
    """Whether the search never revises a token, so that it can be streamed by `search_steps`: sampling and greedy search."""
    plain = options.kind == "beam" and options.stop_after is None and constraints.phrases is None
    return options.draws or (plain and options.beam == 1 and not options.coverage)


def search_steps(
    stepper: Stepper[StateT],
    source: Tensor,  # [B, S]
    options: SearchOptions,
    *,
    limits: Sequence[int],
    numbers: Sequence[int],
    constraints: Constraints = NO_CONSTRAINTS,
    expansions: bool = True,
    interruption: Interruption | None = None,
) -> Steps:
    """`run_search` as a generator of steps, for streaming. Only for options that go token by token."""
    if not goes_token_by_token(options, constraints):
        raise SearchError("only greedy search and sampling go token by token")
    max_length = torch.tensor(limits, device=source.device)
    filters = _filters(options, constraints)
    own = None if interruption is None else interruption.of_batch()
    if options.draws:
        steps = sample_steps(
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
            expansions=expansions,
            interruption=own,
        )
    else:
        steps = greedy_steps(
            stepper,
            source,
            max_length=max_length,
            alpha=options.alpha,
            form=options.length_form,
            filters=filters,
            expansions=expansions,
            interruption=own,
        )
    return steps if own is None else _marked(steps, own)


def _marked(steps: Steps, interruption: Interruption) -> Steps:
    """The same steps; the hypotheses of sentences that the time limit cut are marked."""
    return interruption.marked((yield from steps))


def _filters(options: SearchOptions, constraints: Constraints) -> Filters | None:
    """The filters of the options and constraints; None if there are none."""
    if not (options.min_length or options.no_repeat or constraints.suppressed or constraints.prefixes):
        return None
    return Filters(
        min_length=options.min_length,
        no_repeat=options.no_repeat,
        suppressed=constraints.suppressed,
        prefixes=constraints.prefixes,
    )
