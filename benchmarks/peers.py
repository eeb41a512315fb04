"""Peers to measure against, written as their users write them: of `training.py` a model, a loss over padded logits, AdamW, and a plain
loop; of `decoding.py` Hugging Face's model with regard's weights.
"""

import math
import sys
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from timm_models import declare_operators

declare_operators()  # transformers imports torchvision


class TorchTransformer(nn.Module):
    """`torch.nn.Transformer` between one embedding and its transpose."""

    def __init__(self, vocabulary: int, layers: int, width: int, heads: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.pad = vocabulary - 1
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=self.pad)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.transformer = nn.Transformer(
            width, heads, layers, layers, inner, dropout, batch_first=True, norm_first=True
        )
        for module in self.transformer.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0  # on the weights: it would force a slow kernel, and the others have none
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("positions", _sinusoids(512, width), persistent=False)

    def forward(self, source: Tensor, target_in: Tensor) -> Tensor:
        nobody = source == self.pad
        causal = nn.Transformer.generate_square_subsequent_mask(target_in.shape[1])
        hidden = self.transformer(
            self._embed(source),
            self._embed(target_in),
            tgt_mask=causal,
            tgt_is_causal=True,
            src_key_padding_mask=_additive(nobody),
            memory_key_padding_mask=_additive(nobody),
        )
        return hidden @ self.embedding.weight.T

    def _embed(self, ids: Tensor) -> Tensor:
        width = self.embedding.embedding_dim
        return self.dropout(self.embedding(ids) * math.sqrt(width) + self.positions[: ids.shape[1]])


class Marian(nn.Module):
    """Hugging Face's MarianMT, built from a config. Its blocks are post-norm: the same work in another order."""

    def __init__(self, vocabulary: int, layers: int, width: int, heads: int, inner: int, dropout: float) -> None:
        super().__init__()
        from transformers import MarianConfig, MarianMTModel

        self.pad = vocabulary - 1
        config = MarianConfig(
            vocab_size=vocabulary,
            d_model=width,
            encoder_layers=layers,
            decoder_layers=layers,
            encoder_attention_heads=heads,
            decoder_attention_heads=heads,
            encoder_ffn_dim=inner,
            decoder_ffn_dim=inner,
            dropout=dropout,
            activation_dropout=dropout,
            attention_dropout=0.0,
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=self.pad,
            decoder_start_token_id=self.pad,
            eos_token_id=0,
            use_cache=False,
        )
        self.model = MarianMTModel(config)

    def forward(self, source: Tensor, target_in: Tensor) -> Tensor:
        logits: Tensor = self.model(
            input_ids=source, attention_mask=(source != self.pad).long(), decoder_input_ids=target_in
        ).logits
        return logits


def plain_loop(network: Any, rate: float, smoothing: float, clip: float) -> Any:
    """One step of the loop that everyone writes: (source, target_in, target_out) -> the loss."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True)
    network.train()

    def step(source: Tensor, target_in: Tensor, target_out: Tensor) -> float:
        optimizer.zero_grad()
        logits = network(source, target_in)
        loss = F.cross_entropy(
            logits.flatten(0, 1), target_out.flatten(), ignore_index=network.pad, label_smoothing=smoothing
        )
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), clip)
        optimizer.step()
        return loss.item()

    return step


def without_peer(config: Any) -> str | None:
    """Why Hugging Face has no such network; None: it has."""
    if not config.tie or config.positions != "sinusoidal" or config.activation not in ("relu", "gelu", "silu"):
        named = f"tie {str(config.tie).lower()}, {config.positions} positions, {config.activation}"
        return f"it has only tied networks with sinusoidal positions and a plain activation, not {named}"
    return None


def language_model(network: Any, config: Any, vocabulary: int, context: int) -> Any:
    """A language model as Hugging Face's GPT-2: pre-norm, learned positions, GELU, tied."""
    from transformers import GPT2Config, GPT2LMHeadModel

    width, layers = config.width, config.layers
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=vocabulary,
            n_positions=context,
            n_embd=width,
            n_layer=layers,
            n_head=config.heads,
            n_inner=config.feed_forward,
            activation_function="gelu",
            tie_word_embeddings=False,
            bos_token_id=vocabulary - 1,
            eos_token_id=0,
            pad_token_id=vocabulary - 1,
        )
    )
    model.lm_head = nn.Linear(width, vocabulary)
    ours, theirs = network.state_dict(), dict(model.named_parameters())
    never = torch.zeros(vocabulary).index_fill_(0, torch.tensor([vocabulary - 1]), -1e9)  # pad is never said
    values = {
        "lm_head.bias": never,
        "transformer.wte.weight": ours["target.embedding.weight"] * math.sqrt(width),
        "transformer.wpe.weight": ours["target.positions.table"][:context],
        "lm_head.weight": ours["target.embedding.weight"],
        "transformer.ln_f.weight": ours["decoder_norm.weight"],
        "transformer.ln_f.bias": ours["decoder_norm.bias"],
    }
    for number in range(layers):
        them, us = f"transformer.h.{number}", f"decoder.{number}"
        parts = [f"{us}.mixer.{part}" for part in ("query", "key", "value")]
        values[f"{them}.attn.c_attn.weight"] = torch.cat([ours[f"{part}.weight"] for part in parts]).T
        values[f"{them}.attn.c_attn.bias"] = torch.cat([ours[f"{part}.bias"] for part in parts])
        for a, b in (
            ("attn.c_proj", "mixer.output"),
            ("mlp.c_fc", "feed_forward.up"),
            ("mlp.c_proj", "feed_forward.down"),
        ):
            values[f"{them}.{a}.weight"], values[f"{them}.{a}.bias"] = (
                ours[f"{us}.{b}.weight"].T,
                ours[f"{us}.{b}.bias"],
            )
        for a, b in (("ln_1", "around_mixer"), ("ln_2", "around_feed_forward")):
            for kind in ("weight", "bias"):
                values[f"{them}.{a}.{kind}"] = ours[f"{us}.{b}.norm.{kind}"]
    assert values.keys() == theirs.keys(), values.keys() ^ theirs.keys()
    with torch.no_grad():
        for name, value in values.items():
            theirs[name].copy_(value)
    return model.eval()


def exported(network: Any, config: Any, vocabulary: int) -> Any:
    """A trained network as Hugging Face's: pre-norm is its Pegasus, post-norm its Marian. Tied, joint and sinusoidal only."""
    from transformers import MarianConfig, MarianMTModel, PegasusConfig, PegasusForConditionalGeneration

    assert without_peer(config) is None, without_peer(config)
    pre, (encoder, decoder) = config.norm == "pre", config.depth
    settings = {
        "vocab_size": vocabulary,
        "d_model": config.width,
        "encoder_layers": encoder,
        "decoder_layers": decoder,
        "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.heads,
        "encoder_ffn_dim": config.feed_forward,
        "decoder_ffn_dim": config.feed_forward,
        "activation_function": config.activation,
        "max_position_embeddings": 4096,
        "scale_embedding": True,
        "pad_token_id": vocabulary - 1,
        "decoder_start_token_id": vocabulary - 1,
        "eos_token_id": 0,
        "forced_eos_token_id": None,
    }
    model = (
        PegasusForConditionalGeneration(PegasusConfig(**settings)) if pre else MarianMTModel(MarianConfig(**settings))
    )
    ours, theirs = network.state_dict(), dict(model.named_parameters())
    names = {"model.shared.weight": "target.embedding.weight"}
    for side, count in (("encoder", encoder), ("decoder", decoder)):
        for number in range(count):
            them, us = f"model.{side}.layers.{number}", f"{side}.{number}"
            attentions = [("self_attn", "mixer")] + [("encoder_attn", "cross")] * (side == "decoder")
            names |= {
                f"{them}.{a}.{part[0] if part != 'output' else 'out'}_proj": f"{us}.{b}.{part}"
                for a, b in attentions
                for part in ("query", "key", "value", "output")
            }
            names |= {f"{them}.{a}_layer_norm": f"{us}.around_{b}.norm" for a, b in attentions}
            names |= {f"{them}.fc1": f"{us}.feed_forward.up", f"{them}.fc2": f"{us}.feed_forward.down"}
            names |= {f"{them}.final_layer_norm": f"{us}.around_feed_forward.norm"}
        if pre:
            names[f"model.{side}.layer_norm"] = f"{side}_norm"
    with torch.no_grad():
        for them, us in names.items():
            for kind in ("",) if them.endswith(".weight") else (".weight", ".bias"):
                theirs.pop(f"{them}{kind}").copy_(ours[f"{us}{kind}"])
        model.final_logits_bias[0, -1] = -1e9  # pad is never said
    left = [name for name in theirs if "embed" not in name and "lm_head" not in name]
    assert not left, f"without a value: {left}"
    return model.eval()


def _additive(forbidden: Tensor) -> Tensor:
    return torch.zeros(forbidden.shape).masked_fill_(forbidden, -math.inf)


def _sinusoids(positions: int, width: int) -> Tensor:
    angles = torch.arange(positions)[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
    return torch.cat([angles.sin(), angles.cos()], dim=1)
