"""Which language a text is in: candidates, each with a calibrated confidence.

The statistics are those of `data/language.py`, and the vocabularies of the models that are served: their pieces, most frequent first, say
which trigrams the training text had. A confidence is Bayes' rule with a temperature,

    p(l | text) = p(l) p(text | l)^BETA / sum over languages,    log p(text | l) = sum over its trigrams of log p(trigram | l).

Trigrams overlap, so that their product counts the same evidence more than once: BETA, below 1, takes that back. It was fitted on training
text (benchmarks/detection.py). Where `lingua` is installed and knows a language that the package does not, its confidences are used,
tempered in the same way. It reads no files.

Shapes: P pieces, G trigrams of all pieces, L languages, R trigrams in the statistics.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from regard.data.language import BITS, FLOOR, Statistics, letters_of, log_shares, statistics
from regard.data.trigrams import hashed_trigrams
from regard.extras import is_installed
from regard.text.normalise import SPACE_MARK
from regard.text.vocabulary import Vocabulary

BETA = 0.6  # the power of p(text | l)
EXPECTED = 20.0  # how much more probable a served language is than another, before anything is read
OWN_SHARE = 0.4  # of the served models' vocabularies in p(trigram | l)
LEAST = 0.01  # the confidence of a candidate that is told
READ = 2_000  # characters of a text that are read
_BLOCK = 50_000  # characters that are read at once
_BETWEEN = "\0"
_RANKS = 20.0  # Zipf: the piece of rank r occurs about 1 / (r + _RANKS) times as often as the first

LINGUA_BETA = 3.5  # the power of lingua's confidences


class Candidate(NamedTuple):
    """A language that a text may be in."""

    language: str
    confidence: float
    """The probability, from 0 to 1."""


class Detector(Protocol):
    """Tells the languages of texts."""

    def detect(self, texts: Sequence[str]) -> list[list[Candidate]]:
        """The candidates for each text, the most probable first; none for a text that has no letters which tell anything."""
        ...


@dataclass(frozen=True)
class OwnPieces:
    """The vocabulary of a served model."""

    languages: tuple[str, ...]
    """The languages that it was learned from: one, or those of a joint vocabulary."""
    pieces: tuple[str, ...]
    """Its pieces that are text, the most frequent first; a space where a word begins, and where it is known to end."""

    @classmethod
    def of(cls, vocabulary: Vocabulary, languages: Sequence[str], *, whole_words: bool = False) -> "OwnPieces":
        """whole_words: every piece is a word."""
        texts = (vocabulary.spelling(index).replace(SPACE_MARK, " ") for index in range(len(vocabulary)))
        return cls(
            tuple(languages),
            tuple(f" {text.strip()} " if whole_words else text for text in texts if len(text.strip()) > 1),
        )


def detector(languages: Sequence[str] = (), own: Sequence[OwnPieces] = ()) -> Detector:
    """The detector for these languages: that of the package, or where it lacks one of them and lingua has all, lingua's.

    languages: those that are expected, such as the source languages of a server. Others are told too.
    """
    plain = TrigramDetector(languages, own)
    if is_installed("lingua") and not all(plain.knows(name) for name in languages):
        return LinguaDetector.of(languages) or plain
    return plain


class TrigramDetector:
    """Tells languages apart by the trigram statistics of the package and of served models."""

    def __init__(self, languages: Sequence[str] = (), own: Sequence[OwnPieces] = ()) -> None:
        """A language without statistics is told only if a vocabulary in `own` is of it alone."""
        known = statistics()
        alone = [one.languages[0] for one in own if len(one.languages) == 1]
        new = [name for name in dict.fromkeys(alone) if known.column(name) is None]
        self._statistics = _with_pieces(_with_languages(known, new), own)
        self.languages = list(self._statistics.names)
        priors = np.ones(len(self.languages))
        for name in reversed(languages):  # of two names for the same statistics, the first is told
            column = self._statistics.column(name)
            if column is not None:
                self.languages[column] = name
                priors[column] = EXPECTED
        self._log_priors = np.log(priors / priors.sum())

    def knows(self, language: str) -> bool:
        """Whether there are statistics of a language."""
        return self._statistics.column(language) is not None

    def detect(self, texts: Sequence[str]) -> list[list[Candidate]]:
        results: list[list[Candidate]] = []
        for block in _blocks([text[:READ] for text in texts]):
            values, evidence = log_shares(block, self._statistics)
            logits = BETA * values + self._log_priors
            results += [
                _candidates(self.languages, softmax(row)) if count else []
                for row, count in zip(logits, evidence, strict=True)
            ]
        return results


class LinguaDetector:
    """Tells languages apart by lingua, whose confidences it tempers: they are too small."""

    def __init__(self, detector: Any, languages: Mapping[str, str]) -> None:
        """languages: the expected ones, from lingua's code to the name that is told."""
        self._detector, self._languages = detector, languages

    @classmethod
    def of(cls, languages: Sequence[str]) -> "LinguaDetector | None":
        """The detector; None: lingua does not know one of the languages."""
        from lingua import Language, LanguageDetectorBuilder

        codes = {language.iso_code_639_1.name.lower() for language in Language.all()}
        expected: dict[str, str] = {}
        for name in languages:
            code = name.lower().replace("_", "-").split("-")[0]
            expected.setdefault({"no": "nb"}.get(code, code), name)
        if not set(expected) <= codes:
            return None
        return cls(LanguageDetectorBuilder.from_all_languages().build(), expected)

    def detect(self, texts: Sequence[str]) -> list[list[Candidate]]:
        results: list[list[Candidate]] = []
        for text in texts:
            values = self._detector.compute_language_confidence_values(text[:READ])
            codes = [value.language.iso_code_639_1.name.lower() for value in values]
            shares = np.array([value.value for value in values])
            if not shares.any() or np.ptp(shares) == 0.0:  # no letters: all are the same
                results.append([])
                continue
            priors = np.log([EXPECTED if code in self._languages else 1.0 for code in codes])
            names = [self._languages.get(code, code) for code in codes]
            results.append(_candidates(names, softmax(LINGUA_BETA * np.log(np.maximum(shares, 1e-30)) + priors)))
        return results


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """[L] probabilities from [L] logits."""
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum())


def _candidates(names: Sequence[str], probabilities: NDArray[np.float64]) -> list[Candidate]:
    """The candidates from the most probable on."""
    order = np.argsort(-probabilities, kind="stable")
    best = [Candidate(names[place], float(probabilities[place])) for place in order]
    return [one for number, one in enumerate(best) if number == 0 or one.confidence >= LEAST]


def _blocks(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in order, of at most `_BLOCK` characters together: the statistics of each trigram are in memory."""
    block: list[str] = []
    size = 0
    for text in texts:
        if block and size + len(text) > _BLOCK:
            yield block
            block, size = [], 0
        block.append(text)
        size += len(text)
    if block:
        yield block


def _with_languages(known: Statistics, names: Sequence[str]) -> Statistics:
    """The statistics with further languages, of which no trigram is frequent yet."""
    floor = np.full((len(known.shares), len(names)), FLOOR, dtype=np.float32)
    floor[0] = 0.0
    return Statistics((*known.names, *names), known.places, np.hstack([known.shares, floor]))


def _with_pieces(known: Statistics, own: Sequence[OwnPieces]) -> Statistics:
    """The statistics, mixed with those of the vocabularies. A trigram that has no row yet gets one."""
    counted = [(columns, *_piece_trigrams(one.pieces)) for one in own if (columns := _columns(known, one.languages))]
    if not counted:
        return known
    places = known.places.copy()
    fresh = np.unique(np.concatenate([grams[places[grams] == 0] for _, grams, _, _ in counted]))
    places[fresh] = np.arange(len(known.shares), len(known.shares) + len(fresh), dtype=np.int32)
    shares = np.vstack([known.shares, np.full((len(fresh), len(known.names)), FLOOR, dtype=np.float32)])
    counts = np.zeros(shares.shape)
    for columns, grams, owners, weights in counted:
        rows = places[grams]
        owned = np.zeros((len(weights), len(columns)))  # [P, L] how far a piece is of each language
        np.add.at(owned, owners, BETA * shares[rows[:, None], np.array(columns)])
        owned = np.exp(owned - owned.max(axis=1, keepdims=True))
        owned *= weights[:, None] / owned.sum(axis=1, keepdims=True)
        for place, column in enumerate(columns):
            counts[:, column] += np.bincount(rows, weights=owned[owners, place], minlength=len(shares))
    totals = counts.sum(axis=0)
    mixed = shares.astype(np.float64)
    for column in np.flatnonzero(totals).tolist():
        seen = counts[:, column] / totals[column]
        mixed[:, column] = np.log((1 - OWN_SHARE) * np.exp(mixed[:, column]) + OWN_SHARE * seen)
    mixed[0] = 0.0
    return Statistics(known.names, places, mixed.astype(np.float32))


def _columns(known: Statistics, languages: Sequence[str]) -> list[int]:
    """The columns of languages; none if one has no statistics, since the pieces of the others are not known apart from its own."""
    columns = [known.column(name) for name in languages]
    return [] if None in columns else list(dict.fromkeys(column for column in columns if column is not None))


def _piece_trigrams(pieces: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """[G] the hashed trigrams inside of pieces, [G] the piece of each, and [P] how frequent each piece is."""
    letters = [letters_of(piece) for piece in pieces]
    joined = _BETWEEN.join([*letters, ""])
    codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    owner = np.repeat(np.arange(len(pieces)), [len(text) + 1 for text in letters])
    grams = hashed_trigrams(joined, BITS)
    windows = np.lib.stride_tricks.sliding_window_view(codes, 3) if len(codes) > 2 else codes[:0].reshape(0, 3)
    inside = (windows != ord(_BETWEEN)).all(axis=1) & (windows[:, 1] != ord(" "))
    weights: NDArray[np.float64] = 1.0 / (np.arange(len(pieces), dtype=np.float64) + _RANKS)
    return grams[inside], owner[: len(grams)][inside].astype(np.int64), weights
