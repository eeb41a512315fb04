"""Small bundles: random weights, tokenizers learned from four sentences."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from regard.bundle.bundle import save_bundle
from regard.bundle.config import Languages, VocabularySizes
from regard.models.build import build_translator
from regard.models.config import TransformerConfig
from regard.models.transformer import Transformer
from regard.tasks.translate.settings import TranslateBundle
from regard.text.build import TokenizerPair, learn_pair
from regard.text.config import TextConfig

PAIRS = [
    ("je suis étudiant", "I am a student"),
    ("le chat dort", "the cat sleeps"),
    ("la pomme est rouge", "the apple is red"),
    ("il m'a entarté", "he hit me with a pie"),
]

Parts = tuple[Transformer, TranslateBundle, TokenizerPair]


def _parts(kind: str = "char", joint: bool = True, **model: object) -> Parts:
    text = TextConfig.parse({"kind": kind, "joint": joint, "vocabulary": 300})
    tokenizers = learn_pair(text, lambda: PAIRS)
    size = {"layers": 2, "width": 16, "heads": 2, "feed_forward": 24, "dropout": 0.1}
    sizes = VocabularySizes(
        source=len(tokenizers.source.vocabulary), target=len(tokenizers.target.vocabulary), joint=joint
    )
    config = TranslateBundle(
        model=TransformerConfig.parse({**size, **model}),
        vocabulary=sizes,
        languages=Languages(source="fr", target="en"),
    )
    with torch.random.fork_rng():
        torch.manual_seed(3)
        network = build_translator(config.model, sizes.source, sizes.target, sizes.joint)
        with torch.no_grad():
            for parameter in network.parameters():  # no tensor may be zero or one: a lost one would not show
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return network.eval(), config, tokenizers


@pytest.fixture(scope="session")
def make_parts() -> Callable[..., Parts]:
    """A network, its config and its tokenizers."""
    return _parts


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A whole bundle on disk, with separate vocabularies so that it has every kind of file."""
    network, config, tokenizers = _parts(joint=False)
    save_bundle(tmp_path / "bundle", network.state_dict(), config, tokenizers)
    return tmp_path / "bundle"
