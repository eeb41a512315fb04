"""Constrained beam search: outputs must contain given phrases, by dynamic beam allocation (Post and Vilar 2018).

A beam of k is divided into C + 1 banks, where C is the number of tokens of all phrases. Hypotheses compete only inside a bank: with those
that have generated equally many of these tokens. Slots that a bank cannot fill go to the others. The candidates are the most probable
continuations of all, the most probable one of each hypothesis, and every token that advances a phrase, or the end mark if all phrases are
met. Only a hypothesis that has met all phrases may end. One that cannot meet the rest within the maximum length is pruned. So the output
contains the phrases if they fit.

A sentence without phrases is searched by an unconstrained beam.

Shapes: b active sentences, k hypotheses each, c candidates, t tokens generated, V outputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.errors import SearchError
from regard.search.candidates import Candidates, Choice
from regard.search.live import Live
from regard.search.phrases import Phrase, Phrases, Progress
from regard.search.stepper import StateT


@dataclass(frozen=True, slots=True)
class Option:
    """One continuation of one hypothesis."""

    logprob: float
    parent: int
    token: int
    bank: int
    """The number of phrase tokens that it has; C if all phrases are met."""
    ends: bool


class Constrained:
    """Chooses the candidates of each step, for the phrases of every sentence of a batch."""

    def __init__(self, phrases: Sequence[Sequence[Phrase]], width: int, limits: Sequence[int], end_token: int) -> None:
        if len(phrases) != len(limits):
            raise SearchError(f"{len(phrases)} lists of phrases for {len(limits)} sources: give one for each")
        self._phrases = [Phrases(wanted) for wanted in phrases]
        self._width, self._limits, self._end_token = width, limits, end_token
        for number, (wanted, limit) in enumerate(zip(self._phrases, limits, strict=True)):
            if wanted.total > limit:
                raise SearchError(
                    f"the phrases of sentence {number} have {wanted.total} tokens, above max_length, {limit}: raise that"
                )
            if any(token == end_token or token < 0 for phrase in wanted.phrases for token in phrase):
                raise SearchError(f"a phrase of sentence {number} holds the end mark or a negative id: leave it out")
        self._progress: dict[tuple[int, tuple[int, ...]], Progress] = {
            (number, ()): wanted.nothing for number, wanted in enumerate(self._phrases)
        }

    def choose(self, gains: Tensor, live: Live[StateT]) -> Choice:
        """The choice of one step. gains [b, k, V]: log-probabilities of each next token."""
        rows = [
            self._options(sentence, gains[row], live.logprobs[row], live.generated[row].tolist())
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

    def _options(self, sentence: int, gains: Tensor, logprobs: Tensor, generated: list[list[int]]) -> list[Option]:
        """The candidates of one sentence, the most probable first: gains [k, V], logprobs [k], generated [k][t]."""
        phrases = self._phrases[sentence]
        progress = [self._follow(sentence, tuple(tokens)) for tokens in generated]
        totals = logprobs[:, None] + gains.to(logprobs.dtype)  # [k, V]
        totals = totals.masked_fill(totals.isnan(), -torch.inf)
        unmet = [parent for parent, matched in enumerate(progress) if phrases.met(matched) < phrases.total]
        totals[unmet, self._end_token] = -torch.inf
        vocabulary = totals.shape[1]
        flat = totals.flatten().topk(min(2 * self._width, totals.numel())).indices.tolist()
        if phrases.total:
            likeliest = totals.argmax(dim=1).tolist()
            for parent, matched in enumerate(progress):
                tokens = phrases.wanted(matched) or [self._end_token]
                _check_tokens(tokens, vocabulary, sentence)
                flat += [parent * vocabulary + token for token in [likeliest[parent], *tokens]]
        places = list(dict.fromkeys(flat))
        values = totals.flatten()[places].tolist()
        length = len(generated[0]) + 1
        limit = self._limits[sentence] if phrases.total else length  # nothing is pruned without phrases
        options = []
        for place, logprob in zip(places, values, strict=True):
            parent, token = divmod(place, vocabulary)
            ends = token == self._end_token
            after = progress[parent] if ends else phrases.advance(progress[parent], token)
            if logprob > -torch.inf and (ends or length + phrases.need(after) <= limit):
                options.append(Option(logprob, parent, token, phrases.met(after), ends))
        return sorted(options, key=lambda option: -option.logprob)

    def _follow(self, sentence: int, generated: tuple[int, ...]) -> Progress:
        progress = self._progress.get((sentence, generated))
        if progress is None:
            progress = self._phrases[sentence].advance(self._follow(sentence, generated[:-1]), generated[-1])
            self._progress[sentence, generated] = progress
        return progress

    def _rectangle(
        self,
        rows: list[list[Option]],
        finishing: list[list[int]],
        going: list[list[int]],
        led: list[bool],
        logprobs: Tensor,
    ) -> Choice:
        """The choice as tensors. Shorter rows are padded with impossible candidates."""
        nothing = Option(-torch.inf, 0, self._end_token, 0, False)
        size = max(map(len, rows)) + 1
        full = [[*options, *[nothing] * (size - len(options))] for options in rows]
        device = logprobs.device

        def ids(values: list[list[int]]) -> Tensor:
            return torch.tensor(values, dtype=torch.long, device=device)

        candidates = Candidates(
            logprobs.new_tensor([[option.logprob for option in options] for options in full]),
            ids([[option.parent for option in options] for options in full]),
            ids([[option.token for option in options] for options in full]),
        )
        ended = torch.zeros((len(rows), size), dtype=torch.bool, device=device)
        for row, columns in enumerate(finishing):
            ended[row, columns] = True
        filled = [[*chosen, *[size - 1] * (self._width - len(chosen))] for chosen in going]
        return Choice(candidates, ended, ids(filled), torch.tensor(led, device=device))


def allotments(width: int, total: int) -> list[int]:
    """The slots of each of the total + 1 banks: equally many, and the remainder for the last."""
    share = width // (total + 1)
    return [share] * total + [width - share * total]


def first_that_end(options: Sequence[Option], width: int, total: int) -> list[int]:
    """The indices of the options that finish: those that end, among the first of the last bank, up to its slots."""
    last = [at for at, option in enumerate(options) if option.bank == total]
    return [at for at in last[: allotments(width, total)[-1]] if options[at].ends]


def allocated(options: Sequence[Option], width: int, total: int) -> list[int]:
    """The indices of the options that continue: the first of each bank that do not end. Free slots go to other banks, the fullest first."""
    waiting: list[list[int]] = [[] for _ in range(total + 1)]
    for at, option in enumerate(options):
        if not option.ends:
            waiting[option.bank].append(at)
    sizes = [min(size, len(places)) for size, places in zip(allotments(width, total), waiting, strict=True)]
    while sum(sizes) < width:
        more = [bank for bank in range(total, -1, -1) if sizes[bank] < len(waiting[bank])]
        if not more:
            break
        for bank in more[: width - sum(sizes)]:
            sizes[bank] += 1
    return sorted(at for size, places in zip(sizes, waiting, strict=True) for at in places[:size])


def _check_tokens(tokens: Sequence[int], vocabulary: int, sentence: int) -> None:
    if max(tokens) >= vocabulary:
        raise SearchError(
            f"a phrase of sentence {sentence} holds id {max(tokens)}, but the model generates 0 to {vocabulary - 1}"
        )
