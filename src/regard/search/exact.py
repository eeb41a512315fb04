"""Exact search over any `Stepper`: the most probable output, by depth-first branch and bound (Stahlberg and Byrne 2019).

It makes the lectures' exhaustive search (001) practical. log p(y|x) only falls as y grows, so a partial output that is not more probable
than the best complete output is pruned. The first bound comes from beam search. If the search ends by itself, its answer is the true
argmax p(y|x). If it reaches its node limit, its answer is the best output so far.

The most probable of the deepest open partial outputs are expanded together. A model's state cannot go back (`stepper.State`), so after
backtracking the state is recomputed from the tokens.

Shapes: B sentences, S source, n partial outputs of t tokens each that are expanded together, V outputs.
"""

from dataclasses import dataclass, replace
from typing import Generic

import torch
from torch import Tensor

from regard.search.beam import beam
from regard.search.checks import NODE_LIMIT, check_count, length_limits
from regard.search.expansion import Branching, BranchWatcher
from regard.search.filters import Filters, ReadyFilters
from regard.search.hypothesis import Hypothesis, Proof, make_hypothesis
from regard.search.interruption import Interruption
from regard.search.logprobs import log_probabilities, sum_type
from regard.search.ranking import Ranking
from regard.search.stepper import StateT, Stepper

TOGETHER = 64  # partial outputs that are expanded by one step of the model


@torch.no_grad()
def exact(
    stepper: Stepper[StateT],
    source: Tensor,  # [B, S]
    *,
    max_length: int | Tensor,
    width: int = 5,
    node_limit: int = NODE_LIMIT,
    filters: Filters | None = None,
    watch: BranchWatcher | None = None,
    interruption: Interruption | None = None,
) -> list[list[Hypothesis]]:
    """The most probable output of each sentence, of at most `max_length` tokens and an end mark, with its `proof`.

    width: of the beam search for the first bound. node_limit: the maximum number of expanded partial outputs per sentence.
    If no finished output was found, the answer is the unfinished one of the beam.
    """
    check_count("node_limit", node_limit)
    limits = length_limits(max_length, source.shape[0], source.device)
    beam_answers = beam(
        stepper, source, width=width, alpha=0.0, max_length=max_length, filters=filters, interruption=interruption
    )
    filtered = None if filters is None or not beam_answers else filters.ready(limits, stepper.end_token)
    results = []
    for row, ([first_answer], limit) in enumerate(zip(beam_answers, limits.tolist(), strict=True)):
        tree = _Tree(
            stepper, source[row : row + 1], row, limit, node_limit, first_answer, filtered, watch, interruption
        )
        results.append([tree.search()])
    return results


@dataclass
class _Waiting:
    """Open partial outputs of the same length, the most probable first."""

    logprobs: Tensor  # [m]
    parents: Tensor  # [m], numbers of the nodes that they continue
    tokens: Tensor  # [m]

    def part(self, first: int, last: int | None = None) -> "_Waiting":
        return _Waiting(self.logprobs[first:last], self.parents[first:last], self.tokens[first:last])

    def __len__(self) -> int:
        return len(self.logprobs)


@dataclass
class _Tree(Generic[StateT]):
    """The search tree of one sentence."""

    stepper: Stepper[StateT]
    source: Tensor  # [1, S]
    sentence: int
    limit: int
    node_limit: int
    best: Hypothesis
    filtered: ReadyFilters | None
    watch: BranchWatcher | None
    interruption: Interruption | None

    def __post_init__(self) -> None:
        self._device = self.source.device
        self._bound = self.best.logprob if self.best.finished else -torch.inf
        self._parents: list[int] = []  # the parent of every node, by number
        self._tokens: list[int] = []
        self._waiting: list[_Waiting] = []  # open outputs of 1 token, of 2 tokens ..

    def search(self) -> Hypothesis:
        """The answer, with its proof."""
        batch = _Waiting(
            torch.zeros(1, dtype=sum_type(self._device), device=self._device),
            torch.zeros(1, dtype=torch.long, device=self._device),
            self._ids([self.stepper.start_token]),
        )
        generated = torch.empty((1, 0), dtype=torch.long, device=self._device)  # [n, t]
        logits, state = self._read(generated)
        while True:
            first = len(self._parents)
            children = self._expand(batch, generated, logits)
            self._waiting.append(children)
            if not self._backtrack():
                return replace(self.best, proof=Proof(len(self._parents), proved=self.best.finished))
            room = self.node_limit - len(self._parents)
            if not room or self._out_of_time():
                return replace(self.best, proof=Proof(len(self._parents), proved=False))
            count = min(TOGETHER, room)
            batch, self._waiting[-1] = self._waiting[-1].part(0, count), self._waiting[-1].part(count)
            if len(children):  # the deepest open outputs continue the batch that was just read
                rows = batch.parents - first
                generated = torch.cat([generated[rows], batch.tokens[:, None]], dim=1)
                state = state.reorder(self._ids([0]), rows[None])
                logits, state, _ = self.stepper.step(batch.tokens[None], state)
            else:
                pairs = zip(batch.parents.tolist(), batch.tokens.tolist(), strict=True)
                generated = self._ids([[*self._generated(parent), token] for parent, token in pairs])
                logits, state = self._read(generated)

    def _out_of_time(self) -> bool:
        """Whether the time limit ends the search here."""
        if self.interruption is None or not self.interruption.due():
            return False
        self.interruption.cut([self.sentence])
        return True

    def _expand(self, batch: _Waiting, generated: Tensor, logits: Tensor) -> _Waiting:
        """The continuations of a batch, generated [n, t], that are above the bound. Updates the best output if one of them ends better."""
        first = len(self._parents)
        self._parents += batch.parents.tolist()
        self._tokens += batch.tokens.tolist()
        gains = log_probabilities(logits)  # [1, n, V]
        if self.filtered is not None:
            gains = self.filtered(gains, generated[None], self._ids([self.sentence]))
        totals = batch.logprobs[:, None] + gains[0].to(batch.logprobs.dtype)  # [n, V]
        totals = totals.masked_fill(totals.isnan(), -torch.inf)  # nothing can follow
        endings = totals[:, self.stepper.end_token].clone()
        row = int(endings.argmax())
        if float(endings[row]) > self._bound:
            self._bound = float(endings[row])
            self.best = make_hypothesis(generated[row].tolist(), self._bound, ranking=Ranking(), finished=True)
        totals[:, self.stepper.end_token] = -torch.inf
        if generated.shape[1] == self.limit:
            totals = totals.fill_(-torch.inf)
        if self.watch is not None:
            kept = (totals > self._bound).sum(dim=1)
            self.watch(self._branching(first, batch, endings, kept))
        # More than the node limit are never expanded; one more is kept to show that the limit was reached.
        count = min(int((totals > self._bound).sum()), self.node_limit - len(self._parents) + 1)
        logprobs, flat = totals.flatten().topk(count)
        return _Waiting(logprobs, first + flat // totals.shape[1], flat % totals.shape[1])

    def _backtrack(self) -> bool:
        """Prune by the bound until the deepest level has open outputs. Returns False if nothing is left."""
        while self._waiting:
            last = self._waiting[-1]
            self._waiting[-1] = last.part(0, int((last.logprobs > self._bound).sum()))
            if len(self._waiting[-1]):
                return True
            self._waiting.pop()
        return False

    def _read(self, generated: Tensor) -> tuple[Tensor, StateT]:
        """The logits [1, n, V] and the state after generated [n, t], computed from the beginning."""
        together = self._ids([[0] * len(generated)])
        state = self.stepper.start(self.source).reorder(self._ids([0]), together)
        starts = torch.full((len(generated), 1), self.stepper.start_token, dtype=torch.long, device=self._device)
        for column in torch.cat([starts, generated], dim=1).unbind(dim=1):
            if self.interruption is not None:
                self.interruption.due()  # a stop signal; the time limit waits for these few steps
            logits, state, _ = self.stepper.step(column[None], state)
        return logits, state

    def _generated(self, number: int) -> list[int]:
        """The tokens of a node; number 0 is the empty output."""
        tokens: list[int] = []
        while number:
            tokens.append(self._tokens[number])
            number = self._parents[number]
        return tokens[::-1]

    def _branching(self, first: int, batch: _Waiting, endings: Tensor, kept: Tensor) -> Branching:
        return Branching(
            self.sentence,
            list(range(first, first + len(batch))),
            batch.parents.tolist(),
            batch.tokens.tolist(),
            batch.logprobs.tolist(),
            endings.tolist(),
            kept.tolist(),
            self._bound,
        )

    def _ids(self, values: list[int] | list[list[int]]) -> Tensor:
        return torch.tensor(values, dtype=torch.long, device=self._device)
