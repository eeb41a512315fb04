"""The commands of docs/transfer.md and docs/languages.md, run in their order with small budgets."""

from pathlib import Path

import pytest

from documented import POCKET, ROOT, SIZES, SMALL, blocks, shell, write_pairs


def commands(page: str) -> list[str]:
    """The commands of a page that are marked with its name."""
    marked = [block.text for block in blocks(ROOT / "docs" / f"{page}.md") if block.mark == f"test: {page}"]
    return [line for text in marked for line in text.strip().split("\n")]


@pytest.mark.slow
def test_transfer(tmp_path: Path) -> None:
    write_pairs(tmp_path, "en", "de")
    for name in ("reviews.tsv", "held-out.tsv"):
        (tmp_path / name).write_text("a fine film\tgood\na dull film\tbad\n" * 10, encoding="utf-8")
    text = "--set data.text=train.en --set data.documents=line"
    shell(f"regard train --task generate {text} --out runs/novels {SMALL}", tmp_path)
    for number, line in enumerate(commands("transfer")):
        out = line.partition("--out ")[2].split()[0]
        # a directory of the page may stand for several runs, and settings of the base are left to it
        budget = SMALL if "--start" not in line else "--set train.max_steps=4"
        again = line if not (tmp_path / out).exists() else line.replace(f"--out {out}", f"--out {out}-{number}")
        shell(f"{again} {budget}", tmp_path)
    assert (tmp_path / "runs/filler/transfer.json").is_file()


@pytest.mark.slow
def test_languages(tmp_path: Path) -> None:
    write_pairs(tmp_path, "fr", "en")
    (tmp_path / "both.toml").write_text("[data]\nboth = true\n", encoding="utf-8")
    answers = [
        shell(
            f"{line} {POCKET} {SIZES} --set train.max_steps=4 --set text.vocabulary=400"
            if "regard train" in line
            else line,
            tmp_path,
        )
        for line in commands("languages")
    ]
    assert len(answers) == 5
    assert "BLEU" in answers[3] or "bleu" in answers[3]
    assert "fr" in answers[4]
