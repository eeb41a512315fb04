"""Diverse beam search (Vijayakumar et al. 2018): groups of hypotheses, each a beam that avoids what the groups before it say.

At each step the groups choose one after the other, and a token costs a group `diversity` for every hypothesis of an earlier group that
goes on with it at this step (Hamming diversity). The cost decides only what is chosen: log-probabilities and scores are the model's own.

Shapes: B sentences asked for, b of them still alive, G groups of k hypotheses each, c candidates of a group, S source,
V tokens that can be generated.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.search.aside import Aside
from regard.search.beam import dead
from regard.search.candidates import Candidates, Choice, choose_best
from regard.search.expansion import Expansion, Watcher
from regard.search.filters import Filters
from regard.search.hypothesis import Hypothesis, best_first
from regard.search.live import Live, first_hypotheses
from regard.search.logprobs import log_probabilities
from regard.search.options import Stop, check_beam, check_groups, length_limits, stop_rule
from regard.search.ranking import LengthForm, Ranking
from regard.search.stepper import StateT, Stepper


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
) -> list[list[Hypothesis]]:
    """Up to `nbest` hypotheses a sentence, best first: the best of each group, then the second best of each, and so on, without repeats.

    `width` is that of all groups together. The other options are those of `beam`, and hold for each group by itself.
    """
    check_beam(width, nbest)
    check_groups(width, groups, diversity)
    narrow = width // groups
    each = min(nbest, narrow)  # groups may say the same, and what is left then fills the n best
    rule = stop_rule(stop, narrow, each)
    ranking = Ranking(alpha, form, coverage)
    limits = length_limits(max_length, source.shape[0], source.device)
    if not source.shape[0]:
        return []
    filtered = None if filters is None else filters.ready(limits, stepper.end_token)
    lengths = None if source_lengths is None else [length for length in source_lengths for _ in range(groups)]
    limits = limits.repeat_interleave(groups)  # [B * G]: a group of a sentence is a search of its own from here on
    aside = Aside(limits, each, ranking, rule, source_lengths=lengths, keep_attention=record)
    live = _in_groups(first_hypotheses(stepper, source), groups)
    for step in range(int(limits.max()) + 1):  # one more, for the end mark of a sentence of the longest length
        logits, live.state, seen = stepper.step(live.tokens, live.state, record or coverage > 0.0)
        live.look(seen)
        gains = log_probabilities(logits)
        if filtered is not None:
            gains = filtered(gains, live.said, live.sentence)
        going_on = 1 if filtered is not None and step < filtered.all_forced else narrow
        chosen = _choose(gains, live.logprobs, groups, narrow, going_on, diversity, stepper.end_token)
        if watch is not None:
            # at the first step all groups continue the one hypothesis that has said nothing
            watch(_told(live.sentence, chosen, groups, live.logprobs.shape[1] if step else 0))
        apart = _apart(live, groups)
        aside.finish(apart, chosen.found, chosen.finishing)
        found = chosen.found.take(chosen.going)
        cut = (limits[apart.sentence] == step) | dead(found, logits)
        done = cut
        if found.logprobs.shape[1]:
            done = done | aside.complete(apart.sentence, found.logprobs.max(dim=1).values, chosen.led)
        aside.cut(apart, cut)
        going = (~done.view(-1, groups).all(dim=1)).nonzero().squeeze(1)
        if not len(going):
            break
        found.logprobs.masked_fill_(done[:, None], -torch.inf)  # a group that is done waits for the others
        live = live.extend(going, _together(found, groups, live.logprobs.shape[1]))
    return [_merged(found, nbest) for found in _chunks(aside.results(), groups)]


def _choose(
    gains: Tensor,  # [b, G * k, V]
    logprobs: Tensor,  # [b, G * k]
    groups: int,
    width: int,
    going_on: int,
    diversity: float,
    end_token: int,
) -> Choice:
    """What each group chooses, having seen what the groups before it chose: a choice of [b * G] groups."""
    used = torch.zeros_like(gains[:, 0], dtype=logprobs.dtype)  # [b, V], how often a token goes on
    choices = []
    for part, total in zip(gains.chunk(groups, dim=1), logprobs.chunk(groups, dim=1), strict=True):
        chosen = choose_best(part.to(logprobs.dtype) - diversity * used[:, None], total, width, going_on, end_token)
        found = chosen.found
        found.logprobs += diversity * used.gather(1, found.tokens)
        on = found.take(chosen.going)
        used.scatter_add_(1, on.tokens, (on.logprobs > -torch.inf).to(used.dtype))
        choices.append(chosen)
    return Choice(
        Candidates(
            _stacked([one.found.logprobs for one in choices]),
            _stacked([one.found.parents for one in choices]),
            _stacked([one.found.tokens for one in choices]),
        ),
        finishing=_stacked([one.finishing for one in choices]),
        going=_stacked([one.going for one in choices]),
        led=_stacked([one.led for one in choices]),
    )


def _in_groups(live: Live[StateT], groups: int) -> Live[StateT]:
    """Every group begins with the one hypothesis that has said nothing."""
    parents = torch.zeros((len(live.sentence), groups), dtype=torch.long, device=live.tokens.device)
    return Live(
        live.sentence,
        live.tokens.expand(-1, groups),
        live.said.expand(-1, groups, -1),
        live.logprobs.expand(-1, groups),
        None,
        live.state.reorder(live.sentence, parents),
    )


def _apart(live: Live[StateT], groups: int) -> Live[StateT]:
    """The same hypotheses, each group as if it were a sentence: [b, G * k] -> [b * G, k]. Its state is not to be used."""
    numbers = live.sentence[:, None] * groups + torch.arange(groups, device=live.sentence.device)

    def split(tensor: Tensor) -> Tensor:
        return tensor.reshape(len(tensor) * groups, tensor.shape[1] // groups, *tensor.shape[2:])

    return Live(
        numbers.flatten(),
        split(live.tokens),
        split(live.said),
        split(live.logprobs),
        None if live.looked is None else split(live.looked),
        live.state,
    )


def _together(found: Candidates, groups: int, hypotheses: int) -> Candidates:
    """[b * G, k] -> [b, G * k], parents counted among all hypotheses of a sentence."""
    rows = len(found.logprobs) // groups
    firsts = torch.arange(groups, device=found.parents.device) * (hypotheses // groups)
    parents = found.parents.view(rows, groups, -1) + firsts[:, None]
    return Candidates(found.logprobs.view(rows, -1), parents.view(rows, -1), found.tokens.view(rows, -1))


def _told(sentences: Tensor, chosen: Choice, groups: int, hypotheses: int) -> Expansion:
    """What a watcher is told: the candidates of all groups of a sentence side by side."""
    rows, size = len(sentences), chosen.found.logprobs.shape[1]
    found = _together(chosen.found, groups, hypotheses)
    finished = torch.nn.functional.pad(chosen.finishing, (0, size - chosen.finishing.shape[1]))
    firsts = torch.arange(groups, device=sentences.device) * size
    going = (chosen.going.view(rows, groups, -1) + firsts[:, None]).view(rows, -1)
    return Expansion(sentences, found.parents, found.tokens, found.logprobs, finished.view(rows, -1), going)


def _stacked(parts: list[Tensor]) -> Tensor:
    """G of [b, ...] -> [b * G, ...], the groups of a sentence one after the other."""
    return torch.stack(parts, dim=1).flatten(0, 1)


def _chunks(found: list[list[Hypothesis]], groups: int) -> list[list[list[Hypothesis]]]:
    return [found[first : first + groups] for first in range(0, len(found), groups)]


def _merged(found: list[list[Hypothesis]], nbest: int) -> list[Hypothesis]:
    """The hypotheses of a sentence's groups, taken in turn."""
    ranked = [(rank, one) for group in found for rank, one in enumerate(group)]
    ranked.sort(key=lambda pair: (pair[0], not pair[1].finished, -pair[1].score))
    distinct: dict[tuple[tuple[int, ...], bool], Hypothesis] = {}
    for _, one in ranked:
        distinct.setdefault((one.tokens, one.finished), one)
    return best_first(list(distinct.values())[:nbest])
