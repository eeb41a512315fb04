"""The lectures' second-order model with skips: the last token makes a pair with each of several tokens before it, and every pair votes.

    p(w | .. a .. b) = mean over a of p(w | a, b),    p(w | a, b) from how often w came after b somewhere behind a.

Masking crosses out the pairs that tell nothing: of b alone the same follows as of a and b. Where no pair votes, b decides alone.
`as_attention` is the same computation as attention: the one-hot last token asks, the stacked masks are the keys, the tokens before are
the values.

Shapes: B sentences, T tokens, k hypotheses each, R rows, L = skips + 1 tokens that are remembered, P different pairs, V tokens that can
be said.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from regard.models.counting import CHUNK, NONE, Ids, Places, Sequences, merged
from regard.models.markov import Markov, MarkovState, Successors, Table, as_table, check_sizes
from regard.models.network import NextToken, StepRecord, sentences_of
from regard.models.smoothing import Floats, Smoothing, discounted, discounts
from regard.ops.attention import attend
from regard.ops.masks import additive
from regard.ops.probe import Probe
from regard.ops.scores import dot

CROSSED_OUT = 1e4  # nobody's weight is left of a score so low
LAST_RESORT = 100.0  # and so low, only where all others are crossed out


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
        sizes = {name: len(mine[name]) if name in mine else None for name in ("pairs", "keys")}
        pairs, keys = sizes["pairs"], sizes["keys"]
        check_sizes(mine, {"pairs": pairs, "votes": pairs, "keys": keys, "probabilities": keys, "rest": pairs})
        self.first = Markov(vocabulary, first)
        for name, table in mine.items():
            self.register_buffer(name, table)

    @classmethod
    def fit(
        cls, ids: Ids, begins: Places, vocabulary: int, skips: int, mask: float | None, smoothing: Smoothing
    ) -> "SkipMarkov":
        """Count documents: ids [N] without start tokens, and where each document begins."""
        outputs = vocabulary - 1
        first = Markov.fit(ids, begins, vocabulary, 1, smoothing)
        pairs = merged(Sequences.of(one * outputs + two) for one, two, _ in _triples(ids, begins, skips))
        triples = merged(
            Sequences.of(np.searchsorted(pairs.keys, one * outputs + two) * outputs + word)
            for one, two, word in _triples(ids, begins, skips)
        )
        places = triples.keys // outputs
        given = discounts(triples.counts) if smoothing == "kneser_ney" else (0.0, 0.0, 0.0)
        found = discounted(triples.counts, places, len(pairs.keys), given)
        votes = np.ones(len(pairs.keys))
        if mask is not None:
            votes = (_surplus(triples, pairs, Markov.fit(ids, begins, vocabulary, 1, "none")) > mask).astype(np.float64)
        tables: dict[str, Table] = {"pairs": pairs.keys, "votes": votes, "keys": triples.keys}
        tables |= {"probabilities": found.probabilities, "rest": found.rest}
        return cls(
            vocabulary,
            skips,
            {name: as_table(table) for name, table in tables.items()}
            | {f"first.{name}": table for name, table in first.tables().items()},
        )

    def tables(self) -> dict[str, Tensor]:
        """What it is made of."""
        mine = {name: self.get_buffer(name) for name in ("pairs", "votes", "keys", "probabilities", "rest")}
        return mine | {f"first.{name}": table for name, table in self.first.tables().items()}

    def hidden(self, source: Tensor, target_in: Tensor, probe: Probe | None = None) -> Tensor:
        """[B, T, L]: after each token the last ones, itself the last; NONE before the first."""
        return F.pad(target_in, (self.skips, 0), value=NONE).unfold(1, self.skips + 1, 1)

    def project(self, hidden: Tensor) -> Tensor:
        """tokens [..., L] -> log p [..., V]"""
        return self.distribution(hidden.flatten(0, -2)).log().float().view(*hidden.shape[:-1], -1)

    def distribution(self, tokens: Tensor) -> Tensor:
        """tokens [R, L] -> p [R, V]"""
        last = tokens[:, -1]
        alone = self.first.distribution(last[:, None])
        total, voters = torch.zeros_like(alone), alone.new_zeros(len(alone), 1)
        for before in tokens[:, :-1].unbind(dim=1):
            pairs = self.find(before, last)
            vote = torch.where(pairs != NONE, self.get_buffer("votes")[pairs.clamp_min(0)], 0.0)[:, None]
            total += vote * self._successors().add_to(alone, pairs)
            voters += vote
        return torch.where(voters > 0, total / voters.clamp_min(1.0), alone)

    def find(self, one: Tensor, two: Tensor) -> Tensor:
        """The places of pairs of tokens [...]; NONE where they were never seen one behind the other."""
        pairs = self.get_buffer("pairs")
        return Successors(pairs, pairs, pairs, self.target_pad).find(
            one.masked_fill(one == self.start_token, NONE), two
        )

    def start(self, source: Tensor | None, prefix: Tensor | None = None) -> MarkovState:
        rows = self.get_buffer("pairs").new_full((sentences_of(source, prefix), self.skips + 1), NONE)
        if prefix is not None and prefix.shape[1]:
            rows = self.hidden(prefix, prefix)[:, -1]
        return MarkovState(rows, 1)

    def step(
        self, tokens: Tensor, state: MarkovState, record: bool = False
    ) -> tuple[Tensor, MarkovState, StepRecord | None]:
        rows = torch.cat([state.rows[:, 1:], tokens.flatten()[:, None]], dim=1)
        return self.project(rows).view(*tokens.shape, -1), MarkovState(rows, tokens.shape[1]), None

    def as_attention(self, tokens: Tensor) -> Tensor:
        """tokens [T] -> p [T, V] of each next token, by one attention over the tokens; for vocabularies of a few hundred.

        The query is the one-hot last token. The keys are the masks of all tokens, stacked: 0 where a pair votes, far below where not; their
        product with the query is the mask of the last token. The values are the tokens before, one-hot, so that the context says whose
        votes count, and one more product with the table of transitions adds the votes up. A last key stands for the last token alone.
        """
        words = torch.arange(self.target_pad + 1)
        pairs = self.find(words[:, None], words)  # [V + 1, V + 1], the earlier token first
        voting = (pairs != NONE) & (self.get_buffer("votes")[pairs.clamp_min(0)] > 0)
        masks = torch.where(voting, 0.0, -CROSSED_OUT).double()  # the keys, stacked
        alone = self.first.distribution(words[:, None])  # [V + 1, V]
        transitions = torch.stack([self._successors().add_to(alone, row) for row in pairs])  # [V + 1, V + 1, V]
        transitions[self.start_token] = alone  # as if the start token made a pair with every token

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
    """(a, b, w) wherever w comes right after b, and b at most `skips` tokens behind a, in one document; many at a time."""
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
    """[P]: what a pair tells beyond its last token, KL(p(. | a, b) || p(. | b)) in nats, by counts alone."""
    outputs = first.target_pad
    places, words = np.divmod(triples.keys, outputs)
    tables = first.tables()
    follows = np.searchsorted(tables["1.keys"].numpy(), pairs.keys[places] % outputs * outputs + words)
    alone = tables["1.probabilities"].numpy().astype(np.float64)[follows]
    together = triples.counts / np.bincount(places, weights=triples.counts)[places]
    return np.bincount(places, weights=together * np.log(together / alone)).astype(np.float64)
