"""Classifiers: bag of words and bigrams, recurrent, and Transformer encoder (lectures 004). The latter two can also tag tokens.

A bag of words sees the words of a text, a bag of bigrams also their neighbours, a recurrent network their order, and a Transformer all
interactions.

Shapes: B batch, S tokens with the end mark, D width, L labels, F features of a text.
"""

from collections.abc import Sequence
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.layers.dropout import Dropout
from regard.layers.embedding import token_embedding
from regard.layers.linear import Linear
from regard.layers.pooling import POOLINGS, AttentionPooling
from regard.layers.roles import Role
from regard.models.blocks import (
    encoder_blocks,
    last_norm,
    relative_bias,
    rotary_positions,
    run_causal,
    run_encoder,
    token_front,
)
from regard.models.config import BagConfig, ClassifierRecurrentConfig, ClassifierTransformerConfig
from regard.models.network import ClassifierNetwork, output_weights
from regard.models.recurrent import source_encoder
from regard.models.recurrent import token_front as recurrent_front
from regard.ops.probe import Probe, within

# 2^64 / golden ratio: the upper half of a product depends on all of the other factor (Knuth, 6.4)
MIXER = 0x9E3779B97F4A7C15 - 2**64


class Bag(ClassifierNetwork):
    """A linear classifier: logits = sum over features of weight times occurrences, divided by the norm of the occurrences."""

    def __init__(self, config: BagConfig, vocabulary: int, labels: int) -> None:
        super().__init__()
        self.source_pad, self.target_pad = vocabulary - 1, labels
        self.ngrams, self.opening, self.buckets = config.ngrams, config.opening, config.buckets
        self.weighting, self.binary = config.weighting, config.binary
        self.features = vocabulary + (config.buckets if config.ngrams == 2 or config.opening else 0)
        self.embedding = nn.Embedding(self.features, labels, padding_idx=self.source_pad)
        self.bias = nn.Parameter(torch.zeros(labels))
        self.dropout = Dropout(config.dropout)
        self.register_buffer("rarity", torch.ones(self.features))  # log N / n of each feature; 1: plain counts
        self.register_buffer("outputs", torch.eye(labels), persistent=False)
        if self.features > vocabulary:  # the hash of a bucket's feature; infinity: any
            self.register_buffer("owner", torch.full((config.buckets,), torch.inf, dtype=torch.float64))
        nn.init.zeros_(self.embedding.weight)
        if config.weighting == "bayes":
            self.register_buffer("evidence", torch.zeros(self.features, labels))
            nn.init.ones_(self.embedding.weight)  # starts as naive Bayes

    def hidden(
        self, source: Int[Tensor, "B S"], target_in: Int[Tensor, "B T"], probe: Probe | None = None
    ) -> Float[Tensor, "B _ L"]:
        """The logits themselves, [B, 1, L]."""
        features = self.features_of(source)  # [B, F]
        rarity: Tensor = self.get_buffer("rarity")[features] * (features != self.source_pad)
        if self.binary:
            rarity = rarity / self._together(features, torch.ones_like(rarity))  # repeats of a feature count once
        # the norm of the vector in which repeats of a feature are summed
        length = (rarity * self._together(features, rarity)).sum(dim=1, keepdim=True).sqrt().clamp_min(1e-6)
        weights: Tensor = self.dropout(rarity / length)
        votes = self.embedding(features)
        if self.weighting == "bayes":
            votes = votes * self.get_buffer("evidence")[features]
        logits: Tensor = (votes * weights[..., None]).sum(dim=1) + self.bias
        return logits[:, None]

    def output_table(self) -> Float[Tensor, "L L"]:
        """The identity: the hidden states are the logits."""
        table: Tensor = self.get_buffer("outputs")
        return table

    def features_of(self, source: Int[Tensor, "B S"]) -> Int[Tensor, "B F"]:
        """The features of each text: its tokens, bigrams and openings, filled up with pad."""
        words = source.masked_fill(source == 0, self.source_pad)  # the end mark is no feature
        if self.features == self.source_pad + 1:
            return words
        mixed, there = self._several(words)
        place, owner = mixed % self.buckets, self.get_buffer("owner")
        there = there & ((owner[place] == mixed) | owner[place].isinf())
        return torch.cat([words, (self.source_pad + 1 + place).masked_fill(~there, self.source_pad)], dim=1)

    def _several(self, words: Int[Tensor, "B S"]) -> tuple[Int[Tensor, "B N"], Bool[Tensor, "B N"]]:
        """The 32-bit hashes of bigrams and openings, and the mask of those that exist."""
        mixed, there = [], []
        if self.ngrams == 2:
            left, right = words[:, :-1], words[:, 1:]
            mixed.append(self._mixed(left, right))
            there.append((left != self.source_pad) & (right != self.source_pad))
        last = torch.full_like(words[:, :1], self.source_pad)
        for place in range(min(self.opening, words.shape[1])):
            word = words[:, place : place + 1]
            last = self._mixed(last, word)
            mixed.append(last)
            there.append(word != self.source_pad)
        return torch.cat(mixed, dim=1), torch.cat(there, dim=1)

    def _mixed(self, left: Int[Tensor, "B N"], right: Int[Tensor, "B N"]) -> Int[Tensor, "B N"]:
        return (left * (self.source_pad + 1) + right) * MIXER >> 32

    def _together(self, features: Int[Tensor, "B F"], values: Float[Tensor, "B F"]) -> Float[Tensor, "B F"]:
        """For each feature of a text, the sum of the values of all its repeats."""
        ordered, order = features.sort(dim=1)
        starts = torch.zeros_like(ordered)
        starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        groups = torch.empty_like(order).scatter(1, order, starts.cumsum(dim=1))
        return torch.zeros_like(values).scatter_add(1, groups, values).gather(1, groups)

    def learn_features(self, texts: Sequence[Int[Tensor, " _"]], labels: Sequence[int]) -> None:
        """Compute feature weights from the training texts, ids [S] each. A feature that no text has gets 0.

        tfidf: log N / n for a feature in n of N texts. bayes: log p(f | label) / p(f | other labels), from the numbers of texts of a label
        with f, plus 1 (Wang and Manning 2012).
        """
        self._give_buckets(texts)
        label_counts = torch.zeros(self.features, self.target_pad)
        for text, label in zip(texts, labels, strict=True):
            label_counts[sorted(set(self.features_of(text[None])[0].tolist())), label] += 1
        text_counts = label_counts.sum(dim=1)
        if self.weighting == "bayes":
            seen = text_counts > 0
            mine, others = label_counts[seen] + 1.0, (text_counts[:, None] - label_counts)[seen] + 1.0
            self.get_buffer("evidence")[seen] = (mine / mine.sum(dim=0)).log() - (others / others.sum(dim=0)).log()
        rarity = (
            torch.log((1 + len(texts)) / (1 + text_counts)) + 1.0
            if self.weighting == "tfidf"
            else torch.ones_like(text_counts)
        )
        self.get_buffer("rarity").copy_(rarity * (text_counts > 0))

    def _give_buckets(self, texts: Sequence[Int[Tensor, " _"]]) -> None:
        """Give each bucket to the first feature that hashes to it. Colliding features are ignored, in training and after."""
        if self.features == self.source_pad + 1:
            return
        owner = self.get_buffer("owner")
        first: dict[int, int] = {}
        for text in texts:
            mixed, there = self._several(text[None])
            for feature_hash in mixed[there].tolist():
                first.setdefault(feature_hash % self.buckets, feature_hash)
        owner[list(first)] = torch.tensor(list(first.values()), dtype=owner.dtype, device=owner.device)


class RecurrentClassifier(ClassifierNetwork):
    """A recurrent classifier: the final states of both directions of the last layer, or all states pooled. Tagging has no pooling."""

    roles: ClassVar[dict[str, Role]] = {"output": "table"}

    def __init__(
        self, config: ClassifierRecurrentConfig, vocabulary: int, labels: int, *, tagging: bool = False
    ) -> None:
        super().__init__()
        self.source_pad, self.target_pad, self.tagging = vocabulary - 1, labels, tagging
        self.pooling = config.pooling
        self.source = recurrent_front(config, token_embedding(vocabulary, config.embedding_width))
        self.encoder = source_encoder(config)
        self.attention_pooling = AttentionPooling(config.source_width) if config.pooling == "attention" else None
        self.output = output_weights(labels, config.source_width)
        self.dropout = Dropout(config.dropout)

    def hidden(
        self, source: Int[Tensor, "B S"], target_in: Int[Tensor, "B T"], probe: Probe | None = None
    ) -> Float[Tensor, "B _ D"]:
        """The vector of each text, [B, 1, D], or in tagging the states [B, S, D]."""
        x, real = self.source(source, within(probe, "encoder"))
        states, summary = self.encoder(x, real)
        if probe is not None:
            states = probe.see("encoder.hidden", states)
        if self.tagging:
            x = states
        elif self.attention_pooling is not None:
            x = self.attention_pooling(states, real, within(probe, "pooling"))[:, None]
        else:
            x = (summary if self.pooling == "final" else POOLINGS[self.pooling](states, real))[:, None]
        dropped: Tensor = self.dropout(x)
        return dropped

    def output_table(self) -> Float[Tensor, "L D"]:
        """The weights of the labels."""
        return self.output


class EncoderOnly(ClassifierNetwork):
    """The encoder of a Transformer with pooling: mean, maximum, attention, or a class token (Devlin et al. 2019). Tagging has none.

    With `model.causal` a token sees only those before it, as in a language model.
    """

    roles: ClassVar[dict[str, Role]] = {"output": "table"}

    def __init__(
        self, config: ClassifierTransformerConfig, vocabulary: int, labels: int, *, tagging: bool = False
    ) -> None:
        super().__init__()
        self.source_pad, self.target_pad, self.tagging = vocabulary - 1, labels, tagging
        self.pooling = config.pooling
        self.source = token_front(config, token_embedding(vocabulary, config.width))
        self.causal = config.causal
        self.encoder_bias = relative_bias(config, bidirectional=not config.causal)
        self.encoder = encoder_blocks(config, rotary_positions(config), causal=config.causal)
        self.encoder_norm = last_norm(config)
        self.attention_pooling = AttentionPooling(config.width) if config.pooling == "attention" else None
        self.pooler = Linear(config.width, config.width) if config.pooler else None
        self.output = output_weights(labels, config.width)
        self.output_bias = nn.Parameter(torch.zeros(labels)) if config.output_bias else None
        self.dropout = Dropout(config.dropout)

    def hidden(
        self, source: Int[Tensor, "B S"], target_in: Int[Tensor, "B T"], probe: Probe | None = None
    ) -> Float[Tensor, "B _ D"]:
        """The vector of each text, [B, 1, D], or in tagging the states [B, S, D]."""
        if self.pooling == "class":  # the class token is the end mark, with which no text begins
            source = torch.cat([torch.zeros_like(source[:, :1]), source], dim=1)
        x, real = self.source(source, within(probe, "encoder"))
        if self.causal:  # padding comes last: no token sees it
            x = run_causal(self.encoder, x, self.encoder_bias, within(probe, "encoder"))
        else:
            x, _ = run_encoder(self.encoder, x, real, self.encoder_bias, probe)
        x = self.encoder_norm(x)
        if self.attention_pooling is not None and not self.tagging:
            x = self.attention_pooling(x, real, within(probe, "pooling"))[:, None]
        elif not self.tagging:
            x = POOLINGS[self.pooling](x, real)[:, None]
        if self.pooler is not None:
            x = torch.tanh(self.pooler(x))
        dropped: Tensor = self.dropout(x)
        return dropped

    def output_offsets(self) -> Float[Tensor, " L"] | None:
        """The bias of the labels; None: they have none."""
        return self.output_bias

    def output_table(self) -> Float[Tensor, "L D"]:
        """The weights of the labels."""
        return self.output
