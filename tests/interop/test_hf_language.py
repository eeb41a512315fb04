"""Language models exported to Hugging Face, opened by `transformers` itself: the same logits, tokens and texts."""

from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from interop.language_models import language_model
from regard.errors import BundleError
from regard.text.lines import decode_lines, encode_lines

transformers = pytest.importorskip("transformers")

NETWORKS: list[dict[str, Any]] = [
    {"positions": "learned", "activation": "gelu_tanh"},
    {"positions": "learned", "activation": "relu", "tie": False, "scale_embedding": False, "text": "unigram"},
    {"positions": "rotary", "activation": "gelu", "norm_epsilon": 1e-4},
    {"positions": "rotary", "activation": "silu", "tie": False, "text": "char"},
]
TEXTS = ["the cat", " two  lines\nof \t text \n", "\n\n a\n\nb", "", "</s> ünïcode 🙂\n中"]


@pytest.mark.parametrize("settings", NETWORKS, ids=lambda row: "-".join(map(str, row.values())))
def test_the_same_tokens_logits_and_texts(settings: dict[str, Any], tmp_path: Path) -> None:
    path = language_model(tmp_path / "lm", **settings)
    regard.export(path, tmp_path / "hf", to="hf")
    card = (tmp_path / "hf" / "README.md").read_text(encoding="utf-8")
    assert "AutoModelForCausalLM.from_pretrained" in card
    assert "Seq2Seq" not in card
    model = regard.load(path)
    network, loading = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "hf", output_loading_info=True)
    assert not any(loading.values()), loading
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    texts = TEXTS[:4] if settings.get("text") == "unigram" else TEXTS
    for text in texts:
        ids = encode_lines(model.tokenizer, text)
        assert tokenizer(text).input_ids == [1, *ids], text
        assert tokenizer.decode(ids, skip_special_tokens=True) == decode_lines(model.tokenizer, ids), text
    pad = model.tokenizer.vocabulary.pad
    drawn = torch.randint(2, pad, (2, 17), generator=torch.Generator().manual_seed(1))
    theirs, ours = (torch.cat([torch.full((2, 1), start), drawn], dim=1) for start in (1, pad))
    with torch.inference_mode():
        found = network.eval()(theirs).logits
        expected = model.network(torch.zeros(2, 0, dtype=torch.long), ours)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    prompt = "the cat"
    [generation] = model.generate([prompt], sample=False, max_length=8)
    given = tokenizer(prompt, return_tensors="pt")
    answer = network.generate(**given, do_sample=False, max_length=None, max_new_tokens=8)
    pieces = tokenizer.convert_ids_to_tokens(answer[0, given.input_ids.shape[1] :])
    assert [piece for piece in pieces if piece != "</s>"] == list(generation.tokens)


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({"positions": "sinusoidal"}, "no sinusoidal positions; train with model.positions = 'rotary'"),
        ({"norm": "post"}, "train with model.norm = 'pre'"),
        ({"norm_kind": "rms"}, "train with model.norm_kind = 'layer'"),
        ({"embedding_norm": True}, "train with model.embedding_norm = false"),
        ({"score": "dot"}, "train with model.score = 'scaled_dot'"),
        ({"mixer": "delta"}, "train with model.mixer = 'attention'"),
        ({"activation": "swiglu"}, "train with model.activation = 'gelu'"),
        ({"text": "word"}, "train with text.kind = 'bpe'"),
    ],
)
def test_what_the_formats_lack_is_refused_with_the_setting_to_train_with(
    settings: dict[str, Any], advice: str, tmp_path: Path
) -> None:
    path = language_model(tmp_path / "lm", **settings)
    with pytest.raises(BundleError, match=advice):
        regard.export(path, tmp_path / "hf", to="hf")
    assert not (tmp_path / "hf").exists()
