"""The Markov (n-gram) model of any order, with or without smoothing. It is fitted by counting and has no gradients.

Its state is, for each length up to the order, the place (index) of the last tokens among the n-grams of that length. So a step looks up one
key per length, and a text is read in one pass per length.

Shapes: B sentences, T tokens, k hypotheses each, R rows of any kind, n order, M distinct n-grams, C contexts, V outputs.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from regard.models.counting import NONE, Ids, Places, count_sequences, count_tokens
from regard.models.network import NextToken, StepRecord, sentences_of
from regard.models.shapes import Shape, is_table_of_keys, markov_shapes
from regard.models.smoothing import Floats, Smoothing, estimate
from regard.ops.probe import Probe

Table = Floats | Places


@dataclass(frozen=True, slots=True)
class MarkovState:
    """The state of each hypothesis: the places of its last tokens."""

    rows: Int[Tensor, "R n"]
    hypotheses: int  # k

    def reorder(self, sentences: Int[Tensor, " N"], parents: Int[Tensor, "N k"]) -> "MarkovState":
        """Keep these sentences, with the hypotheses `parents` of each."""
        return MarkovState(
            self.rows[(sentences[:, None] * self.hypotheses + parents).flatten()], hypotheses=parents.shape[1]
        )


class Successors:
    """The words after each context: ascending keys [M], context times V plus word, with their probabilities."""

    def __init__(
        self,
        keys: Int[Tensor, " M"],
        probabilities: Shaped[Tensor, " M"],
        rest: Shaped[Tensor, " C"],
        outputs: int,
    ) -> None:
        self.keys, self.probabilities, self.rest, self.outputs = keys, probabilities, rest, outputs

    def find(self, contexts: Int[Tensor, "*#shape"], words: Int[Tensor, "*#shape"]) -> Int[Tensor, "*#shape"]:
        """The places of (context, word); NONE for unseen ones."""
        if not len(self.keys):
            return torch.full_like(contexts, NONE)
        wanted = contexts * self.outputs + words
        places = torch.searchsorted(self.keys, wanted).clamp_(max=len(self.keys) - 1)
        real = (self.keys[places] == wanted) & (contexts != NONE) & (words < self.outputs)
        return places.masked_fill_(~real, NONE)

    def add_one(
        self, shorter: Float[Tensor, " R"], contexts: Int[Tensor, " R"], words: Int[Tensor, " R"]
    ) -> Float[Tensor, " R"]:
        """p(w | h) of words after contexts, from p of the shorter contexts."""
        places = self.find(contexts, words)
        rest = torch.where(contexts != NONE, self.rest[contexts.clamp_min(0)].to(shorter.dtype), 1.0)
        if not len(self.keys):
            return rest * shorter
        own = torch.where(places != NONE, self.probabilities[places.clamp_min(0)].to(shorter.dtype), 0.0)
        return own + rest * shorter

    def add_to(self, shorter: Float[Tensor, "R V"], contexts: Int[Tensor, " R"]) -> Float[Tensor, "R V"]:
        """p(. | h) from p of the shorter context; unchanged for unseen contexts."""
        real = contexts != NONE
        mixed = shorter * torch.where(real, self.rest[contexts.clamp_min(0)].to(shorter.dtype), 1.0)[:, None]
        first, last = (torch.searchsorted(self.keys, (contexts + ahead) * self.outputs) for ahead in (0, 1))
        counts = (last - first).masked_fill_(~real, 0)
        rows = torch.repeat_interleave(counts)  # the row of each word
        places = torch.arange(len(rows), device=rows.device) + (first - counts.cumsum(0) + counts)[rows]
        mixed[rows, self.keys[places] % self.outputs] += self.probabilities[places].to(mixed.dtype)
        return mixed


class Markov(NextToken):
    """p(w | last n tokens), as `models.smoothing` estimates it."""

    def __init__(self, vocabulary: int, tables: Mapping[str, Tensor]) -> None:
        """tables: `words` [V], the probabilities without context, and for contexts of 1, 2, .. n tokens the parts of their successors:
        `1.keys`, `1.probabilities`, `1.rest`, `2.keys` and so on.
        """
        super().__init__()
        self.target_pad = self.start_token = vocabulary - 1
        self.order = (len(tables) - 1) // 3
        stored = {name: tuple(table.shape) for name, table in tables.items()}
        check_sizes(tables, markov_shapes(self.order, self.target_pad, stored))
        self.names = tuple(tables)
        self._unseen: tuple[int, ...] | None = None
        for name, table in tables.items():
            self.register_buffer(name.replace(".", "_"), table)

    @classmethod
    def fit(cls, ids: Ids, begins: Places, vocabulary: int, order: int, smoothing: Smoothing) -> "Markov":
        """Fit the model to ids [N] without start tokens. begins: the beginnings of documents."""
        outputs = vocabulary - 1
        longer = count_sequences(ids, begins, outputs, order + 1)
        words, *estimates = estimate(count_tokens(ids, outputs), longer, smoothing)
        tables: dict[str, Table] = {"words": words.probabilities + words.rest / outputs}
        for length, (sequences, estimated) in enumerate(zip(longer, estimates, strict=True), 1):
            tables |= {f"{length}.probabilities": estimated.probabilities, f"{length}.rest": estimated.rest}
            tables[f"{length}.keys"] = sequences.keys
        return cls(vocabulary, {name: as_table(table) for name, table in tables.items()})

    def tables(self) -> dict[str, Tensor]:
        """The tables of the model."""
        return {name: self.get_buffer(name.replace(".", "_")) for name in self.names}

    def unseen_tokens(self) -> tuple[int, ...]:
        """The tokens that the training text lacks, without the end mark: smoothing alone gives them a probability.

        Of a word tokenizer these are most of the bytes, which spell unknown words. Every token of the text follows another or a start.
        """
        if self._unseen is None:
            unseen = torch.ones(self.target_pad, dtype=torch.bool)
            unseen[self.get_buffer("1_keys").cpu() % self.target_pad] = False
            unseen[self.end_token] = False
            self._unseen = tuple(unseen.nonzero().flatten().tolist())
        return self._unseen

    def hidden(
        self, source: Int[Tensor, "B S"], target_in: Int[Tensor, "B T"], probe: Probe | None = None
    ) -> Int[Tensor, "B T n"]:
        """The places of the last 1, 2, .. n tokens, after each token."""
        places = [target_in]
        for length in range(1, self.order):
            before = torch.cat([torch.full_like(target_in[:, :1], NONE), places[-1][:, :-1]], dim=1)
            places.append(self._successors(length).find(before, target_in))
        return torch.stack(places, dim=-1)

    def project(self, hidden: Int[Tensor, "*shape n"]) -> Float[Tensor, "*shape V"]:
        """log p of every next token, from places."""
        return self.distribution(hidden.flatten(0, -2)).log().float().view(*hidden.shape[:-1], -1)

    def distribution(self, places: Int[Tensor, "R n"]) -> Float[Tensor, "R V"]:
        """p of every next token, from places."""
        mixed = self.get_buffer("words").double().expand(len(places), -1)
        for length in range(1, self.order + 1):
            mixed = self._successors(length).add_to(mixed, places[:, length - 1])
        return mixed

    def likelihoods(self, hidden: Int[Tensor, "N n"], targets: Int[Tensor, " N"]) -> Float[Tensor, " N"]:
        """log p of the targets only, from places."""
        probabilities = self.get_buffer("words").double()[targets]
        for length in range(1, self.order + 1):
            probabilities = self._successors(length).add_one(probabilities, hidden[:, length - 1], targets)
        return probabilities.log().float()

    def contexts(self, length: int) -> Int[Tensor, "C length"]:
        """All contexts of `length` tokens that the training text has, the start token among them."""
        places = torch.unique(self.get_buffer(f"{length}_keys") // self.target_pad)
        later = []
        for shorter in range(length - 1, 0, -1):
            keys = self.get_buffer(f"{shorter}_keys")[places]
            places, words = keys // self.target_pad, keys % self.target_pad
            later.append(words)
        return torch.stack([places, *reversed(later)], dim=1)

    def after(self, contexts: Int[Tensor, "R length"]) -> Float[Tensor, "R V"]:
        """p of every next token after contexts, a row of the transition matrix each."""
        return self.distribution(self.hidden(contexts, contexts)[:, -1])

    def start(self, source: Int[Tensor, "B S"] | None, prefix: Int[Tensor, "B P"] | None = None) -> MarkovState:
        rows = self.get_buffer("1_keys").new_full((sentences_of(source, prefix), self.order), NONE)
        if prefix is not None and prefix.shape[1]:
            rows = self.hidden(prefix, prefix)[:, -1]
        return MarkovState(rows, 1)

    def step(
        self, tokens: Int[Tensor, "B k"], state: MarkovState, record: bool = False
    ) -> tuple[Float[Tensor, "B k V"], MarkovState, StepRecord | None]:
        words = tokens.flatten()
        longer = [self._successors(length).find(state.rows[:, length - 1], words) for length in range(1, self.order)]
        rows = torch.stack([words, *longer], dim=1)
        return self.project(rows).view(*tokens.shape, -1), MarkovState(rows, tokens.shape[1]), None

    def _successors(self, length: int) -> Successors:
        """The successors of contexts of `length` tokens."""
        keys, probabilities, rest = (self.get_buffer(f"{length}_{part}") for part in ("keys", "probabilities", "rest"))
        return Successors(keys, probabilities, rest, self.target_pad)


def as_table(values: Table) -> Shaped[Tensor, " M"]:
    """A stored table: 64 bits for keys, 32 for probabilities."""
    return torch.from_numpy(values if values.dtype == np.int64 else values.astype(np.float32))


def check_sizes(tables: Mapping[str, Tensor], expected: Mapping[str, Shape]) -> None:
    """Raise a `ValueError` that names a table which is missing, unknown or of the wrong size."""
    for name, shape in expected.items():
        if name not in tables:
            raise ValueError(f"no table {name!r}")
        if tables[name].shape != shape:
            raise ValueError(f"{name} is {list(tables[name].shape)}, not {list(shape)}")
    unknown = sorted(tables.keys() - expected.keys())
    if unknown:
        raise ValueError(f"unknown table {unknown[0]!r}")


def check_values(tables: Mapping[str, Tensor], outputs: int) -> None:
    """Raise a `ValueError` that names a table with impossible numbers. Its tables are of the right sizes."""
    for name, table in tables.items():
        if not is_table_of_keys(name):
            if not (table.isfinite() & (table >= 0)).all():
                raise ValueError(f"{name} holds what is not a probability")
            continue
        prefix = name.removesuffix("keys")
        contexts = outputs + 1 if name == "pairs" else len(tables[f"{prefix}rest"])
        ascending = bool((table[1:] > table[:-1]).all())
        if not ascending or (len(table) and not 0 <= int(table[0]) <= int(table[-1]) < contexts * outputs):
            raise ValueError(f"{name} holds what is not the key of a context and a word")
