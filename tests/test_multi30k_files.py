"""The benchmarks read Multi30k as it is published, and under short names."""

import gzip
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PUBLISHED = {
    "tok": "{part}.lc.norm.tok.{language}",
    "raw": "{part}.{language}.gz",
}


@pytest.fixture
def multi30k(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import multi30k

    return multi30k


def published(home: Path, prefix: str = "data/task1") -> Path:
    for kind, name in PUBLISHED.items():
        folder = home / prefix / kind
        folder.mkdir(parents=True)
        for part in ("train", "val", "test_2016_flickr"):
            for language in ("en", "de", "fr"):
                content = f"{part} {language}\n".encode()
                path = folder / name.format(part=part, language=language)
                path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return home


def short(home: Path) -> Path:
    for kind in PUBLISHED:
        (home / kind).mkdir(parents=True)
        for part in ("train", "val", "test2016"):
            for language in ("en", "de", "fr"):
                (home / kind / f"{part}.{language}").write_text(f"{part} {language}\n", encoding="utf-8")
    return home


@pytest.mark.parametrize("prefix", ["data/task1", "task1", "."])
def test_the_published_files_are_found(multi30k, tmp_path: Path, prefix: str) -> None:
    home = published(tmp_path, prefix)
    for recipe in sorted((ROOT / "recipes").glob("*multi30k*.toml")):
        if "corpora" in tomllib.loads(recipe.read_text(encoding="utf-8"))["data"]:
            continue  # of several corpora: `benchmarks/languages.py` names its files
        files = multi30k.corpus(recipe, home)
        assert {"src", "tgt", "valid_src", "valid_tgt"} <= files.keys()
        assert all(path.is_file() for path in files.values())
    files = multi30k.corpus(ROOT / "recipes/multi30k-quick.toml", home)
    assert files["src"] == home / prefix / "tok" / "train.lc.norm.tok.en"
    files = multi30k.corpus(ROOT / "recipes/multi30k-raw.toml", home)
    assert files["valid_tgt"] == home / prefix / "raw" / "val.de.gz"


def test_the_short_names_are_found(multi30k, tmp_path: Path) -> None:
    files = multi30k.corpus(ROOT / "recipes/multi30k-quick.toml", short(tmp_path))
    assert files["tgt"] == tmp_path / "tok" / "train.de"


@pytest.mark.parametrize(
    ("layout", "test_set"), [(published, "test_2016_flickr.lc.norm.tok.de"), (short, "test2016.de")]
)
def test_the_test_set_is_the_one_beside_the_validation_set(
    multi30k, tmp_path: Path, monkeypatch, layout, test_set
) -> None:
    asked = []

    def score(run, source, reference, tokenize, beam, alpha):
        asked.append((source.name.replace(".en", ".de"), reference.name, tokenize))
        return {"bleu": 1.0}

    monkeypatch.setattr(multi30k, "score", score)
    files = multi30k.corpus(ROOT / "recipes/multi30k-quick.toml", layout(tmp_path))
    assert multi30k.bleu(tmp_path, files, "test2016", 5, 1.0) == 1.0
    assert asked == [(test_set, test_set, "none")]


def test_a_folder_without_it_is_one_line(tmp_path: Path) -> None:
    for script, recipe in (("multi30k.py", "multi30k-quick.toml"), ("diversified.py", "multi30k-diversified.toml")):
        command = [sys.executable, ROOT / "benchmarks" / script, ROOT / "recipes" / recipe, "--data", tmp_path]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
        assert result.returncode != 0
        last = result.stderr.splitlines()[-1]
        assert f"{tmp_path}: no Multi30k in it" in last
        assert "github.com/multi30k/dataset" in last
        assert "Traceback" not in result.stderr
