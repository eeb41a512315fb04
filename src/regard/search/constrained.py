"""Which candidates of a beam go on where outputs must contain given phrases: dynamic beam allocation (Post and Vilar 2018).

Hypotheses compete only with those that have as many tokens of the phrases: a beam of k is divided into C + 1 banks, C being the number
of those tokens, and what a bank cannot fill goes to the others. Candidates are the most probable continuations of all, the most probable
one of each hypothesis, and every token that brings a phrase forward or, where all are met, the end mark. Only what has met all phrases
may end, and what could not meet them one after the other within the longest length any more is cut: where they fit, the output
contains them.

A sentence without phrases is searched as by an ordinary beam.

Shapes: b sentences still alive, k hypotheses each, c candidates, t tokens said, V tokens that can be generated.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.errors import SearchError
from regard.search.candidates import Candidates, Choice
from regard.search.live import Live
from regard.search.phrases import Phrases, Progress
from regard.search.stepper import StateT


@dataclass(frozen=True, slots=True)
class Option:
    """One continuation of one hypothesis."""

    logprob: float
    parent: int
    token: int
    bank: int
    """Tokens of the phrases that it has; C where all are met."""
    ends: bool


class Constrained:
    """The rule by which a step is chosen, for the phrases of every sentence of a batch."""

    def __init__(
        self, phrases: Sequence[Sequence[Sequence[int]]], width: int, limits: Sequence[int], end_token: int
    ) -> None:
        if len(phrases) != len(limits):
            raise SearchError(f"{len(phrases)} lists of phrases for {len(limits)} sources: give one for each")
        self._phrases = [Phrases(some) for some in phrases]
        self._width, self._limits, self._end_token = width, limits, end_token
        for number, (wanted, limit) in enumerate(zip(self._phrases, limits, strict=True)):
            if wanted.total > limit:
                raise SearchError(
                    f"the phrases of sentence {number} have {wanted.total} tokens, above max_length, {limit}: raise that"
                )
            if any(token == end_token or token < 0 for phrase in wanted.phrases for token in phrase):
                raise SearchError(f"a phrase of sentence {number} holds the end mark or a negative id: leave it out")
        self._known: dict[tuple[int, tuple[int, ...]], Progress] = {
            (number, ()): wanted.nothing for number, wanted in enumerate(self._phrases)
        }

    def choose(self, gains: Tensor, live: Live[StateT]) -> Choice:
        """gains [b, k, V]: log-probabilities of each next token."""
        rows = [
            self._options(sentence, gains[row], live.logprobs[row], live.said[row].tolist())
            for row, sentence in enumerate(live.sentence.tolist())
        ]
        totals = [self._phrases[sentence].total for sentence in live.sentence.tolist()]
        finishing = [first_that_end(options, self._width, total) for options, total in zip(rows, totals, strict=True)]
        going = [allocated(options, self._width, total) for options, total in zip(rows, totals, strict=True)]
        led = [
            next((option.ends for option in options if option.bank == total), False)
            for options, total in zip(rows, totals, strict=True)
        ]
        return self._rectangle(rows, finishing, going, led, live.logprobs)

    def _options(self, sentence: int, gains: Tensor, logprobs: Tensor, said: list[list[int]]) -> list[Option]:
        """The candidates of one sentence, the most probable first: gains [k, V], logprobs [k], said [k][t]."""
        phrases = self._phrases[sentence]
        progress = [self._follow(sentence, tuple(tokens)) for tokens in said]
        totals = logprobs[:, None] + gains.to(logprobs.dtype)  # [k, V]
        totals = totals.masked_fill(totals.isnan(), -torch.inf)
        unmet = [parent for parent, one in enumerate(progress) if phrases.met(one) < phrases.total]
        totals[unmet, self._end_token] = -torch.inf
        vocabulary = totals.shape[1]
        flat = totals.flatten().topk(min(2 * self._width, totals.numel())).indices.tolist()
        if phrases.total:
            likeliest = totals.argmax(dim=1).tolist()
            for parent, one in enumerate(progress):
                tokens = phrases.wanted(one) or [self._end_token]
                _check_tokens(tokens, vocabulary, sentence)
                flat += [parent * vocabulary + token for token in [likeliest[parent], *tokens]]
        places = list(dict.fromkeys(flat))
        values = totals.flatten()[places].tolist()
        length = len(said[0]) + 1
        limit = self._limits[sentence] if phrases.total else length  # without phrases nothing is cut here
        options = []
        for place, logprob in zip(places, values, strict=True):
            parent, token = divmod(place, vocabulary)
            ends = token == self._end_token
            after = progress[parent] if ends else phrases.advance(progress[parent], token)
            if logprob > -torch.inf and (ends or length + phrases.need(after) <= limit):
                options.append(Option(logprob, parent, token, phrases.met(after), ends))
        return sorted(options, key=lambda option: -option.logprob)

    def _follow(self, sentence: int, said: tuple[int, ...]) -> Progress:
        known = self._known.get((sentence, said))
        if known is None:
            known = self._phrases[sentence].advance(self._follow(sentence, said[:-1]), said[-1])
            self._known[sentence, said] = known
        return known

    def _rectangle(
        self,
        rows: list[list[Option]],
        finishing: list[list[int]],
        going: list[list[int]],
        led: list[bool],
        logprobs: Tensor,
    ) -> Choice:
        """The same as tensors, each row filled up with candidates that are none."""
        nothing = Option(-torch.inf, 0, self._end_token, 0, False)
        size = max(map(len, rows)) + 1
        full = [[*options, *[nothing] * (size - len(options))] for options in rows]
        device = logprobs.device

        def ids(values: list[list[int]]) -> Tensor:
            return torch.tensor(values, dtype=torch.long, device=device)

        found = Candidates(
            logprobs.new_tensor([[option.logprob for option in options] for options in full]),
            ids([[option.parent for option in options] for options in full]),
            ids([[option.token for option in options] for options in full]),
        )
        ended = torch.zeros((len(rows), size), dtype=torch.bool, device=device)
        for row, some in enumerate(finishing):
            ended[row, some] = True
        filled = [[*chosen, *[size - 1] * (self._width - len(chosen))] for chosen in going]
        return Choice(found, ended, ids(filled), torch.tensor(led, device=device))


def allotments(width: int, total: int) -> list[int]:
    """How many hypotheses each of the total + 1 banks may have: equally many, and the last the rest."""
    share = width // (total + 1)
    return [share] * total + [width - share * total]


def first_that_end(options: Sequence[Option], width: int, total: int) -> list[int]:
    """Which options finish: those that end among the first of the last bank, as many as it may have."""
    last = [at for at, option in enumerate(options) if option.bank == total]
    return [at for at in last[: allotments(width, total)[-1]] if options[at].ends]


def allocated(options: Sequence[Option], width: int, total: int) -> list[int]:
    """Which options go on: of each bank the first that do not end; what it cannot fill goes round, the fullest bank first."""
    waiting: list[list[int]] = [[] for _ in range(total + 1)]
    for at, option in enumerate(options):
        if not option.ends:
            waiting[option.bank].append(at)
    sizes = [min(size, len(some)) for size, some in zip(allotments(width, total), waiting, strict=True)]
    while sum(sizes) < width:
        more = [bank for bank in range(total, -1, -1) if sizes[bank] < len(waiting[bank])]
        if not more:
            break
        for bank in more[: width - sum(sizes)]:
            sizes[bank] += 1
    return sorted(at for size, some in zip(sizes, waiting, strict=True) for at in some[:size])


def _check_tokens(tokens: Sequence[int], vocabulary: int, sentence: int) -> None:
    if max(tokens) >= vocabulary:
        raise SearchError(
            f"a phrase of sentence {sentence} holds id {max(tokens)}, but the model generates 0 to {vocabulary - 1}"
        )
