"""Exports to Hugging Face, opened by `transformers` itself: the same logits, the same tokens, the same texts."""

import random
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.errors import BundleError
from tasks.bundles import TEXTS, random_bundle

transformers = pytest.importorskip("transformers")

NETWORKS: list[dict[str, Any]] = [
    {"norm": "pre", "activation": "relu"},
    {"norm": "post", "activation": "silu"},
    {"norm": "post", "activation": "gelu", "tie": False},
    {"norm": "post", "activation": "relu", "joint": False},
    {"norm": "post", "activation": "relu", "joint": False, "tie": False, "text": "unigram"},
    {"norm": "pre", "activation": "gelu", "text": "unigram"},
    {"norm": "pre", "activation": "silu", "text": "char"},
]
STRINGS = (
    "</s> <pad> <unk>",
    "the cat",
    "  two   spaces ",
    "ünïcödé ß ﬁ",
    "中文 and 🙂",
    "a\tb\u00a0c\u3000d",
    "\ufeff\x07x",
    "e\u0301",
)


@pytest.fixture(params=NETWORKS, ids=lambda row: "-".join(map(str, row.values())))
def exported(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Any, Any]:
    """(the model of regard, that of transformers, its tokenizer)."""
    path = random_bundle(tmp_path / "b", positions="sinusoidal", ending=4.0, **request.param)
    regard.export(path, tmp_path / "hf", to="hf")
    with (
        pytest.warns() if not request.param.get("joint", True) else nullcontext()
    ):  # Marian's tokenizer asks for sacremoses
        tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    network, loading = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "hf", output_loading_info=True)
    assert not any(loading.values()), loading
    return regard.load(path, engine="torch"), network.eval(), tokenizer


def test_the_same_tokens_logits_and_texts(exported: tuple[Any, Any, Any]) -> None:
    model, network, tokenizer = exported
    texts = TEXTS[:10]
    batch = tokenizer(texts, return_tensors="pt", padding=True)
    expected_ids = [[*ids, 0] for ids in model.tokenizers.source.encode_batch(texts)]
    assert [row[: len(ids)].tolist() for row, ids in zip(batch.input_ids, expected_ids, strict=True)] == expected_ids
    pad, ours_pad = network.config.pad_token_id, model.tokenizers.target.vocabulary.pad
    target = torch.randint(2, ours_pad, (1, 7), generator=torch.Generator().manual_seed(1))
    source = torch.tensor(expected_ids[:1])
    with torch.inference_mode():
        theirs = network(input_ids=source, decoder_input_ids=torch.cat([torch.tensor([[pad]]), target], 1)).logits
        ours = model.network(source, torch.cat([torch.tensor([[ours_pad]]), target], 1))
    torch.testing.assert_close(theirs[..., :ours_pad], ours, atol=1e-4, rtol=1e-4)
    assert (theirs[..., ours_pad:] < -1e8).all(), "pad is never generated"
    for beam in (1, 4):
        options: dict[str, Any] = {} if beam == 1 else {"length_penalty": 0.0, "num_beams": beam}
        generated = network.generate(**batch, do_sample=False, max_length=None, max_new_tokens=100, **options)
        finished = 0
        for ids, expected in zip(generated, model.translate(texts, beam=beam, alpha=0.0, max_length=99), strict=True):
            if expected.finished:  # where an output is cut, searches differ
                finished += 1
                pieces = tokenizer.convert_ids_to_tokens(ids[ids != pad])
                assert pieces == [*expected.tokens, "</s>"]
        assert finished >= 5


@pytest.mark.parametrize("kind", ["bpe", "unigram", "char"])
def test_the_tokenizer_reads_and_writes_any_text_as_ours(kind: str, tmp_path: Path) -> None:
    path = random_bundle(tmp_path / "b", positions="sinusoidal", text=kind)
    regard.export(path, tmp_path / "hf", to="hf")
    ours = regard.load(path).tokenizers.source
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    draw = random.Random(1)
    signs = [
        chr(code)
        for low, high in ((32, 127), (0xA0, 0x180), (0x370, 0x3FF), (0x4E00, 0x4E20))
        for code in range(low, high)
    ]
    signs += [*"aeio     ", "🙂", "\u200d", "\u0301", "\u2581", "\x85"]
    drawn = ["".join(draw.choices(signs, k=draw.randrange(30))) for _ in range(1500)]
    for text in (*STRINGS[kind == "unigram" :], *drawn, *TEXTS):
        ids = ours.encode(text)
        assert theirs(text).input_ids == [*ids, 0], text
        assert theirs.decode(ids, skip_special_tokens=True) == ours.decode(ids), text


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({"positions": "rotary"}, "train with model.positions = 'sinusoidal'"),
        ({"positions": "learned"}, "no learned positions"),
        ({"activation": "swiglu"}, "train with model.activation = 'silu'"),
        ({"score": "additive"}, "train with model.score = 'scaled_dot'"),
        ({"mixer": "window"}, "train with model.mixer = 'attention'"),
        ({"norm": "pre", "tie": False}, "model.norm = 'post'"),
        ({"norm": "pre", "joint": False}, "train with text.joint = true"),
        ({"text": "word"}, "train with text.kind = 'bpe'"),
        ({"kind": "recurrent"}, "train with model.kind = 'transformer'"),
        ({"kind": "prefix"}, "train with model.kind = 'transformer'"),
    ],
)
def test_what_the_format_lacks_is_refused_with_the_setting_to_train_with(
    settings: dict[str, Any], advice: str, tmp_path: Path
) -> None:
    usual = {} if settings.get("kind") == "recurrent" else {"positions": "sinusoidal"}
    path = random_bundle(tmp_path / "b", **{**usual, **settings})
    with pytest.raises(BundleError, match=advice):
        regard.export(path, tmp_path / "hf", to="hf")
    assert not (tmp_path / "hf").exists()
