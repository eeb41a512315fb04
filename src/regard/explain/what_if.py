"""What-if translations: with a forced prefix, a replaced word, a masked word or a masked head."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast, get_args

from torch import Tensor

from regard.activity import activity
from regard.errors import ConfigError, InputTypeError
from regard.explain.arrays import NamedArray
from regard.explain.capture import capture, token_logprobs
from regard.explain.explanation import AttentionName, Side, WhatIf
from regard.explain.interventions import edited, without_head, without_tokens
from regard.explain.records import AlignmentMap
from regard.tasks.checks import check_list
from regard.tasks.translate.translator import Translator
from regard.text.marked import shortened

Head = tuple[AttentionName, int, int]  # layer and head from 0


@dataclass(frozen=True, kw_only=True)
class Change:
    """One change. A word is given as it is in the source; all its occurrences are changed."""

    prefix: str | None = None  # the forced beginning of the translation
    replace: tuple[str, str] | None = None  # (source word, replacement)
    mask: str | None = None  # a source word to mask
    head: Head | None = None  # an attention head to mask

    def __post_init__(self) -> None:
        given = [value for value in (self.prefix, self.replace, self.mask, self.head) if value is not None]
        if len(given) != 1:
            raise ConfigError(f"a change is one of prefix, replace, mask and head, not {len(given)} of them")

    @property
    def name(self) -> str:
        """A description for the page."""
        if self.prefix is not None:
            return f"begins with “{self.prefix}”"
        if self.replace is not None:
            return f"“{self.replace[0]}” becomes “{self.replace[1]}”"
        if self.mask is not None:
            return f"without “{self.mask}”"
        assert self.head is not None
        return f"without {self.head[0]} layer {self.head[1] + 1} head {self.head[2] + 1}"


def parse_replacement(text: str) -> tuple[str, str]:
    """The two words of `--replace chat=chien`."""
    word, equals, replacement = text.partition("=")
    if not (word and equals):
        raise ConfigError(f"--replace {text}: write WORD=OTHER, as in chat=chien")
    return word, replacement


def parse_head(text: str) -> Head:
    """The head of `--without cross.3.1`: cross-attention, third layer, first head."""
    kind, *places = text.split(".")
    numbers = [int(place) for place in places if place.isascii() and place.isdigit() and int(place) > 0]
    if kind not in get_args(AttentionName) or len(places) != 2 or len(numbers) != 2:
        raise ConfigError(f"--without {text}: write encoder, decoder or cross, the layer and the head, as in cross.3.1")
    return cast(AttentionName, kind), numbers[0] - 1, numbers[1] - 1


def what_if(
    model: Translator,
    source: Side,
    target: Sequence[int],
    attention: Mapping[AttentionName, NamedArray],
    change: Change,
    *,
    beam: int = 5,
    alpha: float = 1.0,
) -> WhatIf:
    """Translate under the change. `target` and `attention`: the translation and the attention weights without the change."""
    with activity(change.name):
        return _what_if(model, source, target, attention, change, beam, alpha)


def check_changes(model: Translator, source: Side, source_ids: Sequence[int], changes: Sequence[Change]) -> None:
    """Refuse what is no list of changes, a word that the source does not have and a head that the model does not have."""
    check_list(changes, "changes", "changes=[Change(mask='chat')]")
    for number, change in enumerate(changes):
        if not isinstance(change, Change):
            raise InputTypeError(f"changes[{number}] = {change!r}: must be a regard.explain.what_if.Change")
        word = change.mask if change.replace is None else change.replace[0]
        if word is not None:
            word_positions(source, word)
    heads = [change.head for change in changes if change.head is not None]
    if heads:
        captured = capture(model, source_ids, [])
        for head in heads:
            weights = captured.attention(head[0])
            _check_head({} if weights is None else {head[0]: weights}, head)


def _what_if(
    model: Translator,
    source: Side,
    target: Sequence[int],
    attention: Mapping[AttentionName, NamedArray],
    change: Change,
    beam: int,
    alpha: float,
) -> WhatIf:
    text, changed = source.text, model
    if change.replace is not None:
        text = " ".join(replaced_words(source, source.words, *change.replace))
    elif change.mask is not None:
        places = word_positions(source, change.mask)
        changed = edited(model, without_tokens([token for token, word in enumerate(source.word_of) if word in places]))
    elif change.head is not None:
        _check_head(attention, change.head)
        changed = edited(model, without_head(*change.head))
    prefixes = None if change.prefix is None else [change.prefix]
    [translation] = changed.translate([text], beam=beam, alpha=alpha, prefixes=prefixes)
    kept, before = _target_logprobs(changed, text, target), _target_logprobs(model, source.text, target)
    return WhatIf(
        name=change.name,
        source=text,
        text=translation.text,
        logprob=translation.logprob,
        kept_logprob=float(kept.sum()),
        kept_token_logprobs=NamedArray.of(kept, "target"),
        token_changes=NamedArray.of(kept - before, "target"),
        alignment=_alignment(changed, text, translation.text) if "cross" in attention else None,
    )


def replaced_words(source: Side, words: Sequence[str], old: str, new: str) -> list[str]:
    """The words with `new` in the places where the source has `old`."""
    places = set(word_positions(source, old))
    return [_replaced(word, old, new) if place in places else word for place, word in enumerate(words)]


def word_positions(source: Side, word: str) -> list[int]:
    """The positions of a word in the source: as it is written, else the one word that is it but for case and final punctuation."""
    exact = [place for place, source_word in enumerate(source.words) if source_word == word]
    if exact:
        return exact
    near = [
        place for place, source_word in enumerate(source.words) if _bare(word) and _bare(source_word) == _bare(word)
    ]
    if len({source.words[place] for place in near}) == 1:
        return near
    which = "the source has no word" if not near else "the source has several words like"
    raise ConfigError(f"{which} {word!r}; its words are {', '.join(map(repr, source.words))}")


def _bare(word: str) -> str:
    """The word without final punctuation and irrespective of case."""
    return word[: len(word) - len(_final_punctuation(word))].casefold()


def _final_punctuation(word: str) -> str:
    kept = len(word)
    while kept and unicodedata.category(word[kept - 1]).startswith("P"):
        kept -= 1
    return word[kept:]


def _replaced(word: str, old: str, new: str) -> str:
    """`new` in the place of `word`, with its final punctuation if `old` was given without."""
    return new if word == old or _final_punctuation(old) else f"{new}{_final_punctuation(word)}"


def _check_head(attention: Mapping[AttentionName, NamedArray], head: Head) -> None:
    kind, layer, number = head
    shape = attention[kind].shape if kind in attention else {"layer": 0, "head": 0}
    if not (0 <= layer < shape["layer"] and 0 <= number < shape["head"]):
        raise ConfigError(
            f"{kind} attention, layer {layer + 1}, head {number + 1}: this model has {shape['layer']} layers of {shape['head']} heads"
        )


def _target_logprobs(model: Translator, text: str, target: Sequence[int]) -> Tensor:
    """[T]: log p of each token of `target`, the end mark last."""
    tokenizer = model.tokenizers.source
    source = shortened(tokenizer, tokenizer.encode(text), model.max_tokens)
    return token_logprobs(model, [source], target)[0]


def _alignment(model: Translator, source: str, target: str) -> AlignmentMap | None:
    [alignment] = model.align([source], [target])
    if not (alignment.source_words and alignment.target_words):
        return None
    return AlignmentMap(alignment.source_words, alignment.target_words, alignment.weights.tolist(), alignment.links)
