"""Small models of every task that the studio shows, made in memory, and a server of them for the tests of the pages."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import torch

from explain.models import tokenizers, trained_model
from regard.bundle.config import Languages, TextsConfig
from regard.bundle.pictures import PictureFormat
from regard.models.build import (
    build_captioner,
    build_classifier,
    build_language_model,
    build_picture_classifier,
)
from regard.models.config import (
    CaptionerConfig,
    ClassifierTransformerConfig,
    LanguageTransformerConfig,
    VisionConfig,
)
from regard.serve.models import ServedModel, ServedModels
from regard.tasks.caption.captioner import Captioner
from regard.tasks.classify.classifier import Classifier
from regard.tasks.classify_images.classifier import PictureClassifier
from regard.tasks.generate.writer import Writer
from regard.tasks.translate.translator import Translator
from regard.text.build import learn
from regard.text.config import TextConfig
from serve.running import running

SIZE = {"layers": 2, "width": 16, "heads": 2, "feed_forward": 24, "dropout": 0.0}
HOSTILE = "evil <img src=x onerror=alert(1)> \u202e\x07 </script>"
"""The name of a model that would be markup, control characters and the end of a script."""
FORM = PictureFormat(height=8, width=12, channels=3, mean=(0.4,) * 3, deviation=(0.2,) * 3)


def translator(kind: str = "transformer") -> Translator:
    """A translator that knows four sentences by heart."""
    known = trained_model(kind)
    return Translator(known.network, known.tokenizers, languages=Languages(source="fr", target="en"))


@cache
def writer() -> Writer:
    tokenizer = tokenizers().target
    torch.manual_seed(1)
    config = LanguageTransformerConfig.parse({**SIZE, "max_positions": 64})
    network: Any = build_language_model(config, len(tokenizer.vocabulary), 64).double().eval()
    return Writer(network, tokenizer, TextsConfig(documents="file", context=64))


@cache
def classifier() -> Classifier:
    tokenizer = tokenizers().source
    torch.manual_seed(2)
    network: Any = build_classifier(ClassifierTransformerConfig.parse(SIZE), len(tokenizer.vocabulary), 2).double()
    return Classifier(network.eval(), tokenizer, ["no <b>", "yes"])


@cache
def picture_classifier() -> PictureClassifier:
    torch.manual_seed(3)
    network = build_picture_classifier(VisionConfig(patch=4, **SIZE), 8, 12, 3, 2).eval()
    return PictureClassifier(network, FORM, ["flat", "tall"])


@cache
def captioner() -> Captioner:
    tokenizer = learn(TextConfig(kind="word"), ["a red square above a blue circle"])
    torch.manual_seed(4)
    config = CaptionerConfig.parse({**SIZE, "patch": 4, "tokenizer": "patches"})
    network: Any = build_captioner(config, (8, 12, 3), len(tokenizer.vocabulary)).eval()
    return Captioner(network, tokenizer, FORM, (2, 3), longest=4, languages=Languages(target="en"))


def picture(seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (8, 12, 3), dtype=np.uint8)


@cache
def served() -> ServedModels:
    """All of them. The second translator has a hostile name and the other direction, so that languages can be swapped."""
    return ServedModels(
        [
            ServedModel("pocket", "translate", translator(), (("fr", "en"),)),
            ServedModel(HOSTILE, "translate", translator("recurrent"), (("en", "fr"),)),
            ServedModel("verse", "generate", writer(), ()),
            ServedModel("mood", "classify", classifier(), ()),
            ServedModel("bars", "classify_images", picture_classifier(), ()),
            ServedModel("scenes", "caption", captioner(), ()),
        ]
    )


@contextmanager
def pages(models: ServedModels, **settings: Any) -> Iterator[str]:
    """The address of a server of these models."""
    with running(models, **settings) as server:
        yield server.url
