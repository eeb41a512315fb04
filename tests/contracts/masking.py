"""The masked language models of the contract tests. To the checks they are taggers whose labels are tokens."""

from collections.abc import Iterator
from typing import Any

from contracts.cases import MIXING, Build, ModelCase
from regard.models.build import build_pretrained
from regard.models.config import MaskedTransformerConfig


def _cases() -> Iterator[ModelCase]:
    size: dict[str, Any] = {"layers": 2, "width": 16, "heads": 2, "feed_forward": 24, "dropout": 0.0}
    variants: dict[str, dict[str, Any]] = {
        "rotary-pre": {"positions": "rotary"},
        "learned-post-bias": {"positions": "learned", "max_positions": 32, "norm": "post", "output_bias": True},
        "relative-untied": {"positions": "relative", "tie": False},
        "mixer-window": {**MIXING, "mixer": "window"},
    }
    for name, options in variants.items():
        config = MaskedTransformerConfig(**{**size, **options})
        yield ModelCase(f"masked-{name}", _builder(config), frozenset({"labelling", "tagging", "order"}))


def _builder(config: MaskedTransformerConfig) -> Build:
    return lambda vocabulary: build_pretrained(config, vocabulary)


MASKING: tuple[ModelCase, ...] = tuple(_cases())
