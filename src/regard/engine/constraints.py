"""Constraints on outputs, from text to tokens: prefixes, phrases and suppressed tokens.

A constraint that cannot be met is dropped with a warning. It does not stop the translation of the other texts.
"""

import difflib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from regard.errors import DataError, InputTypeError, SearchError
from regard.search.constraints import Constraints
from regard.search.options import SearchOptions
from regard.search.phrases import Phrase, Phrases, contains
from regard.text.marked import MarkedTokenizer, unmarked
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import Vocabulary

Ids = list[int]
TextPhrase = str | Sequence[str]
"""A phrase, or alternatives of which one is enough."""

WORD_START = "\u2581"  # begins the first piece of a word
MOST_PHRASES = 100  # of one text: the time to compare them grows with their square


class ConstraintWarning(UserWarning):
    """A prefix or a phrase was dropped, because no output can have it."""


class TextConstraints:
    """The prefixes and phrases of texts, as text and as tokens."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        texts: int,
        prefixes: Sequence[str] | None = None,
        phrases: Sequence[Sequence[TextPhrase]] | None = None,
    ) -> None:
        prefix_list = _listed("prefixes", prefixes, texts, "['I', ..], with one prefix for each text")
        phrase_lists = _listed("phrases", phrases, texts, "[['a cat', ..], ..], with one list of phrases for each text")
        for number, prefix in enumerate(prefix_list):
            if not isinstance(prefix, str):
                raise InputTypeError(f"prefixes[{number}] = {prefix!r}: must be a str, '' where there is none")
        for number, wanted in enumerate(phrase_lists):
            _check_phrases(number, wanted)
        self._prefixes = prefix_list if any(prefix_list) else None
        self._phrases = phrase_lists if any(map(len, phrase_lists)) else None
        self._begin = tokenizer.begin if isinstance(tokenizer, MarkedTokenizer) else []  # of every output
        self._prefix_ids = [
            tokenizer.encode(prefix) if prefix else self._begin for prefix in self._prefixes or [""] * texts
        ]
        plain = unmarked(tokenizer)
        self._phrase_ids = [[_encoded(plain, phrase) for phrase in wanted] for wanted in self._phrases or [()] * texts]

    def __bool__(self) -> bool:
        return self._prefixes is not None or self._phrases is not None or bool(self._begin)

    @property
    def phrases(self) -> bool:
        """Whether any text has phrases."""
        return self._phrases is not None

    def needs(self, number: int) -> int:
        """A number of tokens that is enough for an output to meet all its constraints."""
        return len(self._prefix_ids[number]) + Phrases(self._phrase_ids[number]).total

    def in_tokens(self, limits: Sequence[int]) -> Constraints:
        """The constraints in tokens, without those that do not fit into the maximum output length of their text, limits[number]."""
        if not self:
            return Constraints()
        fitting = [self._fitting(number, limit) for number, limit in enumerate(limits)]
        complaints = [complaint for _, _, complaint in fitting if complaint]
        if complaints:
            more = f" ({len(complaints)} such)" if len(complaints) > 1 else ""
            warnings.warn(f"{complaints[0]}; it was left out{more}", ConstraintWarning, stacklevel=5)
        return Constraints(
            [prefix for prefix, _, _ in fitting] if self._prefixes is not None or self._begin else None,
            None if self._phrases is None else [phrases for _, phrases, _ in fitting],
        )

    def unmet(self, number: int, tokens: Sequence[int]) -> tuple[str, ...]:
        """The constraints of a text, as given, that its output does not meet."""
        missing = []
        prefix = self._prefix_ids[number]
        if self._prefixes is not None and list(tokens[: len(prefix)]) != prefix:
            missing.append(self._prefixes[number])
        if self._phrases is not None:
            pairs = zip(self._phrases[number], self._phrase_ids[number], strict=True)
            missing += [_shown(phrase) for phrase, ids in pairs if not contains(tokens, ids)]
        return tuple(missing)

    def _fitting(self, number: int, limit: int) -> tuple[Ids, list[Phrase], str]:
        """The prefix and the phrases of one text that can be met, and a warning about the others."""
        complaint = ""
        prefix = self._prefix_ids[number]
        spelled = [_spelled(phrase) for phrase in self._phrase_ids[number]]
        if Vocabulary.UNK in prefix or not all(spelled):
            complaint = f"text {number + 1} asks for characters that this model cannot spell"
            prefix = [] if Vocabulary.UNK in prefix else prefix
        phrases: list[Phrase] = [choices if len(choices) > 1 else choices[0] for choices in spelled if choices]
        if len(prefix) > limit:
            complaint = f"the prefix of text {number + 1} has {len(prefix)} tokens, above its longest output, {limit}"
            prefix = []
        needed = len(prefix) + Phrases(phrases).total
        if needed > limit:
            complaint = f"the phrases of text {number + 1} need {needed} tokens, above its longest output, {limit}"
            phrases = []
        return prefix, phrases, complaint


def search_constraints(
    tokenizer: Tokenizer, constraints: TextConstraints, limits: Sequence[int], options: SearchOptions
) -> Constraints:
    """The constraints of a search, in tokens, with the suppressed pieces of the options. limits: see `in_tokens`."""
    if constraints.phrases and options.kind != "beam":
        raise SearchError(f"phrases are for beam search, not for {options.kind}: leave one of the two out")
    if not constraints and not options.suppress:
        return Constraints()
    return replace(constraints.in_tokens(limits), suppressed=suppressed_ids(tokenizer.vocabulary, options.suppress))


def suppressed_ids(vocabulary: Vocabulary, pieces: Sequence[str]) -> tuple[int, ...]:
    """The ids of suppressed pieces. A `SearchError` names an unknown piece and the most similar known one."""
    for piece in pieces:
        if piece not in vocabulary:
            if f"{WORD_START}{piece}" in vocabulary:
                raise SearchError(
                    f"suppress = {piece!r}: no piece of the vocabulary; as a word of its own it is {WORD_START + piece!r}"
                )
            near = difflib.get_close_matches(piece[:100], vocabulary.pieces, n=1, cutoff=0.0)
            raise SearchError(
                f"suppress = {piece!r}: no piece of the vocabulary, where a word may be several pieces; did you mean {near[0]!r}? "
                "`regard translate --json` shows the pieces of an output"
            )
    return tuple(vocabulary.id_of(piece) for piece in pieces if vocabulary.id_of(piece) != vocabulary.pad)


def note_on_suppressed(vocabulary: Vocabulary, pieces: Sequence[str]) -> str | None:
    """A note on suppressed pieces that stand inside of words, where the word of the same letters is another piece; None: none."""
    inside = [piece for piece in pieces if piece in vocabulary and f"{WORD_START}{piece}" in vocabulary]
    if not inside:
        return None
    words = ", ".join(repr(WORD_START + piece) for piece in inside)
    return f"--suppress {' '.join(inside)}: suppressed inside of words only; as a word of its own it is {words}"


def _listed(name: str, given: Sequence[Any] | None, texts: int, form: str) -> list[Any]:
    """The entries of a list with one for each text; none for None. `form`: how to write the list."""
    if given is None:
        return []
    if not _is_list(given):
        raise InputTypeError(f"{name} = {given!r}: must be a list: write {name}={form}, empty where there is none")
    if len(given) != texts:
        raise DataError(
            f"{name} has {len(given)} entries for {texts} texts: give one for each, empty where there is none"
        )
    return list(given)


def _encoded(tokenizer: Tokenizer, phrase: TextPhrase) -> list[Ids]:
    """The tokens of each alternative of a phrase."""
    return [tokenizer.encode(text) for text in ([phrase] if isinstance(phrase, str) else phrase)]


def _spelled(phrase: Sequence[Ids]) -> list[Ids]:
    """The alternatives of a phrase that the vocabulary can spell."""
    return [ids for ids in phrase if Vocabulary.UNK not in ids]


def _shown(phrase: TextPhrase) -> str:
    return phrase if isinstance(phrase, str) else " | ".join(phrase)


def _check_phrases(number: int, wanted: Sequence[TextPhrase]) -> None:
    """Refuse what is not a list of phrases, or has too many. `number`: the position of their text."""
    if isinstance(wanted, str):
        raise SearchError("phrases holds one text where a list of phrases is expected: write [['..', '..'], ['..']]")
    if not _is_list(wanted) or not all(isinstance(phrase, str) or _is_choice(phrase) for phrase in wanted):
        raise InputTypeError(f"phrases[{number}] = {wanted!r}: must be a list of str, [] where there is none")
    if sum(1 if isinstance(phrase, str) else len(phrase) for phrase in wanted) > MOST_PHRASES:
        raise SearchError(f"text {number + 1} has {len(wanted):,} phrases: give at most {MOST_PHRASES}")


def _is_choice(value: object) -> bool:
    """Whether a phrase is a list of alternatives."""
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(text, str) for text in value)


def _is_list(value: object) -> bool:
    """Whether a value is a list, or can be used as one: a tuple, an array."""
    listed = hasattr(value, "__len__") and hasattr(value, "__getitem__")
    return listed and not isinstance(value, str | bytes | bytearray | Mapping)
