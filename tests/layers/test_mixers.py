"""Every mixer of the table inside a block: step by step it is the same function as at once, however the positions are cut."""

import pytest
import torch
from torch import nn

from regard.errors import ConfigError
from regard.layers.attention import CrossAttention, project_source
from regard.layers.block import Block
from regard.layers.feed_forward import FeedForward
from regard.layers.mixer import CausalMixer, Mixer, reordered
from regard.layers.mixers import MIXERS, MixerOptions
from regard.layers.norm import NORMS
from regard.layers.positions import RotaryPositions
from regard.layers.residual import Residual
from regard.models import config as settings
from regard.models.build import build_classifier
from regard.models.config import (
    MIXER_TRAITS,
    ClassifierTransformerConfig,
    LanguageTransformerConfig,
    MixerTraits,
    TransformerConfig,
)

WIDTH = 8
CAUSAL = [name for name, traits in MIXER_TRAITS.items() if traits.causal]


def residual(norm: str, pre_norm: bool) -> Residual:
    return Residual(norm=NORMS[norm](WIDTH), dropout=0.0, pre_norm=pre_norm)


def block(name: str, *, norm: str, pre_norm: bool, score: str = "scaled_dot", cross: bool = False) -> Block:
    torch.manual_seed(0)
    options = MixerOptions(
        width=WIDTH,
        heads=2,
        causal=True,
        dropout=0.0,
        max_positions=32,
        rotary=RotaryPositions(WIDTH // 2) if score == "scaled_dot" else None,
        score=score,
        score_width=3,
    )
    made = Block(
        mixer=MIXERS[name](options),
        cross=CrossAttention(width=WIDTH, heads=2) if cross else None,
        feed_forward=FeedForward(width=WIDTH, inner=12, activation="gelu", dropout=0.0),
        around_mixer=residual(norm, pre_norm),
        around_cross=residual(norm, pre_norm) if cross else None,
        around_feed_forward=residual(norm, pre_norm),
    ).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return made


def test_the_table_holds_every_name_of_the_settings() -> None:
    assert tuple(MIXERS) == tuple(MIXER_TRAITS)


@pytest.mark.parametrize("name", CAUSAL)
@pytest.mark.parametrize("cuts", [(1,) * 6, (6,), (3, 1, 2), (1, 5)])
@pytest.mark.parametrize(("norm", "pre_norm", "score"), [("layer", True, "scaled_dot"), ("rms", False, "latent")])
@torch.no_grad()
def test_steps_equal_forward(name: str, cuts: tuple[int, ...], norm: str, pre_norm: bool, score: str) -> None:
    one = block(name, norm=norm, pre_norm=pre_norm, score=score)
    assert isinstance(one.mixer, CausalMixer)
    x = torch.randn(3, 6, WIDTH).double()
    state, outputs = one.mixer.begin(3), []
    for part in x.split(cuts, dim=1):
        found, state = one.step(part, state)
        outputs.append(found)
    torch.testing.assert_close(torch.cat(outputs, dim=1), one(x))


@pytest.mark.parametrize("name", CAUSAL)
@torch.no_grad()
def test_a_state_is_reordered_by_rows(name: str) -> None:
    one = block(name, norm="layer", pre_norm=True)
    assert isinstance(one.mixer, CausalMixer)
    x, rows = torch.randn(3, 5, WIDTH).double(), torch.tensor([2, 0, 2, 1])
    _, state = one.step(x[:, :4], one.mixer.begin(3))
    found, _ = one.step(x[rows, 4:], reordered(state, rows))
    torch.testing.assert_close(found, one(x)[rows, 4:])


@torch.no_grad()
def test_hypotheses_of_a_sentence_share_its_source() -> None:
    """Two sentences with three hypotheses each, in two pieces, against each hypothesis with a source of its own."""
    one = block("attention", norm="layer", pre_norm=True, cross=True)
    assert one.cross is not None
    assert isinstance(one.mixer, CausalMixer)
    x, source = torch.randn(6, 4, WIDTH).double(), torch.randn(2, 5, WIDTH).double()
    [shared] = project_source([one.cross], source)
    [own] = project_source([one.cross], source.repeat_interleave(3, dim=0))
    first, state = one.step(x[:, :3], one.mixer.begin(6), source=shared)
    second, _ = one.step(x[:, 3:], state, source=shared)
    torch.testing.assert_close(torch.cat([first, second], dim=1), one(x, source=own))


class Average(nn.Module):
    """A mixer that sees later positions. It owns parameters of shapes that no layer of ours has."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding_gain = nn.Parameter(torch.full((16,), 0.5))
        self.filters = nn.Parameter(torch.full((2, 3, 4), 0.25))

    def forward(self, x, mask=None, probe=None):  # type: ignore[no-untyped-def]
        return x.mean(dim=1, keepdim=True).expand_as(x) * self.embedding_gain * self.filters.mean()


@pytest.fixture
def _average(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MIXERS, "average", lambda options: Average())
    monkeypatch.setitem(settings.MIXER_TRAITS, "average", MixerTraits(causal=False))


SIZE = {"layers": 1, "width": 16, "heads": 2, "feed_forward": 16}


@pytest.mark.usefixtures("_average")
def test_a_mixer_of_an_extension_keeps_its_own_initial_weights() -> None:
    """Initialisation by name took a vector called embedding for a table, and set filters of three dimensions to zero."""
    config = ClassifierTransformerConfig(**SIZE, mixer="average")
    network = build_classifier(config, 12, 3)
    mixer = network.encoder[0].mixer
    assert isinstance(mixer, Mixer)
    assert torch.equal(mixer.embedding_gain, torch.full((16,), 0.5))
    assert torch.equal(mixer.filters, torch.full((2, 3, 4), 0.25))
    assert network(torch.tensor([[3, 4, 0]])).shape == (1, 3)


@pytest.mark.usefixtures("_average")
def test_a_mixer_that_looks_ahead_is_refused_in_a_decoder() -> None:
    message = r"^config: model.mixer 'average' sees later tokens, which a decoder must not; set it to 'attention', or .* causal = True"
    with pytest.raises(ConfigError, match=message):
        TransformerConfig.parse({**SIZE, "mixer": "average"})
    with pytest.raises(ConfigError, match=message):
        LanguageTransformerConfig.parse({**SIZE, "mixer": "average"})


def test_names_are_checked_when_settings_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"config: mixer = 'average': input should be 'attention'$"):
        TransformerConfig.parse({"mixer": "average"})
    with pytest.raises(
        ConfigError, match=r"score = 'cos': input should be 'parameter_free', .*'gaussian' or 'latent'$"
    ):
        TransformerConfig.parse({"score": "cos"})
    with pytest.raises(ConfigError, match=r"score = \['dot'\]: input should be 'parameter_free'"):
        TransformerConfig.parse({"score": ["dot"]})
    monkeypatch.setitem(settings.MIXER_TRAITS, "average", MixerTraits(causal=False))
    assert ClassifierTransformerConfig.parse({"mixer": "average"}).mixer == "average"
