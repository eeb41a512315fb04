"""Every mixer of the table inside a block: step by step it is the same function as at once, however the positions are cut."""

import pytest
import torch
from torch import nn

from regard.errors import ConfigError, DataError
from regard.layers import hyena, local_attention
from regard.layers import mixer as mixers_by_segments
from regard.layers.attention import CrossAttention, project_source
from regard.layers.block import Block
from regard.layers.feed_forward import FeedForward
from regard.layers.hyena import Hyena
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
from regard.ops.probe import Probe

WIDTH = 8
CAUSAL = [name for name, traits in MIXER_TRAITS.items() if traits.causal]


def residual(norm: str, pre_norm: bool) -> Residual:
    return Residual(norm=NORMS[norm](WIDTH), dropout=0.0, pre_norm=pre_norm)


def block(
    name: str, *, norm: str, pre_norm: bool, score: str = "scaled_dot", cross: bool = False, causal: bool = True
) -> Block:
    torch.manual_seed(0)
    options = MixerOptions(
        width=WIDTH,
        heads=2,
        causal=causal,
        dropout=0.0,
        max_positions=32,
        rotary=RotaryPositions(WIDTH // 2) if score == "scaled_dot" else None,
        score=score,
        score_width=3,
        window=3,
        block=2,
        random_blocks=1,
        rank=4,
        features=12,
        filter_width=5,
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


@pytest.mark.parametrize("name", ["window", "performer", "linear", "hyena", "delta"])
@torch.no_grad()
def test_parts_of_a_long_pass_make_the_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of positions, or groups of channels, change nothing."""
    mixer = block(name, norm="layer", pre_norm=True).mixer
    x = torch.randn(2, 11, WIDTH).double()
    whole = mixer(x)
    for module in (mixers_by_segments, local_attention):
        monkeypatch.setattr(module, "SEGMENT", 4)
    monkeypatch.setattr(hyena, "POINTS", 3 * 22)
    torch.testing.assert_close(mixer(x), whole)


@pytest.mark.parametrize("name", CAUSAL)
@torch.no_grad()
def test_a_state_is_reordered_by_rows(name: str) -> None:
    one = block(name, norm="layer", pre_norm=True)
    assert isinstance(one.mixer, CausalMixer)
    x, rows = torch.randn(3, 5, WIDTH).double(), torch.tensor([2, 0, 2, 1])
    _, state = one.step(x[:, :4], one.mixer.begin(3))
    found, _ = one.step(x[rows, 4:], reordered(state, rows))
    torch.testing.assert_close(found, one(x)[rows, 4:])


@pytest.mark.parametrize("name", CAUSAL)
def test_no_position_depends_on_a_later_one(name: str) -> None:
    """d y_i / d x_j is exactly 0 for j > i, and not for j = i; moving x_j moves no earlier y, but for rounding."""
    mixer = block(name, norm="layer", pre_norm=True).mixer
    x = torch.randn(1, 11, WIDTH).double()
    jacobian = torch.autograd.functional.jacobian(lambda value: mixer(value)[0].sum(dim=1), x)[:, 0]  # [T, T, D]
    depends = jacobian.abs().amax(dim=2)
    if name == "hyena":  # the transform mixes all positions, and what must cancel cancels to rounding
        assert depends.triu(1).max() < 1e-12 * depends.max()
    else:
        assert not depends.triu(1).any()
    assert (depends.diagonal() > 0).all()
    moved = x.clone()
    moved[:, 7] += 1.0
    change = (mixer(moved) - mixer(x)).abs().amax(dim=2)[0]
    assert change[:7].max() < 1e-12
    assert change[7] > 1e-6


@pytest.mark.parametrize("name", [name for name in MIXER_TRAITS if name != "attention"])
def test_a_probe_sees_a_mixer_without_changing_it(name: str) -> None:
    mixer = block(name, norm="layer", pre_norm=True, causal=name != "linformer").mixer
    x, probe = torch.randn(2, 7, WIDTH).double(), Probe("*")
    torch.testing.assert_close(mixer(x, None, probe), mixer(x))
    shown = {
        "linformer": "mixture_weights",
        "hyena": "filters",
        "delta": "strength",
    }
    assert {"output", shown.get(name, "weights")} <= set(probe)
    if name not in shown:  # a distribution over what came before
        weights = probe["weights"]
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 2, 7).double())
        assert not weights.triu(1).any()


@pytest.mark.parametrize(
    ("name", "message"), [("hyena", "filters of hyena have 32 lags"), ("linformer", "mixes 32 pos")]
)
def test_a_sequence_past_the_last_position_is_refused(name: str, message: str) -> None:
    mixer = block(name, norm="layer", pre_norm=True, causal=name == "hyena").mixer
    with pytest.raises(DataError, match=rf"a sequence of 33 tokens, .*{message}.*model\.max_positions$"):
        mixer(torch.randn(1, 33, WIDTH).double())
    if isinstance(mixer, Hyena):
        _, state = mixer.step(torch.randn(1, 32, WIDTH).double(), mixer.begin(1))
        with pytest.raises(DataError, match="a sequence of 33 tokens"):
            mixer.step(torch.randn(1, 1, WIDTH).double(), state)


@torch.no_grad()
def test_a_state_does_not_grow_where_a_mixer_forgets() -> None:
    for name in ("window", "performer", "linear", "delta"):
        mixer = block(name, norm="layer", pre_norm=True).mixer
        assert isinstance(mixer, CausalMixer)
        _, state = mixer.step(torch.randn(2, 5, WIDTH).double(), mixer.begin(2))
        _, later = mixer.step(torch.randn(2, 9, WIDTH).double(), state)
        assert [part.shape for part in later] == [part.shape for part in state]


def test_hypotheses_share_the_filters_of_hyena() -> None:
    mixer = block("hyena", norm="layer", pre_norm=True).mixer
    assert isinstance(mixer, CausalMixer)
    filters = mixer.begin(1)[-1]
    chosen = reordered((filters,), torch.tensor([0, 0, 0]))[0]
    assert chosen.shape == (3, *filters.shape[1:])
    assert chosen.data_ptr() == filters.data_ptr()


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
    message = (
        r"^config: model.mixer 'average' sees later tokens, which a decoder must not; "
        r"set it to 'attention' or .*'delta', or .* causal = True"
    )
    with pytest.raises(ConfigError, match=message):
        TransformerConfig.parse({**SIZE, "mixer": "average"})
    with pytest.raises(ConfigError, match=message):
        LanguageTransformerConfig.parse({**SIZE, "mixer": "average"})


def test_names_are_checked_when_settings_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        ConfigError, match=r"config: mixer = 'average': input should be 'attention', 'window', .*'hyena' or 'delta'$"
    ):
        TransformerConfig.parse({"mixer": "average"})
    with pytest.raises(
        ConfigError, match=r"score = 'cos': input should be 'parameter_free', .*'gaussian' or 'latent'$"
    ):
        TransformerConfig.parse({"score": "cos"})
    with pytest.raises(ConfigError, match=r"score = \['dot'\]: input should be 'parameter_free'"):
        TransformerConfig.parse({"score": ["dot"]})
    monkeypatch.setitem(settings.MIXER_TRAITS, "average", MixerTraits(causal=False))
    assert ClassifierTransformerConfig.parse({"mixer": "average"}).mixer == "average"
