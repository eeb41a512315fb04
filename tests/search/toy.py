"""Small models for the tests of search: a random recurrent one, whose logits depend on the source and on the whole prefix, and one
given as a table. Each also says its log-probabilities from scratch, in plain Python, for the oracles."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

PAD = -1


@dataclass(frozen=True)
class ToyRecord:
    attention: Tensor  # [B, k, S]


@dataclass(frozen=True)
class ToyState:
    source: Tensor  # [B, S, D]
    real: Tensor  # [B, S]
    hidden: Tensor  # [B, k, D]

    def reorder(self, sentences: Tensor, parents: Tensor) -> "ToyState":
        assert parents.shape[0] == sentences.shape[0]
        assert (sentences[1:] > sentences[:-1]).all(), "searches drop sentences, they do not permute them"
        return ToyState(self.source[sentences], self.real[sentences], self.hidden[sentences[:, None], parents])


class ToyStepper:
    """h' = tanh(W h + e(token)); attention over the source by h'; logits = U [h'; context]. float64, so that nothing ties."""

    end_token = 0

    def __init__(self, vocabulary: int, seed: int, *, sharpness: float = 1.5, end_bias: float = 0.0, width: int = 5):
        draw = np.random.default_rng(seed)
        self.start_token = vocabulary
        self.embedding = draw.normal(size=(vocabulary + 1, width))
        self.source_embedding = draw.normal(size=(20, width))
        self.recurrent = draw.normal(size=(width, width))
        self.output = draw.normal(size=(2 * width, vocabulary)) * sharpness / math.sqrt(width)
        self.bias = np.zeros(vocabulary)
        self.bias[0] = end_bias
        self._known: dict[tuple[int, ...], np.ndarray] = {}
        self.fed: list[tuple[int, int]] = []  # the [B, k] of every step

    def start(self, source: Tensor | None, prefix: Tensor | None = None) -> ToyState:
        assert source is not None
        assert prefix is None
        real = source != PAD
        embedded = torch.from_numpy(self.source_embedding)[source.clamp_min(0)]
        return ToyState(embedded, real, torch.zeros(source.shape[0], 1, self.recurrent.shape[0], dtype=torch.float64))

    def step(self, tokens: Tensor, state: ToyState, record: bool = False) -> tuple[Tensor, ToyState, ToyRecord | None]:
        assert tokens.shape == state.hidden.shape[:2]
        self.fed.append((tokens.shape[0], tokens.shape[1]))
        hidden = torch.tanh(state.hidden @ torch.from_numpy(self.recurrent) + torch.from_numpy(self.embedding)[tokens])
        scores = torch.einsum("bkd,bsd->bks", hidden, state.source).masked_fill(~state.real[:, None], -torch.inf)
        weights = scores.softmax(dim=-1)
        context = torch.einsum("bks,bsd->bkd", weights, state.source)
        logits = torch.cat([hidden, context], dim=-1) @ torch.from_numpy(self.output) + torch.from_numpy(self.bias)
        return logits, ToyState(state.source, state.real, hidden), ToyRecord(weights) if record else None

    def next_logprobs(self, source: Sequence[int], prefix: Sequence[int]) -> list[float]:
        """log p(next | source, prefix), recomputed from the beginning."""
        return self._walk(source, prefix)[0]

    def attention_rows(self, source: Sequence[int], prefix: Sequence[int]) -> np.ndarray:
        """Where it looked while choosing each token of the prefix and the one after, [len(prefix) + 1, S]."""
        return np.stack([self._walk(source, prefix[:length])[1] for length in range(len(prefix) + 1)])

    def _walk(self, source: Sequence[int], prefix: Sequence[int]) -> tuple[list[float], np.ndarray]:
        hidden = self._hidden((self.start_token, *prefix))
        embedded = self.source_embedding[list(source)]
        weights = np.exp(embedded @ hidden - (embedded @ hidden).max())
        weights /= weights.sum()
        logits = np.concatenate([hidden, weights @ embedded]) @ self.output + self.bias
        return list(logits - np.log(np.exp(logits - logits.max()).sum()) - logits.max()), weights

    def _hidden(self, fed: tuple[int, ...]) -> np.ndarray:
        if not fed:
            return np.zeros(self.recurrent.shape[0])
        if fed not in self._known:
            self._known[fed] = np.tanh(self._hidden(fed[:-1]) @ self.recurrent + self.embedding[fed[-1]])
        return self._known[fed]


@dataclass(frozen=True)
class TableState:
    prefixes: tuple[tuple[tuple[int, ...], ...], ...]  # [B][k]

    def reorder(self, sentences: Tensor, parents: Tensor) -> "TableState":
        rows = zip(sentences.tolist(), parents.tolist(), strict=True)
        return TableState(tuple(tuple(self.prefixes[row][parent] for parent in chosen) for row, chosen in rows))


class TableStepper:
    """p(next | prefix) written by hand; what the table lacks ends for certain. The source is not read."""

    end_token = 0

    def __init__(self, vocabulary: int, table: Mapping[tuple[int, ...], Sequence[float]]) -> None:
        self.start_token = vocabulary
        self.table = table
        self.certain_end = [1.0] + [0.0] * (vocabulary - 1)

    def start(self, source: Tensor | None, prefix: Tensor | None = None) -> TableState:
        assert source is not None
        return TableState((((),),) * source.shape[0])

    def step(self, tokens: Tensor, state: TableState, record: bool = False) -> tuple[Tensor, TableState, None]:
        prefixes = tuple(
            tuple((*said, token) if token != self.start_token else said for said, token in zip(row, fed, strict=True))
            for row, fed in zip(state.prefixes, tokens.tolist(), strict=True)
        )
        rows = [[self.table.get(prefix, self.certain_end) for prefix in row] for row in prefixes]
        return torch.tensor(rows, dtype=torch.float64).log(), TableState(prefixes), None


def padded(sources: Sequence[Sequence[int]]) -> Tensor:
    width = max(len(source) for source in sources)
    return torch.tensor([[*source, *[PAD] * (width - len(source))] for source in sources])


def random_sources(count: int, seed: int) -> list[list[int]]:
    draw = np.random.default_rng(seed)
    return [draw.integers(0, 20, size=draw.integers(1, 6)).tolist() for _ in range(count)]


Found = tuple[tuple[int, ...], float, float, bool]  # tokens, logprob, score, finished


def naive_beam(
    next_logprobs: Callable[[Sequence[int]], list[float]],
    *,
    width: int,
    alpha: float,
    max_length: int,
    stop_after: int | None = None,
    nbest: int = 1,
) -> list[Found]:
    """The beam search of the lectures over whole sequences, one sentence, no tensors: the oracle."""
    finished: list[Found] = []
    unfinished: list[Found] = []
    live: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    led = False
    for length in range(max_length + 1):
        candidates = [
            (total + gain, said, token) for said, total in live for token, gain in enumerate(next_logprobs(said))
        ]
        candidates = sorted(candidates, reverse=True)[: 2 * width]
        ended = [(total, said) for total, said, token in candidates[:width] if token == 0]
        finished += [(said, total, total / max(1, len(said)) ** alpha, True) for total, said in ended]
        if length == max_length:
            left = [(said, total) for said, total in live if said not in [said for _, said in ended]]
            unfinished = [(said, total, total / max(1, len(said)) ** alpha, False) for said, total in left]
        live = [((*said, token), total) for total, said, token in candidates if token != 0][:width]
        led |= candidates[0][2] == 0
        if len(finished) >= (stop_after or width) and (led or stop_after is not None):
            break
    if stop_after is None:
        finished = sorted(finished, key=lambda found: -found[1])[:width]
    best = sorted(finished, key=lambda found: -found[2]) + sorted(unfinished, key=lambda found: -found[2])
    return best[:nbest]
