"""The commands of docs/lora.md, run as they stand with small budgets, and its settings."""

import tomllib
from pathlib import Path

import pytest

from documented import POCKET, ROOT, SMALL, blocks, shell, write_pairs
from regard.data.config import PairData
from regard.training.config import TrainConfig
from regard.training.lora_config import MAPS, WHOLE, LoraConfig

PAGE = blocks(ROOT / "docs/lora.md")


def test_the_settings_of_the_page_are_the_defaults() -> None:
    lora, replay = (tomllib.loads(block.text) for block in PAGE if block.language == "toml")
    assert TrainConfig.parse(lora["train"]).lora == LoraConfig()
    parsed = PairData.parse({"pairs": "new.tsv", **replay["data"]}).replay
    assert parsed is not None
    assert parsed.share == type(parsed)(src="a", tgt="b").share


def test_every_name_of_a_part_is_listed() -> None:
    text = (ROOT / "docs/lora.md").read_text(encoding="utf-8")
    assert [name for name in {**MAPS, **WHOLE} if f"`{name}`" not in text] == []


@pytest.mark.slow
def test_the_commands(tmp_path: Path) -> None:
    for name in ("fr", "en"), ("en", "de"):
        write_pairs(tmp_path, *name)
    for side in ("en", "de"):
        (tmp_path / f"new.{side}").write_bytes((tmp_path / f"train.{side}").read_bytes())
    shell(f"regard train --out runs/en-de {POCKET} {SMALL}", tmp_path)
    [commands] = [block.text for block in PAGE if block.mark == "test: lora"]
    for line in commands.strip().split("\n"):
        told = shell(f"{line} --set train.max_steps=4" if "regard train" in line else line, tmp_path)
        if "regard info" in line:
            assert "share:" in told
    assert (tmp_path / "models/news/model.safetensors").is_file()
