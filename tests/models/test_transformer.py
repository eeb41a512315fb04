"""The Transformer against `torch.nn.Transformer` with copied weights: forward and gradients, both norms."""

import pytest
import torch
from torch import Tensor, nn

from regard.models.build import build_translator
from regard.models.config import TransformerConfig
from regard.models.config.presets import PRESETS
from regard.models.transformer import Transformer

VOCABULARY, PAD = 23, 22


def torch_oracle(network: Transformer, config: TransformerConfig) -> nn.Transformer:
    """`nn.Transformer` with our weights."""
    oracle = nn.Transformer(
        d_model=config.width,
        nhead=config.heads,
        num_encoder_layers=config.layers,
        num_decoder_layers=config.layers,
        dim_feedforward=config.feed_forward,
        dropout=0.0,
        activation=config.activation,
        batch_first=True,
        norm_first=config.norm == "pre",
    ).to(torch.float64)
    if config.norm == "post":
        oracle.encoder.norm = oracle.decoder.norm = None  # ours ends in the last block's norm, as the paper's
    with torch.no_grad():
        for mine, theirs in zip(network.encoder, oracle.encoder.layers, strict=True):
            copy_attention(mine.mixer, theirs.self_attn)
            copy_common(mine, theirs)
            copy_norms(theirs, mine.around_mixer.norm, mine.around_feed_forward.norm)
        for mine, theirs in zip(network.decoder, oracle.decoder.layers, strict=True):
            copy_attention(mine.mixer, theirs.self_attn)
            copy_attention(mine.cross, theirs.multihead_attn)
            copy_common(mine, theirs)
            copy_norms(theirs, mine.around_mixer.norm, mine.around_cross.norm, mine.around_feed_forward.norm)
        if config.norm == "pre":
            oracle.encoder.norm.load_state_dict(network.encoder_norm.state_dict())
            oracle.decoder.norm.load_state_dict(network.decoder_norm.state_dict())
    return oracle


def copy_attention(mine: nn.Module, theirs: nn.MultiheadAttention) -> None:
    parts = mine.query, mine.key, mine.value
    theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
    theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
    theirs.out_proj.load_state_dict(mine.output.state_dict())


def copy_common(mine: nn.Module, theirs: nn.Module) -> None:
    theirs.linear1.load_state_dict(mine.feed_forward.up.state_dict())
    theirs.linear2.load_state_dict(mine.feed_forward.down.state_dict())


def copy_norms(theirs: nn.Module, *norms: nn.Module) -> None:
    for number, norm in enumerate(norms, start=1):
        getattr(theirs, f"norm{number}").load_state_dict(norm.state_dict())


def oracle_logits(oracle: nn.Transformer, network: Transformer, source: Tensor, target: Tensor) -> Tensor:
    width = network.target.embedding.embedding_dim

    def embedded(ids: Tensor) -> Tensor:  # the sinusoids themselves are tested against their formula in tests/ops
        return network.target.embedding(ids) * width**0.5 + network.target.positions(0, ids.shape[1])

    hidden = oracle(
        embedded(source),
        embedded(target),
        tgt_mask=torch.triu(torch.ones(target.shape[1], target.shape[1], dtype=torch.bool), diagonal=1),
        src_key_padding_mask=source == PAD,
        memory_key_padding_mask=source == PAD,
    )
    return hidden @ network.target.embedding.weight[:PAD].T


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")  # of the oracle
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_forward_and_gradients_match_torch(norm: str, activation: str) -> None:
    torch.manual_seed(1)
    config = TransformerConfig(
        layers=2,
        width=16,
        heads=4,
        feed_forward=24,
        dropout=0.0,
        norm=norm,
        activation=activation,
        positions="sinusoidal",
    )
    network = build_translator(config, VOCABULARY, VOCABULARY, joint=True).to(torch.float64)
    for parameter in network.parameters():  # biases and gains away from their start, so that they are tested too
        if parameter.dim() == 1:
            nn.init.normal_(parameter, mean=0.5)
    oracle = torch_oracle(network, config).train()  # eval takes a fast path of its own
    source = torch.randint(0, PAD, (3, 6))
    source[1, 4:] = PAD
    target = torch.randint(0, PAD, (3, 5))
    target[:, 0] = PAD
    mine = network(source, target)
    theirs = oracle_logits(oracle, network, source, target)
    torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-10)

    probe = torch.randn_like(mine)
    ours = torch.autograd.grad((mine * probe).sum(), list(network.parameters()), allow_unused=True)
    named = dict(zip((name for name, _ in network.named_parameters()), ours, strict=True))
    (theirs * probe).sum().backward()
    for number, layer in enumerate(oracle.decoder.layers):
        expected = torch.cat([named[f"decoder.{number}.cross.{part}.weight"] for part in ("query", "key", "value")])
        torch.testing.assert_close(layer.multihead_attn.in_proj_weight.grad, expected, rtol=0, atol=1e-10)
        torch.testing.assert_close(
            layer.linear1.weight.grad, named[f"decoder.{number}.feed_forward.up.weight"], rtol=0, atol=1e-10
        )
        torch.testing.assert_close(
            layer.norm2.weight.grad, named[f"decoder.{number}.around_cross.norm.weight"], rtol=0, atol=1e-10
        )
    for number, layer in enumerate(oracle.encoder.layers):
        expected = torch.cat([named[f"encoder.{number}.mixer.{part}.weight"] for part in ("query", "key", "value")])
        torch.testing.assert_close(layer.self_attn.in_proj_weight.grad, expected, rtol=0, atol=1e-10)
        torch.testing.assert_close(
            layer.linear2.bias.grad, named[f"encoder.{number}.feed_forward.down.bias"], rtol=0, atol=1e-10
        )
    torch.testing.assert_close(
        network.target.embedding.weight.grad, named["target.embedding.weight"], rtol=0, atol=1e-10
    )


def test_base_is_the_lectures_size() -> None:
    """N = 6, 512 wide, 8 heads of 64, 2048 inside; the parameters by hand: 44.1 million without embeddings."""
    assert PRESETS["transformer"]["base"] == {"layers": 6, "width": 512, "heads": 8, "feed_forward": 2048}
    network = build_translator(TransformerConfig(preset="base", norm="post"), 100, 100, joint=True)
    attention, feed_forward, norm = 4 * (512 * 512 + 512), 2 * 512 * 2048 + 2048 + 512, 2 * 512
    encoder, decoder = attention + feed_forward + 2 * norm, 2 * attention + feed_forward + 3 * norm
    assert sum(p.numel() for p in network.parameters()) == 6 * (encoder + decoder) + 100 * 512


def test_a_preset_fills_only_what_is_not_given() -> None:
    config = TransformerConfig.parse({"preset": "small", "layers": 2})
    assert (config.layers, config.width, config.feed_forward) == (2, 256, 1024)
    assert TransformerConfig.parse(config.model_dump()) == config


def test_tiny_deep_is_as_large_as_six_tiny_blocks_under_four() -> None:
    """Nine blocks under two: a decoder's block has one attention and one norm more than an encoder's."""
    sizes = [{"preset": "tiny-deep"}, {"preset": "tiny", "encoder_layers": 6}]
    deep, tiny = (build_translator(TransformerConfig.parse(size), 100, 100, joint=True) for size in sizes)
    assert (len(deep.encoder), len(deep.decoder)) == (9, 2)
    attention, feed_forward, norm = 4 * (128 * 128 + 128), 2 * 128 * 256 + 256 + 128, 2 * 128
    encoder, decoder = attention + feed_forward + 2 * norm, 2 * attention + feed_forward + 3 * norm
    assert sum(p.numel() for p in deep.parameters()) == 9 * encoder + 2 * decoder + 2 * norm + 100 * 128
    assert sum(p.numel() for p in deep.parameters()) <= sum(p.numel() for p in tiny.parameters())


def test_layers_of_a_deep_preset_are_the_decoders() -> None:
    assert TransformerConfig.parse({"preset": "tiny-deep", "layers": 1}).depth == (9, 1)
    assert TransformerConfig.parse({"preset": "tiny-deep", "encoder_layers": 12}).depth == (12, 2)


@pytest.mark.parametrize(("joint", "tie", "matrices"), [(True, True, 1), (False, True, 2), (True, False, 3)])
def test_tying(joint: bool, tie: bool, matrices: int) -> None:
    network = build_translator(
        TransformerConfig(width=16, heads=2, feed_forward=16, layers=1, tie=tie), 30, 30, joint=joint
    )
    large = [p for name, p in network.named_parameters() if "embedding" in name or name == "output"]
    assert len(large) == matrices
    assert network.target.embedding.weight[29].abs().max() == 0.0  # the pad row


def test_sinusoids_reach_any_length_and_learned_positions_say_where_they_end() -> None:
    """Statement 15."""
    source, target = torch.randint(0, 20, (1, 700)), torch.randint(0, 20, (1, 3))
    sizes = {"width": 16, "heads": 2, "feed_forward": 16, "layers": 1}
    assert torch.isfinite(
        build_translator(TransformerConfig(**sizes, positions="sinusoidal"), 30, 30, joint=True)(source, target)
    ).all()
    learned = build_translator(TransformerConfig(**sizes, positions="learned", max_positions=600), 30, 30, joint=True)
    with pytest.raises(ValueError, match=r"700 tokens.*reach 600"):
        learned(source, target)


def test_without_positions_order_is_invisible() -> None:
    """Statement 13: with the positional table zeroed, the encoder is permutation-equivariant; with it, it is not."""
    torch.manual_seed(0)
    config = TransformerConfig(width=16, heads=2, feed_forward=16, layers=2, positions="sinusoidal")
    network = build_translator(config, 30, 30, joint=True).eval()
    source, order = torch.tensor([[3, 4, 5, 6, 7]]), torch.tensor([4, 2, 0, 1, 3])
    with_positions = network.encode(source)[0][:, order] - network.encode(source[:, order])[0]
    assert with_positions.abs().max() > 1e-2
    network.source.positions.table.zero_()
    without = network.encode(source)[0][:, order] - network.encode(source[:, order])[0]
    assert without.abs().max() < 1e-5


def test_a_score_that_cannot_read_rotary_positions_gets_others_unless_it_is_told() -> None:
    assert TransformerConfig().positions == TransformerConfig(score="cosine").positions == "rotary"
    assert TransformerConfig(score="additive").positions == "sinusoidal"
    assert TransformerConfig(score="additive", positions="relative").positions == "relative"
