"""Small bundles of language models with random weights."""

from pathlib import Path
from typing import Any

import torch

from regard.bundle.bundle import save_bundle
from regard.bundle.config import TextsConfig, VocabularySizes
from regard.data.pocket.corpus import pocket_split
from regard.models.build import build_language_model
from regard.tasks.generate.settings import GenerateBundle
from regard.text.build import learn_single
from regard.text.config import OneTextConfig

CONTEXT = 24
SIZES = {"kind": "transformer", "layers": 2, "width": 32, "heads": 4, "feed_forward": 48, "max_positions": 40}


def language_model(path: Path, *, text: str = "bpe", **model: Any) -> Path:
    """A bundle at `path`. text: the kind of the tokenizer."""
    sentences = [pair.english for pair in pocket_split(200, 1, 1).train]
    tokenizers = learn_single(OneTextConfig.parse({"kind": text, "vocabulary": 400}), sentences)
    size = len(tokenizers.target.vocabulary)
    config = GenerateBundle.parse(
        {
            "task": "generate",
            "model": SIZES | model,
            "vocabulary": VocabularySizes(source=size, target=size, joint=True),
            "texts": TextsConfig(context=CONTEXT),
        }
    )
    with torch.random.fork_rng():
        torch.manual_seed(3)
        network = build_language_model(config.model, size, CONTEXT)
        with torch.no_grad():
            for parameter in network.parameters():  # none may be zero or one: a lost one would not show
                if parameter.dim() == 1:
                    parameter.add_(torch.randn_like(parameter) * 0.1)
    save_bundle(path, network.state_dict(), config, tokenizers)
    return path
