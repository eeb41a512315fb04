"""The settings of mixers: one for all blocks or a list by block, their sizes, and one line for what cannot be."""

from typing import Any

import pytest

from regard.bundle.ctranslate2 import obstacle
from regard.errors import ConfigError
from regard.layers.hyena import Hyena
from regard.layers.local_attention import WindowAttention
from regard.models.build import build_language_model, build_translator
from regard.models.config import ClassifierTransformerConfig, LanguageTransformerConfig, TransformerConfig

SIZE = {"layers": 2, "width": 16, "heads": 2, "feed_forward": 8}


def test_a_list_gives_each_block_its_own_mixer() -> None:
    config = LanguageTransformerConfig.parse({**SIZE, "mixer": ["hyena", "window"]})
    assert config.mixers == ((), ("hyena", "window"))
    network: Any = build_language_model(config, 9, 16)
    assert [type(block.mixer) for block in network.decoder] == [Hyena, WindowAttention]
    assert LanguageTransformerConfig.parse(config.model_dump(mode="json")) == config


def test_encoder_and_decoder_may_differ() -> None:
    config = TransformerConfig.parse({**SIZE, "encoder_mixer": "linformer", "decoder_layers": 1})
    assert config.mixers == (("linformer", "linformer"), ("attention",))
    network: Any = build_translator(config, 9, 9, True)
    assert network.encoder[0].mixer.key_mixing.shape == (64, 512)
    both = TransformerConfig.parse({**SIZE, "mixer": "delta", "decoder_mixer": ["hyena", "attention"]})
    assert both.mixers == (("delta", "delta"), ("hyena", "attention"))


def test_positions_follow_the_mixer() -> None:
    assert LanguageTransformerConfig.parse({"mixer": "linear"}).positions == "sinusoidal"
    assert LanguageTransformerConfig.parse({"mixer": ["linear", *["attention"] * 3]}).positions == "sinusoidal"
    assert LanguageTransformerConfig.parse({"mixer": "performer"}).positions == "rotary"


def test_filters_and_mixtures_have_a_reach() -> None:
    assert LanguageTransformerConfig.parse({"mixer": "hyena", "max_positions": 40}).reach == 40
    assert ClassifierTransformerConfig.parse({"mixer": "linformer", "max_positions": 70}).reach == 70
    assert LanguageTransformerConfig.parse({"mixer": "delta"}).reach is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"mixer": "window", "window": 8},
            r"model\.window 8 is even, but a window has one position in its middle; use 9$",
        ),
        (
            {"mixer": ["hyena", "delta", "attention"]},
            r"model\.mixer lists 3 mixers, but the encoder has 2 layers; give one for each layer, or one name for all$",
        ),
        (
            {"decoder_mixer": ["hyena"]},
            r"model\.decoder_mixer lists 1 mixers, but the decoder has 2 layers; give one for each layer",
        ),
        (
            {"mixer": "linformer"},
            r"model\.mixer 'linformer' mixes all positions into each of its keys, so it sees later tokens, which a decoder "
            r"must not; set it to 'attention' .*model\.encoder_mixer$",
        ),
        (
            {"encoder_mixer": "linformer", "rank": 65, "max_positions": 64},
            r"model\.rank 65 is above model\.max_positions 64: .* lower the one or raise the other$",
        ),
        (
            {"mixer": "performer", "width": 512},
            r"'performer' with heads of 256 units: .* above 128; raise model\.heads$",
        ),
        ({"mixer": "delta", "heads": 1}, r"'delta' in an encoder needs an even number of heads, .* model\.heads is 1$"),
        (
            {"mixer": "hyena", "positions": "relative"},
            r"model\.mixer 'hyena' does not compare all pairs of tokens, to which model\.positions 'relative' adds; choose",
        ),
        (
            {"mixer": "linear", "positions": "rotary"},
            r"model\.mixer 'linear' does not read the distance .*; choose 'sinusoidal' or 'learned'$",
        ),
        ({"mixer": ["hyena", "hyaena"]}, r"input should be 'attention', .*'hyena' or 'delta'$"),
        ({"mixer": []}, r"lists 0 mixers, but the encoder has 2 layers"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        TransformerConfig.parse({**SIZE, **values})
    assert "\n" not in str(raised.value)


def test_ctranslate2_has_attention_only() -> None:
    assert obstacle(TransformerConfig.parse({**SIZE, "encoder_mixer": ["attention", "window"]})) == (
        "it has no model.mixer 'window', only attention"
    )
