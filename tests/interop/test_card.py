"""The model card that training writes for every task, read by the parser of the Hugging Face Hub."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import regard
from picture_files import write_folder
from regard.interop.card import CardFacts
from regard.interop.export import export_path
from regard.tasks.load import open_given
from tasks.bundles import random_bundle

hub = pytest.importorskip("huggingface_hub")

SMALL = {"kind": "transformer", "layers": 1, "width": 16, "heads": 2, "feed_forward": 16}
TRAIN = {"max_steps": 2}
TASKS = {
    "translate": ("translation", {"bleu", "chrf", "ter"}),
    "generate": ("text-generation", {"perplexity"}),
    "classify": ("text-classification", {"accuracy"}),
    "tag": ("token-classification", {"accuracy"}),
    "pictures": ("image-classification", {"accuracy"}),
    "caption": ("image-to-text", {"bleu", "cider"}),
    "forecast": ("time-series-forecasting", {"mse", "mae"}),
}


def settings_of(name: str, home: Path) -> dict[str, Any]:
    """A run of a few steps, with its data."""
    text = {"kind": "char"}
    if name == "translate":
        return {"task": name, "data": {"pocket": 60}, "text": text, "model": SMALL}
    if name == "generate":
        (home / "a text.txt").write_text("one two three four five\n" * 40, encoding="utf-8")
        return {"task": name, "data": {"text": str(home / "a text.txt")}, "text": text, "model": SMALL}
    if name == "classify":
        (home / "labels.tsv").write_text("a good one\tyes\na bad one\tno\n" * 30, encoding="utf-8")
        return {"task": name, "data": {"labelled": str(home / "labels.tsv")}, "text": text, "model": SMALL}
    if name == "tag":
        (home / "tags.tsv").write_text("the\tDET\ncat\tNOUN\n\na\tDET\ndog\tNOUN\n\n" * 20, encoding="utf-8")
        data = {"labelled": str(home / "tags.tsv"), "labels_of": "token"}
        return {"task": "classify", "data": data, "text": text, "model": SMALL}
    if name == "pictures":
        data = {"images": str(write_folder(home / "bars"))}
        sizes = {**SMALL, "kind": "vit", "patch": 4, "tokenizer": "patches"}
        return {"task": "classify", "data": data, "model": sizes}
    if name == "caption":
        data = {"scenes": 40}
        sizes = {**SMALL, "convolution_width": 4}
        return {"task": name, "data": data, "text": text, "model": sizes}
    rows = "".join(f"2020-01-{day:02d},{day % 7}\n" for day in range(1, 32))
    rows += "".join(f"2020-02-{day:02d},{(day + 3) % 7}\n" for day in range(1, 30))
    (home / "sales.csv").write_text(f"date,value\n{rows}", encoding="utf-8")
    data = {"series": str(home / "sales.csv"), "horizon": 2, "context": 6}
    return {"task": name, "data": data, "model": {"kind": "dlinear"}}


@pytest.mark.parametrize("name", TASKS)
def test_training_writes_a_card_that_the_hub_reads(name: str, tmp_path: Path) -> None:
    pipeline, scores = TASKS[name]
    run = tmp_path / f"my | <{name}>"
    regard.train({**settings_of(name, tmp_path), "train": TRAIN}, run, progress=False)
    path = open_given(run).directory / "README.md"
    card = hub.ModelCard.load(path)
    assert card.data.pipeline_tag == pipeline
    assert card.data.library_name == "regard"
    assert scores <= {result.metric_type for result in card.data.eval_results}
    assert all(isinstance(result.metric_value, int | float) for result in card.data.eval_results)
    text = card.text
    assert "# my &#124; &#60;" in text
    for heading in ("| network |", "| parameters |", "| training time |", "| licence |", "## Limits"):
        assert heading in text
    assert "not recorded" not in text
    if name == "translate":
        assert "the pocket corpus" in text
        assert "nrefs:1&#124;case:mixed" in text
        path.write_text("edited", encoding="utf-8")
        regard.train({**settings_of(name, tmp_path), "train": TRAIN}, run, progress=False)
        assert path.read_text(encoding="utf-8") == "edited"


@pytest.mark.parametrize("to", ["hf", "ct2", "onnx"])
def test_the_code_of_an_exported_card_opens_the_export(
    to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader runs it where the export is, under the name of the export, which is not that of the run."""
    pytest.importorskip({"hf": "transformers", "ct2": "ctranslate2", "onnx": "onnxruntime"}[to])
    path = random_bundle(tmp_path / "trained", positions="sinusoidal")
    export_path(path, tmp_path / "exported", to, "float32", CardFacts())
    shutil.rmtree(tmp_path / "trained")
    [code] = re.findall(
        r"```python\n(.*?)```", (tmp_path / "exported/README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    monkeypatch.chdir(tmp_path)
    opening = code.split("batch = ")[0]  # a random model has nothing to say
    names: dict[str, object] = {}
    exec(opening, names)
    opened = {name for name in names if name in ("model", "translator", "sessions")}
    assert opened
    assert names[opened.pop()]
