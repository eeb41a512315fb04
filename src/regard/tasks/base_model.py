"""What a task takes from its base model beside the weights: the tokenizers, and a config of its own kind."""

from dataclasses import replace
from typing import Any, TypeVar

from regard.bundle.opened import OpenBundle
from regard.text.build import TokenizerPair
from regard.text.config import OneTextConfig

Text = TypeVar("Text", bound=OneTextConfig)


def tokenizers_for(task: str, base: OpenBundle | None) -> TokenizerPair | None:
    """The tokenizers that a run takes over. Of two vocabularies, a task of one language takes that which it is written or read with."""
    if base is None:
        return None
    pair = base.tokenizers
    if pair.joint or task == base.config.task:
        return pair
    one = pair.target if task == "generate" else pair.source
    return replace(pair, source=one, target=one, joint=True)


def kept(text: Text) -> Text:
    """The same settings for text whose vocabulary is settled: nothing is added to it."""
    return text.model_copy(update={"grow": None})


def config_of(task: str, base: OpenBundle | None) -> Any:
    """The config of a base of the same task, whose languages and the like a run inherits; None: there is none."""
    return base.config if base is not None and base.config.task == task else None
