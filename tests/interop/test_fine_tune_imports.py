"""Imported models are trained further: `--start` of each kind learns, keeps its tokenizer, and is served afterwards."""

from pathlib import Path
from typing import Any

import pytest

import regard
from interop.foreign_texts import bart_directory, bert_directory, gpt2_directory, vit_directory
from picture_files import LABELS, write_folder
from tasks.bundles import SPLIT

pytest.importorskip("transformers")

SHORT: dict[str, Any] = {
    "max_steps": 40,
    "batch_tokens": 400,
    "validate_every": 20,
    "optimizer": "adamw",
    "learning_rate": 3e-3,
}


def trained(start: Path, out: Path, data: dict[str, Any], **changes: Any) -> Any:
    run = regard.train({"data": data, "train": {**SHORT, "start": str(start), **changes}}, out, progress=False)
    assert run.metrics is not None
    return regard.load(out)


def lines(path: Path, values: list[str]) -> str:
    path.write_text("".join(f"{value}\n" for value in values), encoding="utf-8")
    return str(path)


def test_gpt2_learns_a_text(tmp_path: Path) -> None:
    gpt2_directory(tmp_path / "hf")
    regard.import_model(tmp_path / "hf", tmp_path / "b")
    text = lines(tmp_path / "book.txt", [pair.english for pair in SPLIT.train[:300]])
    model = trained(tmp_path / "b", tmp_path / "run", {"text": text, "max_length": 32})
    base = regard.load(tmp_path / "b")
    sample = "\n".join(pair.english for pair in SPLIT.valid[:10])
    assert model.score([sample])[0].logprob > base.score([sample])[0].logprob + 50
    assert model.tokenizer.encode(sample) == base.tokenizer.encode(sample)
    assert model.generate(["the "], max_length=10, seed=1)[0].text


def test_bert_learns_labels_of_its_own_and_new_ones(tmp_path: Path) -> None:
    bert_directory(tmp_path / "hf", head="Model", growth=1.0)
    regard.import_model(tmp_path / "hf", tmp_path / "b", labels=["short", "long"])
    texts = [pair.english for pair in SPLIT.train[:400]]
    rows = [f"{text}\t{'long' if len(text) > 22 else 'short'}" for text in texts]
    data = lines(tmp_path / "texts.tsv", rows)
    # texts of like length are read together, so only a batch of all of them has both labels
    model = trained(
        tmp_path / "b", tmp_path / "run", {"labelled": data, "max_length": 40}, max_steps=120, learning_rate=1e-3
    )
    right = [answer.label == row.split("\t")[1] for answer, row in zip(model.classify(texts), rows, strict=True)]
    before = [
        a.label == r.split("\t")[1] for a, r in zip(regard.load(tmp_path / "b").classify(texts), rows, strict=True)
    ]
    most = max(sum(row.split("\t")[1] == label for row in rows) for label in ("short", "long"))
    assert sum(right) > most, "more than the more frequent label"
    assert sum(right) > sum(before)


def test_bart_learns_pairs_that_begin_with_its_mark(tmp_path: Path) -> None:
    bart_directory(tmp_path / "hf", forced_bos_token_id=0)
    regard.import_model(tmp_path / "hf", tmp_path / "b")
    src = lines(tmp_path / "a.fr", [pair.french for pair in SPLIT.train[:300]])
    tgt = lines(tmp_path / "a.en", [pair.english for pair in SPLIT.train[:300]])
    model = trained(tmp_path / "b", tmp_path / "run", {"src": src, "tgt": tgt, "max_length": 60})
    base, pairs = regard.load(tmp_path / "b"), SPLIT.valid[:20]
    sources, targets = [pair.french for pair in pairs], [pair.english for pair in pairs]
    after, before = (sum(result.logprob for result in one.score(sources, targets)) for one in (model, base))
    assert after > before + 100
    answers = model.translate(sources[:5], prefixes=["the"] * 5)
    assert all(answer.tokens[0] == "<s>" and answer.text.startswith("the") for answer in answers)
    [answer] = model.translate(sources[:1], phrases=[["cat"]], beam=3)
    assert "cat" in answer.text


def test_a_vit_learns_labels_of_pictures(tmp_path: Path) -> None:
    vit_directory(tmp_path / "hf", head="Model")
    regard.import_model(tmp_path / "hf", tmp_path / "b", labels=LABELS)
    folder = write_folder(tmp_path / "pictures", 60, side=32, channels=3)
    model = trained(tmp_path / "b", tmp_path / "run", {"images": str(folder)})
    pictures = sorted(folder.rglob("*.png"))
    right = [answer.label == path.parent.name for answer, path in zip(model.classify(pictures), pictures, strict=True)]
    assert sum(right) > 0.7 * len(pictures)
