"""Networks that tell which label a text has: bags of words and bigrams, recurrent, and the encoder of a Transformer (lectures 004).

The latter two can also tell the label of each token.

What each can know of a text: a bag of words its words, a bag of bigrams which stand side by side, a recurrent network their order, and a
Transformer how all of them go together.

Shapes: B batch, S tokens with the end mark, D width, L labels, F features of a text.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.layers.dropout import Dropout
from regard.models.config import BagConfig, RecurrentConfig, TransformerConfig
from regard.models.network import Classifier
from regard.models.recurrent import reset_parameters as reset_recurrent
from regard.models.recurrent import source_encoder
from regard.models.tables import embedded, token_embedding
from regard.models.transformer import (
    added_positions,
    encoder_block,
    relative_bias,
    rotary_positions,
)
from regard.models.transformer import reset_parameters as reset_transformer
from regard.ops.masks import additive, real_tokens
from regard.ops.probe import Probe, within

# 2^64 / golden ratio: the upper half of a product depends on all of the other factor (Knuth, 6.4)
MIXER = 0x9E3779B97F4A7C15 - 2**64


class Bag(Classifier):
    """logits = sum over features of weight times occurrences, over the length of that vector: a linear classifier."""

    def __init__(self, config: BagConfig, vocabulary: int, labels: int) -> None:
        super().__init__()
        self.source_pad, self.target_pad = vocabulary - 1, labels
        self.ngrams, self.opening, self.buckets = config.ngrams, config.opening, config.buckets
        self.weighting, self.binary = config.weighting, config.binary
        self.features = vocabulary + (config.buckets if config.ngrams == 2 or config.opening else 0)
        self.embedding = nn.Embedding(self.features, labels, padding_idx=self.source_pad)
        self.bias = nn.Parameter(torch.zeros(labels))
        self.dropout = Dropout(config.dropout)
        self.register_buffer("rarity", torch.ones(self.features))  # log N / n of each feature; one: counts as they are
        self.register_buffer("outputs", torch.eye(labels), persistent=False)
        if self.features > vocabulary:  # what a bucket stands for; infinity: for all that fall into it
            self.register_buffer("owner", torch.full((config.buckets,), torch.inf, dtype=torch.float64))
        nn.init.zeros_(self.embedding.weight)
        if config.weighting == "bayes":
            self.register_buffer("evidence", torch.zeros(self.features, labels))
            nn.init.ones_(self.embedding.weight)  # it begins as naive Bayes

    def hidden(self, source: Tensor, target_in: Tensor, probe: Probe | None = None) -> Tensor:
        """[B, 1, L]: the logits themselves."""
        features = self.features_of(source)  # [B, F]
        rarity: Tensor = self.get_buffer("rarity")[features] * (features != self.source_pad)
        if self.binary:
            rarity = rarity / self._together(features, torch.ones_like(rarity))  # those that are the same add up to one
        # the length of a vector in which a feature is the sum of those that are the same
        length = (rarity * self._together(features, rarity)).sum(dim=1, keepdim=True).sqrt().clamp_min(1e-6)
        weights: Tensor = self.dropout(rarity / length)
        votes = self.embedding(features)
        if self.weighting == "bayes":
            votes = votes * self.get_buffer("evidence")[features]
        logits: Tensor = (votes * weights[..., None]).sum(dim=1) + self.bias
        return logits[:, None]

    def output_table(self) -> Tensor:
        """[L, L]: the hidden states are the logits."""
        table: Tensor = self.get_buffer("outputs")
        return table

    def features_of(self, source: Tensor) -> Tensor:
        """source [B, S] -> [B, F]: its tokens, its pairs of neighbours and its openings; pad where there is none."""
        words = source.masked_fill(source == 0, self.source_pad)  # the end mark tells nothing
        if self.features == self.source_pad + 1:
            return words
        mixed, there = self._several(words)
        place, owner = mixed % self.buckets, self.get_buffer("owner")
        there = there & ((owner[place] == mixed) | owner[place].isinf())
        return torch.cat([words, (self.source_pad + 1 + place).masked_fill(~there, self.source_pad)], dim=1)

    def _several(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """words [B, S] -> what stands for each pair and each opening, in 32 bits, and whether it is there."""
        mixed, there = [], []
        if self.ngrams == 2:
            one, two = words[:, :-1], words[:, 1:]
            mixed.append(self._mixed(one, two))
            there.append((one != self.source_pad) & (two != self.source_pad))
        last = torch.full_like(words[:, :1], self.source_pad)
        for place in range(min(self.opening, words.shape[1])):
            word = words[:, place : place + 1]
            last = self._mixed(last, word)
            mixed.append(last)
            there.append(word != self.source_pad)
        return torch.cat(mixed, dim=1), torch.cat(there, dim=1)

    def _mixed(self, one: Tensor, two: Tensor) -> Tensor:
        return (one * (self.source_pad + 1) + two) * MIXER >> 32

    def _together(self, features: Tensor, values: Tensor) -> Tensor:
        """[B, F]: at each feature of a text, the sum of the values of all that are the same."""
        ordered, order = features.sort(dim=1)
        starts = torch.zeros_like(ordered)
        starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        groups = torch.empty_like(order).scatter(1, order, starts.cumsum(dim=1))
        return torch.zeros_like(values).scatter_add(1, groups, values).gather(1, groups)

    def learn_features(self, texts: Sequence[Tensor], labels: Sequence[int]) -> None:
        """From the training texts, ids [S] each: what no text has counts nothing; a feature that n of N have, log N / n (tfidf).

        bayes: log p(f given l) / p(f given another label), from how many texts of a label have f, each once more (Wang and Manning 2012).
        """
        self._give_buckets(texts)
        having = torch.zeros(self.features, self.target_pad)
        for text, label in zip(texts, labels, strict=True):
            having[sorted(set(self.features_of(text[None])[0].tolist())), label] += 1
        found = having.sum(dim=1)
        if self.weighting == "bayes":
            seen = found > 0
            mine, others = having[seen] + 1.0, (found[:, None] - having)[seen] + 1.0
            self.get_buffer("evidence")[seen] = (mine / mine.sum(dim=0)).log() - (others / others.sum(dim=0)).log()
        rarity = (
            torch.log((1 + len(texts)) / (1 + found)) + 1.0 if self.weighting == "tfidf" else torch.ones_like(found)
        )
        self.get_buffer("rarity").copy_(rarity * (found > 0))

    def _give_buckets(self, texts: Sequence[Tensor]) -> None:
        """To whoever comes first: what shares a bucket with another is left out, in training and after."""
        if self.features == self.source_pad + 1:
            return
        owner = self.get_buffer("owner")
        first: dict[int, int] = {}
        for text in texts:
            mixed, there = self._several(text[None])
            for one in mixed[there].tolist():
                first.setdefault(one % self.buckets, one)
        owner[list(first)] = torch.tensor(list(first.values()), dtype=owner.dtype, device=owner.device)


class RecurrentClassifier(Classifier):
    """Where each direction of the last layer ended stands for the text; in tagging, its states for the tokens."""

    def __init__(self, config: RecurrentConfig, vocabulary: int, labels: int, *, tagging: bool = False) -> None:
        super().__init__()
        self.source_pad, self.target_pad, self.tagging = vocabulary - 1, labels, tagging
        self.source_embedding = token_embedding(vocabulary, config.embedding_width)
        self.encoder = source_encoder(config)
        self.output = nn.Parameter(torch.empty(labels, config.source_width))
        self.dropout = Dropout(config.dropout)
        reset_recurrent(self, config.cell)

    def hidden(self, source: Tensor, target_in: Tensor, probe: Probe | None = None) -> Tensor:
        """[B, 1, D], or in tagging [B, S, D]"""
        x = self.dropout(embedded(self.source_embedding, source))
        states, summary = self.encoder(x, real_tokens(source, self.source_pad))
        dropped: Tensor = self.dropout(states if self.tagging else summary[:, None])
        return dropped

    def output_table(self) -> Tensor:
        """[L, D]"""
        return self.output


class EncoderOnly(Classifier):
    """The encoder of a Transformer, its states pooled: their mean, maximum, or that of a token before the text (Devlin et al. 2019).

    In tagging they are not pooled.
    """

    def __init__(self, config: TransformerConfig, vocabulary: int, labels: int, *, tagging: bool = False) -> None:
        super().__init__()
        self.source_pad, self.target_pad, self.tagging = vocabulary - 1, labels, tagging
        self.pooling = config.pooling
        self.source_embedding = token_embedding(vocabulary, config.width)
        self.source_positions = added_positions(config)
        self.source_bias = relative_bias(config, bidirectional=True)
        rotary = rotary_positions(config)
        self.encoder = nn.ModuleList(encoder_block(config, rotary) for _ in range(config.depth[0]))
        self.encoder_norm = nn.LayerNorm(config.width) if config.norm == "pre" else nn.Identity()
        self.output = nn.Parameter(torch.empty(labels, config.width))
        self.dropout = Dropout(config.dropout)
        reset_transformer(self)

    def hidden(self, source: Tensor, target_in: Tensor, probe: Probe | None = None) -> Tensor:
        """[B, 1, D], or in tagging [B, S, D]"""
        if self.pooling == "class":  # the end mark, where no text begins with it
            source = torch.cat([torch.zeros_like(source[:, :1]), source], dim=1)
        x: Tensor = self.dropout(embedded(self.source_embedding, source, self.source_positions))
        real = real_tokens(source, self.source_pad)
        mask = additive(real[:, None, None, :], x.dtype)
        if self.source_bias is not None:
            mask = mask + self.source_bias(source.shape[1], source.shape[1])
        for number, block in enumerate(self.encoder):
            x = block(x, mask=mask, probe=within(probe, f"encoder.{number}"))
        x = self.encoder_norm(x)
        dropped: Tensor = self.dropout(x if self.tagging else self._pooled(x, real[..., None])[:, None])
        return dropped

    def _pooled(self, x: Tensor, real: Tensor) -> Tensor:
        """x [B, S, D], real [B, S, 1] -> [B, D]"""
        if self.pooling == "class":
            return x[:, 0]
        if self.pooling == "max":
            return x.masked_fill(~real, -torch.inf).amax(dim=1)
        return (x * real).sum(dim=1) / real.sum(dim=1)

    def output_table(self) -> Tensor:
        """[L, D]"""
        return self.output
