"""Grows the vocabulary of a tokeniser by pieces that a new text needs, and by reserved pieces (`text.grow`).

Pieces that are there stay, and so does every merge: a text is first cut as before, and then the most frequent neighbours within its words
are merged further, as byte-pair encoding does (Sennrich et al. 2016). Characters that were spelled in bytes get pieces first. In a unigram
model a new piece has the logarithm of its share of the text as its score, and at least a little more than its two parts together, so that
it is used. Ids may move; pieces do not change. Only learned tokenisers grow: the others are those of imported models.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import log
from typing import NamedTuple

from regard.errors import TextError
from regard.text.build import TokenizerPair, sampled_lines, sampled_pairs
from regard.text.char import CharTokenizer, frequent_characters
from regard.text.config import LEARNED, OneTextConfig, TextConfig
from regard.text.marked import MarksRecord, marks_of
from regard.text.normalise import SPACE_MARK
from regard.text.protobuf import with_pieces
from regard.text.reserved import is_reserved_name
from regard.text.subword import RESERVED_BLOCK, SubwordTokenizer
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import BYTE_PIECES, FIXED_NAMES, Vocabulary
from regard.text.word import WordTokenizer, count_words

LEAST = 2
"""Occurrences of a new piece: what a text has once is spelled as before."""
PREFERENCE = 0.1
"""What a new unigram piece scores above its two parts, in nats."""
_BYTES = frozenset(BYTE_PIECES)

Symbol = str | None
"""A piece, or a character that gets one; None: a character that stays in bytes, and is merged with nothing."""


class NewPiece(NamedTuple):
    """A piece to be added: its text, how often it occurs, and the two pieces that it was merged from, if it was."""

    text: str
    times: int
    parts: tuple[str, str] | None = None


def tokenizers_of_text(base: TokenizerPair, config: OneTextConfig, lines: Iterable[str]) -> TokenizerPair:
    """The tokenisers of a base for a text: as they are, or grown if `config.grow` is set."""
    if config.grow is None:
        return base
    tokenizer = grown(base.source, config, sampled_lines(config, lines))
    return TokenizerPair(tokenizer, tokenizer, joint=True)


def tokenizers_of_pairs(
    base: TokenizerPair, config: TextConfig, pairs: Callable[[], Iterable[tuple[str, str]]]
) -> TokenizerPair:
    """The tokenisers of a base for a parallel corpus, likewise. Two vocabularies grow by their own sides."""
    if config.grow is None:
        return base
    sources, targets = sampled_pairs(config, pairs())
    if base.joint:
        tokenizer = grown(base.source, config, sources + targets)
        return TokenizerPair(tokenizer, tokenizer, joint=True)
    return TokenizerPair(grown(base.source, config, sources), grown(base.target, config, targets), joint=False)


def grown(tokenizer: Tokenizer, config: OneTextConfig, lines: Sequence[str]) -> Tokenizer:
    """The tokeniser with up to `config.grow` more pieces from a text, and the pieces of `config.reserved` that it lacks."""
    if tokenizer.kind not in LEARNED or marks_of(tokenizer) != MarksRecord():
        raise TextError(
            f"text.grow: a vocabulary of kind {tokenizer.kind!r} came with an imported model and cannot grow; leave text.grow out"
        )
    words = count_words(lines, config.form, config.lowercase)
    reserved = [name for name in config.reserved.names if name not in tokenizer.vocabulary]
    control = [*tokenizer.vocabulary.reserved.names, *reserved]
    count = config.grow or 0
    if isinstance(tokenizer, WordTokenizer):
        lacking = sorted((word for word in words if SPACE_MARK + word not in tokenizer.vocabulary), key=_by(words))
        listed = [piece.removeprefix(SPACE_MARK) for piece in _texts(tokenizer)] + lacking[:count]
        return WordTokenizer(listed, tokenizer.form, tokenizer.lowercase, control)
    if isinstance(tokenizer, CharTokenizer):
        rare = _lacking_characters(tokenizer, words)
        listed = [*_texts(tokenizer), *sorted(rare, key=_by(rare))[:count]]
        return CharTokenizer(listed, tokenizer.form, tokenizer.lowercase, control)
    assert isinstance(tokenizer, SubwordTokenizer), "a learned tokeniser is of words, characters or subwords"
    pieces = new_pieces(tokenizer, words, count, config.character_coverage)
    model = _model_with(tokenizer, pieces, reserved)
    return SubwordTokenizer(model, tokenizer.kind, tokenizer.form, tokenizer.lowercase, control)


def spelled(tokenizer: Tokenizer, piece: str) -> list[int]:
    """The ids with which a tokeniser spells a piece that it has not: those of the text, within a word by the longest pieces."""
    if piece.startswith(SPACE_MARK):
        return tokenizer.encode(piece.replace(SPACE_MARK, " ").strip())
    vocabulary, ids, place = tokenizer.vocabulary, [], 0
    while place < len(piece):
        ends = range(len(piece), place, -1)
        end = next(
            (end for end in ends if piece[place:end] in vocabulary and _is_text(vocabulary, piece[place:end])), None
        )
        ids += vocabulary.bytes_of(piece[place]) if end is None else [vocabulary.id_of(piece[place:end])]
        place = place + 1 if end is None else end
    return ids


def new_pieces(
    tokenizer: SubwordTokenizer, words: Mapping[str, int], count: int, coverage: float = 1.0
) -> list[NewPiece]:
    """Up to `count` pieces that a text of these words needs: characters that have none, then the most frequent merges."""
    rare = _lacking_characters(tokenizer, words)
    kept = frequent_characters(rare, coverage, len(rare) if len(rare) < count else count // 2)
    characters = [NewPiece(character, rare[character]) for character in kept]
    symbols = [_symbols(tokenizer, word, frozenset(kept)) for word in words]
    merges = _merges(symbols, list(words.values()), tokenizer.vocabulary)
    return [*characters, *(piece for piece, _ in zip(merges, range(count - len(characters)), strict=False))]


def _merges(words: list[list[Symbol]], weights: Sequence[int], vocabulary: Vocabulary) -> Iterator[NewPiece]:
    """The pieces of further merges, the most frequent first, ties by code point. `words` are merged in place."""
    counts: Counter[tuple[str, str]] = Counter()
    holders: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for index, word in enumerate(words):
        for pair in _pairs(word):
            counts[pair] += weights[index]
            holders[pair].add(index)
    heap = [(-count, pair) for pair, count in counts.items()]
    heapify(heap)
    made: set[str] = set()
    while heap:
        negative, pair = heappop(heap)
        if -negative != counts[pair] or -negative < LEAST:
            continue  # counted otherwise since, or too rare
        text = "".join(pair)
        if text in vocabulary or FIXED_NAMES.fullmatch(text) or is_reserved_name(text):
            continue
        changed: set[tuple[str, str]] = set()
        for index in holders.pop(pair):
            for before in _pairs(words[index]):
                counts[before] -= weights[index]
                changed.add(before)
            words[index] = _merged(words[index], pair)
            for after in _pairs(words[index]):
                counts[after] += weights[index]
                holders[after].add(index)
                changed.add(after)
        for other in changed:
            if counts[other] > 0 and other != pair:
                heappush(heap, (-counts[other], other))
        if text not in made:  # the same piece may be merged from other parts too
            made.add(text)
            yield NewPiece(text, -negative, pair)


def _pairs(word: Sequence[Symbol]) -> Iterator[tuple[str, str]]:
    for left, right in pairwise(word):
        if left is not None and right is not None:
            yield left, right


def _merged(word: Sequence[Symbol], pair: tuple[str, str]) -> list[Symbol]:
    """The symbols with each occurrence of the pair merged, from the left."""
    result: list[Symbol] = []
    for symbol in word:
        if result and (result[-1], symbol) == pair:
            result[-1] = pair[0] + pair[1]
        else:
            result.append(symbol)
    return result


def _symbols(tokenizer: Tokenizer, word: str, characters: frozenset[str]) -> list[Symbol]:
    """The pieces of a word as it is cut now; a character in bytes is a symbol of its own if it gets a piece."""
    symbols: list[Symbol] = []
    pending: list[int] = []
    vocabulary = tokenizer.vocabulary
    for index in [*tokenizer.encode(word), None]:
        if index is not None and vocabulary.piece(index) in _BYTES:
            pending.append(index)
            continue
        if pending:
            symbols += [one if one in characters else None for one in vocabulary.exact(pending)]
            pending = []
        if index is not None:
            symbols.append(vocabulary.piece(index))
    return symbols


def _lacking_characters(tokenizer: Tokenizer, words: Mapping[str, int]) -> dict[str, int]:
    """The characters of the words that have no piece, and how often each occurs."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            if character not in tokenizer.vocabulary and character != RESERVED_BLOCK:
                counts[character] += count
    return dict(counts)


def _model_with(tokenizer: SubwordTokenizer, pieces: Sequence[NewPiece], reserved: Sequence[str]) -> bytes:
    """The sentencepiece model with these pieces behind its own, and reserved ones behind its reserved ones."""
    import sentencepiece

    [model] = tokenizer.files().values()
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    scores = {piece: processor.get_score(index) for index, piece in enumerate(tokenizer.vocabulary.pieces[:-1])}
    added: list[tuple[str, float]] = []
    lowest = min(scores.values())
    total = sum(piece.times for piece in pieces) or 1
    for number, piece in enumerate(pieces, 1):
        if tokenizer.kind == "bpe":  # scores are the order of merging: after all that are there
            score = lowest - number
        else:
            score = log(piece.times / total)
            if piece.parts is not None:
                score = max(score, sum(scores[part] for part in piece.parts) + PREFERENCE)
        scores[piece.text] = score
        added.append((piece.text, score))
    first = Vocabulary.UNK + 1 + len(tokenizer.vocabulary.reserved.names)
    return with_pieces(model, first, reserved, added)


def _texts(tokenizer: Tokenizer) -> list[str]:
    """The learned pieces of a tokeniser of words or characters."""
    first = tokenizer.vocabulary.id_of(SPACE_MARK) + 1
    return list(tokenizer.vocabulary.pieces[first:-1])


def _is_text(vocabulary: Vocabulary, piece: str) -> bool:
    return piece not in _BYTES and vocabulary.id_of(piece) not in vocabulary.special


def _by(counts: Mapping[str, int]) -> Callable[[str], tuple[int, str]]:
    """The most frequent first, ties by code point."""
    return lambda name: (-counts[name], name)
