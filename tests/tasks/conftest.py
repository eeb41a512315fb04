"""Networks for the engine: a small random Transformer, and two that are no Transformer and whose every answer is known."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.models.build import build_translator
from regard.models.config import TransformerConfig
from regard.ops.probe import Probe, within
from regard.tasks.translate.translator import Translator
from regard.text.build import TokenizerPair, learn_pair
from regard.text.config import TextConfig
from training.conftest import _undisturbed, settings, start, undisturbed

__all__ = ["_undisturbed", "settings", "start", "undisturbed"]  # fixtures that both folders use

PAIRS = [
    ("je suis étudiant", "I am a student"),
    ("le chat dort", "the cat sleeps"),
    ("la pomme est rouge", "the apple is red"),
    ("il m'a entarté", "he hit me with a pie"),
]


@dataclass(frozen=True)
class EchoState:
    source: Tensor  # [B, S]
    said: int

    def reorder(self, sentences: Tensor, parents: Tensor) -> "EchoState":
        return EchoState(self.source[sentences], self.said)


class Echo(nn.Module):
    """Says the tokens of the source, in order or backwards, and looks at each while it says it: p = 1 - a little."""

    end_token = 0

    def __init__(self, vocabulary: int, *, backwards: bool) -> None:
        super().__init__()
        self.start_token = vocabulary - 1
        self.sharpness = nn.Parameter(torch.tensor(20.0, dtype=torch.float64))
        self.backwards = backwards

    def places(self, source: Tensor, steps: int) -> Tensor:
        """[B, T]: which source token is said at each step; the end mark after the last."""
        ends = (source == self.end_token).int().argmax(dim=1, keepdim=True)
        places = torch.arange(steps)[None].expand(len(source), -1)
        if self.backwards:
            places = torch.where(places < ends, ends - 1 - places, ends)
        return torch.minimum(places, ends)

    def hidden(self, source: Tensor, target_in: Tensor, probe: Probe | None = None) -> Tensor:
        places = self.places(source, target_in.shape[1])
        inner = within(within(within(probe, "decoder"), "0"), "cross")
        if inner is not None:
            weights = nn.functional.one_hot(places, source.shape[1]).double()
            inner.see("weights", weights[:, None].expand(-1, 2, -1, -1))
        return nn.functional.one_hot(source.gather(1, places), self.start_token).double()

    def project(self, hidden: Tensor) -> Tensor:
        return hidden * self.sharpness

    def start(self, source: Tensor, prefix: Tensor | None = None) -> EchoState:
        return EchoState(source, 0)

    def step(self, tokens: Tensor, state: EchoState, record: bool = False) -> tuple[Tensor, EchoState, None]:
        place = self.places(state.source, state.said + 1)[:, -1:]
        said = nn.functional.one_hot(state.source.gather(1, place), self.start_token).double()
        return self.project(said).expand(-1, tokens.shape[1], -1), EchoState(state.source, state.said + 1), None


@pytest.fixture(scope="session")
def learned() -> Callable[..., TokenizerPair]:
    """Tokenizers of a kind."""
    return lambda kind="char", joint=True: learn_pair(
        TextConfig.parse({"kind": kind, "joint": joint, "vocabulary": 300}), lambda: PAIRS
    )


@pytest.fixture
def echo(learned: Callable[..., TokenizerPair]) -> Callable[..., Translator]:
    """A model that repeats what it is told."""

    def make(kind: str = "char", backwards: bool = False, **options: Any) -> Translator:
        tokenizers = learned(kind)
        return Translator(Echo(len(tokenizers.target.vocabulary), backwards=backwards), tokenizers, **options)

    return make


@pytest.fixture
def random_model(learned: Callable[..., TokenizerPair]) -> Callable[..., Translator]:
    """A Transformer with weights from a seed, in float64 so that no two ways of computing disagree about a token."""

    def make(
        kind: str = "bpe", joint: bool = False, options: dict[str, Any] | None = None, **settings: Any
    ) -> Translator:
        tokenizers = learned(kind, joint)
        size = {"layers": 2, "width": 16, "heads": 2, "feed_forward": 24, "dropout": 0.5}
        config = TransformerConfig.parse({**size, **settings})
        with torch.random.fork_rng():
            torch.manual_seed(5)
            network = build_translator(
                config, len(tokenizers.source.vocabulary), len(tokenizers.target.vocabulary), tokenizers.joint
            ).double()
            with torch.no_grad():
                for parameter in network.parameters():  # sharper than a fresh one, so that outputs differ and end
                    parameter.mul_(2.0)
        return Translator(network.eval(), tokenizers, **(options or {}))

    return make
