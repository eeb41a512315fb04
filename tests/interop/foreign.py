"""Models of `transformers` built at random from a config, with a sentencepiece tokenizer that has a normaliser and no byte fallback."""

import io
import json
from functools import cache
from pathlib import Path
from typing import Any

import sentencepiece
import torch

from tasks.bundles import SPLIT

SIZES: dict[str, Any] = {
    "d_model": 32,
    "encoder_layers": 3,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 128,
    "dropout": 0.1,
}


@cache
def spm(side: str) -> bytes:
    """A unigram model of pocket sentences, as OPUS-MT trains it."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([getattr(pair, side) for pair in SPLIT.train]),
        model_writer=model,
        model_type="unigram",
        vocab_size=200,
        normalization_rule_name="nmt_nfkc",
        hard_vocab_limit=False,
        minloglevel=3,
    )
    return model.getvalue()


def pieces_of(*models: bytes) -> list[str]:
    names = []
    for model in models:
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        names += processor.id_to_piece(list(range(processor.get_piece_size())))
    return [piece for piece in dict.fromkeys(names) if piece not in ("<s>", "</s>", "<unk>")]


def randomised(network: torch.nn.Module, ending: float, end: int, growth: float = 5.0) -> torch.nn.Module:
    """A network in which no weight is zero or one, and whose outputs end. Its padding row is zero as it was."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "embed_positions" in name:
                continue
            if parameter.dim() == 1:
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.1)
            else:
                parameter.mul_(2 * growth if "embed" in name or "shared" in name or "lm_head" in name else growth)
        if hasattr(network, "final_logits_bias"):
            network.final_logits_bias[0, end] += ending
    return network.eval()


def marian_directory(path: Path, *, separate: bool = False, bar_pad: bool = True, **settings: Any) -> Any:
    """A Marian or Pegasus model and its tokenizer's files at `path`; returns the network."""
    import transformers

    kind = settings.pop("kind", "marian")
    end = settings.pop("end", 0)
    path.mkdir()
    (path / "source.spm").write_bytes(spm("french"))
    (path / "target.spm").write_bytes(spm("english"))
    sides = (
        [pieces_of(spm("french")), pieces_of(spm("english"))]
        if separate
        else [pieces_of(spm("french"), spm("english"))]
    )
    rows = max(len(side) for side in sides) + 3
    for name, side in zip(("vocab.json", "target_vocab.json"), sides, strict=False):
        names = [*side, *(f"filler{number}" for number in range(rows - 3 - len(side)))]
        names.insert(end, "</s>")
        names.insert(end + 1, "<unk>")
        (path / name).write_text(
            json.dumps({piece: index for index, piece in enumerate([*names, "<pad>"])}), encoding="utf-8"
        )
    tokenizer = {"tokenizer_class": "MarianTokenizer", "separate_vocabs": separate}
    tokenizer |= {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    (path / "tokenizer_config.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    marks = {
        "eos_token_id": end,
        "pad_token_id": rows - 1,
        "decoder_start_token_id": rows - 1,
        "forced_eos_token_id": None,
    }
    own = {"share_encoder_decoder_embeddings": not separate} if kind == "marian" else {}
    classes = {
        "marian": (transformers.MarianConfig, transformers.MarianMTModel),
        "pegasus": (transformers.PegasusConfig, transformers.PegasusForConditionalGeneration),
    }
    config, network = classes[kind]
    torch.manual_seed(3)
    made = randomised(network(config(vocab_size=rows, **{**SIZES, **own, **marks, **settings})), 6.0, end)
    made.final_logits_bias += (
        torch.randn(made.final_logits_bias.shape, generator=torch.Generator().manual_seed(1)) * 0.3
    )
    if bar_pad:
        made.generation_config.bad_words_ids = [[rows - 1]]
    made.generation_config.max_length = None
    made.save_pretrained(path)
    return made


@cache
def t5_spm() -> bytes:
    """A unigram model of both languages with T5's marks: padding 0, end 1, unknown 2."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([text for pair in SPLIT.train for text in (pair.french, pair.english)]),
        model_writer=model,
        model_type="unigram",
        vocab_size=250,
        hard_vocab_limit=False,
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
        minloglevel=3,
    )
    return model.getvalue()


def t5_directory(path: Path, **settings: Any) -> Any:
    """A T5 model at `path` with `spiece.model`, and more rows than pieces, as the published ones have; returns the network."""
    import transformers

    path.mkdir()
    (path / "spiece.model").write_bytes(t5_spm())
    processor = sentencepiece.SentencePieceProcessor(model_proto=t5_spm())
    sizes = {"d_model": 32, "d_kv": 8, "num_heads": 4, "d_ff": 48, "num_layers": 3, "num_decoder_layers": 2}
    config = transformers.T5Config(
        vocab_size=processor.get_piece_size() + 108, decoder_start_token_id=0, **{**sizes, **settings}
    )
    torch.manual_seed(3)
    network = randomised(transformers.T5ForConditionalGeneration(config), 0.0, 1, growth=1.0)
    with torch.no_grad():
        network.get_output_embeddings().weight[1] *= 1.5
    network.generation_config.max_length = None
    network.save_pretrained(path)
    return network
