"""The two peers of `training.py`, written as their users write them: a model, a loss over padded logits, AdamW, and a plain loop."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


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


def _additive(forbidden: Tensor) -> Tensor:
    return torch.zeros(forbidden.shape).masked_fill_(forbidden, -math.inf)


def _sinusoids(positions: int, width: int) -> Tensor:
    angles = torch.arange(positions)[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
    return torch.cat([angles.sin(), angles.cos()], dim=1)
