"""The lectures' second-order Markov model with skips: the last token forms a pair with each of several earlier tokens, and all pairs vote.

    p(w | .. a .. b) = mean over a of p(w | a, b),    p(w | a, b) from the counts of w right after b, with a somewhere before b.

Masking removes uninformative pairs, for which p(w | a, b) is about p(w | b). If no pair votes, b decides alone. `as_attention` is the same
computation as attention: the query is the one-hot last token, the keys are the stacked masks, and the values are the earlier tokens.

Shapes: B sentences, T tokens, k hypotheses each, R rows, L = skips + 1 tokens in the state, P distinct pairs, V outputs.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from regard.models.counting import CHUNK, NONE, Ids, Places, Sequences, merged
from regard.models.markov import Markov, MarkovState, Successors, Table, as_table, check_sizes
from regard.models.network import NextToken, StepRecord, sentences_of
from regard.models.shapes import skip_shapes
from regard.models.smoothing import Floats, Smoothing, discounted, discounts
from regard.ops.attention import attend
from regard.ops.masks import additive
from regard.ops.probe import Probe
from regard.ops.scores import dot

CROSSED_OUT = 1e4  # subtracted from a score, it leaves a weight of 0
LAST_RESORT = 100.0  # a weight of 0 too, unless all other scores are crossed out


class SkipMarkov(NextToken):
    """Pairs that vote, over a Markov model of the first order."""

    def __init__(self, vocabulary: int, skips: int, tables: Mapping[str, Tensor]) -> None:
        """tables: `pairs` [P] ascending, `votes` [P] 1 or 0, `keys`, `probabilities` and `rest` of their successors; and those of `Markov`,
        with `first.` before their names.
        """
        super().__init__()
        self.target_pad = self.start_token = vocabulary - 1
        self.skips = skips
        first = {name.removeprefix("first."): table for name, table in tables.items() if name.startswith("first.")}
        mine = {name: table for name, table in tables.items() if not name.startswith("first.")}
        check_sizes(mine, skip_shapes({name: tuple(table.shape) for name, table in mine.items()}))
        self.first = Markov(vocabulary, first)
        for name, table in mine.items():
            self.register_buffer(name, table)

    @classmethod
    def fit(
        cls, ids: Ids, begins: Places, vocabulary: int, skips: int, mask: float | None, smoothing: Smoothing
    ) -> "SkipMarkov":
        """Fit the model to ids [N] without start tokens. begins: the beginnings of documents."""
        outputs = vocabulary - 1
        first = Markov.fit(ids, begins, vocabulary, 1, smoothing)
        pairs = merged(Sequences.of(earlier * outputs + later) for earlier, later, _ in _triples(ids, begins, skips))
        triples = merged(
            Sequences.of(np.searchsorted(pairs.keys, earlier * outputs + later) * outputs + word)
            for earlier, later, word in _triples(ids, begins, skips)
        )
        places = triples.keys // outputs
        given = discounts(triples.counts) if smoothing == "kneser_ney" else (0.0, 0.0, 0.0)
        estimated = discounted(triples.counts, places, len(pairs.keys), given)
        votes = np.ones(len(pairs.keys))
        if mask is not None:
            votes = (_surplus(triples, pairs, Markov.fit(ids, begins, vocabulary, 1, "none")) > mask).astype(np.float64)
        tables: dict[str, Table] = {"pairs": pairs.keys, "votes": votes, "keys": triples.keys}
        tables |= {"probabilities": estimated.probabilities, "rest": estimated.rest}
        return cls(
            vocabulary,
            skips,
            {name: as_table(table) for name, table in tables.items()}
            | {f"first.{name}": table for name, table in first.tables().items()},
        )

    def tables(self) -> dict[str, Tensor]:
        """The tables of the model."""
        mine = {name: self.get_buffer(name) for name in ("pairs", "votes", "keys", "probabilities", "rest")}
        return mine | {f"first.{name}": table for name, table in self.first.tables().items()}

    def unseen_tokens(self) -> tuple[int, ...]:
        """The tokens that the training text lacks."""
        return self.first.unseen_tokens()

    def hidden(
        self, source: Int[Tensor, "B S"], target_in: Int[Tensor, "B T"], probe: Probe | None = None
    ) -> Int[Tensor, "B T L"]:
        """The last L tokens after each token, including it; NONE before the first token."""
        return F.pad(target_in, (self.skips, 0), value=NONE).unfold(1, self.skips + 1, 1)

    def project(self, hidden: Int[Tensor, "*shape L"]) -> Float[Tensor, "*shape V"]:
        """log p of every next token, from the last tokens."""
        return self.distribution(hidden.flatten(0, -2)).log().float().view(*hidden.shape[:-1], -1)

    def distribution(self, tokens: Int[Tensor, "R L"]) -> Float[Tensor, "R V"]:
        """p of every next token, from the last tokens."""
        last = tokens[:, -1]
        alone = self.first.distribution(last[:, None])
        total, voters = torch.zeros_like(alone), alone.new_zeros(len(alone), 1)
        for before in tokens[:, :-1].unbind(dim=1):
            pairs = self.find(before, last)
            vote = torch.where(pairs != NONE, self.get_buffer("votes")[pairs.clamp_min(0)], 0.0)[:, None]
            total += vote * self._successors().add_to(alone, pairs)
            voters += vote
        return torch.where(voters > 0, total / voters.clamp_min(1.0), alone)

    def find(self, earlier: Int[Tensor, "*#shape"], later: Int[Tensor, "*#shape"]) -> Int[Tensor, "*#shape"]:
        """The places (indices) of pairs of tokens; NONE for unseen pairs."""
        pairs = self.get_buffer("pairs")
        return Successors(pairs, pairs, pairs, self.target_pad).find(
            earlier.masked_fill(earlier == self.start_token, NONE), later
        )

    def contexts(self) -> Int[Tensor, "P 2"]:
        """All pairs of tokens that the training text has, the earlier token first."""
        pairs = self.get_buffer("pairs")
        return torch.stack([pairs // self.target_pad, pairs % self.target_pad], dim=1)

    def after(self, pairs: Int[Tensor, "R 2"]) -> Float[Tensor, "R V"]:
        """p of every next token by the vote of a single pair, a row of the transition matrix each."""
        return self._successors().add_to(self.first.distribution(pairs[:, 1:]), self.find(pairs[:, 0], pairs[:, 1]))

    def votes_of(self, pairs: Int[Tensor, "R 2"]) -> Bool[Tensor, " R"]:
        """Whether each pair votes, or is masked."""
        return self.get_buffer("votes")[self.find(pairs[:, 0], pairs[:, 1])] > 0

    def start(self, source: Int[Tensor, "B S"] | None, prefix: Int[Tensor, "B P"] | None = None) -> MarkovState:
        rows = self.get_buffer("pairs").new_full((sentences_of(source, prefix), self.skips + 1), NONE)
        if prefix is not None and prefix.shape[1]:
            rows = self.hidden(prefix, prefix)[:, -1]
        return MarkovState(rows, 1)

    def step(
        self, tokens: Int[Tensor, "B k"], state: MarkovState, record: bool = False
    ) -> tuple[Float[Tensor, "B k V"], MarkovState, StepRecord | None]:
        rows = torch.cat([state.rows[:, 1:], tokens.flatten()[:, None]], dim=1)
        return self.project(rows).view(*tokens.shape, -1), MarkovState(rows, tokens.shape[1]), None

    def as_attention(self, tokens: Int[Tensor, " T"]) -> Float[Tensor, "T V"]:
        """p of each next token, by one attention over the tokens. Only for vocabularies of a few hundred.

        The query is the one-hot last token. The keys are the stacked masks of all tokens: 0 where a pair votes, very negative elsewhere.
        Their product with the query is the mask of the last token. The values are the earlier tokens, one-hot. So the context is the weight
        of each vote, and a product with the transition table adds up the votes. One more key is for the last token alone.
        """
        words = torch.arange(self.target_pad + 1)
        pairs = self.find(words[:, None], words)  # [V + 1, V + 1], the earlier token first
        voting = (pairs != NONE) & (self.get_buffer("votes")[pairs.clamp_min(0)] > 0)
        masks = torch.where(voting, 0.0, -CROSSED_OUT).double()  # the keys, stacked
        alone = self.first.distribution(words[:, None])  # [V + 1, V]
        transitions = torch.stack([self._successors().add_to(alone, row) for row in pairs])  # [V + 1, V + 1, V]
        transitions[self.start_token] = alone  # as if the start token formed a pair with every token

        one_hot = F.one_hot(tokens, len(words)).double()  # [T, V + 1]
        distance = torch.arange(len(tokens))[:, None] - torch.arange(len(tokens))
        reach = additive((distance > 0) & (distance <= self.skips), torch.float64)  # [T, T]
        context = attend(
            one_hot,
            torch.cat([masks[tokens], torch.zeros(1, len(words)).double()]),
            torch.cat([one_hot, F.one_hot(torch.tensor([self.start_token])).double()]),
            score=dot,
            mask=F.pad(reach, (0, 1), value=-LAST_RESORT),
        )
        return torch.einsum("ta,atw->tw", context, transitions[:, tokens])

    def _successors(self) -> Successors:
        keys, probabilities, rest = (self.get_buffer(name) for name in ("keys", "probabilities", "rest"))
        return Successors(keys, probabilities, rest, self.target_pad)


def _triples(ids: Ids, begins: Places, skips: int) -> Iterator[tuple[Places, Places, Places]]:
    """All (a, b, w) with w right after b, and b at most `skips` tokens after a, in one document; in large chunks."""
    for first in range(0, len(ids), CHUNK // skips + 1):
        words = np.arange(first, min(first + CHUNK // skips + 1, len(ids)))
        start = begins[np.searchsorted(begins, words, side="right") - 1]  # of the document of each
        for distance in range(1, skips + 1):
            there = words[words - 1 - distance >= start]
            yield (
                ids[there - 1 - distance].astype(np.int64),
                ids[there - 1].astype(np.int64),
                ids[there].astype(np.int64),
            )


def _surplus(triples: Sequences, pairs: Sequences, first: Markov) -> Floats:
    """[P]: the information of a pair beyond its last token, KL(p(. | a, b) || p(. | b)) in nats, without smoothing."""
    outputs = first.target_pad
    places, words = np.divmod(triples.keys, outputs)
    tables = first.tables()
    follows = np.searchsorted(tables["1.keys"].numpy(), pairs.keys[places] % outputs * outputs + words)
    alone = tables["1.probabilities"].numpy().astype(np.float64)[follows]
    together = triples.counts / np.bincount(places, weights=triples.counts)[places]
    return np.bincount(places, weights=together * np.log(together / alone)).astype(np.float64)
