"""Diverse beam search (Vijayakumar et al. 2018): groups of hypotheses, each a beam that avoids the tokens of earlier groups.

At each step the groups choose in order. A token costs a group `diversity` for every hypothesis of an earlier group that continues with it
at this step (Hamming diversity). The penalty affects only the choice: log-probabilities and scores are the model's own.

Shapes: B sentences, b of them still active, G groups of k hypotheses each, c candidates of a group, S source,
V outputs.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.search.beam import dead
from regard.search.candidates import Candidates, Choice, choose_best
from regard.search.checks import check_beam, check_groups, length_limits
from regard.search.expansion import Expansion, Watcher
from regard.search.filters import Filters
from regard.search.finished import FinishedHypotheses
from regard.search.hypothesis import Hypothesis, best_first
from regard.search.interruption import Interruption, ends_here
from regard.search.live import Live, first_hypotheses
from regard.search.logprobs import log_probabilities
from regard.search.ranking import LengthForm, Ranking
from regard.search.stepper import StateT, Stepper
from regard.search.stopping import Stop, stop_rule


@torch.no_grad()
def diverse(
    stepper: Stepper[StateT],
    source: Tensor,  # [B, S]
    *,
    width: int,
    groups: int,
    diversity: float = 0.5,
    alpha: float = 1.0,
    form: LengthForm = "power",
    coverage: float = 0.0,
    source_lengths: Sequence[int] | None = None,
    max_length: int | Tensor,
    stop: Stop = "likely",
    nbest: int = 1,
    filters: Filters | None = None,
    record: bool = False,
    watch: Watcher | None = None,
    interruption: Interruption | None = None,
) -> list[list[Hypothesis]]:
    """Up to `nbest` distinct hypotheses per sentence: the best of each group, then the second best of each, and so on.

    width: of all groups together. The other options are those of `beam`, for each group.
    """
    check_beam(width, nbest)
    check_groups(width, groups, diversity)
    narrow = width // groups
    each = min(nbest, narrow)  # groups may have the same hypotheses; others then fill the n best
    rule = stop_rule(stop, narrow, each)
    ranking = Ranking(alpha, form, coverage)
    limits = length_limits(max_length, source.shape[0], source.device)
    if not source.shape[0]:
        return []
    filtered = None if filters is None else filters.ready(limits, stepper.end_token)
    lengths = None if source_lengths is None else [length for length in source_lengths for _ in range(groups)]
    limits = limits.repeat_interleave(groups)  # [B * G]: each group of a sentence is a search of its own from here on
    finished = FinishedHypotheses(limits, each, ranking, rule, source_lengths=lengths, keep_attention=record)
    live = _in_groups(first_hypotheses(stepper, source), groups)
    for step in range(int(limits.max()) + 1):  # one more, for the end mark of an output of the maximum length
        if ends_here(interruption, step, live.sentence):
            finished.cut_all(_apart(live, groups))
            break
        logits, live.state, step_record = stepper.step(live.tokens, live.state, record or coverage > 0.0)
        live.look(step_record)
        gains = log_probabilities(logits)
        if filtered is not None:
            gains = filtered(gains, live.generated, live.sentence)
        going_on = 1 if filtered is not None and step < filtered.all_forced else narrow
        chosen = _choose(gains, live.logprobs, groups, narrow, going_on, diversity, stepper.end_token)
        if watch is not None:
            # at the first step all groups continue the one empty hypothesis
            watch(_expansion(live.sentence, chosen, groups, live.logprobs.shape[1] if step else 0))
        apart = _apart(live, groups)
        finished.finish(apart, chosen.candidates, chosen.finishing)
        continued = chosen.candidates.take(chosen.going)
        cut = (limits[apart.sentence] == step) | dead(continued, logits)
        done = cut
        if continued.logprobs.shape[1]:
            done = done | finished.complete(apart.sentence, continued.logprobs.max(dim=1).values, chosen.led)
        finished.cut(apart, cut)
        going = (~done.view(-1, groups).all(dim=1)).nonzero().squeeze(1)
        if not len(going):
            break
        continued.logprobs.masked_fill_(done[:, None], -torch.inf)  # a group that is done waits for the others
        live = live.extend(going, _together(continued, groups, live.logprobs.shape[1]))
    return [_merged(hypotheses, nbest) for hypotheses in _chunks(finished.results(), groups)]


def _choose(
    gains: Tensor,  # [b, G * k, V]
    logprobs: Tensor,  # [b, G * k]
    groups: int,
    width: int,
    going_on: int,
    diversity: float,
    end_token: int,
) -> Choice:
    """The choices of the groups, in order, each with the penalty for earlier groups: a choice of [b * G] groups."""
    used = torch.zeros_like(
        gains[:, 0], dtype=logprobs.dtype
    )  # [b, V], how many hypotheses of earlier groups continue with a token
    choices = []
    for part, total in zip(gains.chunk(groups, dim=1), logprobs.chunk(groups, dim=1), strict=True):
        chosen = choose_best(part.to(logprobs.dtype) - diversity * used[:, None], total, width, going_on, end_token)
        candidates = chosen.candidates
        candidates.logprobs += diversity * used.gather(1, candidates.tokens)
        on = candidates.take(chosen.going)
        used.scatter_add_(1, on.tokens, (on.logprobs > -torch.inf).to(used.dtype))
        choices.append(chosen)
    return Choice(
        Candidates(
            _stacked([choice.candidates.logprobs for choice in choices]),
            _stacked([choice.candidates.parents for choice in choices]),
            _stacked([choice.candidates.tokens for choice in choices]),
        ),
        finishing=_stacked([choice.finishing for choice in choices]),
        going=_stacked([choice.going for choice in choices]),
        led=_stacked([choice.led for choice in choices]),
    )


def _in_groups(live: Live[StateT], groups: int) -> Live[StateT]:
    """Copy the empty hypothesis to every group."""
    parents = torch.zeros((len(live.sentence), groups), dtype=torch.long, device=live.tokens.device)
    return Live(
        live.sentence,
        live.tokens.expand(-1, groups),
        live.generated.expand(-1, groups, -1),
        live.logprobs.expand(-1, groups),
        None,
        live.state.reorder(live.sentence, parents),
    )


def _apart(live: Live[StateT], groups: int) -> Live[StateT]:
    """The same hypotheses with each group as a sentence: [b, G * k] -> [b * G, k]. The state of the result must not be used."""
    numbers = live.sentence[:, None] * groups + torch.arange(groups, device=live.sentence.device)

    def split(tensor: Tensor) -> Tensor:
        return tensor.reshape(len(tensor) * groups, tensor.shape[1] // groups, *tensor.shape[2:])

    return Live(
        numbers.flatten(),
        split(live.tokens),
        split(live.generated),
        split(live.logprobs),
        None if live.attention is None else split(live.attention),
        live.state,
    )


def _together(candidates: Candidates, groups: int, hypotheses: int) -> Candidates:
    """[b * G, k] -> [b, G * k], with parents as indices into all hypotheses of a sentence."""
    rows = len(candidates.logprobs) // groups
    firsts = torch.arange(groups, device=candidates.parents.device) * (hypotheses // groups)
    parents = candidates.parents.view(rows, groups, -1) + firsts[:, None]
    return Candidates(candidates.logprobs.view(rows, -1), parents.view(rows, -1), candidates.tokens.view(rows, -1))


def _expansion(sentences: Tensor, chosen: Choice, groups: int, hypotheses: int) -> Expansion:
    """The step as an `Expansion`, with the candidates of all groups of a sentence concatenated."""
    rows, size = len(sentences), chosen.candidates.logprobs.shape[1]
    candidates = _together(chosen.candidates, groups, hypotheses)
    finished = torch.nn.functional.pad(chosen.finishing, (0, size - chosen.finishing.shape[1]))
    firsts = torch.arange(groups, device=sentences.device) * size
    going = (chosen.going.view(rows, groups, -1) + firsts[:, None]).view(rows, -1)
    return Expansion(
        sentences, candidates.parents, candidates.tokens, candidates.logprobs, finished.view(rows, -1), going
    )


def _stacked(parts: list[Tensor]) -> Tensor:
    """G of [b, ...] -> [b * G, ...], the groups of a sentence one after the other."""
    return torch.stack(parts, dim=1).flatten(0, 1)


def _chunks(results: list[list[Hypothesis]], groups: int) -> list[list[list[Hypothesis]]]:
    return [results[first : first + groups] for first in range(0, len(results), groups)]


def _merged(by_group: list[list[Hypothesis]], nbest: int) -> list[Hypothesis]:
    """The hypotheses of a sentence's groups, taken in turn."""
    ranked = [(rank, hypothesis) for group in by_group for rank, hypothesis in enumerate(group)]
    ranked.sort(key=lambda pair: (pair[0], not pair[1].finished, -pair[1].score))
    distinct: dict[tuple[tuple[int, ...], bool], Hypothesis] = {}
    for _, hypothesis in ranked:
        distinct.setdefault((hypothesis.tokens, hypothesis.finished), hypothesis)
    return best_first(list(distinct.values())[:nbest])
