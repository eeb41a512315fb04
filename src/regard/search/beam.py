"""Beam search over any `Stepper` (lectures 001): it keeps the k most probable partial outputs at each step.

The candidates of a step are the 2k most probable of the k * V continuations. Those among the first k that end are finished; the first k
that do not end continue (`candidates.choose_best`, or `constrained.Constrained` with phrases). A sentence leaves the batch as soon as it
is done. CTranslate2 and fairseq search in the same way.

Shapes: B sentences, b of them still active, k hypotheses each, c candidates, t tokens generated, S source,
V outputs.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.errors import SearchError
from regard.search.candidates import Candidates, choose_best
from regard.search.checks import check_beam, check_count, length_limits
from regard.search.constrained import Constrained
from regard.search.expansion import Expansion, Watcher
from regard.search.filters import Filters
from regard.search.finished import FinishedHypotheses
from regard.search.hypothesis import Hypothesis
from regard.search.interruption import Interruption, ends_here
from regard.search.live import first_hypotheses
from regard.search.logprobs import log_probabilities
from regard.search.phrases import Phrase
from regard.search.ranking import LengthForm, Ranking
from regard.search.stepper import StateT, Stepper
from regard.search.stopping import Stop, stop_rule


@torch.no_grad()
def beam(
    stepper: Stepper[StateT],
    source: Tensor,  # [B, S]
    *,
    width: int = 5,
    alpha: float = 1.0,
    form: LengthForm = "power",
    coverage: float = 0.0,
    source_lengths: Sequence[int] | None = None,
    max_length: int | Tensor,
    stop: Stop = "likely",
    stop_after: int | None = None,
    nbest: int = 1,
    filters: Filters | None = None,
    phrases: Sequence[Sequence[Phrase]] | None = None,
    record: bool = False,
    watch: Watcher | None = None,
    interruption: Interruption | None = None,
) -> list[list[Hypothesis]]:
    """Up to `nbest` hypotheses per sentence, best first by `Ranking(alpha, form, coverage)`.

    max_length: the lectures' T. Hypotheses cut at T are returned only if fewer than `nbest` have finished, and after those.
    stop: when a sentence is done. `first`: n hypotheses have finished; n is `stop_after`, else the width. `likely`: also, the most probable
    candidate of some step has ended, because n improbable short outputs may finish long before the best output. `safe`: no n.
    phrases: the token sequences that the outputs of each sentence must contain (`constrained.py`).
    source_lengths: the number of tokens of each source that the coverage penalty counts; None: all.
    watch: called with the candidates of every step.
    """
    check_beam(width, nbest if stop_after is None else 1)
    check_count("nbest", nbest)
    rule = stop_rule(stop, width, nbest, stop_after)
    ranking = Ranking(alpha, form, coverage)
    limits = length_limits(max_length, source.shape[0], source.device)
    if not source.shape[0]:
        return []
    filtered = None if filters is None else filters.ready(limits, stepper.end_token)
    constrained = None if phrases is None else Constrained(phrases, width, limits.tolist(), stepper.end_token)
    finished = FinishedHypotheses(limits, nbest, ranking, rule, source_lengths=source_lengths, keep_attention=record)
    with_attention = record or coverage > 0.0
    live = first_hypotheses(stepper, source)
    for step in range(int(limits.max()) + 1):  # one more, for the end mark of an output of the maximum length
        if ends_here(interruption, step, live.sentence):
            finished.cut_all(live)
            break
        logits, live.state, step_record = stepper.step(live.tokens, live.state, with_attention)
        live.look(step_record)
        gains = log_probabilities(logits)
        if filtered is not None:
            gains = filtered(gains, live.generated, live.sentence)
        if constrained is not None:
            chosen = constrained.choose(gains, live)
        else:
            going_on = 1 if filtered is not None and step < filtered.all_forced else width
            chosen = choose_best(gains, live.logprobs, width, going_on, stepper.end_token)
        finished.finish(live, chosen.candidates, chosen.finishing)
        if watch is not None:
            watch(Expansion.of(live.sentence, chosen))
        continued = chosen.candidates.take(chosen.going)
        cut = (limits[live.sentence] == step) | dead(continued, logits)
        done = cut
        if continued.logprobs.shape[1]:
            done = done | finished.complete(live.sentence, continued.logprobs[:, 0], chosen.led)
        finished.cut(live, cut)
        going = (~done).nonzero().squeeze(1)
        if not len(going):
            break
        live = live.extend(going, continued)
    return finished.results()


def dead(going: Candidates, logits: Tensor) -> Tensor:
    """[b]: whether all continuations are impossible."""
    if not going.logprobs.shape[1]:
        return torch.ones(len(logits), dtype=torch.bool, device=logits.device)
    dead = going.logprobs[:, 0] == -torch.inf
    if dead.any() and logits.isnan().any():
        raise SearchError("the model's logits are not numbers (NaN): its weights are damaged or its training diverged")
    return dead
