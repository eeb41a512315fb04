"""Corrupts texts for pretraining: masks (BERT), infilling, deletion and permutation (BART), spans with sentinels (T5), a cut.

Pure functions of ids and a random generator. They see one text at a time, without end marks, and never change its special pieces.

Shapes: N tokens of a text, V pieces of the vocabulary.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from regard.text.normalise import SPACE_MARK
from regard.text.vocabulary import Vocabulary

Ids = NDArray[np.int64]
Flags = NDArray[np.bool_]
Generator = np.random.Generator
SENTENCE_ENDS = (".", "!", "?", "\n")


class Corrupted(NamedTuple):
    """A text as the model reads it, and what the model must say."""

    source: Ids
    """The corrupted text."""
    target: Ids
    """The output. Of an objective in place, [N]: the token of each place that is predicted, and pad elsewhere."""


class Corrupter(Protocol):
    """A way to corrupt texts."""

    def __call__(self, ids: Ids, generator: Generator) -> Corrupted:
        """Corrupt a text of at least one token."""
        ...

    def lengths(self, tokens: Ids) -> tuple[Ids, Ids]:
        """The most tokens of source and target for texts of so many tokens."""
        ...


@dataclass(frozen=True)
class Pieces:
    """The part of a vocabulary that corrupters need."""

    mask: int
    """The id of the mask; -1: there is none."""
    sentinels: Ids
    """The ids of the sentinels in their order."""
    pad: int
    special: Flags
    """[V] the pieces that are no text."""
    ordinary: Ids
    """The ids of all others."""
    starts_word: Flags
    """[V] the pieces that begin a word."""
    ends_sentence: Flags
    """[V] the pieces that end a sentence or a line."""
    whole_sentence: Flags
    """[V] those of them that are a sentence by themselves: they begin a word, and are not only marks, as `▁Yes.` is."""

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> "Pieces":
        """Those of a vocabulary."""
        special = np.zeros(len(vocabulary), dtype=bool)
        special[list(vocabulary.special)] = True
        texts = [vocabulary.spelling(index) for index in range(len(vocabulary))]
        reserved = vocabulary.reserved
        starts_word = np.array([text.startswith((SPACE_MARK, " ")) for text in texts])
        ends_sentence = np.array([text.endswith(SENTENCE_ENDS) for text in texts])
        marks = SPACE_MARK + " " + "".join(SENTENCE_ENDS)
        return cls(
            mask=-1 if reserved.mask is None else reserved.mask,
            sentinels=np.array(reserved.sentinels, dtype=np.int64),
            pad=vocabulary.pad,
            special=special,
            ordinary=np.flatnonzero(~special),
            starts_word=starts_word,
            ends_sentence=ends_sentence,
            whole_sentence=starts_word & ends_sentence & np.array([bool(text.strip(marks)) for text in texts]),
        )


@dataclass(frozen=True)
class Masking:
    """Masked language modelling (Devlin et al. 2019): of the chosen tokens most become the mask, some a random piece, some stay.

    At least one token of a text is chosen.
    """

    pieces: Pieces
    rate: float
    masked: float
    random: float
    whole_words: bool

    def __call__(self, ids: Ids, generator: Generator) -> Corrupted:
        free = ~self.pieces.special[ids]
        units = np.cumsum(self.pieces.starts_word[ids]) if self.whole_words else np.arange(len(ids))
        chosen = (generator.random(len(ids) + 1)[units] < self.rate) & free
        if not chosen.any() and free.any():
            places = np.flatnonzero(free)
            chosen = (units == units[places[generator.integers(len(places))]]) & free
        fate, substitutes = generator.random(len(ids)), generator.integers(len(self.pieces.ordinary), size=len(ids))
        return self.applied(ids, chosen, fate, self.pieces.ordinary[substitutes])

    def applied(self, ids: Ids, chosen: Flags, fate: NDArray[np.float64], substitutes: Ids) -> Corrupted:
        """The text with these tokens chosen. fate: a number in [0, 1) for each token."""
        source = np.where(chosen & (fate < self.masked), self.pieces.mask, ids)
        replaced = chosen & (fate >= self.masked) & (fate < self.masked + self.random)
        return Corrupted(np.where(replaced, substitutes, source), np.where(chosen, ids, self.pieces.pad))

    def lengths(self, tokens: Ids) -> tuple[Ids, Ids]:
        return tokens, tokens


@dataclass(frozen=True)
class Denoising:
    """Denoising (Lewis et al. 2020): sentences are permuted, tokens deleted, and spans of tokens replaced by one mask each.

    The corrupted text is never longer than the text.
    """

    pieces: Pieces
    infilling: float
    """The share of tokens in masked spans."""
    mean_span: float
    deletion: float
    permutation: float

    def __call__(self, ids: Ids, generator: Generator) -> Corrupted:
        source = ids
        if self.permutation > 0 and generator.random() < self.permutation:
            source = permuted(source, self.pieces.ends_sentence[source], self.pieces.whole_sentence[source], generator)
        if self.deletion > 0:
            source = self._deleted(source, generator)
        if self.infilling > 0:
            source = self._infilled(source, generator)
        return Corrupted(source, ids)

    def lengths(self, tokens: Ids) -> tuple[Ids, Ids]:
        return tokens, tokens

    def _deleted(self, ids: Ids, generator: Generator) -> Ids:
        gone = (generator.random(len(ids)) < self.deletion) & ~self.pieces.special[ids]
        return ids if gone.all() else ids[~gone]

    def _infilled(self, ids: Ids, generator: Generator) -> Ids:
        free = np.flatnonzero(~self.pieces.special[ids])
        hidden = int(self.infilling * len(free) + generator.random())
        if not hidden:
            return ids
        lengths = span_lengths(hidden, self.mean_span, generator)
        gaps = len(free) - hidden + 1  # between, before and after the tokens that stay
        lengths = np.concatenate([lengths[lengths > 0], lengths[lengths == 0]])[:gaps]
        generator.shuffle(lengths)
        where = np.sort(generator.choice(gaps, size=len(lengths), replace=False))
        begins = where + np.cumsum(lengths) - lengths
        return infilled(ids, free, begins, lengths, self.pieces.mask)


@dataclass(frozen=True)
class SpanCorruption:
    """Span corruption (Raffel et al. 2020): each span becomes a sentinel of its own, and the target says what stood there.

    The target of `a b c d e` with the spans `b` and `d e` is `<0> b <1> d e <2>`: a last sentinel ends it.
    """

    pieces: Pieces
    rate: float
    mean_span: float

    def __call__(self, ids: Ids, generator: Generator) -> Corrupted:
        free = ~self.pieces.special[ids]
        noise = np.zeros(len(ids), dtype=bool)
        if free.any():
            noise[free] = random_spans(int(free.sum()), self.rate, self.mean_span, generator)
        return with_sentinels(ids, noise, self.pieces.sentinels)

    def lengths(self, tokens: Ids) -> tuple[Ids, Ids]:
        noise, spans = span_counts(tokens, self.rate, self.mean_span)
        return tokens - noise + spans, noise + spans + 1


@dataclass(frozen=True)
class Splitting:
    """A prefix language model (Dong et al. 2019, Raffel et al. 2020): the text is cut in two, each cut inside it as probable.

    Of a text of one token the first part is empty.
    """

    def __call__(self, ids: Ids, generator: Generator) -> Corrupted:
        cut = int(generator.integers(1, len(ids))) if len(ids) > 1 else 0
        return Corrupted(ids[:cut], ids[cut:])

    def lengths(self, tokens: Ids) -> tuple[Ids, Ids]:
        return np.maximum(tokens - 1, 0), np.maximum(tokens - 1, 1)


def permuted(ids: Ids, ends: Flags, whole: Flags, generator: Generator) -> Ids:
    """The sentences of a text in random order.

    ends [N]: tokens that end a sentence; several in a row, as `...`, end one together. whole [N]: those that are a sentence by themselves.
    """
    segments = np.split(ids, np.flatnonzero(ends[:-1] & (~ends[1:] | whole[1:])) + 1)
    return np.concatenate([segments[number] for number in generator.permutation(len(segments))])


def span_lengths(total: int, mean: float, generator: Generator) -> Ids:
    """Lengths of Poisson distribution that add up to `total`; the last is cut. At most `total` lengths, some of them 0."""
    lengths: list[int] = []
    left = total
    while left > 0:
        length = min(left, int(generator.poisson(mean)))
        lengths.append(length)
        left -= length
    numbers = np.array(lengths, dtype=np.int64)
    empty = np.flatnonzero(numbers == 0)
    return np.delete(numbers, empty[max(0, total - (len(numbers) - len(empty))) :])


def infilled(ids: Ids, free: Ids, begins: Ids, lengths: Ids, mask: int) -> Ids:
    """Replace spans by one mask each; an empty span puts a mask between two tokens.

    free: the places that may be masked; begins, lengths: of the spans, counted in free places, in order and apart from each other.
    """
    hidden = np.zeros(len(free) + 1, dtype=np.int64)
    np.add.at(hidden, begins, 1)
    np.add.at(hidden, begins + lengths, -1)
    stays = np.ones(len(ids), dtype=bool)
    stays[free[np.cumsum(hidden[:-1]) > 0]] = False
    after = np.append(free, len(ids))  # the place before which each mask stands
    kept = np.cumsum(np.append(0, stays))[after[begins]]  # tokens that stay before it
    return np.insert(ids[stays], kept, mask)


def span_counts(tokens: Any, rate: float, mean: float) -> tuple[Any, Any]:
    """(corrupted tokens, spans) of texts of so many tokens, as T5 counts them: at least one of each."""
    noise = np.clip(np.round(tokens * rate), 1, np.maximum(1, tokens - 1)).astype(np.int64)
    spans = np.clip(np.round(noise / mean), 1, np.maximum(1, np.minimum(noise, tokens - noise))).astype(np.int64)
    return noise, spans


def random_spans(tokens: int, rate: float, mean: float, generator: Generator) -> Flags:
    """[N] which tokens are corrupted: spans of random lengths with stretches of random lengths between, before and after them.

    In T5's code the last span ends the text. Texts there are of 512 tokens; of one span in a sentence that would always be the end.
    """
    noise, spans = (int(count) for count in span_counts(tokens, rate, mean))
    stretches = _segments(tokens - noise + 2, spans + 1, generator) - np.eye(spans + 1, dtype=np.int64)[[0, -1]].sum(
        axis=0
    )
    lengths = np.append(stretches, 0).repeat(2)[: 2 * spans + 1]
    lengths[1::2] = _segments(noise, spans, generator)
    return np.repeat(np.arange(2 * spans + 1) % 2 == 1, lengths)


def _segments(items: int, segments: int, generator: Generator) -> Ids:
    """The lengths of so many segments of at least one item, each division equally probable."""
    cuts = np.sort(generator.choice(items - 1, size=segments - 1, replace=False)) + 1
    return np.diff(np.concatenate([[0], cuts, [items]])).astype(np.int64)


def with_sentinels(ids: Ids, noise: Flags, sentinels: Ids) -> Corrupted:
    """Replace each run of noise by a sentinel; the target has the sentinels with their tokens, and one more at its end.

    Runs without a sentinel of their own stay as they are: special pieces within a span make several of one.
    """
    starts = noise & ~np.append(False, noise[:-1])
    run = np.cumsum(starts)  # of each token, from 1
    noise, starts = noise & (run < len(sentinels)), starts & (run < len(sentinels))
    source = np.where(starts, sentinels[np.minimum(run, len(sentinels)) - 1], ids)[~noise | starts]
    places = np.flatnonzero(starts)
    target = np.insert(ids[noise], (np.cumsum(noise) - 1)[places], sentinels[: len(places)])
    return Corrupted(source, np.append(target, sentinels[len(places)]))
