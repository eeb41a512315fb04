"""What if: the same sentence with a forced prefix, another word, a word or a head masked, and what the model says then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast, get_args

from torch import Tensor

from regard.engine.model import Model
from regard.errors import ConfigError
from regard.explain.arrays import NamedArray
from regard.explain.capture import token_logprobs
from regard.explain.explanation import AttentionName, Side, WhatIf
from regard.explain.interventions import edited, without_head, without_tokens
from regard.explain.records import AlignmentMap

Head = tuple[AttentionName, int, int]  # layer and head from 0


@dataclass(frozen=True, kw_only=True)
class Change:
    """One thing that is changed; words are given as they stand in the source, and all that are equal are changed."""

    prefix: str | None = None  # what the translation must begin with
    replace: tuple[str, str] | None = None  # a source word, and what stands in its place
    mask: str | None = None  # a source word that the model does not see
    head: Head | None = None  # a head that is silent

    def __post_init__(self) -> None:
        given = [value for value in (self.prefix, self.replace, self.mask, self.head) if value is not None]
        if len(given) != 1:
            raise ConfigError(f"a change is one of prefix, replace, mask and head, not {len(given)} of them")

    @property
    def name(self) -> str:
        """How it is called where it is shown."""
        if self.prefix is not None:
            return f"begins with “{self.prefix}”"
        if self.replace is not None:
            return f"“{self.replace[0]}” becomes “{self.replace[1]}”"
        if self.mask is not None:
            return f"without “{self.mask}”"
        assert self.head is not None
        return f"without {self.head[0]} layer {self.head[1] + 1} head {self.head[2] + 1}"


def replacement(text: str) -> tuple[str, str]:
    """chat=chien"""
    word, equals, other = text.partition("=")
    if not (word and equals):
        raise ConfigError(f"--replace {text}: write WORD=OTHER, as in chat=chien")
    return word, other


def head_named(text: str) -> Head:
    """cross.3.1: the first head of the third layer."""
    kind, *places = text.split(".")
    numbers = [int(place) for place in places if place.isascii() and place.isdigit() and int(place) > 0]
    if kind not in get_args(AttentionName) or len(places) != 2 or len(numbers) != 2:
        raise ConfigError(f"--without {text}: write encoder, decoder or cross, the layer and the head, as in cross.3.1")
    return cast(AttentionName, kind), numbers[0] - 1, numbers[1] - 1


def what_if(
    model: Model,
    source: Side,
    target: Sequence[int],
    attention: Mapping[AttentionName, NamedArray],
    change: Change,
    *,
    beam: int = 5,
    alpha: float = 1.0,
) -> WhatIf:
    """Translate the changed sentence, or by the changed model; `target` and `attention` are what was said and seen without the change."""
    text, changed = source.text, model
    if change.replace is not None:
        old, new = change.replace
        _places(source, old)
        text = " ".join(new if word == old else word for word in source.words)
    elif change.mask is not None:
        places = _places(source, change.mask)
        changed = edited(model, without_tokens([token for token, word in enumerate(source.word_of) if word in places]))
    elif change.head is not None:
        _check_head(attention, change.head)
        changed = edited(model, without_head(*change.head))
    prefixes = None if change.prefix is None else [change.prefix]
    [found] = changed.translate([text], beam=beam, alpha=alpha, prefixes=prefixes)
    kept, before = _kept(changed, text, target), _kept(model, source.text, target)
    return WhatIf(
        name=change.name,
        source=text,
        text=found.text,
        logprob=found.logprob,
        kept_logprob=float(kept.sum()),
        kept_token_logprobs=NamedArray.of(kept, "target"),
        token_changes=NamedArray.of(kept - before, "target"),
        alignment=_alignment(changed, text, found.text) if "cross" in attention else None,
    )


def _places(source: Side, word: str) -> list[int]:
    places = [place for place, other in enumerate(source.words) if other == word]
    if not places:
        raise ConfigError(f"the source has no word {word!r}; its words are {', '.join(source.words)}")
    return places


def _check_head(attention: Mapping[AttentionName, NamedArray], head: Head) -> None:
    kind, layer, number = head
    shape = attention[kind].shape if kind in attention else {"layer": 0, "head": 0}
    if layer >= shape["layer"] or number >= shape["head"]:
        raise ConfigError(
            f"{kind} attention, layer {layer + 1}, head {number + 1}: this model has {shape['layer']} layers of {shape['head']} heads"
        )


def _kept(model: Model, text: str, target: Sequence[int]) -> Tensor:
    """[T]: log p of what was said before, the end mark last."""
    source = model.tokenizers.source.encode(text)[: model.max_tokens]
    return token_logprobs(model, [source], target)[0]


def _alignment(model: Model, source: str, target: str) -> AlignmentMap | None:
    [found] = model.align([source], [target])
    if not (found.source_words and found.target_words):
        return None
    return AlignmentMap(found.source_words, found.target_words, found.weights.tolist(), found.links)
