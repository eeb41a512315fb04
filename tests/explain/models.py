"""Small models of every kind that is explained, which know a few sentences by heart: a second of training each."""

from functools import cache
from typing import Any

import torch

from regard.engine.batching import padded
from regard.explain.table import explain_served
from regard.models.build import build_translator
from regard.models.config import TRANSLATORS
from regard.models.network import EncoderDecoder
from regard.tasks.translate.translator import Translator
from regard.text.build import TokenizerPair, learn_pair
from regard.text.config import TextConfig

PAIRS = [
    ("je suis étudiant", "I am a student"),
    ("le chat dort", "the cat sleeps"),
    ("la pomme est rouge", "the apple is red"),
    ("il m'a entarté", "he hit me with a pie"),
]
TRANSFORMER = {"layers": 2, "width": 16, "heads": 2, "feed_forward": 24}
RECURRENT = {"kind": "recurrent", "layers": 1, "width": 16}
KINDS: dict[str, dict[str, Any]] = {
    "transformer": TRANSFORMER,
    "relative": {**TRANSFORMER, "positions": "relative", "norm": "post"},
    "additive": {**TRANSFORMER, "score": "additive"},
    "recurrent": RECURRENT,
    "input feeding": {**RECURRENT, "layers": 2, "input_feeding": True, "score": "general", "cell": "gru"},
    "no attention": {**RECURRENT, "attention": False},
    "prefix": {**TRANSFORMER, "kind": "prefix"},
}
STEPS = 60


@cache
def tokenizers(joint: bool = False) -> TokenizerPair:
    return learn_pair(TextConfig.parse({"kind": "bpe", "joint": joint, "vocabulary": 320}), lambda: PAIRS)


@cache
def trained_model(kind: str = "transformer") -> Translator:
    """In float64, so that two ways of computing one number agree."""
    config = TRANSLATORS[KINDS[kind].get("kind", "transformer")].parse({**KINDS[kind], "dropout": 0.0})
    pair = tokenizers(joint=kind == "prefix")  # which has one embedding
    with torch.random.fork_rng():
        torch.manual_seed(3 if kind == "no attention" else 5)  # draws whose path of integrated gradients is smooth
        network = build_translator(
            config, len(pair.source.vocabulary), len(pair.target.vocabulary), pair.joint
        ).double()
        _learn_by_heart(network, pair)
    return explained(Translator(network.eval(), pair))


def explained(translator: Translator) -> Translator:
    """The translator as `regard.load` gives it."""
    translator.explainer = explain_served
    return translator


def _learn_by_heart(network: EncoderDecoder, pair: TokenizerPair) -> None:
    cpu = torch.device("cpu")
    sources = [[*pair.source.encode(source), 0] for source, _ in PAIRS]
    targets = [pair.target.encode(target) for _, target in PAIRS]
    source = padded(sources, network.source_pad, cpu)
    target_in = padded([[network.start_token, *ids] for ids in targets], network.target_pad, cpu)
    wanted = padded([[*ids, 0] for ids in targets], -100, cpu)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    for _ in range(STEPS):
        loss = torch.nn.functional.cross_entropy(network(source, target_in).flatten(0, 1), wanted.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
