"""Beam search (lectures 001): at each step the k most probable partial outputs. It knows the model only as a `Stepper`.

At each step the 2k most probable of the k * V continuations are candidates. Those among the first k that end are set aside as
finished; the first k that do not end go on (`candidates.choose_best`, or `constrained.Constrained` where phrases are asked for). A
sentence leaves the batch as soon as it is done. CTranslate2 and fairseq search in the same way.

Shapes: B sentences asked for, b of them still alive, k hypotheses each, c candidates, t tokens said, S source,
V tokens that can be generated.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.errors import SearchError
from regard.search.aside import Aside
from regard.search.candidates import Candidates, choose_best
from regard.search.constrained import Constrained
from regard.search.expansion import Expansion, Watcher
from regard.search.filters import Filters
from regard.search.hypothesis import Hypothesis
from regard.search.live import first_hypotheses
from regard.search.logprobs import log_probabilities
from regard.search.options import Stop, check_beam, check_count, length_limits, stop_rule
from regard.search.ranking import LengthForm, Ranking
from regard.search.stepper import StateT, Stepper


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
    phrases: Sequence[Sequence[Sequence[int]]] | None = None,
    record: bool = False,
    watch: Watcher | None = None,
) -> list[list[Hypothesis]]:
    """Up to `nbest` hypotheses a sentence, best first by `Ranking(alpha, form, coverage)`.

    `max_length` is the lectures' T, and n the number of finished hypotheses that ends a sentence: `stop_after`, or by the rules `likely`
    and `first` of `stop` the width. Where a model is sure of itself, n improbable short outputs are quickly found, long before the one it
    believes in has ended, so `likely` goes on until the most probable candidate of some step was one that ended. By `safe` there is no n.
    Hypotheses cut at T are returned, after the finished ones, only where fewer than `nbest` have finished.
    `phrases`: for each sentence the token sequences that its outputs must contain (`constrained.py`).
    `source_lengths`: how many tokens of each source the coverage penalty counts, from the first; all if None.
    `watch` is told every step's candidates and what became of them.
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
    aside = Aside(limits, nbest, ranking, rule, source_lengths=source_lengths, keep_attention=record)
    looking = record or coverage > 0.0
    live = first_hypotheses(stepper, source)
    for step in range(int(limits.max()) + 1):  # one more, for the end mark of a sentence of the longest length
        logits, live.state, seen = stepper.step(live.tokens, live.state, looking)
        live.look(seen)
        gains = log_probabilities(logits)
        if filtered is not None:
            gains = filtered(gains, live.said, live.sentence)
        if constrained is not None:
            chosen = constrained.choose(gains, live)
        else:
            going_on = 1 if filtered is not None and step < filtered.all_forced else width
            chosen = choose_best(gains, live.logprobs, width, going_on, stepper.end_token)
        aside.finish(live, chosen.found, chosen.finishing)
        if watch is not None:
            watch(Expansion.of(live.sentence, chosen))
        found = chosen.found.take(chosen.going)
        cut = (limits[live.sentence] == step) | dead(found, logits)
        done = cut
        if found.logprobs.shape[1]:
            done = done | aside.complete(live.sentence, found.logprobs[:, 0], chosen.led)
        aside.cut(live, cut)
        going = (~done).nonzero().squeeze(1)
        if not len(going):
            break
        live = live.extend(going, found)
    return aside.results()


def dead(going: Candidates, logits: Tensor) -> Tensor:
    """[b]: whether nothing possible goes on."""
    if not going.logprobs.shape[1]:
        return torch.ones(len(logits), dtype=torch.bool, device=logits.device)
    dead = going.logprobs[:, 0] == -torch.inf
    if dead.any() and logits.isnan().any():
        raise SearchError("the model's logits are not numbers (NaN): its weights are damaged or its training diverged")
    return dead
