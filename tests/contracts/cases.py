"""The models of the contract tests, with the capabilities of each. A new model adds its cases only here.

Every case builds a small model with the same vocabulary size. Id 0 is the end mark; id vocabulary - 1 is pad, which is the start token and
has no logit.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from contracts.reading_pictures import ReadsPictures
from regard.models.build import build_captioner, build_classifier, build_language_model, build_translator, count_model
from regard.models.config import (
    MIXER_TRAITS,
    BagConfig,
    CaptionerConfig,
    ClassifierRecurrentConfig,
    ClassifierTransformerConfig,
    LabelsOf,
    LanguageRecurrentConfig,
    LanguageTransformerConfig,
    MarkovConfig,
    ModelConfig,
    PrefixConfig,
    RecurrentConfig,
    TransformerConfig,
)

VOCABULARY = 12
LABELS = 3
PAD = VOCABULARY - 1

Build = Callable[[int], nn.Module]


@dataclass(frozen=True)
class ModelCase:
    """One way to build a model: `build(vocabulary)` gives freshly initialised weights, ready for training."""

    name: str
    build: Build
    capabilities: frozenset[str]

    def random(self, vocabulary: int = VOCABULARY, seed: int = 1) -> Any:
        """A model for evaluation whose every weight is random: what starts at zero or one would hide mistakes."""
        torch.manual_seed(seed)
        model = self.build(vocabulary).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += 0.3 * torch.randn_like(parameter)
            for module in model.modules():
                if isinstance(module, nn.Embedding) and module.padding_idx is not None:
                    module.weight[module.padding_idx].zero_()
        return model

    def fresh(self, vocabulary: int = VOCABULARY, seed: int = 1) -> Any:
        """A model as training meets it."""
        torch.manual_seed(seed)
        return self.build(vocabulary)


TRANSLATES = frozenset({"steppable", "reading", "causal", "differentiable"})
# of cases that differ in what is remembered between steps: a search meets nothing else
SEARCHED = TRANSLATES | {"searchable"}
# a source, where a check gives one, says no more than how many sentences there are
GENERATES = TRANSLATES - {"reading"}
COUNTS = frozenset({"steppable"})
# it looks at the source, and a step records where
ATTENDS = frozenset({"attending"})


# it looks at a picture: a step records where, in patches
LOOKS = frozenset({"attending", "looking"})

# it copies pieces of the source: its logits are log-probabilities
COPIES = frozenset({"copying"})

# convolutions by the Fourier transform: what must be zero is zero up to rounding
TRANSFORMS = frozenset({"transforming"})


def _transformers() -> Iterator[ModelCase]:
    size: dict[str, Any] = {
        "layers": 2,
        "width": 16,
        "heads": 2,
        "feed_forward": 24,
        "dropout": 0.0,
        "max_positions": 32,
    }
    variants: dict[str, dict[str, Any]] = {
        "sinusoidal-pre-relu": {"positions": "sinusoidal", "norm": "pre", "activation": "relu"},
        "sinusoidal-post-relu-untied": {"positions": "sinusoidal", "norm": "post", "activation": "relu", "tie": False},
        "learned-pre-gelu": {"positions": "learned", "norm": "pre", "activation": "gelu"},
        "learned-post-swiglu": {"positions": "learned", "norm": "post", "activation": "swiglu"},
        "relative-pre-swiglu-untied": {"positions": "relative", "norm": "pre", "activation": "swiglu", "tie": False},
        "relative-post-gelu": {"positions": "relative", "norm": "post", "activation": "gelu"},
        "rotary-pre-silu": {"positions": "rotary", "norm": "pre", "activation": "silu"},
        "rotary-post-relu": {"positions": "rotary", "norm": "post", "activation": "relu"},
        "deep-encoder": {"encoder_layers": 3, "decoder_layers": 1},
        "rms-norm": {"norm_kind": "rms"},
    }
    for name, options in variants.items():
        config = TransformerConfig(**{**size, **options})
        yield ModelCase(f"transformer-{name}", _builder(config), SEARCHED | ATTENDS)
    yield ModelCase(
        "transformer-separate-vocabularies", _builder(TransformerConfig(**size), joint=False), SEARCHED | ATTENDS
    )
    scores: dict[str, dict[str, Any]] = {
        "parameter-free": {},
        "dot-rotary": {"positions": "rotary"},
        "general": {},
        "additive-relative": {"positions": "relative", "score_width": 5},
        "concat": {},
        "cosine": {},
        "mahalanobis": {"score_width": 2},
        "gaussian-rotary": {"positions": "rotary"},
        "latent": {},
    }
    for name, options in scores.items():
        score = name.removesuffix("-rotary").removesuffix("-relative").replace("-", "_")
        config = TransformerConfig(**{**size, "layers": 1, "score": score, **options})
        yield ModelCase(f"transformer-score-{name}", _builder(config), TRANSLATES | ATTENDS)


def _prefix_models() -> Iterator[ModelCase]:
    size: dict[str, Any] = {"layers": 2, "width": 16, "heads": 2, "feed_forward": 24, "dropout": 0.0}
    variants: dict[str, dict[str, Any]] = {
        "rotary-pre": {},
        "sinusoidal-post-untied": {"positions": "sinusoidal", "norm": "post", "tie": False},
        "learned-embedding-norm": {"positions": "learned", "max_positions": 32, "embedding_norm": True},
        "relative-swiglu-rms": {"positions": "relative", "activation": "swiglu", "norm_kind": "rms"},
        "additive": {"score": "additive", "layers": 1},
        "parameter-free": {"score": "parameter_free", "layers": 1},
        "latent-unscaled": {"score": "latent", "layers": 1, "scale_embedding": False},
    }
    for name, options in variants.items():
        config = PrefixConfig(**{**size, **options})
        searched = SEARCHED if name in ("rotary-pre", "relative-swiglu-rms") else TRANSLATES
        yield ModelCase(f"prefix-{name}", _builder(config), searched | ATTENDS)


def _copying() -> Iterator[ModelCase]:
    """Networks that copy pieces of the source: with the prepared decoder and without, of each kind."""
    size: dict[str, Any] = {"layers": 1, "width": 16, "dropout": 0.0, "copy": True}
    blocks = {**size, "heads": 2, "feed_forward": 24}
    recurrent = {**size, "embedding": 14, "encoder_width": 20, "layers": 2}
    configs: dict[str, ModelConfig] = {
        "transformer-prepared": TransformerConfig(**{**blocks, "layers": 2}),
        "transformer-plain-untied": TransformerConfig(
            **blocks, positions="relative", tie=False, output_bias=True, source_end=False
        ),
        "prefix-post": PrefixConfig(**blocks, norm="post"),
        "recurrent-attentive": RecurrentConfig(**recurrent),
        "recurrent-feeding": RecurrentConfig(**size, cell="gru", input_feeding=True, score="dot", tie=False),
    }
    for name, config in configs.items():
        searched = SEARCHED if name == "transformer-prepared" else TRANSLATES
        yield ModelCase(f"copying-{name}", _builder(config), searched | ATTENDS | COPIES)


MIXING: dict[str, Any] = {
    "window": 13,  # as long as any sentence here: a check wants all of it to be seen
    "block": 2,
    "random_blocks": 1,
    "rank": 5,
    "features": 24,
    "filter_width": 8,
    "positions": "sinusoidal",
}
"""Small sizes of every mixer."""


def _mixing_translators() -> Iterator[ModelCase]:
    """Every mixer in an encoder and, where it can be, in a decoder: two lists of mixers instead of a case for each."""
    stacks = {
        "sparse": (["window", "block_sparse", "linformer"], ["performer", "linear"]),
        "recurrent": (["performer", "linear", "hyena", "delta"], ["hyena", "delta"]),
        "local": (["attention", "hyena"], ["window", "block_sparse"]),
    }
    size = {"width": 16, "heads": 2, "feed_forward": 24, "dropout": 0.0, "max_positions": 32, **MIXING}
    for name, (encoder, decoder) in stacks.items():
        depths = {"encoder_layers": len(encoder), "decoder_layers": len(decoder)}
        config = TransformerConfig(**{**size, **depths}, encoder_mixer=tuple(encoder), decoder_mixer=tuple(decoder))
        yield ModelCase(
            f"transformer-mixers-{name}",
            _builder(config),
            TRANSLATES | ATTENDS | (TRANSFORMS if "hyena" in decoder else set()),
        )


def _recurrent() -> Iterator[ModelCase]:
    size: dict[str, Any] = {"layers": 1, "width": 16, "dropout": 0.0, "max_positions": 32}
    searched: dict[str, dict[str, Any]] = {
        "lstm-plain": {"cell": "lstm", "attention": False, "layers": 2, "bidirectional": False},
        "lstm-additive-uneven": {"layers": 2, "embedding": 10, "encoder_width": 24, "score_width": 5},
        "gru-feeding-dot": {"cell": "gru", "input_feeding": True, "score": "dot", "layers": 2},
        "rnn-feeding-location": {"cell": "rnn", "input_feeding": True, "score": "location"},
    }
    others: dict[str, dict[str, Any]] = {
        "rnn-plain": {"cell": "rnn", "attention": False},
        "gru-plain": {"cell": "gru", "attention": False, "layers": 2},
        "convolutional-plain": {"encoder": "convolutional", "attention": False, "kernel": 5},
        "convolutional-additive": {
            "encoder": "convolutional",
            "layers": 2,
            "decoder_layers": 1,
            "encoder_width": 20,
        },
        "rnn-mahalanobis": {"cell": "rnn", "score": "mahalanobis"},
        "rnn-parameter_free": {"cell": "rnn", "score": "parameter_free"},
        "gru-additive-deep": {"cell": "gru", "score": "additive", "layers": 3},
        "gru-concat": {"cell": "gru", "score": "concat"},
        "gru-cosine": {"cell": "gru", "score": "cosine"},
        "gru-gaussian": {"cell": "gru", "score": "gaussian"},
        "lstm-location": {"score": "location"},
        "lstm-scaled_dot-untied-one-direction": {"score": "scaled_dot", "tie": False, "bidirectional": False},
        "lstm-feeding-general": {"cell": "lstm", "input_feeding": True, "score": "general", "encoder_layers": 2},
    }
    for variants, capabilities in ((searched, SEARCHED), (others, TRANSLATES)):
        for name, options in variants.items():
            looks = ATTENDS if options.get("attention", True) else frozenset()
            config = RecurrentConfig(**{**size, **options})
            yield ModelCase(f"recurrent-{name}", _builder(config), capabilities | looks)
    latent = RecurrentConfig(**size, score="latent")
    yield ModelCase("recurrent-lstm-latent-separate-vocabularies", _builder(latent, joint=False), TRANSLATES | ATTENDS)


def _language_models() -> Iterator[ModelCase]:
    size: dict[str, Any] = {"layers": 2, "width": 16, "dropout": 0.0, "max_positions": 32}
    transformers: dict[str, dict[str, Any]] = {
        "sinusoidal-additive": {"positions": "sinusoidal", "score": "additive"},
        "learned-untied": {"positions": "learned", "tie": False, "layers": 1},
        "relative-swiglu": {"positions": "relative", "activation": "swiglu", "layers": 1},
        "rotary-post": {"positions": "rotary", "norm": "post"},
        "latent": {"score": "latent", "layers": 1},
    }
    for name, options in transformers.items():
        config = LanguageTransformerConfig(**{**size, "heads": 2, "feed_forward": 24, **options})
        searched = {"searchable"} if name == "rotary-post" else set()
        yield ModelCase(f"decoder-only-{name}", _language_builder(config), GENERATES | searched)
    for mixer in (name for name, traits in MIXER_TRAITS.items() if traits.causal and name != "attention"):
        options = {"heads": 2, "feed_forward": 24, **MIXING, "layers": 1, "mixer": mixer}
        config = LanguageTransformerConfig(**{**size, **options})
        yield ModelCase(
            f"decoder-only-mixer-{mixer}",
            _language_builder(config),
            GENERATES | (TRANSFORMS if mixer == "hyena" else set()),
        )
    recurrent: dict[str, dict[str, Any]] = {
        "gru-untied": {"cell": "gru", "tie": False, "layers": 1},
        "lstm-narrow": {"cell": "lstm", "embedding": 10},
    }
    narrow = {"layers": 2, "width": 16, "dropout": 0.0}
    for name, options in recurrent.items():
        yield ModelCase(
            f"recurrent-language-{name}", _language_builder(LanguageRecurrentConfig(**{**narrow, **options})), GENERATES
        )
    markov: dict[str, dict[str, Any]] = {
        "fifth-order": {"order": 5},
        "masked-skips": {"order": 2, "skips": 4, "mask": 0.2},
    }
    for name, options in markov.items():
        searched = {"searchable"} if name == "fifth-order" else set()
        yield ModelCase(f"markov-{name}", _counter(MarkovConfig(**options)), COUNTS | searched)


def _language_builder(config: ModelConfig) -> Build:
    return lambda vocabulary: build_language_model(config, vocabulary, 32)


def _counter(config: MarkovConfig) -> Build:
    """A model of random text, in which some tokens are frequent, so that contexts occur again."""

    def build(vocabulary: int) -> nn.Module:
        lengths = torch.randint(1, 9, (40,)).tolist()
        texts = [(torch.rand(length) ** 2 * (vocabulary - 2)).long() + 1 for length in lengths]
        ids = torch.cat([torch.cat([text, torch.tensor([0])]) for text in texts]).numpy()
        begins = np.cumsum([0, *(length + 1 for length in lengths)])[:-1]
        return count_model(config, ids, begins, vocabulary)

    return build


def _builder(config: ModelConfig, joint: bool = True) -> Build:
    return lambda vocabulary: build_translator(config, vocabulary, vocabulary, joint=joint)


def _captioners() -> Iterator[ModelCase]:
    size: dict[str, Any] = {"layers": 1, "width": 16, "heads": 2, "feed_forward": 24, "dropout": 0.0}
    variants: dict[str, dict[str, Any]] = {
        "convolution": {"convolutions": 1, "convolution_width": 4, "layers": 2},
        "patches-relative": {"tokenizer": "patches", "patch": 2, "positions": "relative", "tie": False},
        "patches-sinusoidal": {"tokenizer": "patches", "patch": 1, "patch_positions": "sinusoidal"},
    }
    for name, options in variants.items():
        config = CaptionerConfig(**{**size, **options})
        searched = SEARCHED if name == "convolution" else TRANSLATES
        yield ModelCase(f"captioner-{name}", _picture_reader(config), searched | LOOKS)


def _picture_reader(config: ModelConfig) -> Build:
    return lambda vocabulary: ReadsPictures(build_captioner(config, ReadsPictures.SHAPE, vocabulary), vocabulary - 1)


def _labelling() -> Iterator[ModelCase]:
    size: dict[str, Any] = {"layers": 2, "width": 16, "dropout": 0.0, "max_positions": 32}
    transformer = {**size, "heads": 2, "feed_forward": 24}
    recurrent: dict[str, dict[str, Any]] = {
        "lstm": {"cell": "lstm"},
        "gru-one-direction": {"cell": "gru", "bidirectional": False},
        "convolutional": {"encoder": "convolutional", "layers": 1},
    }
    poolings = (("mean", "relative"), ("max", "rotary"), ("class", "learned"), ("attention", "sinusoidal"))
    for pooling, positions in poolings:
        config = ClassifierTransformerConfig(**{**transformer, "pooling": pooling, "positions": positions})
        yield ModelCase(f"classifier-transformer-{pooling}", _labeller(config), frozenset({"labelling", "order"}))
    config = ClassifierTransformerConfig(**{**transformer, "pooling": "class", "pooler": True, "output_bias": True})
    yield ModelCase("classifier-transformer-pooler", _labeller(config), frozenset({"labelling", "order"}))
    for mixer in (name for name in MIXER_TRAITS if name != "attention"):
        config = ClassifierTransformerConfig(**{**transformer, **MIXING, "layers": 1, "mixer": mixer})
        yield ModelCase(f"classifier-mixer-{mixer}", _labeller(config), frozenset({"labelling", "order"}))
    for mixer, positions in (("attention", "relative"), ("hyena", "sinusoidal")):
        causal = {"mixer": mixer, "positions": positions, "causal": True, "hyena_order": 2, "filter_width": 8}
        config = ClassifierTransformerConfig(**{**transformer, **causal})
        yield ModelCase(f"classifier-causal-{mixer}", _labeller(config), frozenset({"labelling", "order"}))
    tagger = ClassifierTransformerConfig(**transformer)
    yield ModelCase("tagger-transformer", _labeller(tagger, "token"), frozenset({"labelling", "tagging", "order"}))
    narrow = {"layers": 2, "width": 16, "dropout": 0.0}
    for name, options in recurrent.items():
        config = ClassifierRecurrentConfig(**{**narrow, **options})
        yield ModelCase(f"classifier-recurrent-{name}", _labeller(config), frozenset({"labelling", "order"}))
        tags = frozenset({"labelling", "tagging", "order"})
        yield ModelCase(f"tagger-recurrent-{name}", _labeller(config, "token"), tags)
    for pooling in ("mean", "max", "attention"):
        config = ClassifierRecurrentConfig(**{**narrow, "layers": 1, "pooling": pooling})
        yield ModelCase(f"classifier-recurrent-{pooling}", _labeller(config), frozenset({"labelling", "order"}))
    bags: dict[str, dict[str, Any]] = {
        "words": {},
        "bigrams-and-openings": {"ngrams": 2, "opening": 2, "buckets": 512, "binary": True},
    }
    for name, options in bags.items():
        yield ModelCase(f"classifier-bag-{name}", _labeller(BagConfig(**options)), frozenset({"labelling"}))


def _labeller(config: ModelConfig, labels_of: LabelsOf = "text") -> Build:
    return lambda vocabulary: build_classifier(config, vocabulary, LABELS, tagging=labels_of == "token")


CASES: tuple[ModelCase, ...] = (
    *_transformers(),
    *_mixing_translators(),
    *_prefix_models(),
    *_copying(),
    *_recurrent(),
    *_language_models(),
    *_captioners(),
)
LABELLING: tuple[ModelCase, ...] = tuple(_labelling())
"""Classifiers and taggers: they say labels, not tokens, and are not searched."""


def sources(lengths: tuple[int, ...] = (6, 3, 1, 5), vocabulary: int = VOCABULARY, seed: int = 2) -> Tensor:
    """Random sentences ending in the end mark, padded: [B, S]."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.full((len(lengths), max(lengths) + 1), vocabulary - 1)
    for row, length in enumerate(lengths):
        rows[row, :length] = torch.randint(1, vocabulary - 1, (length,), generator=generator)
        rows[row, length] = 0
    return rows


def prefixes(sentences: int, hypotheses: int, length: int, vocabulary: int = VOCABULARY, seed: int = 3) -> Tensor:
    """Random decoder inputs, each beginning with the start token: [B, k, T]."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randint(1, vocabulary - 1, (sentences, hypotheses, length), generator=generator)
    rows[:, :, 0] = vocabulary - 1
    return rows
